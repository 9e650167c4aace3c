/* SPDX-License-Identifier: MIT */
/* Perf events with the rights of another user: see perf_as.h. */
#include "sys/perf_as.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/become.h"
#include "sys/child.h"
#include "sys/clock.h"
#include "sys/fdpass.h"
#include "sys/perf.h"

/* What one message says: of each task 0, with a descriptor in the message, or -errno. */
struct opened {
	int results[FDPASS_MAX];
};

static unsigned int smaller(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* ---- in the process: it may only do what is safe in a signal handler --------------------------- */

static int open_some(int socket, const struct perf_event_attr *attr, int cpu, const pid_t *tids,
	unsigned int count)
{
	struct opened opened;
	int fds[FDPASS_MAX], ret;
	unsigned int i, open = 0;

	for (i = 0; i < count; i++) {
		opened.results[i] = perf_open(attr, tids[i], cpu, &fds[open]);
		open += !opened.results[i];
	}
	ret = fdpass_send(socket, opened.results, count * sizeof(opened.results[0]), fds, open, 0);
	while (open)
		close(fds[--open]);
	return ret;
}

/*
 * The user may stop it, so that it holds nothing of the server's but the socket, and ends with the server: a
 * change of ids clears the signal for that, which is therefore set after it.
 */
static void run_process(pid_t server, int socket, uid_t uid, gid_t gid, const struct perf_event_attr *attr,
	int cpu, const pid_t *tids, unsigned int count)
{
	unsigned int done;
	int ret;

	child_keep_only(&socket, 1);
	ret = become_user(uid, gid);
	if (!ret)
		ret = child_die_with(server, SIGKILL);
	if (ret) {
		fdpass_send(socket, &ret, sizeof(ret), NULL, 0, 0);
		_exit(1);
	}
	for (done = 0; !ret && done < count; done += FDPASS_MAX)
		ret = open_some(socket, attr, cpu, tids + done, smaller(count - done, FDPASS_MAX));
	_exit(ret ? 1 : 0);
}

/* ---- in the server ----------------------------------------------------------------------------- */

/* Starts it with all signals blocked: the user may send them, and the handlers are the server's. */
static pid_t start_process(int socket, uid_t uid, gid_t gid, const struct perf_event_attr *attr, int cpu,
	const pid_t *tids, unsigned int count)
{
	const pid_t server = getpid();
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (!pid)
		run_process(server, socket, uid, gid, attr, cpu, tids, count);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid < 0 ? -errno : pid;
}

static int wait_readable(int socket, uint64_t until_ns)
{
	struct pollfd wait = { .fd = socket, .events = POLLIN };
	int ret = 0;

	while (!ret) {
		const uint64_t now_ns = clock_monotonic_ns();

		if (now_ns >= until_ns)
			return -ETIMEDOUT;
		ret = poll(&wait, 1, (int)((until_ns - now_ns) / NSEC_PER_MSEC) + 1);
		if (ret < 0 && errno == EINTR)
			ret = 0;
	}
	return ret < 0 ? -errno : 0;
}

static void close_all(int *fds, unsigned int count)
{
	while (count)
		if (fds[--count] >= 0)
			close(fds[count]);
}

/* Takes one message about `count` tasks into fds. */
static int take_message(int socket, unsigned int count, int *fds)
{
	struct opened opened;
	int received[FDPASS_MAX];
	struct fdpass pass = { .fds = received, .max = FDPASS_MAX };
	unsigned int i, next = 0;
	ssize_t n = fdpass_receive(socket, &opened, sizeof(opened), &pass, MSG_DONTWAIT);

	if (n == (ssize_t)(count * sizeof(opened.results[0])) && !pass.truncated) {
		for (i = 0; i < count; i++) {
			fds[i] = opened.results[i] < 0 ? opened.results[i] : -EIO;
			if (!opened.results[i] && next < pass.count)
				fds[i] = received[next++];
		}
		return 0;
	}
	close_all(received, pass.count);
	if (n == sizeof(opened.results[0]) && opened.results[0] == -EPERM)
		return -EPERM;
	return pass.truncated ? -EMFILE : n == -EINTR || n == -EAGAIN ? -EAGAIN : -EIO;
}

static int take_all(int socket, unsigned int count, int *fds)
{
	const uint64_t until_ns = clock_monotonic_ns() + PERF_AS_MS * NSEC_PER_MSEC;
	unsigned int done = 0;
	int ret = 0;

	while (done < count && !ret) {
		const unsigned int some = smaller(count - done, FDPASS_MAX);

		ret = wait_readable(socket, until_ns);
		if (ret)
			break;
		ret = take_message(socket, some, fds + done);
		if (!ret)
			done += some;
		else if (ret == -EAGAIN)
			ret = 0;
	}
	if (ret)
		close_all(fds, done);
	return ret;
}

int perf_open_as(uid_t uid, gid_t gid, const struct perf_event_attr *attr, int cpu, const pid_t *tids,
	unsigned int count, int *fds)
{
	int pair[2], ret;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid = start_process(pair[1], uid, gid, attr, cpu, tids, count);
	close(pair[1]);
	ret = pid < 0 ? pid : take_all(pair[0], count, fds);
	close(pair[0]);
	if (pid < 0)
		return ret;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return ret;
}
