/* SPDX-License-Identifier: MIT */
/*
 * Intervals of time of threads, for example those in which a span was open, and whether a moment of a thread
 * lies in one. A list never changes after it was made, so that any threads may read it.
 */
#ifndef KPROFS_CAPTURE_INTERVALS_H
#define KPROFS_CAPTURE_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As it is passed between processes of the same program. */
struct interval {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; both belong to it; end_ns UINT64_MAX: it has no end */
	uint32_t pid, tid;
};

struct intervals;

/*
 * Makes a list; the array is copied, and may be in any order. Intervals of one thread may overlap. NULL if
 * there is no memory for it.
 */
struct intervals *intervals_create(const struct interval *array, size_t count);
/* NULL is allowed. */
void intervals_destroy(struct intervals *intervals);

/* Whether one of this thread has the moment: a binary search. */
bool intervals_have(const struct intervals *intervals, uint32_t pid, uint32_t tid, uint64_t time_ns);

#endif
