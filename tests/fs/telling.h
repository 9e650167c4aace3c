/* SPDX-License-Identifier: MIT */
/*
 * What the programs share that write events for the tests of the trace: threads that each do the same,
 * then "written", then nothing until their standard input ends.
 */
#ifndef KPROFS_TESTS_TELLING_H
#define KPROFS_TESTS_TELLING_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS_MAX 64

/* Calls write_events with 0 here and with 1 and up in further threads. -1 if no thread to be had. */
static inline int tell_from_threads(long threads, void *(*write_events)(void *arg))
{
	pthread_t ids[THREADS_MAX];
	long i;

	for (i = 1; i < threads; i++)
		if (pthread_create(&ids[i], NULL, write_events, (void *)(intptr_t)i))
			return -1;
	write_events(NULL);
	for (i = 1; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}

static inline void say_written(void)
{
	char byte;

	puts("written");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

#endif
