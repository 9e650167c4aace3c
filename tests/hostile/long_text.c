/* SPDX-License-Identifier: MIT */
/*
 * long_text COUNT: writes COUNT events of 24 bytes that make lines of 1,300, and then hostile:last. Prints
 * "written", and lives until its standard input ends.
 */
#include <kprof/kprof.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

int main(int argc, char **argv)
{
	char c;

	for (long i = argc > 1 ? atol(argv[1]) : 0; i > 0; i--)
		KPROF_EVENT(hostile, wide, HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED
				HUNDRED HUNDRED HUNDRED "%256d", 1);
	KPROF_EVENT(hostile, last, "the last");
	puts("written");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
