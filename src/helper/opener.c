/* SPDX-License-Identifier: MIT */
/*
 * The opener: has rights, parses nothing. Answers each request with a descriptor or an errno. It may
 * hang in any of its opens; then whoever asked ends it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helper/helper.h"
#include "sym/proto.h"
#include "sys/confine.h"
#include "sys/proc.h"
#include "sys/procfile.h"

#define PROC "/proc"

struct opener {
	struct proc_kernel kernel;
	bool kernel_known;
	struct proto_message request, reply;
};

/* Where distributions put debug files: .build-id/XX/YYYY.debug below it */
#define DEBUG_FOLDER "/usr/lib/debug"

static int open_by_build_id(const struct proto_message *request)
{
	char path[sizeof(DEBUG_FOLDER) + sizeof("/.build-id//.debug") + 2 * PROTO_BUILD_ID_MAX];
	char hex[2 * PROTO_BUILD_ID_MAX + 1];
	uint32_t i;

	if (request->build_id_length < 2)
		return -ENOENT;
	for (i = 0; i < request->build_id_length; i++)
		snprintf(hex + 2 * (size_t)i, 3, "%02x", request->build_id[i]);
	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", DEBUG_FOLDER, hex, hex + 2);
	return procfile_open_path(PROC, request->pid, path);
}

/* Beside the file FOLDER/NAME, below it, and where distributions keep them. */
static int open_linked(const struct proto_message *request)
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
			fd = procfile_open_path(PROC, request->pid, tried);
	}
	return fd;
}

static int open_debug(const struct proto_message *request)
{
	int fd = open_by_build_id(request);

	return fd < 0 ? open_linked(request) : fd;
}

/* Which kernel it is goes with its symbols; that does not change. */
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

static int answer(struct opener *opener, const struct proto_message *request,
	struct proto_message *reply)
{
	switch ((enum proto_type)request->head.type) {
	case PROTO_OPEN_MAPPED:
		return procfile_open_mapped(PROC, request->pid, request->start, request->end,
			request->tail.path);
	case PROTO_OPEN_PATH:
		return procfile_open_path(PROC, request->pid, request->tail.path);
	case PROTO_OPEN_DEBUG:
		return open_debug(request);
	case PROTO_OPEN_KERNEL:
		return open_kernel(opener, reply);
	case PROTO_OPEN_JIT:
		return procfile_open_jit(PROC, request->pid);
	default:
		return -EINVAL;
	}
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

	for (;;) {
		ret = proto_receive(fd, request, NULL, NULL);
		if (ret)
			return ret == -EPIPE ? 0 : 1;
		proto_init(reply, PROTO_OPENED);
		opened = answer(opener, request, reply);
		if (opened < 0)
			reply->head.error = opened;
		else if (request->head.flags & PROTO_IDENTIFY)
			identify(opened, &reply->id);
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
