/* SPDX-License-Identifier: MIT */
/*
 * A server of one's own: kprofs on a mount point that nobody else knows, for as long as a command
 * runs. It ends with kprof, however that ends.
 */
#ifndef KPROFS_CMD_PRIVATE_SERVER_H
#define KPROFS_CMD_PRIVATE_SERVER_H

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"

struct private_server {
	char *dir; /* where it is mounted; NULL: there is none */
	pid_t pid;
};

/* The program: beside kprof, else in PATH; to be freed, NULL: there is none. */
char *private_server_find_server(void);

/*
 * Starts kprofs (beside kprof, else in PATH) and returns when it is mounted. mask: the signal mask
 * that it gets. The server says on stderr itself why it can't. -ENOENT: no kprofs to be found;
 * -ECHILD: it ended; -ETIMEDOUT; -errno of mkdtemp(3), fork(2).
 */
int private_server_start(struct private_server *instance, const sigset_t *mask, struct err *err);

/* Ends it and removes its mount point. Harmless where there is none. */
void private_server_end(struct private_server *instance);

#endif
