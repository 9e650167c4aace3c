/* SPDX-License-Identifier: MIT */
/* What the files probes*.c share: the programs of a session. */
#ifndef KPROFS_PROBES_PROBES_STATE_H
#define KPROFS_PROBES_PROBES_STATE_H

#include <pthread.h>

#include "bpf/queue.h"
#include "probes/probes.h"

/* A program, and those who use it now. */
struct entry {
	struct probe *probe;
	unsigned int users; /* l */
	bool removed;	    /* l: it is detached when it has no users, */
	bool detaching;	    /* l: by one thread; */
	bool detached;	    /* l: then it is destroyed, when what its END asked for is done */
};

/*
 * i: invariant; l: under the lock; t: of the thread that holds `changing`
 */
struct probes {
	struct probes_options options;	    /* i */
	pthread_mutex_t changing;	    /* outer: programs are attached, detached, asked to act */
	const struct emit_machine *machine; /* t: NULL until the first program */
	struct queue *queue;		    /* t: the same; both are given back when there is none any more */
	pthread_mutex_t settling;	    /* a leaf: others than t look at the queue with it, */
	pthread_cond_t settled;		    /* and wait for this: t has read it */
	struct targets *targets;	    /* t: kept a while for the next program; NULL */
	uint64_t targets_until_ns;	    /* t */
	pthread_t thread;		    /* t */
	bool has_thread;		    /* t */
	int bell;			    /* i: wakes the thread */
	pthread_mutex_t lock;		    /* a leaf */
	GHashTable *entries;		    /* l: name -> struct entry */
	GPtrArray *removed;		    /* l: struct entry, to be destroyed */
	bool closing;			    /* l */
	_Atomic bool look;		    /* programs have come */
	int measuring;			    /* l: the kernel measures while it is open; -1 */
	uint64_t measuring_until_ns;	    /* l */
};

/* One that is not destroyed until it is put back; NULL if there is none. */
struct entry *probes_get(struct probes *probes, const char *name);
void probes_put(struct probes *probes, struct entry *entry);

/* probes_measure.c: kp-probes ends it in time. Returns the ms until there is something to end; -1: never. */
int probes_expire_measuring(struct probes *probes);

#endif
