/* SPDX-License-Identifier: MIT */
/*
 * hold_mmap FILE...: for each file a process that holds the lock of its mappings in the kernel, for as
 * long as the file's FUSE server does not answer a write. It writes to a page that it has mapped of the
 * file and maps other memory over it: the kernel writes the page back with the lock held for writing.
 *
 * Their pids are printed, one a line, and "ready" when all of them wait in the kernel. In the foreground
 * until standard input ends; then they are killed, which takes effect when the FUSE server has ended.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define COUNT_MAX 64

static void hold(const char *path)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open(path, O_RDWR);
	char *at;

	if (fd < 0)
		_exit(1);
	at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		_exit(1);
	at[0] = 1;
	mmap(at, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	/* the server answered, or is gone */
	for (;;)
		pause();
}

/* Blocked in the kernel, where no signal reaches it. */
static int is_blocked(pid_t pid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 1;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(file);
	return state == 'D';
}

int main(int argc, char **argv)
{
	const int count = argc - 1;
	pid_t pids[COUNT_MAX];
	char byte;
	int i;

	if (count < 1 || count > COUNT_MAX)
		return 2;
	for (i = 0; i < count; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			return 1;
		if (!pids[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			hold(argv[i + 1]);
		}
		printf("%d\n", (int)pids[i]);
	}
	for (i = 0; i < count; i++)
		while (!is_blocked(pids[i]))
			usleep(1000);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	for (i = 0; i < count; i++)
		kill(pids[i], SIGKILL);
	return 0;
}
