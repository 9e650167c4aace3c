/* SPDX-License-Identifier: MIT */
/*
 * The source that uses helper processes: see remote.h. This file has the sets of helpers, assigns
 * one to each request, and has the steps of a request; remote_state.h lists the other files.
 */
#include "symbolizer/remote_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/strhash.h"

#define SKIPPED_MAX 256 /* at this number the table is cleared */

struct remote *remote_create(const struct helpers_options *options)
{
	struct remote *remote = g_new0(struct remote, 1);
	int i;

	remote->free_lanes = eventfd(REMOTE_LANES, EFD_SEMAPHORE | EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&remote->lock, NULL);
	remote->skipped = g_hash_table_new_full(strhash, g_str_equal, g_free, g_free);
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
	g_hash_table_destroy(remote->skipped);
	pthread_mutex_destroy(&remote->lock);
	if (remote->free_lanes >= 0)
		close(remote->free_lanes);
	g_free(remote);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* A free lane, after a read of free_lanes. */
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
	/* waits first: a request that was cancelled before it began needs no helpers */
	do {
		ret = proto_wait_readable(remote->free_lanes, wait);
		if (ret)
			return ret;
	} while (read(remote->free_lanes, &one, sizeof(one)) < 0);
	*lane = claim_lane(remote);
	return 0;
}

static void return_lane(struct remote *remote, int lane)
{
	uint64_t one = 1;

	pthread_mutex_lock(&remote->lock);
	helpers_count(remote->lanes[lane], &remote->counts[lane]);
	remote->taken[lane] = false;
	pthread_mutex_unlock(&remote->lock);
	while (write(remote->free_lanes, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* The helpers of lanes that are in use run already. */
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
		return_lane(remote, lanes[--count]);
}

/* ---- files that are not tried ---------------------------------------------------------------- */

bool remote_is_skipped(struct remote *remote, const char *path)
{
	const uint64_t *until;
	bool skipped;

	pthread_mutex_lock(&remote->lock);
	until = g_hash_table_lookup(remote->skipped, path);
	skipped = until && proto_now_ns() < *until;
	pthread_mutex_unlock(&remote->lock);
	return skipped;
}

void remote_skip(struct remote *remote, const char *path, bool timeout)
{
	uint64_t *until = g_new(uint64_t, 1);

	*until = proto_now_ns() + REMOTE_SKIP_NS;
	pthread_mutex_lock(&remote->lock);
	if (g_hash_table_size(remote->skipped) >= SKIPPED_MAX)
		g_hash_table_remove_all(remote->skipped);
	g_hash_table_replace(remote->skipped, g_strdup(path), until);
	if (timeout)
		remote->timeouts++;
	else
		remote->parser_failures++;
	pthread_mutex_unlock(&remote->lock);
}

static void process_key(char name[32], uint32_t pid)
{
	g_snprintf(name, 32, "pid %u", pid); /* no path begins like this */
}

bool remote_avoids_process(struct remote *remote, uint32_t pid)
{
	char name[32];
	bool many;

	pthread_mutex_lock(&remote->lock);
	many = remote->hanging >= REMOTE_HANGING_MAX &&
		proto_now_ns() - remote->hanging_since < REMOTE_HANGING_NS;
	pthread_mutex_unlock(&remote->lock);
	process_key(name, pid);
	return many || remote_is_skipped(remote, name);
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
	process_key(name, pid);
	remote_skip(remote, name, true);
}

/* ---- requests -------------------------------------------------------------------------------- */

static int begin_request(struct remote_request *request, struct remote *remote,
	const struct symbols_file *file, const struct symbols_how *how)
{
	int ret;

	*request = (struct remote_request){
		.remote = remote,
		.file = file,
		.how = how,
		.wait = {.cancel_fd = how->cancel_fd, .deadline_ns = how->deadline_ns},
		.parser = -1,
	};
	ret = take_lane(remote, &request->wait, &request->lane);
	if (ret)
		return ret;
	request->helpers = remote->lanes[request->lane];
	request->message = g_new(struct proto_message, 1);
	return 0;
}

static int end_request(struct remote_request *request, int ret)
{
	remote_disconnect(request);
	g_free(request->message);
	return_lane(request->remote, request->lane);
	/* a step that exceeded its own time limit means that the file is not available */
	return ret == -ETIMEDOUT && !remote_is_over(request, ret) ? -ENOENT : ret;
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
	struct remote_request request;
	int ret = begin_request(&request, self, file, how);

	if (ret)
		return ret;
	ret = remote_load(&request);
	if (!ret)
		ret = remote_resolve(&request, offsets, count, arena, places);
	else if (request.replaced)
		mark_replaced(places, count);
	return end_request(&request, ret);
}

/* The parser's child stays and belongs to the caller alone; the lane is freed. */
static int connect_parser(void *self, const struct symbols_file *file, const struct symbols_how *how)
{
	struct remote_request request;
	int ret = begin_request(&request, self, file, how);

	if (ret)
		return ret;
	request.no_debug_file = true;
	ret = file->kind == SYMBOLS_ELF || file->kind == SYMBOLS_VDSO ? remote_load(&request)
								      : -ENOENT;
	if (!ret) {
		ret = request.parser;
		request.parser = -1;
	}
	return end_request(&request, ret);
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
	stats_u64(stats, remote->parser_failures, "symbols.parser_failures");
	stats_u64(stats, remote->timeouts, "symbols.timeouts");
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
