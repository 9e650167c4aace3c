/* SPDX-License-Identifier: MIT */
/*
 * probes_work: known work for probes_bpftrace.sh. It writes its process number, waits for a line on its
 * input, and then calls getppid 1,000 times, opens 200 times each of two files, one of which is not there,
 * writes 1 to 512 bytes to /dev/null, sleeps 20 times 3 ms and 10 times 12 ms, and lets 3 threads call
 * getppid 100 times. It calls setpriority, which fails, at the end of 20 small frames, of 140 frames, of 6
 * that are larger than what is read of a stack at a time, and in one of the threads.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALLS 1000
#define OPENS 200
#define BYTES 512
#define THREADS 3
#define THREAD_CALLS 100

static void call(int count)
{
	for (int i = 0; i < count; i++)
		syscall(SYS_getppid);
}

/* The counts are volatile, so that compilers make no copies and no loops of the functions. */
static __attribute__((noinline)) long small(volatile int depth)
{
	return depth ? small(depth - 1) + 1 : syscall(SYS_setpriority, -1, 0, 0);
}

static __attribute__((noinline)) long large(volatile int depth)
{
	volatile char frame[700];

	frame[depth] = 1;
	return (depth ? large(depth - 1) : syscall(SYS_setpriority, -1, 0, 0)) + frame[depth];
}

static void *run(void *arg)
{
	call(THREAD_CALLS);
	/* bpftrace counts the same stack of two threads apart */
	if (arg) {
		small(3);
		large(3);
	}
	return NULL;
}

static void sleep_often(int count, long ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000 };

	for (int i = 0; i < count; i++)
		nanosleep(&time, NULL);
}

static int open_often(void)
{
	/* programs of the kernel read only what is in memory */
	static const char *volatile names[] = { "/dev/null", "/no/such/file" };
	int fd;

	for (int i = 0; i < OPENS; i++) {
		fd = open(names[0], O_WRONLY | O_CLOEXEC);
		if (fd < 0 || close(fd))
			return -1;
		if (open(names[1], O_RDONLY | O_CLOEXEC) >= 0)
			return -1;
	}
	return 0;
}

int main(void)
{
	static char bytes[BYTES];
	pthread_t threads[THREADS];
	char line[8];
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (fd < 0 || read(STDIN_FILENO, line, sizeof(line)) < 0)
		return 1;
	call(CALLS);
	if (open_often())
		return 2;
	for (size_t n = 1; n <= BYTES; n++)
		if (write(fd, bytes, n) != (ssize_t)n)
			return 3;
	small(20);
	small(140);
	large(6);
	sleep_often(20, 3);
	sleep_often(10, 12);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, i ? NULL : threads))
			return 4;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
