/* SPDX-License-Identifier: MIT */
/*
 * A program that writes a kprof_backtrace from inner(), which outer() calls, prints its pid, and ends
 * with its standard input.
 */
#include <kprof/kprof.h>

#include <stdio.h>
#include <unistd.h>

void inner(int value);
void outer(int value);

void inner(int value)
{
	kprof_backtrace("value %d", value);
	__asm__ volatile(""); /* no tail call */
}

void outer(int value)
{
	inner(value + 1);
	__asm__ volatile("");
}

int main(void)
{
	outer(41);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	alarm(300); /* if no script ends it */
	while (getchar() != EOF)
		;
	return 0;
}
