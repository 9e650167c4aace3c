/* SPDX-License-Identifier: MIT */
/*
 * A private server: a kprofs on a temporary mount point, for as long as a command runs. It ends
 * when kprof exits for any reason.
 */
#ifndef KPROFS_CMD_PRIVATE_SERVER_H
#define KPROFS_CMD_PRIVATE_SERVER_H

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"

struct private_server {
	char *dir; /* the mount point; NULL if not started */
	pid_t pid;
	int log_fd; /* what it writes on standard error; shown if it fails */
};

/* The program kprofs: beside kprof, else in PATH; to be freed. NULL if not found. */
char *private_server_find_server(void);

/*
 * Starts kprofs with these mount options (NULL for none) and this signal mask, and returns when it has
 * mounted. If it fails, the server prints the reason on stderr. Returns -ENOENT if kprofs was not
 * found, -ECHILD if it exited, -ETIMEDOUT, or -errno of mkdtemp(3) and fork(2).
 */
int private_server_start(struct private_server *server, const char *options, const sigset_t *mask,
	struct err *err);

/* Ends it and removes its mount point. Does nothing if it was not started. */
void private_server_end(struct private_server *server);

#endif
