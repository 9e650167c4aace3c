/* SPDX-License-Identifier: MIT */
/*
 * waiting COUNT [hold]: so many processes wait in one pselect(2) each at the same time, until their input
 * ends, for tests/vm/returns.sh. Each has begun to wait before the last one is started. With `hold` it
 * writes a line when all of them wait, and ends their input after a line on its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int wait_in_pselect(int input)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(input, &set);
	return pselect(input + 1, &set, NULL, NULL, NULL, NULL) == 1 ? 0 : 1;
}

/* Whether a process sleeps in its call. */
static int is_in_call(pid_t pid)
{
	char path[64], line[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		line[0] = '\0';
	if (file)
		fclose(file);
	return atoi(line) == SYS_pselect6;
}

int main(int argc, char **argv)
{
	int count = argc >= 2 ? atoi(argv[1]) : 0, input[2], status, failed = 0;
	char line[8];

	if (count < 1 || pipe(input))
		return 2;
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 3;
		if (pid == 0) {
			close(input[1]);
			_exit(wait_in_pselect(input[0]));
		}
		while (!is_in_call(pid))
			usleep(1000);
	}
	if (argc > 2) {
		printf("all wait\n");
		fflush(stdout);
		if (read(STDIN_FILENO, line, sizeof(line)) < 0)
			return 4;
	}
	close(input[0]);
	close(input[1]);
	while (wait(&status) > 0)
		failed |= status != 0;
	return failed;
}
