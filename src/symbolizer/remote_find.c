/* SPDX-License-Identifier: MIT */
/* Finds the files that are loaded into the parser for a request: see remote_state.h. */
#include "symbolizer/remote_state.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/*
 * That many of the given mappings are tried: if their processes have exited, the others mostly have
 * too.
 */
#define MAPPINGS_MAX 4

/* ---- an ELF file ----------------------------------------------------------------------------- */

static void take_running(struct remote *remote, const struct proto_message *reply)
{
	memcpy(remote->running.build_id, reply->build_id, sizeof(remote->running.build_id));
	remote->running.build_id_length = reply->build_id_length;
	remote->running.start = reply->address;
}

/*
 * Something that hangs is not tried again for a while: the process if one is named, else the file.
 */
static int open_once(struct remote_request *request, uint32_t pid, bool any)
{
	int fd;

	if ((pid || any) && remote_avoids_process(request->remote, pid))
		return -ENOENT;
	fd = helpers_open(request->helpers, request->message, &request->wait);
	if (fd != -ETIMEDOUT || remote_is_over(request, fd))
		return fd;
	if (pid || any)
		remote_avoid_process(request->remote, pid);
	if (!pid)
		remote_skip(request->remote, request->file->path, true);
	return fd;
}

/*
 * A file that can be opened only through a file system that a user may serve is treated as one that
 * hangs.
 */
static int open_by_opener(struct remote_request *request)
{
	struct proto_message *message = request->message;
	const size_t size = offsetof(struct proto_message, tail);
	g_autofree void *head = g_memdup2(message, size);
	const uint32_t pid = message->pid;
	int fd = open_once(request, pid, false);

	if (fd != -EXDEV)
		return fd;
	/* the reply had no tail: the path is unchanged */
	memcpy(message, head, size);
	message->head.flags |= PROTO_ANY_MOUNT;
	return open_once(request, pid, true);
}

static int open_from(struct remote_request *request, enum proto_type type,
	const struct symbols_mapping *mapping, const char *path)
{
	struct proto_message *message = request->message;
	int ret;

	proto_init(message, type);
	if (mapping) {
		message->pid = mapping->pid;
		message->start = mapping->start;
		message->end = mapping->end;
	}
	if (request->file->id.inode && (type == PROTO_OPEN_MAPPED || type == PROTO_OPEN_PATH))
		message->head.flags = PROTO_IDENTIFY;
	ret = path ? proto_set_path(message, path) : 0;
	return ret ? ret : open_by_opener(request);
}

/*
 * Returns -ESTALE if the recorded kernel is another one, or this one before a reboot (if its text
 * address differs). The running kernel is read once.
 */
static int check_kernel(struct remote_request *request)
{
	const struct symbols_kernel *kernel = request->file->kernel;
	struct remote *remote = request->remote;
	bool known, same;
	int fd;

	if (!kernel || !kernel->build_id_length)
		return -ESTALE;
	pthread_mutex_lock(&remote->lock);
	known = remote->running.build_id_length > 0;
	pthread_mutex_unlock(&remote->lock);
	if (!known) {
		fd = open_from(request, PROTO_OPEN_KERNEL, NULL, NULL);
		if (fd < 0)
			return fd;
		close(fd);
	}
	pthread_mutex_lock(&remote->lock);
	if (!known)
		take_running(remote, request->message);
	same = kernel->build_id_length == remote->running.build_id_length &&
		memcmp(kernel->build_id, remote->running.build_id, kernel->build_id_length) == 0 &&
		kernel->start && kernel->start == remote->running.start;
	pthread_mutex_unlock(&remote->lock);
	return same ? 0 : -ESTALE;
}

/* Returns whether it was recorded on another machine or before a reboot; false if not known. */
static bool is_other_boot(struct remote_request *request)
{
	const struct symbols_kernel *kernel = request->file->kernel;

	return kernel && kernel->build_id_length && kernel->start &&
	       check_kernel(request) == -ESTALE;
}

/* Returns whether the file has the mapped inode, as far as both are known. */
static bool has_inode(const struct symbols_file_id *mapped, const struct symbols_file_id *found)
{
	return found->inode == mapped->inode && found->dev_major == mapped->dev_major &&
		found->dev_minor == mapped->dev_minor &&
		(!found->generation || !mapped->generation ||
			found->generation == mapped->generation);
}

/*
 * Is the file that was found another one than the mapped one, or was it modified since? Needed only
 * for files without a build-id.
 */
static bool is_replaced(const struct remote_request *request, const struct symbols_file_id *found)
{
	const struct symbols_file *file = request->file;

	if (file->build_id_length || !file->id.inode || !found->inode)
		return false;
	if (!request->other_boot && !has_inode(&file->id, found))
		return true;
	if (file->id.mtime_ns)
		return found->mtime_ns != file->id.mtime_ns || found->size != file->id.size;
	return !request->other_boot && file->mapped_ns && found->mtime_ns > file->mapped_ns;
}

/* Loads a candidate into the parser. 0 if it is the file; on an error of remote_is_over(): stop. */
static int try_file(struct remote_request *request, enum proto_type type,
	const struct symbols_mapping *mapping, const char *path)
{
	int fd;

	if (remote_is_skipped(request->remote, request->file->path))
		return -EIO;
	fd = open_from(request, type, mapping, path);
	if (fd < 0)
		return fd;
	if (is_replaced(request, &request->message->id)) {
		close(fd);
		request->replaced = true;
		return -ESTALE;
	}
	proto_init(request->message, PROTO_ELF);
	proto_set_build_id(
		request->message, request->file->build_id, request->file->build_id_length);
	request->message->head.flags = request->how->flags;
	request->pid = mapping ? mapping->pid : 0;
	return remote_exchange(request, fd);
}

/* "FILE (deleted)" is the kernel's path of a file that was unlinked. */
static char *strip_deleted(const char *path)
{
	size_t length = strlen(path), end = strlen(" (deleted)");

	if (length > end && strcmp(path + length - end, " (deleted)") == 0)
		return g_strndup(path, length - end);
	return g_strdup(path);
}

/*
 * Finds the file. With a build-id the host's own path is tried first: it exists after the process
 * has exited, and only root can replace files in /usr/lib. Without a build-id only the mapping
 * itself is certain to be the file, if its name matches; a path is tried last.
 */
static int find_file(struct remote_request *request)
{
	const struct symbols_file *file = request->file;
	g_autofree char *path = strip_deleted(file->path);
	size_t n = MIN(file->mapping_count, MAPPINGS_MAX), i;
	bool known = file->build_id_length > 0;
	int ret = -ENOENT;

	if (known)
		ret = try_file(request, PROTO_OPEN_PATH, NULL, path);
	if (ret && n && !remote_is_over(request, ret) && check_kernel(request) != 0)
		n = 0;
	for (i = 0; ret && !remote_is_over(request, ret) && i < n; i++)
		ret = try_file(request, PROTO_OPEN_MAPPED, &file->mappings[i], known ? "" : path);
	/* without a build-id an unlinked file can't be told from its replacement */
	if (!known && strcmp(path, file->path) != 0)
		return ret;
	for (i = 0; ret && !remote_is_over(request, ret) && i < n; i++)
		ret = try_file(request, PROTO_OPEN_PATH, &file->mappings[i], path);
	if (ret && !remote_is_over(request, ret) && !known)
		ret = try_file(request, PROTO_OPEN_PATH, NULL, path);
	return ret;
}

/*
 * Has the opener try all paths that a debug file may have; most of them don't exist.
 */
static int open_debug_path(struct remote_request *request, uint32_t pid, const uint8_t *build_id,
	uint32_t length, const char *name)
{
	g_autofree char *folder = g_path_get_dirname(request->file->path);
	g_autofree char *linked = *name ? g_strdup_printf("%s/%s", folder, name) : g_strdup("");
	struct proto_message *message = request->message;

	proto_init(message, PROTO_OPEN_DEBUG);
	message->pid = pid;
	proto_set_build_id(message, build_id, length);
	if (proto_set_path(message, linked) != 0)
		(void)proto_set_path(message, "");
	return open_by_opener(request);
}

/*
 * Downloads from debuginfod. A server that does not respond would cost each file of a view the same
 * time, so after one timeout debuginfod is not used for a while.
 */
static int fetch(struct remote_request *request, const uint8_t *build_id, uint32_t length)
{
	struct remote *remote = request->remote;
	bool allowed;
	int fd;

	pthread_mutex_lock(&remote->lock);
	allowed = proto_now_ns() >= remote->no_fetch_until;
	pthread_mutex_unlock(&remote->lock);
	if (!allowed)
		return -ENOENT;
	fd = helpers_fetch(request->helpers, build_id, length, &request->wait);
	if (fd == -ETIMEDOUT && !remote_is_over(request, fd)) {
		pthread_mutex_lock(&remote->lock);
		remote->no_fetch_until = proto_now_ns() + REMOTE_SKIP_NS;
		remote->timeouts++;
		pthread_mutex_unlock(&remote->lock);
	}
	return fd;
}

/*
 * The debug file with this build-id: of the host or the process, else from debuginfod. name: that
 * in the file's .gnu_debuglink, "" for none.
 */
static int open_debug(
	struct remote_request *request, const uint8_t *build_id, uint32_t length, const char *name)
{
	uint32_t pids[] = {0, request->pid};
	size_t i, n = request->pid ? 2 : 1;
	int fd = -ENOENT;

	for (i = 0; fd < 0 && !remote_is_over(request, fd) && i < n; i++)
		fd = open_debug_path(request, pids[i], build_id, length, name);
	if (fd < 0 && !remote_is_over(request, fd))
		fd = fetch(request, build_id, length);
	return fd;
}

/*
 * Loads one more file into the parser. A debug file that fails to load does not fail the request.
 */
static int add_file(struct remote_request *request, enum proto_type type)
{
	uint8_t build_id[PROTO_BUILD_ID_MAX];
	uint32_t length = request->build_id_length;
	g_autofree char *name = g_strdup(type == PROTO_DEBUG ? request->debuglink : "");
	int fd, ret;

	memcpy(build_id, request->build_id, sizeof(build_id));
	fd = open_debug(request, build_id, length, name);
	if (fd < 0)
		return remote_is_over(request, fd) ? fd : 0;
	proto_init(request->message, type);
	proto_set_build_id(request->message, build_id, length);
	request->message->head.flags = request->how->flags;
	ret = remote_exchange(request, fd);
	return ret && request->parser < 0 ? ret : 0;
}

static int complete_file(struct remote_request *request)
{
	bool lines = request->how->flags & SYMBOLS_LINES;
	int ret = 0;

	if (request->build_id_length && (!(request->flags & PROTO_HAS_SYMBOLS) ||
						(lines && !(request->flags & PROTO_HAS_LINES))))
		ret = add_file(request, PROTO_DEBUG);
	if (!ret && (request->flags & PROTO_WANTS_ALT))
		ret = add_file(request, PROTO_ALT);
	return ret;
}

/*
 * Has the child forked while the opener searches for the file; if that fails, remote_exchange()
 * tries again.
 */
static void fork_early(struct remote_request *request)
{
	struct proto_wait until = helpers_until(&request->wait, HELPERS_PARSE_NS);
	int connection = helpers_fork_parser(request->helpers, &until);

	request->parser = connection < 0 ? -1 : connection;
}

static int load_elf(struct remote_request *request)
{
	const char *path = request->file->path;
	int ret;

	/* //anon, [heap] and the like are not files */
	if (path[0] != '/' || path[1] == '/' || remote_is_skipped(request->remote, path))
		return -ENOENT;
	fork_early(request);
	request->other_boot = request->file->id.inode && is_other_boot(request);
	ret = find_file(request);
	return ret || request->no_debug_file ? ret : complete_file(request);
}

/* ---- the other kinds ------------------------------------------------------------------------- */

static int load_vdso(struct remote_request *request)
{
	int ret = check_kernel(request);

	if (ret)
		return ret;
	proto_init(request->message, PROTO_VDSO);
	return remote_exchange(request, -1);
}

static int load_kernel(struct remote_request *request)
{
	const struct symbols_file *file = request->file;
	int ret = check_kernel(request), fd;

	if (ret)
		return ret;
	fd = open_from(request, PROTO_OPEN_KERNEL, NULL, NULL);
	if (fd < 0)
		return fd;
	proto_init(request->message, PROTO_KERNEL);
	request->message->address = file->kernel->start;
	if (file->mapping_count) {
		request->message->start = file->mappings[0].start;
		request->message->end = file->mappings[0].end;
	}
	ret = proto_set_path(request->message, file->path);
	if (ret) {
		close(fd);
		return ret;
	}
	return remote_exchange(request, fd);
}

/* dump: the path of the jitdump, or "" for the perf map */
static int load_jit_file(struct remote_request *request, const char *dump)
{
	int fd = open_from(request, PROTO_OPEN_JIT, &request->file->mappings[0], dump);

	if (fd < 0)
		return fd;
	proto_init(request->message, PROTO_JIT);
	return remote_exchange(request, fd);
}

static int load_jit(struct remote_request *request)
{
	const char *dump = request->file->jitdump;
	int ret = check_kernel(request);

	if (ret || !request->file->mapping_count)
		return ret ? ret : -ENOENT;
	ret = dump ? load_jit_file(request, dump) : -ENOENT;
	return ret && !remote_is_over(request, ret) ? load_jit_file(request, "") : ret;
}

int remote_load(struct remote_request *request)
{
	switch (request->file->kind) {
	case SYMBOLS_ELF:
		return load_elf(request);
	case SYMBOLS_VDSO:
		return load_vdso(request);
	case SYMBOLS_KERNEL:
		return load_kernel(request);
	case SYMBOLS_JIT:
		return load_jit(request);
	}
	return -ENOENT;
}
