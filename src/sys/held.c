/* SPDX-License-Identifier: MIT */
/* Processes whose mmap lock is held: see held.h. */
#include "sys/held.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/units.h"
#include "sys/child.h"
#include "sys/clock.h"
#include "sys/proc.h"

struct process {
	pid_t pid;
	char path[32]; /* below /proc */
};

struct processes {
	struct process *items;
	size_t count, room;
};

static int add_process(void *arg, pid_t pid)
{
	struct processes *all = arg;
	struct process *larger;

	if (all->count == all->room) {
		all->room = all->room ? 2 * all->room : 256;
		larger = realloc(all->items, all->room * sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		all->items = larger;
	}
	all->items[all->count].pid = pid;
	snprintf(all->items[all->count].path, sizeof(all->items->path), "/proc/%d", (int)pid);
	all->count++;
	return 0;
}

/* ---- in the process: it may only do what is safe in a signal handler ---------------------------- */

/* Whether the file has bytes, which are read with the lock. */
static bool has_bytes(int folder, const char *name)
{
	const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	uint64_t bytes;
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, &bytes, sizeof(bytes));
	close(fd);
	return n > 0;
}

static bool has_pages(int threads, const char *tid)
{
	const int thread = openat(threads, tid, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const bool has = thread >= 0 && has_bytes(thread, "pagemap");

	if (thread >= 0)
		close(thread);
	return has;
}

/* The memory of a process is that of each of its threads that has not ended. */
static void read_threads(int threads)
{
	_Alignas(struct dirent64) char entries[2048];
	ssize_t bytes, at;

	while ((bytes = getdents64(threads, entries, sizeof(entries))) > 0) {
		for (at = 0; at < bytes;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			if (has_pages(threads, entry->d_name))
				return;
			at += entry->d_reclen;
		}
	}
}

/*
 * To read the command line takes no rights. A process may have none: after a prctl(2), or when its first
 * thread has ended.
 */
static void read_one(const char *path)
{
	const int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int threads;

	if (folder < 0)
		return;
	if (!has_bytes(folder, "cmdline")) {
		threads = openat(folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (threads >= 0) {
			read_threads(threads);
			close(threads);
		}
	}
	close(folder);
}

/* *done: how many it has read. */
static void read_all(const struct processes *all, int end, pid_t server, _Atomic size_t *done)
{
	child_keep_only(&end, 1);
	if (child_die_with(server, SIGKILL))
		_exit(1);
	for (size_t i = 0; i < all->count; i++) {
		read_one(all->items[i].path);
		/* relaxed: a count alone */
		atomic_write_relaxed(done, i + 1);
	}
	_exit(0);
}

/* ---- in the server ----------------------------------------------------------------------------- */

/* Whether the reader waits in the kernel; on a busy machine it may just not have run. */
static bool is_waiting(pid_t reader)
{
	char path[32], text[512], *end;
	ssize_t bytes;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)reader);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bytes = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[bytes > 0 ? bytes : 0] = '\0';
	end = strrchr(text, ')');
	return end && strncmp(end, ") D", 3) == 0;
}

/* Until the reader ends, which closes the other end of the pipe. */
static int wait_for(const struct processes *all, pid_t reader, int end, _Atomic size_t *done, pid_t *pid)
{
	const uint64_t until_ns = clock_monotonic_ns() + HELD_ALL_MS * NSEC_PER_MSEC;
	struct pollfd wait = { .fd = end, .events = POLLIN };
	size_t before = 0;

	for (;;) {
		const int ret = poll(&wait, 1, HELD_MS);
		const size_t now = atomic_read_relaxed(done);

		if (ret < 0 && errno != EINTR)
			return -errno;
		if (ret > 0)
			return now == all->count ? 0 : -EIO;
		if (!ret && now == before && now < all->count && is_waiting(reader)) {
			*pid = all->items[now].pid;
			return 0;
		}
		if (clock_monotonic_ns() >= until_ns)
			return -ETIMEDOUT;
		before = now;
	}
}

static int read_apart(const struct processes *all, _Atomic size_t *done, pid_t *pid)
{
	const pid_t server = getpid();
	sigset_t every, before;
	int ends[2], ret;
	pid_t reader;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	/* the handlers are the server's */
	sigfillset(&every);
	pthread_sigmask(SIG_BLOCK, &every, &before);
	reader = fork();
	if (!reader)
		read_all(all, ends[1], server, done);
	ret = reader < 0 ? -errno : 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	if (!ret)
		ret = wait_for(all, reader, ends[0], done, pid);
	close(ends[0]);
	if (reader < 0)
		return ret;
	kill(reader, SIGKILL);
	while (waitpid(reader, NULL, 0) < 0 && errno == EINTR)
		;
	return ret;
}

int held_find(pid_t *pid)
{
	struct processes all = { 0 };
	_Atomic size_t *done;
	int ret = proc_list(NULL, add_process, &all);

	*pid = 0;
	if (!ret) {
		done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		ret = done == MAP_FAILED ? -errno : read_apart(&all, done, pid);
		if (done != MAP_FAILED)
			munmap((void *)done, sizeof(*done));
	}
	free(all.items);
	return ret;
}
