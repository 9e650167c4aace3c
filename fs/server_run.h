/* SPDX-License-Identifier: MIT */
/* Creates a server, runs it and ends it: for main. */
#ifndef KPROFS_FS_SERVER_RUN_H
#define KPROFS_FS_SERVER_RUN_H

#include <signal.h>

#include "base/err.h"
#include "fs/server.h"

/* The time for which an ending server continues to answer readers that have not reached the end. */
#define SERVER_RUN_LAST_READS_MS 500

/* The signals that end a server; main blocks them before there are threads. */
void server_run_signals(sigset_t *signals);

/* Creates all parts, without mounting. The caller calls server_run_destroy() even if it fails. */
int server_run_create(struct server *server, const struct options *options, struct err *err);

/* Mounts, starts to answer, and returns when the tree can be used. */
int server_run_mount(struct server *server, const struct options *options, const char *mountpoint,
	struct err *err);

/* Waits for one of the signals, or for the end of the mount. */
void server_run_wait(struct server *server);

/* Answers parked requests, ends the threads, unmounts, frees. */
void server_run_destroy(struct server *server);

#endif
