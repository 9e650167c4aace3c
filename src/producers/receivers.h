/* SPDX-License-Identifier: MIT */
/*
 * The processes that receive descriptors (receiver.h), as the listener sees them: it asks for the
 * packet of one program at a time from each, and they answer later.
 *
 * A process that received something else than memory, or was given sockets to close, is lost,
 * perhaps for ever. How many are lost at a time for one process, for one user and in all is
 * bounded; who is at such a bound is received from no more.
 *
 * One thread, the listener's. Nothing here waits.
 */
#ifndef KPROFS_PRODUCERS_RECEIVERS_H
#define KPROFS_PRODUCERS_RECEIVERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "producers/receiver.h"

struct receivers;

#define RECEIVERS_LOST_PROCESS_MAX 2
#define RECEIVERS_LOST_USER_MAX 8
#define RECEIVERS_LOST_MAX 32
/* Packets that are being received at a time: each takes some 20 us. */
#define RECEIVERS_ASKED_MAX 4

/* Who sent what a receiver is lost for. */
struct receivers_owner {
	pid_t pid; /* 0: a process that can't be seen from here; together they are one user's */
	uid_t uid;
};

/* -errno: no process can be started. */
int receivers_create(struct receivers **receivers);
/* Does not wait for those that are lost. */
void receivers_destroy(struct receivers *receivers);

/* Readable when there may be an answer. */
int receivers_fd(const struct receivers *receivers);

/* Below the bounds on what is lost? */
bool receivers_may(const struct receivers *receivers, const struct receivers_owner *owner);

/*
 * Has the packet in front of a program's socket received. `asker`: comes back with the answer.
 * -EAGAIN: all are busy, ask again after an answer; -EIO: no process can be started.
 */
int receivers_ask(struct receivers *receivers, const struct receivers_owner *owner, int socket,
	void *asker);
/* The asker is gone: its answer is dropped. */
void receivers_forget(struct receivers *receivers, const void *asker);

/*
 * The next answer: true, *asker (NULL: a receiver has become free, that is all), the answer, and
 * its memory, which is the caller's. A receiver that ended before it answered: result -EIO.
 */
bool receivers_next(struct receivers *receivers, void **asker, struct receiver_answer *answer,
	int *memory);

/*
 * Has sockets closed in which descriptors may be waiting; at most FDPASS_MAX of one
 * owner. The caller's own are closed. false: they are not, since no process takes them.
 */
bool receivers_close(struct receivers *receivers, const struct receivers_owner *owner,
	const int *sockets, unsigned int count);

/* Has a socket held, if a receiver is to be had: what is in it goes after receivers_destroy(). */
void receivers_hold(struct receivers *receivers, int socket);

#endif
