/* SPDX-License-Identifier: MIT */
/*
 * probes_keys CPU KEYS ROUNDS: calls lseek(2) of no file on a CPU, for probes_keys.sh: ROUNDS times with each
 * of the offsets 0 to KEYS - 1, and with the round modulo 5 as its third argument. It writes its process
 * number, and waits for a line on its input.
 */
#include <stdlib.h>
#include <sys/syscall.h>

#include "tests/fs/on_cpu.h"

int main(int argc, char **argv)
{
	long keys, rounds;
	int status;

	if (argc != 4)
		return 2;
	status = wait_on_cpu(atoi(argv[1]));
	if (status)
		return status;
	keys = atol(argv[2]);
	rounds = atol(argv[3]);
	for (long round = 0; round < rounds; round++)
		for (long key = 0; key < keys; key++)
			syscall(SYS_lseek, -1, key, round % 5);
	return 0;
}
