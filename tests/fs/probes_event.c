/* SPDX-License-Identifier: MIT */
/*
 * probes_event: for each line "COUNT" on its input it writes COUNT events app:work with a number, a text and
 * a signed byte, COUNT events app:other, and COUNT spans app:span and counters app:level, and then prints
 * "done COUNT". It ends when its input does.
 */
#include <kprof/kprof.h>

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	char line[32];

	while (fgets(line, sizeof(line), stdin)) {
		const long count = atol(line);

		for (long i = 0; i < count; i++) {
			KPROF_EVENT(app, work, "size=%ld who=%s sign=%hhd", i, i % 2 ? "odd" : "even",
				(signed char)-(i % 4));
			KPROF_EVENT(app, other, "n=%ld", i);
			{
				KPROF_SPAN(app, span, "id=%ld", i);
			}
			KPROF_COUNTER(app, level, i);
		}
		printf("done %ld\n", count);
		fflush(stdout);
	}
	return 0;
}
