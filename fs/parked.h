/* SPDX-License-Identifier: MIT */
/*
 * Parked requests: FUSE requests that are answered by another thread than the worker that received
 * them. Each module that parks requests (kpctl_thread.c, slow_ops.c, streams.c, switches.c) has a
 * list of them for each kind, with the kind's functions. This file has the common functions:
 * finding a request, handling an interrupt, and ending.
 *
 * A parked request is waiting or current. A waiting one is answered by the thread that removes it
 * from the list: the one that would carry it out, or the worker in which an interrupt arrives. A
 * current one is being carried out by a thread, which answers it; an interrupt only marks it.
 */
#ifndef KPROFS_FS_PARKED_H
#define KPROFS_FS_PARKED_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/units.h"

struct fuse_req;

/*
 * The kernel reports one signal for each request. After one that did not end the wait, /proc is read for
 * another at most this often: that takes some 20 us.
 */
#define PARKED_LOOK_NS (10 * NSEC_PER_MSEC)

/*
 * Embedded in what a module keeps for a request, first, so that one is the other. i: invariant; l: under the
 * lock of the list; a: atomic; t: of the thread that carries it out
 */
struct parked {
	struct fuse_req *req;	  /* i; NULL for work without a request */
	pid_t tid;		  /* i: the thread that waits; 0 if any signal ends the wait */
	struct parked_list *list; /* i: set by parked_init() */
	bool current;		  /* l */
	_Atomic bool interrupted; /* a: relaxed, a flag that nothing goes with */
	_Atomic bool signalled;	  /* a: the same: by a signal that did not end the wait */
	uint64_t look_ns;	  /* t: when /proc may be read next */
	GList link;		  /* l */
};

struct parked_ops {
	/*
	 * Whether the signals that are pending for the thread end its wait: proc_is_interrupted() or
	 * proc_is_ending(). Also under the lock.
	 */
	bool (*ends_wait)(const char *proc, pid_t tid);
	/*
	 * Removes a waiting request from the other lists that it is in. Called under the lock.
	 * Returns false if another thread has removed it there and answers it. The function is NULL
	 * if requests are in no other list.
	 */
	bool (*take_out)(struct parked *parked);
	/* Tells the thread of a current request that its wait has ended. Under the lock. May be NULL. */
	void (*stop)(struct parked *parked);
	/* Answers one that was taken out, with an errno or as the module must, and frees it. No lock. */
	void (*answer)(struct parked *parked, int code);
};

/* i: invariant; l: under *lock, the module's, in which no lock but those of take_out() and stop() is taken */
struct parked_list {
	const struct parked_ops *ops; /* i */
	pthread_mutex_t *lock;	      /* i */
	GQueue waiting;		      /* l: of struct parked, oldest first */
	GQueue current;		      /* l: the same */
	bool closed;		      /* l */
};

void parked_list_init(struct parked_list *list, const struct parked_ops *ops, pthread_mutex_t *lock);

/* Without the lock, before parked_add(): from now on an interrupt of the request looks in the list. */
void parked_init(struct parked_list *list, struct parked *parked, struct fuse_req *req, pid_t tid);

/* ---- with the lock ---------------------------------------------------------------------------- */

/*
 * Adds a request, which waits from now on. Returns 0, or EINTR or ESHUTDOWN; then the request is
 * not in the list, and the caller answers it.
 */
int parked_add(struct parked_list *list, struct parked *parked);
/* The one that has waited longest, or NULL. */
struct parked *parked_first(const struct parked_list *list);
/* A waiting one becomes current. */
void parked_begin(struct parked *parked);
/* A current one waits again, behind the others. */
void parked_return(struct parked *parked);
/* It leaves the list; the caller answers it. */
void parked_end(struct parked *parked);
unsigned int parked_count(const struct parked_list *list);
/* From now on parked_add() returns ESHUTDOWN. */
void parked_close(struct parked_list *list);

/* ---- without ---------------------------------------------------------------------------------- */

/* After parked_close(): answers with ESHUTDOWN what waits, and stops what is current. */
void parked_refuse_all(struct parked_list *list);

/* In the thread that carries a request out: its wait has ended. For struct cancel. */
bool parked_is_interrupted(void *parked);

#endif
