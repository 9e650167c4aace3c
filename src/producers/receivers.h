/* SPDX-License-Identifier: MIT */
/*
 * The receiver processes (receiver.h) as the listener uses them: it requests one packet of one
 * producer from each, and takes the answer later.
 *
 * A receiver that got a file that is not a memfd, or sockets to close, is not used again, and its
 * exit may block without end. The number of such receivers is limited for one process, for one user
 * and in all; at one of these limits a producer gets no receiver.
 *
 * All functions are called by the thread of the listener only. None waits.
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
/* Packets that are being received at a time; each takes some 20 us. */
#define RECEIVERS_BUSY_MAX 4

/* The process that sent the descriptor on which a receiver is blocked. */
struct receivers_owner {
	pid_t pid; /* 0 if not visible in this pid namespace; then only the limit of the user applies
		    */
	uid_t uid;
};

/* Starts the spawner and one receiver. Returns -errno if no process can be started. */
int receivers_create(struct receivers **receivers);
/* Does not wait for blocked receivers. Does nothing for NULL. */
void receivers_destroy(struct receivers *receivers);

/* An epoll descriptor, readable when there may be an answer; owned by `receivers`. */
int receivers_fd(const struct receivers *receivers);

/* Returns whether the owner is below the limits of blocked receivers. */
bool receivers_may(const struct receivers *receivers, const struct receivers_owner *owner);

/*
 * Lets a receiver receive the next packet of a producer's socket. The answer has `cookie`. Returns
 * 0, -EAGAIN if all receivers are busy (the caller tries again after an answer), or -EIO if no
 * process can be started.
 */
int receivers_request(struct receivers *receivers, const struct receivers_owner *owner, int socket,
	void *cookie);
/* Drops the answer of this request. */
void receivers_forget(struct receivers *receivers, const void *cookie);

/*
 * Takes the next answer; returns false if there is none. Otherwise sets *cookie, which is NULL if
 * only a receiver has become free, the answer, and its memfd, which the caller closes, or -1. The
 * answer's result is -EIO if the receiver ended before it answered.
 */
bool receivers_next(struct receivers *receivers, void **cookie, struct receiver_answer *answer,
	int *memory);

/*
 * Passes sockets in which descriptors may be queued to a receiver, which closes them; at most
 * FDPASS_MAX, of one owner. If it returns true, the caller's descriptors have been closed, and the
 * receiver closes its own when the other end of `when`, an end of a pipe, is closed. Returns false
 * if no process takes them; they then stay open.
 */
bool receivers_close(struct receivers *receivers, const struct receivers_owner *owner,
	const int *sockets, unsigned int count, int when);

#endif
