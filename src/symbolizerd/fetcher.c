/* SPDX-License-Identifier: MIT */
/*
 * The fetcher: downloads debug files with debuginfod, with the rights of the mounting user. The
 * client library is loaded only here and only if it is installed; it stores the downloads in that
 * user's cache. There is no time limit here: the client process kills the fetcher after its own
 * time limit.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbolizer/proto.h"
#include "symbolizerd/helper.h"
#include "sys/confine.h"

#define CLIENT_LIBRARY "libdebuginfod.so.1"

struct debuginfod_library {
	void *(*begin)(void);
	void (*end)(void *session);
	int (*find)(void *session, const unsigned char *build_id, int length, char **path);
};

/* The functions of <elfutils/debuginfod.h>, assigned by the cast that POSIX gives for dlsym. */
static int load_client(struct debuginfod_library *client)
{
	void *library = dlopen(CLIENT_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return -ENOENT;
	*(void **)&client->begin = dlsym(library, "debuginfod_begin");
	*(void **)&client->end = dlsym(library, "debuginfod_end");
	*(void **)&client->find = dlsym(library, "debuginfod_find_debuginfo");
	return client->begin && client->end && client->find ? 0 : -ENOENT;
}

/* A descriptor of the file, or -errno. */
static int fetch(const struct debuginfod_library *client, const struct proto_message *request)
{
	void *session;
	int fd;

	if (request->head.type != PROTO_FETCH || !request->build_id_length)
		return -EINVAL;
	session = client->begin();
	if (!session)
		return -ENOMEM;
	fd = client->find(session, request->build_id, (int)request->build_id_length, NULL);
	client->end(session);
	return fd;
}

int fetcher_serve(int fd, uid_t uid, gid_t gid)
{
	struct proto_message *message = calloc(1, sizeof(*message));
	struct debuginfod_library client = {NULL};
	int missing, file, ret = message ? confine_user(uid, gid) : -ENOMEM;

	if (ret)
		return 1;
	missing = load_client(&client);
	for (;;) {
		ret = proto_receive(fd, message, NULL, NULL);
		if (ret)
			break;
		file = missing ? missing : fetch(&client, message);
		proto_init(message, PROTO_OPENED);
		message->head.error = file < 0 ? file : 0;
		ret = proto_send(fd, message, file, NULL);
		if (file >= 0)
			close(file);
		if (ret)
			break;
	}
	free(message);
	return ret == -EPIPE ? 0 : 1;
}
