/* SPDX-License-Identifier: MIT */
/* The source of names that asks other processes: see remote.h. */
#include "sym/remote.h"

#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/units.h"
#include "sym/answers.h"

/* Of the mappings that are named so many are tried: if these are gone, the others mostly are too. */
#define MAPPINGS_MAX 4

/*
 * What the answers about one file may take: names of C++ have some hundred bytes, and most addresses
 * share theirs with others.
 */
#define ANSWER_BYTES 1024
#define ANSWER_BYTES_MIN (1u << 20)

/*
 * A file that ended its parser, or hung, is not tried again for so long: a view must not wait again
 * and again for what another view has waited for.
 */
#define SHUN_NS (60 * NSEC_PER_SEC)
#define SHUNNED_MAX 256 /* then all are forgotten */

/* The kernel that runs. */
struct running {
	uint8_t build_id[PROTO_BUILD_ID_MAX];
	size_t build_id_length;
	uint64_t start;
};

struct remote {
	int free_lanes; /* eventfd: how many; a read takes one (invariant) */
	GMutex lock;	/* of what follows; nothing is locked inside of it */
	struct helpers *lanes[REMOTE_LANES]; /* (invariant) */
	struct helpers_counts counts[REMOTE_LANES]; /* as of the end of each one's last question */
	bool taken[REMOTE_LANES]; /* a lane that is taken is its taker's */
	GHashTable *shunned;	  /* path -> until when (ns, uint64_t) */
	uint64_t no_fetch_until;  /* debuginfod did not answer in time: not asked before then */
	struct running running;	  /* length 0: not asked yet */
	uint64_t damaged;	  /* files that ended their parser, or said nonsense */
	uint64_t late;		  /* openers and parsers that took too long */
};

/* One question: its file, and with whom it talks. */
struct talk {
	struct remote *remote;
	struct helpers *helpers;
	int lane; /* that they are of */
	bool bare; /* without a debug file */
	const struct symbols_file *file;
	const struct symbols_how *how;
	struct proto_wait wait;	       /* of the whole question */
	struct proto_message *message; /* in and out, one after the other */
	int parser;		       /* connection to a child; -1: none */
	bool heard;		       /* the child has answered */
	unsigned int flags;	       /* of the last INFO */
	uint8_t build_id[PROTO_BUILD_ID_MAX];
	uint32_t build_id_length;
	char debuglink[NAME_MAX + 1]; /* what it calls its debug file; "": nothing */
	size_t arena_max; /* what its answers may make of the arena, bytes */
	uint32_t pid; /* the process whose root the file was found under; 0: the host's */
};

/* ---- the program ------------------------------------------------------------------------------ */

/* In a build tree the programs lie beside each other. */
static char *find_program(void)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *folder = self ? g_path_get_dirname(self) : NULL;
	char *beside = folder ? g_build_filename(folder, "kprof-symbols", NULL) : NULL;

	if (beside && access(beside, X_OK) == 0)
		return beside;
	g_free(beside);
	return g_strdup(KPROFS_LIBEXECDIR "/kprof-symbols");
}

struct remote *remote_create(const struct helpers_options *options)
{
	struct helpers_options own = *options;
	g_autofree char *program = own.program ? NULL : find_program();
	struct remote *remote = g_new0(struct remote, 1);
	int i;

	if (program)
		own.program = program;
	remote->free_lanes = eventfd(REMOTE_LANES, EFD_SEMAPHORE | EFD_CLOEXEC | EFD_NONBLOCK);
	g_mutex_init(&remote->lock);
	remote->shunned = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	for (i = 0; i < REMOTE_LANES; i++)
		remote->lanes[i] = helpers_create(&own);
	return remote;
}

static void destroy(void *self)
{
	struct remote *remote = self;
	int i;

	for (i = 0; i < REMOTE_LANES; i++)
		helpers_destroy(remote->lanes[i]);
	g_hash_table_destroy(remote->shunned);
	g_mutex_clear(&remote->lock);
	if (remote->free_lanes >= 0)
		close(remote->free_lanes);
	g_free(remote);
}

/* ---- lanes ------------------------------------------------------------------------------------ */

/* A free one, when free_lanes has said that there is one. */
static int claim_lane(struct remote *remote)
{
	int i;

	g_mutex_lock(&remote->lock);
	for (i = 0; i < REMOTE_LANES - 1 && remote->taken[i]; i++)
		;
	remote->taken[i] = true;
	g_mutex_unlock(&remote->lock);
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

	g_mutex_lock(&remote->lock);
	helpers_count(remote->lanes[lane], &remote->counts[lane]);
	remote->taken[lane] = false;
	g_mutex_unlock(&remote->lock);
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

/* ---- files that are not tried ----------------------------------------------------------------- */

static bool is_shunned(struct remote *remote, const char *path)
{
	const uint64_t *until;
	bool shunned;

	g_mutex_lock(&remote->lock);
	until = g_hash_table_lookup(remote->shunned, path);
	shunned = until && proto_now_ns() < *until;
	g_mutex_unlock(&remote->lock);
	return shunned;
}

static void shun(struct remote *remote, const char *path, bool late)
{
	uint64_t *until = g_new(uint64_t, 1);

	*until = proto_now_ns() + SHUN_NS;
	g_mutex_lock(&remote->lock);
	if (g_hash_table_size(remote->shunned) >= SHUNNED_MAX)
		g_hash_table_remove_all(remote->shunned);
	g_hash_table_replace(remote->shunned, g_strdup(path), until);
	if (late)
		remote->late++;
	else
		remote->damaged++;
	g_mutex_unlock(&remote->lock);
}

/* ---- talking with the parser -------------------------------------------------------------------- */

/* Has the whole question's time run out, or has it been given up? */
static bool is_over(const struct talk *talk, int ret)
{
	return ret == -ECANCELED || (ret == -ETIMEDOUT && talk->wait.deadline_ns &&
		proto_now_ns() >= talk->wait.deadline_ns);
}

static void hang_up(struct talk *talk)
{
	if (talk->parser >= 0)
		close(talk->parser);
	talk->parser = -1;
	talk->heard = false;
}

/*
 * After an error of the connection: a child that died is the file's doing, one that does not answer
 * has to be ended.
 */
static int give_up_parser(struct talk *talk, int ret)
{
	hang_up(talk);
	if (ret == -ECANCELED || ret == -ETIMEDOUT)
		helpers_kill_parser(talk->helpers);
	/* a question that was given up says nothing about the file */
	if (is_over(talk, ret))
		return ret;
	shun(talk->remote, talk->file->path, ret == -ETIMEDOUT);
	return -EIO;
}

/* The message in talk->message, with a file (-1: none), and the reply to it. */
static int exchange(struct talk *talk, int fd, const struct proto_wait *until)
{
	int ret = proto_send(talk->parser, talk->message, fd, until);

	if (!ret)
		ret = proto_receive(talk->parser, talk->message, NULL, until);
	return !ret && talk->message->head.type != PROTO_INFO ? -EBADMSG : ret;
}

/*
 * The message, with a file (-1: none; closed here), and what the parser says to it. A parser that
 * died before it had forked a child is no fault of the file.
 */
static int tell_parser(struct talk *talk, int fd)
{
	struct proto_wait until = helpers_until(&talk->wait, HELPERS_PARSE_NS);
	struct proto_message *message = talk->message;
	bool fresh = !talk->heard;
	int ret = -EPIPE, tries;

	for (tries = 0; ret == -EPIPE && tries < 2; tries++) {
		if (talk->parser < 0)
			talk->parser = helpers_fork_parser(talk->helpers, &until);
		ret = talk->parser < 0 ? talk->parser : exchange(talk, fd, &until);
		if (ret != -EPIPE || !fresh || helpers_has_parser(talk->helpers))
			break;
		hang_up(talk);
	}
	if (fd >= 0)
		close(fd);
	if (ret)
		return talk->parser < 0 ? ret : give_up_parser(talk, ret);
	talk->heard = true;
	if (message->head.error)
		return message->head.error < 0 ? message->head.error : -EIO;
	talk->flags = message->head.flags;
	talk->build_id_length = message->build_id_length;
	memcpy(talk->build_id, message->build_id, sizeof(talk->build_id));
	/* a name of a file, and nothing that leads elsewhere */
	if (strchr(message->tail.path, '/') || strlen(message->tail.path) > NAME_MAX)
		talk->debuglink[0] = '\0';
	else
		strcpy(talk->debuglink, message->tail.path);
	return 0;
}

static int send_offsets(struct talk *talk, const uint64_t *offsets, size_t count,
	const struct proto_wait *until)
{
	struct proto_message *message = talk->message;
	size_t done, n;
	int ret = 0;

	for (done = 0; !ret && done < count; done += n) {
		n = MIN(count - done, PROTO_OFFSETS_MAX);
		proto_init(message, PROTO_OFFSETS);
		message->head.count = (uint32_t)n;
		memcpy(message->tail.offsets, offsets + done, n * sizeof(*offsets));
		ret = proto_send(talk->parser, message, -1, until);
	}
	proto_init(message, PROTO_RESOLVE);
	message->head.flags = talk->how->flags;
	return ret ? ret : proto_send(talk->parser, message, -1, until);
}

/*
 * Each address gets one answer, without lines of one frame, and all of them together stay within
 * bounds, whatever the parser says.
 */
static int take_answers(struct talk *talk, size_t count, struct symbols_arena *arena,
	struct symbols_place *places)
{
	const uint8_t *bytes = talk->message->tail.bytes;
	size_t left = talk->message->head.count, n;
	struct symbols_place place;
	uint32_t i;

	while (left) {
		n = answers_read(bytes, left, arena, &i, &place);
		if (!n || i >= count || !place.count || places[i].count)
			return -EBADMSG;
		if (!(talk->how->flags & SYMBOLS_LINES) && place.count > 1)
			return -EBADMSG;
		if (symbols_arena_bytes(arena) > talk->arena_max)
			return -EBADMSG;
		places[i] = place;
		bytes += n;
		left -= n;
	}
	return 0;
}

static int ask_parser(struct talk *talk, const uint64_t *offsets, size_t count,
	struct symbols_arena *arena, struct symbols_place *places)
{
	struct proto_wait until = helpers_until(&talk->wait, HELPERS_PARSE_NS);
	struct proto_message *message = talk->message;
	int ret = send_offsets(talk, offsets, count, &until);

	talk->arena_max = symbols_arena_bytes(arena) + ANSWER_BYTES_MIN + count * ANSWER_BYTES;
	if (talk->how->arena_max)
		talk->arena_max = MIN(talk->arena_max, talk->how->arena_max);

	while (!ret) {
		ret = proto_receive(talk->parser, message, NULL, &until);
		if (ret)
			break;
		if (message->head.type == PROTO_DONE) {
			if (message->head.error)
				return message->head.error < 0 ? message->head.error : -EIO;
			return (int)(message->head.flags & talk->how->flags);
		}
		ret = message->head.type == PROTO_ANSWERS
			? take_answers(talk, count, arena, places)
			: -EBADMSG;
	}
	return give_up_parser(talk, ret);
}

/* ---- an ELF file ------------------------------------------------------------------------------ */

static void take_running(struct remote *remote, const struct proto_message *reply)
{
	memcpy(remote->running.build_id, reply->build_id, sizeof(remote->running.build_id));
	remote->running.build_id_length = reply->build_id_length;
	remote->running.start = reply->address;
}

static int open_from(struct talk *talk, enum proto_type type, const struct symbols_mapping *mapping,
	const char *path)
{
	struct proto_message *message = talk->message;
	int fd, ret;

	proto_init(message, type);
	if (mapping) {
		message->pid = mapping->pid;
		message->start = mapping->start;
		message->end = mapping->end;
	}
	ret = path ? proto_set_path(message, path) : 0;
	if (ret)
		return ret;
	fd = helpers_open(talk->helpers, message, &talk->wait);
	if (fd == -ETIMEDOUT && !is_over(talk, fd))
		shun(talk->remote, talk->file->path, true);
	return fd;
}

/*
 * -ESTALE: what was recorded was another kernel, or this one before the machine was restarted (as far
 * as its address tells). Which kernel runs is asked once.
 */
static int check_kernel(struct talk *talk)
{
	const struct symbols_kernel *kernel = talk->file->kernel;
	struct remote *remote = talk->remote;
	bool known, same;
	int fd;

	if (!kernel || !kernel->build_id_length)
		return -ESTALE;
	g_mutex_lock(&remote->lock);
	known = remote->running.build_id_length > 0;
	g_mutex_unlock(&remote->lock);
	if (!known) {
		fd = open_from(talk, PROTO_OPEN_KERNEL, NULL, NULL);
		if (fd < 0)
			return fd;
		close(fd);
	}
	g_mutex_lock(&remote->lock);
	if (!known)
		take_running(remote, talk->message);
	same = kernel->build_id_length == remote->running.build_id_length &&
		memcmp(kernel->build_id, remote->running.build_id, kernel->build_id_length) == 0 &&
		kernel->start && kernel->start == remote->running.start;
	g_mutex_unlock(&remote->lock);
	return same ? 0 : -ESTALE;
}

/* Gives a candidate to the parser. 0: it is the file; an error of is_over(): stop. */
static int try_file(struct talk *talk, enum proto_type type, const struct symbols_mapping *mapping,
	const char *path)
{
	int fd;

	if (is_shunned(talk->remote, talk->file->path))
		return -EIO;
	fd = open_from(talk, type, mapping, path);
	if (fd < 0)
		return fd;
	proto_init(talk->message, PROTO_ELF);
	proto_set_build_id(talk->message, talk->file->build_id, talk->file->build_id_length);
	talk->message->head.flags = talk->how->flags;
	talk->pid = mapping ? mapping->pid : 0;
	return tell_parser(talk, fd);
}

/* "FILE (deleted)" is what the kernel calls a file that has lost its name. */
static char *strip_deleted(const char *path)
{
	size_t length = strlen(path), end = strlen(" (deleted)");

	if (length > end && strcmp(path + length - end, " (deleted)") == 0)
		return g_strndup(path, length - end);
	return g_strdup(path);
}

/*
 * Finds the file. With a build-id the host's own path comes first: it is there after the process has
 * ended, and nobody but root gives /usr/lib other contents. Without one only the mapping itself is
 * certain to be the file, if it bears its name; a path is believed last.
 */
static int find_file(struct talk *talk)
{
	const struct symbols_file *file = talk->file;
	g_autofree char *path = strip_deleted(file->path);
	size_t n = MIN(file->mapping_count, MAPPINGS_MAX), i;
	bool known = file->build_id_length > 0;
	int ret = -ENOENT;

	if (known)
		ret = try_file(talk, PROTO_OPEN_PATH, NULL, path);
	if (ret && n && !is_over(talk, ret) && check_kernel(talk) != 0)
		n = 0;
	for (i = 0; ret && !is_over(talk, ret) && i < n; i++)
		ret = try_file(talk, PROTO_OPEN_MAPPED, &file->mappings[i], known ? "" : path);
	/* a file that is gone and has no build-id can't be told from its successor */
	if (!known && strcmp(path, file->path) != 0)
		return ret;
	for (i = 0; ret && !is_over(talk, ret) && i < n; i++)
		ret = try_file(talk, PROTO_OPEN_PATH, &file->mappings[i], path);
	if (ret && !is_over(talk, ret) && !known)
		ret = try_file(talk, PROTO_OPEN_PATH, NULL, path);
	return ret;
}

/* Asks for a debug file wherever the opener knows places for it: there are many, and most are empty. */
static int open_placed(struct talk *talk, uint32_t pid, const uint8_t *build_id, uint32_t length,
	const char *name)
{
	g_autofree char *folder = g_path_get_dirname(talk->file->path);
	g_autofree char *linked = *name ? g_strdup_printf("%s/%s", folder, name) : g_strdup("");
	struct proto_message *message = talk->message;
	int fd;

	proto_init(message, PROTO_OPEN_DEBUG);
	message->pid = pid;
	proto_set_build_id(message, build_id, length);
	if (proto_set_path(message, linked) != 0)
		(void)proto_set_path(message, "");
	fd = helpers_open(talk->helpers, message, &talk->wait);
	if (fd == -ETIMEDOUT && !is_over(talk, fd))
		shun(talk->remote, talk->file->path, true);
	return fd;
}

/*
 * Asks debuginfod. A server that does not answer would cost each file of a view the same time again:
 * after one such wait nobody is asked for a while.
 */
static int fetch(struct talk *talk, const uint8_t *build_id, uint32_t length)
{
	struct remote *remote = talk->remote;
	bool allowed;
	int fd;

	g_mutex_lock(&remote->lock);
	allowed = proto_now_ns() >= remote->no_fetch_until;
	g_mutex_unlock(&remote->lock);
	if (!allowed)
		return -ENOENT;
	fd = helpers_fetch(talk->helpers, build_id, length, &talk->wait);
	if (fd == -ETIMEDOUT && !is_over(talk, fd)) {
		g_mutex_lock(&remote->lock);
		remote->no_fetch_until = proto_now_ns() + SHUN_NS;
		remote->late++;
		g_mutex_unlock(&remote->lock);
	}
	return fd;
}

/*
 * The debug file with this build-id, of the host or the process, else from debuginfod; name: what the
 * file calls it, "" for nothing.
 */
static int open_debug(struct talk *talk, const uint8_t *build_id, uint32_t length, const char *name)
{
	uint32_t pids[] = { 0, talk->pid };
	size_t i, n = talk->pid ? 2 : 1;
	int fd = -ENOENT;

	for (i = 0; fd < 0 && !is_over(talk, fd) && i < n; i++)
		fd = open_placed(talk, pids[i], build_id, length, name);
	if (fd < 0 && !is_over(talk, fd))
		fd = fetch(talk, build_id, length);
	return fd;
}

/* Hands one more file to the parser: what a debug file lacks is no error of the question. */
static int add_file(struct talk *talk, enum proto_type type)
{
	uint8_t build_id[PROTO_BUILD_ID_MAX];
	uint32_t length = talk->build_id_length;
	g_autofree char *name = g_strdup(type == PROTO_DEBUG ? talk->debuglink : "");
	int fd, ret;

	memcpy(build_id, talk->build_id, sizeof(build_id));
	fd = open_debug(talk, build_id, length, name);
	if (fd < 0)
		return is_over(talk, fd) ? fd : 0;
	proto_init(talk->message, type);
	proto_set_build_id(talk->message, build_id, length);
	talk->message->head.flags = talk->how->flags;
	ret = tell_parser(talk, fd);
	return ret && talk->parser < 0 ? ret : 0;
}

static int complete_file(struct talk *talk)
{
	bool lines = talk->how->flags & SYMBOLS_LINES;
	int ret = 0;

	if (talk->build_id_length && (!(talk->flags & PROTO_HAS_SYMBOLS) ||
		(lines && !(talk->flags & PROTO_HAS_LINES))))
		ret = add_file(talk, PROTO_DEBUG);
	if (!ret && (talk->flags & PROTO_WANTS_ALT))
		ret = add_file(talk, PROTO_ALT);
	return ret;
}

/* The child comes to be while the opener looks for the file; where that fails, tell_parser() tries. */
static void fork_ahead(struct talk *talk)
{
	struct proto_wait until = helpers_until(&talk->wait, HELPERS_PARSE_NS);
	int connection = helpers_fork_parser(talk->helpers, &until);

	talk->parser = connection < 0 ? -1 : connection;
}

static int load_elf(struct talk *talk)
{
	const char *path = talk->file->path;
	int ret;

	/* //anon, [heap] and the like are no files */
	if (path[0] != '/' || path[1] == '/' || is_shunned(talk->remote, path))
		return -ENOENT;
	fork_ahead(talk);
	ret = find_file(talk);
	return ret || talk->bare ? ret : complete_file(talk);
}

/* ---- the other kinds -------------------------------------------------------------------------- */

static int load_vdso(struct talk *talk)
{
	int ret = check_kernel(talk);

	if (ret)
		return ret;
	proto_init(talk->message, PROTO_VDSO);
	return tell_parser(talk, -1);
}

static int load_kernel(struct talk *talk)
{
	const struct symbols_file *file = talk->file;
	int ret = check_kernel(talk), fd;

	if (ret)
		return ret;
	fd = open_from(talk, PROTO_OPEN_KERNEL, NULL, NULL);
	if (fd < 0)
		return fd;
	proto_init(talk->message, PROTO_KERNEL);
	talk->message->address = file->kernel->start;
	if (file->mapping_count) {
		talk->message->start = file->mappings[0].start;
		talk->message->end = file->mappings[0].end;
	}
	ret = proto_set_path(talk->message, file->path);
	if (ret) {
		close(fd);
		return ret;
	}
	return tell_parser(talk, fd);
}

static int load_jit(struct talk *talk)
{
	int ret = check_kernel(talk), fd;

	if (ret || !talk->file->mapping_count)
		return ret ? ret : -ENOENT;
	fd = open_from(talk, PROTO_OPEN_JIT, &talk->file->mappings[0], NULL);
	if (fd < 0)
		return fd;
	proto_init(talk->message, PROTO_JIT);
	return tell_parser(talk, fd);
}

static int load(struct talk *talk)
{
	switch (talk->file->kind) {
	case SYMBOLS_ELF:
		return load_elf(talk);
	case SYMBOLS_VDSO:
		return load_vdso(talk);
	case SYMBOLS_KERNEL:
		return load_kernel(talk);
	case SYMBOLS_JIT:
		return load_jit(talk);
	}
	return -ENOENT;
}

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
	hang_up(talk);
	g_free(talk->message);
	give_lane(talk->remote, talk->lane);
	/* what took its own time too long is not to be had */
	return ret == -ETIMEDOUT && !is_over(talk, ret) ? -ENOENT : ret;
}

static int resolve(void *self, const struct symbols_file *file, const uint64_t *offsets,
	size_t count, const struct symbols_how *how, struct symbols_arena *arena,
	struct symbols_place *places)
{
	struct talk talk;
	int ret = begin_talk(&talk, self, file, how);

	if (ret)
		return ret;
	ret = load(&talk);
	if (!ret)
		ret = ask_parser(&talk, offsets, count, arena, places);
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
	ret = file->kind == SYMBOLS_ELF || file->kind == SYMBOLS_VDSO ? load(&talk) : -ENOENT;
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

	g_mutex_lock(&remote->lock);
	for (i = 0; i < REMOTE_LANES; i++) {
		started += remote->counts[i].started;
		killed += remote->counts[i].killed;
	}
	stats_u64(stats, remote->damaged, "symbols.damaged");
	stats_u64(stats, remote->late, "symbols.late");
	stats_u64(stats, started, "symbols.helpers.started");
	stats_u64(stats, killed, "symbols.helpers.killed");
	g_mutex_unlock(&remote->lock);
}

const struct symbols_source remote_source = {
	.resolve = resolve,
	.connect = connect_parser,
	.prepare = prepare,
	.lanes = REMOTE_LANES,
	.stats = add_stats,
	.destroy = destroy,
};
