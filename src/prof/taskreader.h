/* SPDX-License-Identifier: MIT */
/*
 * What /proc tells of processes, and the build-ids of the files that they map, put into the state
 * in tasks.h. It is read by a helper process (symbolizerd/reader.c), which is killed if it hangs:
 * to read the mappings of a process can take for ever, and any user can make such a process.
 *
 * A process whose mappings can't be read in time is known without them, counted, and asked about
 * again later, by a thread (kp-tasks) that exists while a run goes on. The same thread asks for
 * build-ids.
 */
#ifndef KPROFS_PROF_TASKREADER_H
#define KPROFS_PROF_TASKREADER_H

#include <stdbool.h>
#include <stdint.h>

#include "prof/tasks.h"

struct taskreader;

struct taskreader_counts {
	uint64_t unreadable; /* processes whose mappings could not be read in time; each once a run */
	uint64_t waiting;    /* of these, how many are to be asked about again */
	uint64_t started;    /* helper processes */
	uint64_t killed;     /* of these, because they hung */
	uint64_t hung;	     /* of these, how many the kernel still holds */
	uint64_t missing;    /* build-ids that were not to be had */
};

/* program: path of kprof-symbols, NULL: where it lies. proc: "/proc". tasks stays the caller's. */
struct taskreader *taskreader_create(struct tasks *tasks, const char *proc, const char *program);
void taskreader_destroy(struct taskreader *reader);

/*
 * ---- one thread, that of the commands -----------------------------------------------------------
 */

/* A run is about to begin: the helper starts meanwhile. Forgets who was to be asked about again. */
void taskreader_begin(struct taskreader *reader);
/*
 * All processes. Takes half a second longer than it should at most, whatever they do. -ECANCELED:
 * *stop was set (taskreader_interrupt() ends the wait); all else that goes wrong leaves processes
 * out.
 */
int taskreader_walk(struct taskreader *reader, const _Atomic bool *stop);
/* One process; as above. -ETIMEDOUT: it can't be read for now. */
int taskreader_visit(struct taskreader *reader, uint32_t pid, const _Atomic bool *stop);

/* It is asked about by the thread, soon. */
void taskreader_visit_later(struct taskreader *reader, uint32_t pid);

/* The thread, from now on. What goes wrong leaves build-ids out. */
void taskreader_start(struct taskreader *reader);
/* Ends the thread and the helpers; waits for neither longer than some 100 ms. */
void taskreader_stop(struct taskreader *reader);
/* Waits until all build-ids that are wanted now are known, at most so long. */
void taskreader_wait(struct taskreader *reader, uint64_t ns);

/*
 * ---- any thread ---------------------------------------------------------------------------------
 */

/* A walk that goes on looks at *stop. */
void taskreader_interrupt(struct taskreader *reader);
void taskreader_count(struct taskreader *reader, struct taskreader_counts *counts);

#endif
