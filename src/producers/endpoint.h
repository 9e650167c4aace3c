/* SPDX-License-Identifier: MIT */
/*
 * The listening socket in the file system. One server owns it at a time, the socket of an ended
 * server is replaced, and the file's mode says which users may attach.
 *
 * Ownership is a lock on the file PATH.lock, which the kernel releases at the end of the process.
 * The socket is made under another name and listens before it is renamed to PATH: a client that
 * finds PATH can connect.
 */
#ifndef KPROFS_PRODUCERS_ENDPOINT_H
#define KPROFS_PRODUCERS_ENDPOINT_H

#include <sys/types.h>

#include "base/err.h"

enum endpoint_who {
	ENDPOINT_ALL,	/* processes of every local user */
	ENDPOINT_OWNER, /* of the owner, and of root */
	ENDPOINT_GROUP, /* of the group too */
};

struct endpoint_options {
	/* absolute; NULL for /run/kprofs/trace as root, else $XDG_RUNTIME_DIR/kprofs/trace */
	const char *path;
	enum endpoint_who who;
	uid_t owner;
	gid_t group;
};

struct endpoint;

/*
 * Makes the socket. Blocks up to a second while another server owns the path, since that server may
 * be about to end. Returns 0, or -errno with a sentence in *err; -EADDRINUSE if another server owns
 * the path.
 */
int endpoint_open(const struct endpoint_options *options, struct endpoint **endpoint,
	struct err *err);

/* Returns the listening, non-blocking socket, once; the caller closes it. */
int endpoint_take_fd(struct endpoint *endpoint);

/*
 * Closes the socket if it was not taken, and removes its file if it is still the one that was made.
 * Does nothing for NULL.
 */
void endpoint_close(struct endpoint *endpoint);

#endif
