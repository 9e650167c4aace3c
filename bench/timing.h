/* SPDX-License-Identifier: MIT */
/*
 * Timing of short loops on a machine that runs other programs too: many slices of each loop in
 * turn, a millisecond or less each, and the median of the slices. Reading the counter takes a
 * thousandth of the time of a loop.
 */
#ifndef KPROFS_BENCH_TIMING_H
#define KPROFS_BENCH_TIMING_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TIMING_SLICES 301
#define TIMING_EVENTS 20000 /* in a slice */

struct timing {
	const char *name;
	void (*run)(long n); /* n iterations of the loop */
	double ns[TIMING_SLICES];
};

static inline double timing_now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline int timing_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Runs all loops in turn, TIMING_SLICES times; sorts the slices of each. */
static inline void timing_run(struct timing *loops, size_t count)
{
	for (size_t i = 0; i < count; i++)
		loops[i].run(TIMING_EVENTS);
	for (int slice = 0; slice < TIMING_SLICES; slice++)
		for (size_t i = 0; i < count; i++) {
			double begin = timing_now_ns(CLOCK_MONOTONIC);

			loops[i].run(TIMING_EVENTS);
			loops[i].ns[slice] =
				(timing_now_ns(CLOCK_MONOTONIC) - begin) / TIMING_EVENTS;
		}
	for (size_t i = 0; i < count; i++)
		qsort(loops[i].ns, TIMING_SLICES, sizeof(double), timing_by_value);
}

/* Prints for each loop: name median first-decile last-decile */
static inline void timing_print(const struct timing *loops, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%s %.2f %.2f %.2f\n", loops[i].name, loops[i].ns[TIMING_SLICES / 2],
			loops[i].ns[TIMING_SLICES / 10], loops[i].ns[TIMING_SLICES * 9 / 10]);
}

#endif
