/* SPDX-License-Identifier: MIT */
/*
 * A program whose events have arguments of every kind: each of THREADS threads writes EVENTS of each,
 * and kprof_printf's. Then it says "written", and lives until its standard input ends.
 *
 * With "stacks" it writes kprof_backtrace's instead.
 *
 * usage: ctf_tell THREADS EVENTS [stacks]
 */
#include <kprof/kprof.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telling.h"

static long events;

/*
 * What would end a string elsewhere, and what needs escapes. None is empty: babeltrace2 2.0.4 shows for
 * such a one what an earlier event had there.
 */
static const char *const texts[] = { "plain", " ", "\"quoted\" \\ \t end", "\xc3\xa9t\xc3\xa9",
	"\x01 \x7f", "}, { pid = 1 }", NULL };
#define TEXTS (long)(sizeof(texts) / sizeof(texts[0]))

static void *write_events(void *arg)
{
	long thread = (long)(intptr_t)arg, i;

	for (i = 0; i < events; i++) {
		KPROF_EVENT(ctf, numbers, "hh %hhd hu=%hu d: %d lx %lx llo %llo zu %zu jd %jd",
			(signed char)(i - 3), (unsigned short)(65535 - i), INT_MIN + (int)i,
			(unsigned long)i << 60, (unsigned long long)i, (size_t)SIZE_MAX - (size_t)i,
			(intmax_t)-i);
		KPROF_EVENT(ctf, strings, "%s struct %s", texts[i % TEXTS], texts[(i + 1) % TEXTS]);
		KPROF_EVENT(ctf, others, "f %g c %c p %p width %*d 100%%", (double)i / 4, 'a' + (int)(i % 26),
			(void *)(uintptr_t)i, 7, (int)-i);
		KPROF_EVENT(ctf, nothing, "no argument");
		kprof_printf("thread %ld \"says\" %ld", thread, i);
	}
	return NULL;
}

static void *write_stacks(void *arg)
{
	long thread = (long)(intptr_t)arg, i;

	for (i = 0; i < events; i++)
		kprof_backtrace("thread %ld at %s of %ld", thread, texts[i % 2], i);
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc >= 3 ? atol(argv[1]) : 0;
	bool stacks = argc == 4 && strcmp(argv[3], "stacks") == 0;

	if (threads < 1 || threads > THREADS_MAX || (argc > 3 && !stacks)) {
		fprintf(stderr, "usage: ctf_tell THREADS EVENTS [stacks]\n");
		return 2;
	}
	events = atol(argv[2]);
	if (tell_from_threads(threads, stacks ? write_stacks : write_events))
		return 1;
	say_written();
	return 0;
}
