/* SPDX-License-Identifier: MIT */
/*
 * A program that writes its events when it is told to: for each letter on its standard input, as many
 * as that is for, and then the letter on its standard output.
 *
 *	+ -	the event test:step, and by kprof_printx, with the letter and a number that counts both
 *	h f	500, and 4000 times, test:fill; 64 KiB of memory hold the former and not the latter
 */
#include <kprof/kprof.h>

#include <stdio.h>
#include <unistd.h>

int main(void)
{
	unsigned int count = 0;
	char letter;

	while (read(STDIN_FILENO, &letter, 1) == 1) {
		if (letter == 'f' || letter == 'h') {
			for (unsigned int i = 0; i < (letter == 'f' ? 4000u : 500u); i++)
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
