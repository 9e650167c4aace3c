/* SPDX-License-Identifier: MIT */
/*
 * probes_static COUNT: reaches static probes COUNT times, for probes_static.sh. They are notes as the macros
 * of <sys/sdt.h> make them, which need not be installed: kp:one has its arguments in a register, a constant
 * and memory; kp:two is in two places, with its argument elsewhere in each. kp:one has a semaphore: the
 * program prints how often it saw it raised. It waits for a line on its input first, and for one at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DETACH_MS 20000

#if defined(__x86_64__)
#define REGISTER "8@%[number]"
#define MEMORY "-4@%[memory]"
#define CONSTANT "-4@$-7"
#else
#define REGISTER "8@%[number]"
#define MEMORY "-4@%[memory]"
#define CONSTANT "-4@-7"
#endif

/* The note of a probe at this place: its address, that of .stapsdt.base, the semaphore, and the texts. */
#define NOTE(NAME, SEMAPHORE, ARGUMENTS) \
	"990: nop\n" \
	".pushsection .note.stapsdt,\"?\",\"note\"\n" \
	".balign 4\n" \
	".4byte 992f-991f, 994f-993f, 3\n" \
	"991: .asciz \"stapsdt\"\n" \
	"992: .balign 4\n" \
	"993: .8byte 990b, _.stapsdt.base, " SEMAPHORE "\n" \
	".asciz \"kp\"\n" \
	".asciz \"" NAME "\"\n" \
	".asciz \"" ARGUMENTS "\"\n" \
	"994: .balign 4\n" \
	".popsection\n" \
	".ifndef _.stapsdt.base\n" \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
	".weak _.stapsdt.base\n" \
	".hidden _.stapsdt.base\n" \
	"_.stapsdt.base: .space 1\n" \
	".size _.stapsdt.base, 1\n" \
	".popsection\n" \
	".endif\n"

unsigned short raised __attribute__((section(".probes"), used));
long known = 12345;

__attribute__((noinline)) static void one(long number, const int *memory)
{
	__asm__ volatile(NOTE("one", "raised", REGISTER " " CONSTANT " " MEMORY) : : [number] "r"(number),
		[memory] "m"(*memory));
}

__attribute__((noinline)) static void two(long number, const int *memory)
{
	__asm__ volatile(NOTE("two", "0", REGISTER) : : [number] "r"(number));
	__asm__ volatile(NOTE("two", "0", MEMORY) : : [memory] "m"(*memory));
}

int main(int argc, char **argv)
{
	const long count = argc > 1 ? atol(argv[1]) : 0;
	volatile unsigned short *semaphore = &raised;
	char line[8];
	long seen = 0;

	if (read(STDIN_FILENO, line, sizeof(line)) < 0)
		return 2;
	for (long i = 0; i < count; i++) {
		const int negative = (int)-i;

		seen += *semaphore > 0;
		one(i, &negative);
		two(i, &negative);
	}
	printf("%ld\n", seen);
	fflush(stdout);
	if (read(STDIN_FILENO, line, sizeof(line)) < 0)
		return 3;
	/* the server detaches probes after they were removed */
	for (int i = 0; *semaphore && i < DETACH_MS; i++)
		usleep(1000);
	return known == 12345 && !*semaphore ? 0 : 4;
}
