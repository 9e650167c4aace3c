/* SPDX-License-Identifier: MIT */
/*
 * probes_keys CPU KEYS ROUNDS: calls lseek(2) of no file on a CPU, for probes_keys.sh: ROUNDS times with each
 * of the offsets 0 to KEYS - 1, and with the round modulo 5 as its third argument. It writes its process
 * number, and waits for a line on its input.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	cpu_set_t cpus;
	char line[8];
	long keys, rounds;

	if (argc != 4)
		return 2;
	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[1]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 3;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (read(STDIN_FILENO, line, sizeof(line)) < 0)
		return 4;
	keys = atol(argv[2]);
	rounds = atol(argv[3]);
	for (long round = 0; round < rounds; round++)
		for (long key = 0; key < keys; key++)
			syscall(SYS_lseek, -1, key, round % 5);
	return 0;
}
