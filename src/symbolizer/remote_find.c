/* SPDX-License-Identifier: MIT */
/* Which files a parser is given for a question: see remote_internal.h. */
#include "symbolizer/remote_internal.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/*
 * Of the mappings that are named so many are tried: if these are gone, the others mostly are too.
 */
#define MAPPINGS_MAX 4

/*
 * ---- an ELF file ------------------------------------------------------------------------------
 */

static void take_running(struct remote *remote, const struct proto_message *reply)
{
	memcpy(remote->running.build_id, reply->build_id, sizeof(remote->running.build_id));
	remote->running.build_id_length = reply->build_id_length;
	remote->running.start = reply->address;
}

/* What hangs is not asked for again, for a while: the process where one is named, else the file. */
static int ask_once(struct talk *talk, uint32_t pid, bool any)
{
	int fd;

	if ((pid || any) && remote_avoids_process(talk->remote, pid))
		return -ENOENT;
	fd = helpers_open(talk->helpers, talk->message, &talk->wait);
	if (fd != -ETIMEDOUT || remote_is_over(talk, fd))
		return fd;
	if (pid || any)
		remote_avoid_process(talk->remote, pid);
	if (!pid)
		remote_shun(talk->remote, talk->file->path, true);
	return fd;
}

/*
 * A file that can't be had without asking a server which may be a user's is asked for as one that
 * hangs.
 */
static int ask_opener(struct talk *talk)
{
	struct proto_message *message = talk->message;
	const size_t size = offsetof(struct proto_message, tail);
	g_autofree void *head = g_memdup2(message, size);
	const uint32_t pid = message->pid;
	int fd = ask_once(talk, pid, false);

	if (fd != -EXDEV)
		return fd;
	/* the answer had no tail: the path is still there */
	memcpy(message, head, size);
	message->head.flags |= PROTO_ANY_MOUNT;
	return ask_once(talk, pid, true);
}

static int open_from(struct talk *talk, enum proto_type type, const struct symbols_mapping *mapping,
	const char *path)
{
	struct proto_message *message = talk->message;
	int ret;

	proto_init(message, type);
	if (mapping) {
		message->pid = mapping->pid;
		message->start = mapping->start;
		message->end = mapping->end;
	}
	if (talk->file->id.inode && (type == PROTO_OPEN_MAPPED || type == PROTO_OPEN_PATH))
		message->head.flags = PROTO_IDENTIFY;
	ret = path ? proto_set_path(message, path) : 0;
	return ret ? ret : ask_opener(talk);
}

/*
 * -ESTALE: what was recorded was another kernel, or this one before the machine was restarted (as
 * far as its address tells). Which kernel runs is asked once.
 */
static int check_kernel(struct talk *talk)
{
	const struct symbols_kernel *kernel = talk->file->kernel;
	struct remote *remote = talk->remote;
	bool known, same;
	int fd;

	if (!kernel || !kernel->build_id_length)
		return -ESTALE;
	pthread_mutex_lock(&remote->lock);
	known = remote->running.build_id_length > 0;
	pthread_mutex_unlock(&remote->lock);
	if (!known) {
		fd = open_from(talk, PROTO_OPEN_KERNEL, NULL, NULL);
		if (fd < 0)
			return fd;
		close(fd);
	}
	pthread_mutex_lock(&remote->lock);
	if (!known)
		take_running(remote, talk->message);
	same = kernel->build_id_length == remote->running.build_id_length &&
		memcmp(kernel->build_id, remote->running.build_id, kernel->build_id_length) == 0 &&
		kernel->start && kernel->start == remote->running.start;
	pthread_mutex_unlock(&remote->lock);
	return same ? 0 : -ESTALE;
}

/* Was it recorded on another machine, or before this one was restarted? Not known: no. */
static bool is_elsewhere(struct talk *talk)
{
	const struct symbols_kernel *kernel = talk->file->kernel;

	return kernel && kernel->build_id_length && kernel->start &&
		check_kernel(talk) == -ESTALE;
}

/* Has the file the inode that was mapped, as far as both sides know it? */
static bool has_inode(const struct symbols_file_id *mapped, const struct symbols_file_id *found)
{
	return found->inode == mapped->inode && found->dev_major == mapped->dev_major &&
		found->dev_minor == mapped->dev_minor &&
		(!found->generation || !mapped->generation ||
			found->generation == mapped->generation);
}

/*
 * Is the file that was found another one than was mapped, or has it other contents by now? Only one
 * without a build-id is told by this.
 */
static bool is_replaced(const struct talk *talk, const struct symbols_file_id *found)
{
	const struct symbols_file *file = talk->file;

	if (file->build_id_length || !file->id.inode || !found->inode)
		return false;
	if (!talk->elsewhere && !has_inode(&file->id, found))
		return true;
	if (file->id.mtime_ns)
		return found->mtime_ns != file->id.mtime_ns || found->size != file->id.size;
	return !talk->elsewhere && file->mapped_ns && found->mtime_ns > file->mapped_ns;
}

/* Gives a candidate to the parser. 0: it is the file; an error of remote_is_over(): stop. */
static int try_file(struct talk *talk, enum proto_type type, const struct symbols_mapping *mapping,
	const char *path)
{
	int fd;

	if (remote_is_shunned(talk->remote, talk->file->path))
		return -EIO;
	fd = open_from(talk, type, mapping, path);
	if (fd < 0)
		return fd;
	if (is_replaced(talk, &talk->message->id)) {
		close(fd);
		talk->replaced = true;
		return -ESTALE;
	}
	proto_init(talk->message, PROTO_ELF);
	proto_set_build_id(talk->message, talk->file->build_id, talk->file->build_id_length);
	talk->message->head.flags = talk->how->flags;
	talk->pid = mapping ? mapping->pid : 0;
	return remote_tell(talk, fd);
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
 * Finds the file. With a build-id the host's own path comes first: it is there after the process
 * has ended, and nobody but root gives /usr/lib other contents. Without one only the mapping itself
 * is certain to be the file, if it bears its name; a path is believed last.
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
	if (ret && n && !remote_is_over(talk, ret) && check_kernel(talk) != 0)
		n = 0;
	for (i = 0; ret && !remote_is_over(talk, ret) && i < n; i++)
		ret = try_file(talk, PROTO_OPEN_MAPPED, &file->mappings[i], known ? "" : path);
	/* a file that is gone and has no build-id can't be told from its successor */
	if (!known && strcmp(path, file->path) != 0)
		return ret;
	for (i = 0; ret && !remote_is_over(talk, ret) && i < n; i++)
		ret = try_file(talk, PROTO_OPEN_PATH, &file->mappings[i], path);
	if (ret && !remote_is_over(talk, ret) && !known)
		ret = try_file(talk, PROTO_OPEN_PATH, NULL, path);
	return ret;
}

/*
 * Asks for a debug file wherever the opener knows places for it: there are many, and most are
 * empty.
 */
static int open_placed(struct talk *talk, uint32_t pid, const uint8_t *build_id, uint32_t length,
	const char *name)
{
	g_autofree char *folder = g_path_get_dirname(talk->file->path);
	g_autofree char *linked = *name ? g_strdup_printf("%s/%s", folder, name) : g_strdup("");
	struct proto_message *message = talk->message;

	proto_init(message, PROTO_OPEN_DEBUG);
	message->pid = pid;
	proto_set_build_id(message, build_id, length);
	if (proto_set_path(message, linked) != 0)
		(void)proto_set_path(message, "");
	return ask_opener(talk);
}

/*
 * Asks debuginfod. A server that does not answer would cost each file of a view the same time
 * again: after one such wait nobody is asked for a while.
 */
static int fetch(struct talk *talk, const uint8_t *build_id, uint32_t length)
{
	struct remote *remote = talk->remote;
	bool allowed;
	int fd;

	pthread_mutex_lock(&remote->lock);
	allowed = proto_now_ns() >= remote->no_fetch_until;
	pthread_mutex_unlock(&remote->lock);
	if (!allowed)
		return -ENOENT;
	fd = helpers_fetch(talk->helpers, build_id, length, &talk->wait);
	if (fd == -ETIMEDOUT && !remote_is_over(talk, fd)) {
		pthread_mutex_lock(&remote->lock);
		remote->no_fetch_until = proto_now_ns() + REMOTE_SHUN_NS;
		remote->late++;
		pthread_mutex_unlock(&remote->lock);
	}
	return fd;
}

/*
 * The debug file with this build-id, of the host or the process, else from debuginfod; name: what
 * the file calls it, "" for nothing.
 */
static int open_debug(struct talk *talk, const uint8_t *build_id, uint32_t length, const char *name)
{
	uint32_t pids[] = { 0, talk->pid };
	size_t i, n = talk->pid ? 2 : 1;
	int fd = -ENOENT;

	for (i = 0; fd < 0 && !remote_is_over(talk, fd) && i < n; i++)
		fd = open_placed(talk, pids[i], build_id, length, name);
	if (fd < 0 && !remote_is_over(talk, fd))
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
		return remote_is_over(talk, fd) ? fd : 0;
	proto_init(talk->message, type);
	proto_set_build_id(talk->message, build_id, length);
	talk->message->head.flags = talk->how->flags;
	ret = remote_tell(talk, fd);
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

/*
 * The child comes to be while the opener looks for the file; where that fails, remote_tell() tries.
 */
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
	if (path[0] != '/' || path[1] == '/' || remote_is_shunned(talk->remote, path))
		return -ENOENT;
	fork_ahead(talk);
	talk->elsewhere = talk->file->id.inode && is_elsewhere(talk);
	ret = find_file(talk);
	return ret || talk->bare ? ret : complete_file(talk);
}

/*
 * ---- the other kinds --------------------------------------------------------------------------
 */

static int load_vdso(struct talk *talk)
{
	int ret = check_kernel(talk);

	if (ret)
		return ret;
	proto_init(talk->message, PROTO_VDSO);
	return remote_tell(talk, -1);
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
	return remote_tell(talk, fd);
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
	return remote_tell(talk, fd);
}

int remote_load(struct talk *talk)
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
