/* SPDX-License-Identifier: MIT */
/*
 * The source of names that asks other processes: see remote.h. Its helpers, whose turn it is, and
 * the course of a question; remote_internal.h says where the rest is.
 */
#include "symbolizer/remote_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SHUNNED_MAX 256 /* then all are forgotten */

struct remote *remote_create(const struct helpers_options *options)
{
	struct remote *remote = g_new0(struct remote, 1);
	int i;

	remote->free_lanes = eventfd(REMOTE_LANES, EFD_SEMAPHORE | EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&remote->lock, NULL);
	remote->shunned = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	for (i = 0; i < REMOTE_LANES; i++)
		remote->lanes[i] = helpers_create(options);
	return remote;
}

static void destroy(void *self)
{
	struct remote *remote = self;
	int i;

	for (i = 0; i < REMOTE_LANES; i++)
		helpers_destroy(remote->lanes[i]);
	g_hash_table_destroy(remote->shunned);
	pthread_mutex_destroy(&remote->lock);
	if (remote->free_lanes >= 0)
		close(remote->free_lanes);
	g_free(remote);
}

/*
 * ---- lanes ------------------------------------------------------------------------------------
 */

/* A free one, when free_lanes has said that there is one. */
static int claim_lane(struct remote *remote)
{
	int i;

	pthread_mutex_lock(&remote->lock);
	for (i = 0; i < REMOTE_LANES - 1 && remote->taken[i]; i++)
		;
	remote->taken[i] = true;
	pthread_mutex_unlock(&remote->lock);
	return i;
}

static int take_lane(struct remote *remote, const struct proto_wait *wait, int *lane)
{
	uint64_t one;
	int ret;

	if (remote->free_lanes < 0)
		return -EIO;
	/* waits first: a question that was given up before it began is not one for the helpers */
	do {
		ret = proto_wait_readable(remote->free_lanes, wait);
		if (ret)
			return ret;
	} while (read(remote->free_lanes, &one, sizeof(one)) < 0);
	*lane = claim_lane(remote);
	return 0;
}

static void give_lane(struct remote *remote, int lane)
{
	uint64_t one = 1;

	pthread_mutex_lock(&remote->lock);
	helpers_count(remote->lanes[lane], &remote->counts[lane]);
	remote->taken[lane] = false;
	pthread_mutex_unlock(&remote->lock);
	while (write(remote->free_lanes, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* Those that are taken are running already. */
static void prepare(void *self)
{
	struct remote *remote = self;
	int lanes[REMOTE_LANES], count = 0;
	uint64_t one;

	while (count < REMOTE_LANES && read(remote->free_lanes, &one, sizeof(one)) > 0) {
		lanes[count] = claim_lane(remote);
		helpers_prepare(remote->lanes[lanes[count++]]);
	}
	while (count)
		give_lane(remote, lanes[--count]);
}

/*
 * ---- files that are not tried -----------------------------------------------------------------
 */

bool remote_is_shunned(struct remote *remote, const char *path)
{
	const uint64_t *until;
	bool shunned;

	pthread_mutex_lock(&remote->lock);
	until = g_hash_table_lookup(remote->shunned, path);
	shunned = until && proto_now_ns() < *until;
	pthread_mutex_unlock(&remote->lock);
	return shunned;
}

void remote_shun(struct remote *remote, const char *path, bool late)
{
	uint64_t *until = g_new(uint64_t, 1);

	*until = proto_now_ns() + REMOTE_SHUN_NS;
	pthread_mutex_lock(&remote->lock);
	if (g_hash_table_size(remote->shunned) >= SHUNNED_MAX)
		g_hash_table_remove_all(remote->shunned);
	g_hash_table_replace(remote->shunned, g_strdup(path), until);
	if (late)
		remote->late++;
	else
		remote->damaged++;
	pthread_mutex_unlock(&remote->lock);
}

static void name_process(char name[32], uint32_t pid)
{
	g_snprintf(name, 32, "pid %u", pid); /* no path begins so */
}

bool remote_avoids_process(struct remote *remote, uint32_t pid)
{
	char name[32];
	bool many;

	pthread_mutex_lock(&remote->lock);
	many = remote->hanging >= REMOTE_HANGING_MAX &&
		proto_now_ns() - remote->hanging_since < REMOTE_HANGING_NS;
	pthread_mutex_unlock(&remote->lock);
	name_process(name, pid);
	return many || remote_is_shunned(remote, name);
}

void remote_avoid_process(struct remote *remote, uint32_t pid)
{
	const uint64_t now_ns = proto_now_ns();
	char name[32];

	pthread_mutex_lock(&remote->lock);
	if (now_ns - remote->hanging_since >= REMOTE_HANGING_NS) {
		remote->hanging_since = now_ns;
		remote->hanging = 0;
	}
	remote->hanging++;
	pthread_mutex_unlock(&remote->lock);
	name_process(name, pid);
	remote_shun(remote, name, true);
}

/*
 * ---- questions --------------------------------------------------------------------------------
 */

static int begin_talk(struct talk *talk, struct remote *remote, const struct symbols_file *file,
	const struct symbols_how *how)
{
	int ret;

	*talk = (struct talk){
		.remote = remote,
		.file = file,
		.how = how,
		.wait = { .cancel_fd = how->cancel_fd, .deadline_ns = how->deadline_ns },
		.parser = -1,
	};
	ret = take_lane(remote, &talk->wait, &talk->lane);
	if (ret)
		return ret;
	talk->helpers = remote->lanes[talk->lane];
	talk->message = g_new(struct proto_message, 1);
	return 0;
}

static int end_talk(struct talk *talk, int ret)
{
	remote_hang_up(talk);
	g_free(talk->message);
	give_lane(talk->remote, talk->lane);
	/* what took its own time too long is not to be had */
	return ret == -ETIMEDOUT && !remote_is_over(talk, ret) ? -ENOENT : ret;
}

static void mark_replaced(struct symbols_place *places, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		places[i].replaced = true;
}

static int resolve(void *self, const struct symbols_file *file, const uint64_t *offsets,
	size_t count, const struct symbols_how *how, struct symbols_arena *arena,
	struct symbols_place *places)
{
	struct talk talk;
	int ret = begin_talk(&talk, self, file, how);

	if (ret)
		return ret;
	ret = remote_load(&talk);
	if (!ret)
		ret = remote_ask(&talk, offsets, count, arena, places);
	else if (talk.replaced)
		mark_replaced(places, count);
	return end_talk(&talk, ret);
}

/* The parser's child stays, and is the caller's alone: the lane is free again. */
static int connect_parser(void *self, const struct symbols_file *file, const struct symbols_how *how)
{
	struct talk talk;
	int ret = begin_talk(&talk, self, file, how);

	if (ret)
		return ret;
	talk.bare = true;
	ret = file->kind == SYMBOLS_ELF || file->kind == SYMBOLS_VDSO ? remote_load(&talk) : -ENOENT;
	if (!ret) {
		ret = talk.parser;
		talk.parser = -1;
	}
	return end_talk(&talk, ret);
}

static void add_stats(void *self, struct stats *stats)
{
	struct remote *remote = self;
	uint64_t started = 0, killed = 0;
	int i;

	pthread_mutex_lock(&remote->lock);
	for (i = 0; i < REMOTE_LANES; i++) {
		started += remote->counts[i].started;
		killed += remote->counts[i].killed;
	}
	stats_u64(stats, remote->damaged, "symbols.parser_failures");
	stats_u64(stats, remote->late, "symbols.timeouts");
	stats_u64(stats, started, "symbols.helpers.started");
	stats_u64(stats, killed, "symbols.helpers.killed");
	pthread_mutex_unlock(&remote->lock);
}

const struct symbols_source remote_source = {
	.resolve = resolve,
	.connect = connect_parser,
	.prepare = prepare,
	.lanes = REMOTE_LANES,
	.stats = add_stats,
	.destroy = destroy,
};
