/* SPDX-License-Identifier: MIT */
/*
 * Sampling for as long as a command of kprof needs it: by the server that is mounted, or by one of
 * our own (instance.h); and everything as it was afterwards. One thread.
 */
#ifndef KPROFS_CMD_SESSION_H
#define KPROFS_CMD_SESSION_H

#include <signal.h>
#include <stdbool.h>

#include "base/err.h"
#include "cmd/kpctl_client.h"
#include "cmd/private_server.h"

struct session_choice {
	const char *mount; /* directory; NULL: the one that there is */
	bool own;	   /* a server of our own, whatever is mounted */
};

struct session {
	char *dir; /* of the server */
	struct private_server instance;
	struct kpctl_client control; /* as it was found */
	bool started;		/* by us */
	bool event_set, stack_set; /* or tried to: to be set as they were */
};

/*
 * Finds the server, or starts one (mask: see instance.h) where none is mounted that we may use, and
 * reads its state. -EEXIST: several are mounted; else -errno. session_close() in every case.
 */
int session_open(struct session *session, const struct session_choice *choice,
	const sigset_t *mask, struct err *err);

/*
 * Starts the profiler with these events and stacks, as kpctl takes them; NULL: those that are set.
 * -EBUSY: it runs for somebody.
 */
int session_start(struct session *session, const char *event, const char *stack, struct err *err);

/* Stops what session_start() started, and sets all as it was. 0 where there is nothing. */
int session_stop(struct session *session, struct err *err);

/* Stops, ends a server of our own, frees. */
void session_close(struct session *session);

#endif
