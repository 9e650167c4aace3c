/* SPDX-License-Identifier: MIT */
/*
 * The opener: has privileges, parses nothing. Replies to each request with a descriptor or an
 * errno. Any of its opens may hang; then the client process kills it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "symbolizer/proto.h"
#include "symbolizerd/helper.h"
#include "sys/confine.h"
#include "sys/memfile.h"
#include "sys/proc.h"
#include "sys/procfile.h"

#define PROC "/proc"

/* The mount table is read again after this time. */
#define MOUNTS_NS NSEC_PER_SEC
/* Limit for a whole file on a file system that a user may serve. */
#define COPIED_MAX (64 * MIB)

struct opener {
	struct proc_kernel kernel;
	bool kernel_known;
	struct proc_maps mounts;
	uint64_t mounts_ns; /* when it was read; 0 if never */
	struct proto_message request, reply;
};

/* Where distributions install debug files: .build-id/XX/YYYY.debug below it */
#define DEBUG_FOLDER "/usr/lib/debug"

static int open_by_build_id(const struct proc_maps *mounts, const struct proto_message *request)
{
	char path[sizeof(DEBUG_FOLDER) + sizeof("/.build-id//.debug") + 2 * PROTO_BUILD_ID_MAX];
	char hex[2 * PROTO_BUILD_ID_MAX + 1];
	uint32_t i;

	if (request->build_id_length < 2)
		return -ENOENT;
	for (i = 0; i < request->build_id_length; i++)
		snprintf(hex + 2 * (size_t)i, 3, "%02x", request->build_id[i]);
	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", DEBUG_FOLDER, hex, hex + 2);
	return procfile_open_path(PROC, mounts, request->pid, path);
}

/* In the folder of the file, below it, and where distributions install them. */
static int open_linked(const struct proc_maps *mounts, const struct proto_message *request)
{
	static const char *const patterns[] = {
		"%.*s/%s", "%.*s/.debug/%s", DEBUG_FOLDER "%.*s/%s",
	};
	const char *path = request->tail.path, *name = strrchr(path, '/');
	char tried[PATH_MAX];
	int fd = -ENOENT;
	size_t i;

	for (i = 0; name && fd < 0 && i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		int n = snprintf(tried, sizeof(tried), patterns[i], (int)(name - path), path,
			name + 1);

		if (n > 0 && (size_t)n < sizeof(tried))
			fd = procfile_open_path(PROC, mounts, request->pid, tried);
	}
	return fd;
}

static int open_debug(const struct proc_maps *mounts, const struct proto_message *request)
{
	int fd = open_by_build_id(mounts, request);

	return fd < 0 ? open_linked(mounts, request) : fd;
}

/* Reads the running kernel's build-id with its symbols; it does not change. */
static int open_kernel(struct opener *opener, struct proto_message *reply)
{
	int ret;

	if (!opener->kernel_known) {
		ret = proc_kernel_identity(NULL, NULL, &opener->kernel);
		if (ret)
			return ret;
		opener->kernel_known = true;
	}
	proto_set_build_id(reply, opener->kernel.build_id, opener->kernel.build_id_length);
	reply->address = opener->kernel.start;
	return procfile_open_kernel(PROC);
}

static int serve_request(
	struct opener *opener, const struct proto_message *request, struct proto_message *reply)
{
	const bool any = request->head.flags & PROTO_ANY_MOUNT;
	const struct proc_maps *mounts = any ? NULL : &opener->mounts;

	switch ((enum proto_type)request->head.type) {
	case PROTO_OPEN_MAPPED:
		return procfile_open_mapped(PROC, mounts, request->pid, request->start,
			request->end, request->tail.path);
	case PROTO_OPEN_PATH:
		return procfile_open_path(PROC, mounts, request->pid, request->tail.path);
	case PROTO_OPEN_DEBUG:
		return open_debug(mounts, request);
	case PROTO_OPEN_KERNEL:
		return open_kernel(opener, reply);
	case PROTO_OPEN_JIT:
		return procfile_open_jit(PROC, mounts, request->pid, request->tail.path);
	default:
		return -EINVAL;
	}
}

/* ---- files of others' file systems ----------------------------------------------------------- */

/*
 * Up to `most` bytes; a longer file is -EFBIG, unless its head is wanted, which may be less than that if more
 * can't be read now.
 */
static int copy(int from, int to, uint64_t most, bool is_head)
{
	char bytes[64 * KIB];
	uint64_t left = most;
	ssize_t n;

	while ((n = read(from, bytes, sizeof(bytes))) > 0) {
		if ((uint64_t)n > left && !is_head)
			return -EFBIG;
		if ((uint64_t)n > left)
			n = (ssize_t)left;
		if (write(to, bytes, (size_t)n) != n)
			return -EIO;
		left -= (uint64_t)n;
		if (is_head && !left)
			break;
	}
	if (n < 0 && !(is_head && errno == EAGAIN && left < most))
		return -errno;
	return lseek(to, 0, SEEK_SET) < 0 ? -errno : 0;
}

/* The client must not wait for what answers reads of the file, so it gets a copy. */
static int copy_opened(const struct opener *opener, const struct proto_message *request, int opened)
{
	const bool is_head = request->head.flags & PROTO_HEAD;
	int to, ret;

	if (!is_head && procfile_is_trusted(&opener->mounts, opened))
		return opened;
	to = memfile_create("kprof-file");
	ret = to < 0 ? to : copy(opened, to, is_head ? request->end : COPIED_MAX, is_head);
	close(opened);
	if (!ret)
		return to;
	if (to >= 0)
		close(to);
	return ret;
}

static void know_mounts(struct opener *opener)
{
	const uint64_t now_ns = proto_now_ns();

	if (opener->mounts_ns && now_ns - opener->mounts_ns < MOUNTS_NS)
		return;
	proc_maps_init_network(&opener->mounts, PROC);
	opener->mounts_ns = now_ns;
}

static void identify(int fd, struct symbols_file_id *id)
{
	struct procfile_id found;

	if (procfile_identify(PROC, fd, &found) != 0)
		return;
	id->dev_major = found.dev_major;
	id->dev_minor = found.dev_minor;
	id->inode = found.inode;
	id->generation = found.generation;
	id->size = found.size;
	id->mtime_ns = found.mtime_ns;
}

static int serve(struct opener *opener, int fd)
{
	struct proto_message *request = &opener->request, *reply = &opener->reply;
	int opened, ret;

	proto_init(reply, PROTO_READY);
	ret = proto_send(fd, reply, -1, NULL);
	if (ret)
		return ret == -EPIPE ? 0 : 1;
	for (;;) {
		ret = proto_receive(fd, request, NULL, NULL);
		if (ret)
			return ret == -EPIPE ? 0 : 1;
		proto_init(reply, PROTO_OPENED);
		know_mounts(opener);
		opened = serve_request(opener, request, reply);
		if (opened >= 0 && request->head.flags & PROTO_IDENTIFY)
			identify(opened, &reply->id);
		if (opened >= 0 && request->head.flags & PROTO_ANY_MOUNT)
			opened = copy_opened(opener, request, opened);
		if (opened < 0)
			reply->head.error = opened;
		ret = proto_send(fd, reply, opened, NULL);
		if (opened >= 0)
			close(opened);
		if (ret)
			return ret == -EPIPE ? 0 : 1;
	}
}

int opener_serve(int fd)
{
	struct opener *opener = calloc(1, sizeof(*opener));
	int ret;

	if (!opener || confine_opener() != 0)
		return 1;
	ret = serve(opener, fd);
	free(opener);
	return ret;
}
