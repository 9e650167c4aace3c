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
 * The first member of the struct that a module has for a request, so that pointers to both can be
 * converted. i: invariant; l: under the lock of the list; a: atomic; t: of the thread that carries
 * it out
 */
struct parked {
	struct fuse_req *req;	  /* i; NULL for work without a request */
	pid_t tid;		  /* i: the thread that waits; 0 if any signal ends the wait */
	struct parked_list *list; /* i: set by parked_init() */
	bool current;		  /* l */
	_Atomic bool interrupted; /* a: relaxed, since no other data depend on the flag */
	_Atomic bool signalled;	  /* a: the same: by a signal that did not end the wait */
	uint64_t look_ns;	  /* t: when /proc may be read next */
	GList link;		  /* l */
};

struct parked_ops {
	/*
	 * Returns whether the signals that are pending for the thread end its wait:
	 * proc_is_interrupted() or proc_is_ending(). May be called under the lock.
	 */
	bool (*ends_wait)(const char *proc, pid_t tid);
	/*
	 * Removes a waiting request from the other lists that it is in. Called under the lock.
	 * Returns false if another thread has removed it there and answers it. The function is NULL
	 * if requests are in no other list.
	 */
	bool (*take_out)(struct parked *parked);
	/*
	 * Tells the thread of a current request that its wait has ended. Called under the lock. May
	 * be NULL.
	 */
	void (*stop)(struct parked *parked);
	/*
	 * Answers a request that was removed, with an errno or otherwise, and frees it. Called
	 * without the lock.
	 */
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

/*
 * Called without the lock, before parked_add(). From now on an interrupt of the request searches
 * the list.
 */
void parked_init(struct parked_list *list, struct parked *parked, struct fuse_req *req, pid_t tid);

/* ---- with the lock ---------------------------------------------------------------------------- */

/*
 * Adds a request, which waits from now on. Returns 0, or EINTR or ESHUTDOWN; then the request is
 * not in the list, and the caller answers it.
 */
int parked_add(struct parked_list *list, struct parked *parked);
/* Returns the request that has waited longest, or NULL. */
struct parked *parked_first(const struct parked_list *list);
/* Makes a waiting request current. */
void parked_begin(struct parked *parked);
/* Makes a current request wait again, behind the others. */
void parked_return(struct parked *parked);
/* Removes a request from the list; the caller answers it. */
void parked_end(struct parked *parked);
unsigned int parked_count(const struct parked_list *list);
/* From now on parked_add() returns ESHUTDOWN. */
void parked_close(struct parked_list *list);

/* ---- without ---------------------------------------------------------------------------------- */

/* Called after parked_close(). Answers waiting requests with ESHUTDOWN, and stops current ones. */
void parked_refuse_all(struct parked_list *list);

/*
 * Returns whether the wait of a request has ended. Called in the thread that carries it out, for
 * struct cancel.
 */
bool parked_is_interrupted(void *parked);

#endif
