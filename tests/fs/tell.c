/* SPDX-License-Identifier: MIT */
/*
 * A program with events, whose numbers a test can check: THREADS threads write EVENTS events each,
 * numbered from 0. Then it writes WIDE events that take long to print, says "written", and lives
 * until its standard input ends.
 *
 * usage: tell THREADS EVENTS [WIDE]
 */
#include <kprof/kprof.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS_MAX 64

static long events;

static void *write_events(void *arg)
{
	long thread = (long)(intptr_t)arg, i;

	for (i = 0; i < events; i++)
		KPROF_EVENT(test, n, "thread %ld n %ld %s", thread, i, "text");
	return NULL;
}

#define FOUR(what) what what what what
#define NUMBERS(d) d, d, d, d, d, d, d, d, d, d, d, d, d, d, d, d

/* The smallest double: no other one has as many digits. */
static void write_wide(long count)
{
	double d = 0x1p-1074;

	for (; count > 0; count--)
		KPROF_EVENT(test, wide, FOUR(FOUR("%.4096f")), NUMBERS(d));
}

int main(int argc, char **argv)
{
	long threads = argc == 3 || argc == 4 ? atol(argv[1]) : 0, i;
	pthread_t ids[THREADS_MAX];
	char byte;

	if (threads < 1 || threads > THREADS_MAX) {
		fprintf(stderr, "usage: tell THREADS EVENTS [WIDE]\n");
		return 2;
	}
	events = atol(argv[2]);
	for (i = 1; i < threads; i++)
		if (pthread_create(&ids[i], NULL, write_events, (void *)(intptr_t)i))
			return 1;
	write_events(NULL);
	for (i = 1; i < threads; i++)
		pthread_join(ids[i], NULL);
	kprof_printf("told %ld", threads * events);
	write_wide(argc == 4 ? atol(argv[3]) : 0);
	puts("written");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
