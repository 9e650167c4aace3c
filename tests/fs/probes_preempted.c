/* SPDX-License-Identifier: MIT */
/*
 * probes_preempted: two threads on CPU 0 call the function probed(), one all the time, the other, of a higher
 * priority, each time a timer wakes it: so it preempts the first one, also where that is in a probe.
 * It waits for a line on its input before; prints how often each of them called.
 *
 * usage: probes_preempted CALLS	of the first one
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Programs of the kernel read only what is in memory. */
static char low_text[] = "low", high_text[] = "the thread of the higher priority";
/* Between two calls of the second thread: not a divisor of how long a call of the first one takes. */
#define WAKE_NS 37000

static atomic_bool ended;
static long calls_high;

__attribute__((noinline)) void probed(const char *text);
__attribute__((noinline)) void probed(const char *text)
{
	__asm__ volatile("" : : "r"(text[0]) : "memory");
}

static void *call_often(void *arg)
{
	const struct timespec time = { .tv_nsec = WAKE_NS };

	(void)arg;
	while (!atomic_load(&ended)) {
		nanosleep(&time, NULL);
		probed(high_text);
		calls_high++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct sched_param high = { .sched_priority = 1 };
	const long calls = argc > 1 ? atol(argv[1]) : 0;
	pthread_t thread;
	pthread_attr_t attr;
	cpu_set_t cpus;
	char line[8];

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &high);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || read(STDIN_FILENO, line, sizeof(line)) < 0)
		return 1;
	if (pthread_create(&thread, &attr, call_often, NULL))
		return 2;
	for (long i = 0; i < calls; i++)
		probed(low_text);
	atomic_store(&ended, true);
	pthread_join(thread, NULL);
	printf("%ld %ld\n", calls, calls_high);
	return 0;
}
