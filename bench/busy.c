/* SPDX-License-Identifier: MIT */
/*
 * busy: threads that compute with deep stacks, and count their units of work.
 *
 *	busy [-t THREADS] [-d MIN-MAX]
 *
 * Each thread (default: one a CPU) does one unit of work after another. Each unit runs at the
 * bottom of a stack that is MIN to MAX frames deep (default 20 to 30) and alternates between 16
 * functions. On SIGUSR1 it prints `TIME_NS UNITS`: CLOCK_MONOTONIC, and the sum of the units of all
 * threads since the start. So the difference of two lines is the speed between them. Exits on
 * SIGTERM, or when its parent exits.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/units.h"

#define FUNCTIONS 16
#define THREADS_MAX 1024
#define DEPTH_MAX 1000
/* run_units, the first step, do_unit; the C library has no frame pointers */
#define FRAMES_BESIDE 3
#define UNIT_STEPS 20000 /* about 20 us: the calls are less than 1 % of a unit */

struct worker {
	_Alignas(64) _Atomic uint64_t units; /* in a separate cache line */
	pthread_t thread;
	unsigned int min, max; /* calls */
};

typedef uint64_t (*step_function)(unsigned int calls, uint64_t seed);

static const step_function steps[FUNCTIONS];

static __attribute__((noinline)) uint64_t do_unit(uint64_t seed)
{
	int i;

	for (i = 0; i < UNIT_STEPS; i++)
		seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed;
}

#define STEP(n) \
	static __attribute__((noinline)) uint64_t step_##n(unsigned int calls, uint64_t seed) \
	{ \
		if (!calls) \
			return do_unit(seed); \
		return steps[(n + 1) % FUNCTIONS](calls - 1, seed) + 1; \
	}

STEP(0)
STEP(1)
STEP(2)
STEP(3)
STEP(4)
STEP(5)
STEP(6)
STEP(7)
STEP(8)
STEP(9)
STEP(10)
STEP(11)
STEP(12)
STEP(13)
STEP(14)
STEP(15)

/* filled at compile time, after the declarations of the functions */
static const step_function steps[FUNCTIONS] = {
	step_0, step_1, step_2, step_3, step_4, step_5, step_6, step_7, step_8, step_9, step_10,
	step_11, step_12, step_13, step_14, step_15,
};

static void *run_units(void *arg)
{
	struct worker *worker = arg;
	unsigned int calls = worker->min;
	uint64_t value = 1;

	for (;;) {
		value = steps[0](calls, value);
		if (++calls > worker->max)
			calls = worker->min;
		/* this thread is the only writer, and the reader needs no ordering */
		atomic_add_relaxed(&worker->units, 1);
	}
	return NULL;
}

static void print_units(struct worker *workers, unsigned int count)
{
	struct timespec now;
	uint64_t units = 0;
	unsigned int i;

	for (i = 0; i < count; i++)
		units += atomic_read_relaxed(&workers[i].units);
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("%llu %llu\n",
		(unsigned long long)now.tv_sec * NSEC_PER_SEC + (unsigned long long)now.tv_nsec,
		(unsigned long long)units);
	fflush(stdout);
}

static void show_usage(void)
{
	fprintf(stderr, "usage: busy [-t THREADS] [-d MIN-MAX]\n");
	exit(2);
}

int main(int argc, char **argv)
{
	unsigned int threads = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int min = 20, max = 30, i;
	struct worker *workers;
	sigset_t signals;
	int option, signal;

	while ((option = getopt(argc, argv, "t:d:")) != -1) {
		if (option == 't')
			threads = (unsigned int)strtoul(optarg, NULL, 10);
		else if (option != 'd' || sscanf(optarg, "%u-%u", &min, &max) != 2)
			show_usage();
	}
	if (!threads || threads > THREADS_MAX || min < FRAMES_BESIDE || max < min || max > DEPTH_MAX)
		show_usage();

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);

	workers = aligned_alloc(64, threads * sizeof(*workers));
	if (!workers)
		return 1;
	for (i = 0; i < threads; i++) {
		workers[i] = (struct worker){ .min = min - FRAMES_BESIDE,
			.max = max - FRAMES_BESIDE };
		if (pthread_create(&workers[i].thread, NULL, run_units, &workers[i]))
			return 1;
	}
	while (sigwait(&signals, &signal) == 0 && signal == SIGUSR1)
		print_units(workers, threads);
	return 0;
}
