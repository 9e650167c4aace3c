/* SPDX-License-Identifier: MIT */
/*
 * A program that writes its events when it is told to: for each letter on its standard input, as many
 * as that is for, and then the letter on its standard output.
 *
 *	+ -	the event test:step, and by kprof_printx, with the letter and a number that counts both
 *	f	test:fill, until the memory of a program that discards is full and more
 */
#include <kprof/kprof.h>

#include <stdio.h>
#include <unistd.h>

/* more than 64 KiB hold: each takes 24 bytes at least */
#define FILL_EVENTS 4000

int main(void)
{
	unsigned int count = 0;
	char letter;

	while (read(STDIN_FILENO, &letter, 1) == 1) {
		if (letter == 'f') {
			for (unsigned int i = 0; i < FILL_EVENTS; i++)
				KPROF_EVENT(test, fill, "%u", i);
		} else {
			KPROF_EVENT(test, step, "%c %u", letter, count);
			kprof_printx("printx %c %u", letter, count);
			count++;
		}
		if (write(STDOUT_FILENO, &letter, 1) != 1)
			return 1;
	}
	return 0;
}
