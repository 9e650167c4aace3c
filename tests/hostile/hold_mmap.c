/* SPDX-License-Identifier: MIT */
/*
 * hold_mmap FILE [thread]: a process that holds its mmap lock in the kernel, for as long as the file's
 * FUSE server does not answer a write. It writes to a page that it has mapped of the file and maps other
 * memory over it: the kernel writes the page back with the lock held for writing. Before that it runs for
 * SPIN_MS, so that it can be sampled. It can't be killed then before the FUSE server has ended.
 * With `thread` another thread does so, and the first one ends: then /proc/PID has nothing of the memory.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPIN_MS 200

static void spin(void)
{
	const clock_t end = clock() + SPIN_MS * (CLOCKS_PER_SEC / 1000);

	while (clock() < end)
		;
}

static void *hold(void *arg)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open(arg, O_RDWR);
	char *at;

	if (fd < 0)
		_exit(1);
	at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		_exit(1);
	spin();
	at[0] = 1;
	mmap(at, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	/* the server answered, or is gone */
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 2)
		return 1;
	if (argc == 2)
		hold(argv[1]);
	if (pthread_create(&thread, NULL, hold, argv[1]))
		return 1;
	/* the first thread alone */
	syscall(SYS_exit, 0);
	return 1;
}
