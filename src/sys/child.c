/* SPDX-License-Identifier: MIT */
/* A child and its parent: see child.h. */
#include "sys/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int child_die_with(pid_t parent, int signal)
{
	if (prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

static void close_range_of(unsigned int first, unsigned int last)
{
	struct rlimit limit;

	if (first > last || !syscall(SYS_close_range, first, last, 0))
		return;
	/* before Linux 5.9 */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && last >= limit.rlim_cur)
		last = (unsigned int)limit.rlim_cur - 1;
	for (unsigned int fd = first; fd <= last; fd++)
		close((int)fd);
}

void child_keep_only(const int *sorted, size_t count)
{
	unsigned int first = 0;

	for (size_t i = 0; i < count; i++) {
		if ((unsigned int)sorted[i] > first)
			close_range_of(first, (unsigned int)sorted[i] - 1);
		first = (unsigned int)sorted[i] + 1;
	}
	close_range_of(first, ~0U);
}

int child_close_streams(int last)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	for (int stream = STDIN_FILENO; !ret && stream <= last; stream++)
		if (dup2(fd, stream) < 0)
			ret = -errno;
	if (fd > last)
		close(fd);
	return ret;
}

static int compare(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void child_sort(int *fds, size_t count)
{
	qsort(fds, count, sizeof(fds[0]), compare);
}

int child_open_process(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

static void set_signals(posix_spawnattr_t *attributes, const int *defaults)
{
	sigset_t none, set;

	sigemptyset(&none);
	sigemptyset(&set);
	for (; *defaults; defaults++)
		sigaddset(&set, *defaults);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &set);
	posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

int child_start(const struct child_options *options, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int ret = posix_spawn_file_actions_init(&actions);

	if (ret)
		return -ret;
	ret = posix_spawnattr_init(&attributes);
	if (!ret) {
		set_signals(&attributes, options->defaults);
		ret = posix_spawn_file_actions_adddup2(&actions, options->fd, options->child_fd);
		if (!ret)
			ret = posix_spawn(pid, options->program, &actions, &attributes,
				options->arguments, options->environment);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return -ret;
}
