/* SPDX-License-Identifier: MIT */
/*
 * stacked COUNT: calls getppid(2) COUNT times from innermost(), which middle() calls, which outermost()
 * calls, for kernel_stacks.sh. It writes its process number, waits for a line on its input, makes the
 * calls, writes a line and waits again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

long innermost(void);
long middle(void);
long outermost(void);

/* A function of libc would not have a frame of its own, nor would one that calls nothing. */
__attribute__((noinline)) long innermost(void)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"((long)SYS_getppid) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long number __asm__("x8") = SYS_getppid;
	register long result __asm__("x0");

	__asm__ volatile("svc #0" : "=r"(result) : "r"(number) : "memory");
#else
	long result = syscall(SYS_getppid);
#endif
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	return result;
}

__attribute__((noinline)) long middle(void)
{
	return innermost() + 1;
}

__attribute__((noinline)) long outermost(void)
{
	return middle() + 1;
}

int main(int argc, char **argv)
{
	char line[8];
	long i, sum = 0;

	if (argc != 2)
		return 2;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (read(STDIN_FILENO, line, sizeof(line)) < 0)
		return 3;
	for (i = 0; i < atol(argv[1]); i++)
		sum += outermost();
	printf("%ld\n", sum);
	fflush(stdout);
	return read(STDIN_FILENO, line, sizeof(line)) < 0 ? 4 : 0;
}
