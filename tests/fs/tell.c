/* SPDX-License-Identifier: MIT */
/*
 * A program with events, whose numbers a test can check: THREADS threads write EVENTS events each,
 * numbered from 0. Then it writes WIDE events that take long to print, prints "written", and lives
 * until its standard input ends.
 *
 * usage: tell THREADS EVENTS [WIDE]
 */
#include <kprof/kprof.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "telling.h"

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
	long threads = argc == 3 || argc == 4 ? atol(argv[1]) : 0;

	if (threads < 1 || threads > THREADS_MAX) {
		fprintf(stderr, "usage: tell THREADS EVENTS [WIDE]\n");
		return 2;
	}
	events = atol(argv[2]);
	if (tell_from_threads(threads, write_events))
		return 1;
	kprof_printf("told %ld", threads * events);
	write_wide(argc == 4 ? atol(argv[3]) : 0);
	say_written();
	return 0;
}
