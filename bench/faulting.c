/* SPDX-License-Identifier: MIT */
/*
 * faulting PAGES TURNS: in each turn writes once to each of PAGES pages of fresh memory, and then pauses for
 * 10 ms. Prints the ns of one such page fault in the fastest turn, which nothing else has delayed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static double touch(size_t pages)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t begin;
	double ns;

	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, pages * page, MADV_NOHUGEPAGE);
	begin = now_ns();
	for (size_t i = 0; i < pages; i++)
		*(volatile char *)(memory + i * page) = 1;
	ns = (double)(now_ns() - begin) / (double)pages;
	munmap(memory, pages * page);
	return ns;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	const size_t pages = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	const size_t turns = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	double least = 0, ns;

	if (!pages || !turns) {
		fprintf(stderr, "usage: faulting PAGES TURNS\n");
		return 2;
	}
	for (size_t i = 0; i < turns; i++) {
		ns = touch(pages);
		if (!i || ns < least)
			least = ns;
		nanosleep(&pause, NULL);
	}
	printf("%.1f\n", least);
	return 0;
}
