/* SPDX-License-Identifier: MIT */
/*
 * Reads processes, and the build-ids of the files that they map, into the state in tasks.h. A
 * helper process (symbolizerd/reader.c) reads /proc and is killed if it hangs: reading the
 * mappings of a process can block forever, and any user can make such a process.
 *
 * A process whose mappings cannot be read in time is added without them, counted, and read again
 * later by a thread (kp-tasks) that exists during a run. The same thread requests build-ids.
 */
#ifndef KPROFS_PROF_TASKREADER_H
#define KPROFS_PROF_TASKREADER_H

#include <stdbool.h>
#include <stdint.h>

#include "prof/tasks.h"

struct taskreader;

struct taskreader_counts {
	/* processes whose mappings could not be read in time; each once a run */
	uint64_t unreadable;
	uint64_t waiting;    /* of these, those that are to be read again */
	uint64_t started;    /* helper processes */
	uint64_t killed;     /* of these, because they hung */
	uint64_t hung;	     /* of these, those that the kernel still holds */
	uint64_t missing;    /* build-ids that could not be read */
};

/* program: path of kprof-symbols, NULL for the default. proc: "/proc". tasks stays the caller's. */
struct taskreader *taskreader_create(struct tasks *tasks, const char *proc, const char *program);
void taskreader_destroy(struct taskreader *reader);

/* ---- one thread, that of the commands -------------------------------------------------------- */

/*
 * A run will begin: starts the helper in the background, and clears the list of processes to be
 * read again.
 */
void taskreader_begin(struct taskreader *reader);
/*
 * Reads all processes. Held processes delay it by at most half a second. Returns -ECANCELED if
 * *stop was set (taskreader_interrupt() ends the wait). After any other error some processes are
 * missing.
 */
int taskreader_walk(struct taskreader *reader, const _Atomic bool *stop);
/* Whether its program, kprof-symbols, could be started since the reader was created. */
bool taskreader_can_read(struct taskreader *reader);
/* Reads one process in the same way. Returns -ETIMEDOUT if it cannot be read now. */
int taskreader_visit(struct taskreader *reader, uint32_t pid, const _Atomic bool *stop);

/* The thread will read it soon. */
void taskreader_visit_later(struct taskreader *reader, uint32_t pid);

/* Starts the thread. Errors leave build-ids out. */
void taskreader_start(struct taskreader *reader);
/* Ends the thread and the helpers; waits for neither longer than some 100 ms. */
void taskreader_stop(struct taskreader *reader);
/* Waits until all build-ids that are wanted now are known, at most this long. */
void taskreader_wait(struct taskreader *reader, uint64_t ns);

/* ---- any thread ------------------------------------------------------------------------------ */

/* Wakes a walk, which then checks *stop. */
void taskreader_interrupt(struct taskreader *reader);
void taskreader_count(struct taskreader *reader, struct taskreader_counts *counts);

#endif
