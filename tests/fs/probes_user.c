/* SPDX-License-Identifier: MIT */
/*
 * probes_user COUNT [wait]: calls twice() with 0, 1, ..., COUNT - 1, and touches 4 * COUNT pages, for
 * probes_user.sh. It waits for a line on its input first, and with `wait` for another one at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES 4096

long twice(long number, const char *text);

/* A function with its own name and place, and a string that is in memory. */
__attribute__((noinline)) long twice(long number, const char *text)
{
	__asm__ volatile("" : : "r"(text[0]) : "memory");
	return 2 * number;
}

#if defined(__x86_64__)
/* The kernel emulates the first instruction of one, and has to single-step that of the other. */
__asm__(".globl probed_push, probed_lea\n"
	".type probed_push, @function\nprobed_push: push %rbp\npop %rbp\nret\n"
	".type probed_lea, @function\nprobed_lea: lea (%rdi,%rdi), %rax\nret\n");
#endif

int main(int argc, char **argv)
{
	const long count = argc > 1 ? atol(argv[1]) : 0;
	volatile char *memory;
	char line[8];
	const char *volatile text = "a string";
	long i, sum = 0;

	memory = mmap(NULL, (size_t)(count * 4 + 1) * PAGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || madvise((void *)memory, (size_t)(count * 4) * PAGE_BYTES,
		MADV_NOHUGEPAGE))
		return 2;
	if (read(STDIN_FILENO, line, sizeof(line)) < 0)
		return 3;
	/* programs of the kernel read only what is in memory */
	sum = text[0] - 'a';
	for (i = 0; i < count; i++)
		sum += twice(i, text);
	for (i = 0; i < count * 4; i++)
		memory[i * PAGE_BYTES] = 1;
	if (argc > 2 && read(STDIN_FILENO, line, sizeof(line)) < 0)
		return 5;
	return sum == count * (count - 1) ? 0 : 4;
}
