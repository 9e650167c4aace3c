/* SPDX-License-Identifier: MIT */
/* Runs the command that is measured: see launch.h. */
#include "cmd/launch.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/clock.h"

static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD };

#define COUNT (sizeof(signals) / sizeof(signals[0]))

/* ---- the child -------------------------------------------------------------------------------- */

/*
 * In the child: waits until it may run (end of file: kprof has exited), and reports a failed exec.
 */
static _Noreturn void run_child(const struct launch *launch, int fd, char **argv)
{
	char word;
	int code;

	sigprocmask(SIG_SETMASK, &launch->before, NULL);
	if (recv(fd, &word, 1, 0) != 1)
		_exit(1);
	execvp(argv[0], argv);
	code = errno;
	send(fd, &code, sizeof(code), MSG_NOSIGNAL);
	_exit(127);
}

int launch_begin(struct launch *launch, char **argv, struct err *err)
{
	sigset_t set;
	int ends[2];
	size_t i;

	memset(launch, 0, sizeof(*launch));
	launch->go_fd = -1;
	sigemptyset(&set);
	for (i = 0; i < COUNT; i++)
		sigaddset(&set, signals[i]);
	/* an inherited SIG_IGN would make the kernel reap our children */
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &set, &launch->before);
	launch->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (launch->signal_fd < 0)
		return err_set(err, errno, "signalfd: %s", strerror(errno));
	if (!argv)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return err_set(err, errno, "socketpair: %s", strerror(errno));
	launch->pid = fork();
	if (launch->pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return err_set(err, errno, "fork: %s", strerror(errno));
	}
	if (!launch->pid) {
		close(ends[0]);
		run_child(launch, ends[1], argv);
	}
	close(ends[1]);
	launch->go_fd = ends[0];
	return 0;
}

int launch_go(struct launch *launch, struct err *err)
{
	int code = 0;
	ssize_t n;

	launch->begin_ns = clock_monotonic_ns();
	if (!launch->pid)
		return 0;
	/* a signal that killed the child before exec counts as the status of the command */
	send(launch->go_fd, "", 1, MSG_NOSIGNAL);
	do
		n = recv(launch->go_fd, &code, sizeof(code), MSG_WAITALL);
	while (n < 0 && errno == EINTR);
	close(launch->go_fd);
	launch->go_fd = -1;
	if (n == sizeof(code))
		return err_set(err, code, "%s", strerror(code));
	return 0;
}

int launch_status(int ret)
{
	return ret == -ENOENT ? 127 : 126;
}

/* ---- signals ---------------------------------------------------------------------------------- */

static void note_end(struct launch *launch)
{
	siginfo_t info = { .si_pid = 0 };

	if (launch->ended || !launch->pid ||
		waitid(P_PID, (id_t)launch->pid, &info, WEXITED | WNOHANG | WNOWAIT) ||
		info.si_pid != launch->pid)
		return;
	launch->ended = true;
	launch->end_ns = clock_monotonic_ns();
}

static bool ends_processes(uint32_t signal)
{
	return signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGHUP;
}

void launch_signals(struct launch *launch)
{
	struct signalfd_siginfo info;

	while (read(launch->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		launch->stopped |= (launch->ended || launch->finishing) && ends_processes(info.ssi_signo);
		if (info.ssi_signo == SIGUSR2 && launch->takes_switches) {
			launch->switches++;
			continue;
		}
		if (!launch->pid && info.ssi_signo != SIGCHLD) {
			launch->ended = true;
			launch->end_ns = clock_monotonic_ns();
			continue;
		}
		/* SI_KERNEL: the terminal sends the signal to the command too */
		if (info.ssi_signo != SIGCHLD && info.ssi_code != SI_KERNEL && !launch->ended)
			kill(launch->pid, (int)info.ssi_signo);
	}
	note_end(launch);
}

static void wait_for_end(struct launch *launch)
{
	struct pollfd fd = { .fd = launch->signal_fd, .events = POLLIN };

	launch_signals(launch);
	while (!launch->ended) {
		poll(&fd, 1, -1);
		launch_signals(launch);
	}
}

void launch_end(struct launch *launch)
{
	int status = 0;

	if (launch->pid > 0) {
		if (launch->go_fd >= 0)
			close(launch->go_fd); /* it does not run yet: this makes it exit */
		wait_for_end(launch);
		while (wait4(launch->pid, &status, 0, &launch->usage) < 0 && errno == EINTR)
			;
		launch->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	}
	if (launch->signal_fd >= 0) {
		struct signalfd_siginfo info;

		/* signals that came after the end were meant for the command */
		while (read(launch->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
			;
		close(launch->signal_fd);
	}
	sigprocmask(SIG_SETMASK, &launch->before, NULL);
	launch->pid = 0;
	launch->signal_fd = -1;
}
