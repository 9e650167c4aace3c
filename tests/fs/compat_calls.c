/* SPDX-License-Identifier: MIT */
/*
 * compat_calls COUNT: makes system calls of 32-bit programs: COUNT times getpid, whose number is that of
 * writev for others, and once open of a file that is not there. Prints its process number. Status 77 where
 * the machine or its kernel has no such calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __x86_64__
#define NUMBER_OPEN   5
#define NUMBER_GETPID 20

static void give_up(int number)
{
	(void)number;
	_exit(77);
}

static int call(int number, unsigned int first, unsigned int second)
{
	int result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(first), "c"(second), "d"(0)
			 : "memory", "r8", "r9", "r10", "r11");
	return result;
}

int main(int argc, char **argv)
{
	static const char path[] = "/no such file/of 32 bits";
	/* an address that such a call can have */
	char *low = mmap(NULL, sizeof(path), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	const int pid = (int)getpid();

	if (argc != 2 || low == MAP_FAILED)
		return 2;
	memcpy(low, path, sizeof(path));
	printf("%d\n", pid);
	fflush(stdout);
	signal(SIGSEGV, give_up);
	for (int i = 0; i < atoi(argv[1]); i++)
		if (call(NUMBER_GETPID, 0, 0) != pid)
			return 77;
	return call(NUMBER_OPEN, (unsigned int)(unsigned long)low, O_RDONLY) == -ENOENT ? 0 : 3;
}
#else
int main(void)
{
	return 77;
}
#endif
