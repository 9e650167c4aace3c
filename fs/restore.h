/* SPDX-License-Identifier: MIT */
/* The sessions that the last server with this directory (state=) had, made again. */
#ifndef KPROFS_FS_RESTORE_H
#define KPROFS_FS_RESTORE_H

struct server;
struct session;

/*
 * Gives the session at the top its settings, and makes the others; what can't be had back is in kperr and the
 * log. Called once, before the first request.
 */
void restore_sessions(struct server *server, struct session *top);

#endif
