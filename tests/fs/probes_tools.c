/* SPDX-License-Identifier: MIT */
/*
 * probes_tools FOLDER: known work for the tools of bpftrace, each kind of call a known number of times.
 * FOLDER is on a disk: some of the writes go there directly.
 * probes_tools library: calls of functions of the C library. It ends with its input, so that the names of its
 * functions can be found.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS  200000
#define TIMES  20
#define WRITES 16
#define WRITE_BYTES 16384
/* More than Linux gives as the number of a process. */
#define NO_GROUP 424242424

static void open_and_stat(void)
{
	struct statfs fs;
	struct stat st;
	int fd;

	for (int i = 0; i < TIMES; i++) {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
		(void)open("/no/such/file", O_RDONLY | O_CLOEXEC);
#ifdef SYS_stat
		(void)syscall(SYS_stat, "/dev/null", &st);
		(void)syscall(SYS_lstat, "/no/such/file", &st);
#endif
		(void)syscall(SYS_statfs, "/proc", &fs);
	}
	(void)st;
}

static void signal_and_sleep(void)
{
	const struct timespec pause = { .tv_nsec = 3000000 };

	for (int i = 0; i < TIMES; i++) {
		kill(getpid(), 0);
		kill(-NO_GROUP, SIGUSR1);
		(void)syscall(SYS_nanosleep, &pause, NULL);
	}
}

/* Needs root; 4242 is no user. The effective id and that of the file system go back. */
static void change_users(void)
{
	for (int i = 0; i < TIMES; i++) {
		(void)syscall(SYS_setuid, 0);
		setfsuid(4242);
		setfsuid(0);
		(void)syscall(SYS_setresuid, 0, 4242, 0);
		(void)syscall(SYS_setresuid, 0, 0, 4242);
	}
}

static void write_directly(int folder)
{
	void *bytes = aligned_alloc(4096, WRITE_BYTES);
	int fd = openat(folder, "direct", O_WRONLY | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);

	for (int i = 0; bytes && fd >= 0 && i < WRITES; i++)
		(void)!write(fd, bytes, i & 1 ? 4096 : WRITE_BYTES);
	if (fd >= 0)
		close(fd);
	free(bytes);
}

static void synchronize(int folder)
{
	int fd = openat(folder, "synchronized", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)!write(fd, "x", 1);
	fsync(fd);
	fdatasync(fd);
	syncfs(fd);
	close(fd);
}

static void start_others(void)
{
	/* in memory that the child has: programs of the kernel can't wait until a page is read */
	char name[] = "true", word[16], last[] = "last";

	for (int i = 0; i < TIMES; i++) {
		pid_t pid;

		snprintf(word, sizeof(word), "kp_exec_%d", i);
		pid = fork();
		if (!pid) {
			execl("/bin/true", name, word, last, (char *)NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
}

/* Numbers, which no other host is asked for. */
static void find_hosts(void)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST };
	struct addrinfo *found;

	for (int i = 0; i < TIMES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "127.42.42.%d", i);
		if (!getaddrinfo(name, NULL, &hints, &found))
			freeaddrinfo(found);
		(void)gethostbyname(name);
		(void)gethostbyname2(name, AF_INET);
	}
}

void *kp_thread(void *arg);

/* Not static: its name is in the table of symbols. */
void *kp_thread(void *arg)
{
	return arg;
}

static void start_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < TIMES; i++)
		if (!pthread_create(&thread, NULL, kp_thread, NULL))
			pthread_join(thread, NULL);
}

static int use_library(void)
{
	char byte;

	find_hosts();
	start_threads();
	printf("done\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	int folder;

	if (argc == 2 && !strcmp(argv[1], "library"))
		return use_library();
	folder = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (folder < 0)
		return 1;
	open_and_stat();
	signal_and_sleep();
	change_users();
	write_directly(folder);
	synchronize(folder);
	start_others();
	for (int i = 0; i < CALLS; i++)
		(void)syscall(SYS_getpriority, PRIO_PROCESS, 0);
	return 0;
}
