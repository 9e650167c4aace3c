/* SPDX-License-Identifier: MIT */
/*
 * The socket's place in the file system: one server owns it at a time, a dead one's is replaced,
 * and who may attach is its mode.
 *
 * Ownership is a lock on the file PATH.lock, which ends with the process however it ends. The
 * socket is made under another name and listens before it is renamed to PATH, so that nobody finds
 * one that does not.
 */
#ifndef KPROFS_PRODUCERS_ENDPOINT_H
#define KPROFS_PRODUCERS_ENDPOINT_H

#include <sys/types.h>

#include "base/err.h"

enum endpoint_who {
	ENDPOINT_ALL,	/* every local user's programs */
	ENDPOINT_OWNER, /* the owner's, and root's */
	ENDPOINT_GROUP, /* the group's too */
};

struct endpoint_options {
	const char *path; /* absolute; NULL: /run/kprofs/trace, or $XDG_RUNTIME_DIR's for who is not root */
	enum endpoint_who who;
	uid_t owner;
	gid_t group;
};

struct endpoint;

/*
 * Blocks up to a second when another server has the place: it may be about to end. A sentence with
 * every error; -EADDRINUSE: a server lives there.
 */
int endpoint_open(const struct endpoint_options *options, struct endpoint **endpoint,
	struct err *err);

/* Listening, non-blocking, the endpoint's. */
int endpoint_fd(const struct endpoint *endpoint);
const char *endpoint_path(const struct endpoint *endpoint);

/* Removes the socket, if it is ours still. */
void endpoint_close(struct endpoint *endpoint);

#endif
