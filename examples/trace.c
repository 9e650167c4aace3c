/* SPDX-License-Identifier: MIT */
/* Events of a program, in three forms: see libkprof(3). */
#include <kprof/kprof.h>

#include <stdio.h>
#include <string.h>

static int count_words(const char *line)
{
	int words = 0;

	while (*(line += strspn(line, " \t\n"))) {
		line += strcspn(line, " \t\n");
		words++;
	}
	return words;
}

int main(void)
{
	char line[1000];
	int number = 0;

	kprof_printf("reading");
	while (fgets(line, sizeof(line), stdin)) {
		int words = count_words(line);

		number++;
		KPROF_EVENT(trace, line, "%d: %d words: %.20s", number, words, line);
		if (words == 0)
			kprof_backtrace("line %d is empty", number);
	}
	return 0;
}
