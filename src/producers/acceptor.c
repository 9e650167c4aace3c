/* SPDX-License-Identifier: MIT */
/* The process that accepts connections: see acceptor.h. */
#include "producers/acceptor.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/child.h"
#include "sys/fdpass.h"

/* The pause before the acceptor tries again when descriptors or memory are short. */
#define PAUSE_MS 100
/* How long the server waits for the acceptor, which does nothing that takes long. */
#define SEND_MS 100
/*
 * The time for which the acceptor waits for the end of the server if it has no descriptor of the
 * process.
 */
#define SERVER_END_MS 1000
/* The server sends this word, in place of the number of a connection, to end the acceptor. */
#define END (-1)

/* Connections that the process is to close. */
struct release {
	int after; /* closed by the process afterwards; -1 for none */
	unsigned int count;
	int32_t numbers[];
};

struct acceptor {
	int listening;
	int fd; /* to the process; -1 if there is none */
	pid_t pid;
	pid_t ended; /* a process that was replaced and is still to be waited for; 0 if there is none */
	uint32_t generation;
	/*
	 * of struct release: those that the process has not been sent, the oldest first. A
	 * connection is in one of them at most, so the process's descriptors bound them.
	 */
	GQueue unsent;
};

/* ---- in the process -------------------------------------------------------------------------- */

/* Nothing here allocates or locks: the server may have had several threads when it was forked. */
struct process {
	int server, listening;
	int end;     /* readable when the server's process has ended; -1 if there is none */
	int pending; /* a connection to be passed on; -1 if there is none */
	bool paused;
};

static void accept_next(struct process *process)
{
	process->pending = accept4(process->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (process->pending < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		process->paused = true;
}

static void pass_on(struct process *process)
{
	const int32_t number = process->pending;
	int ret = fdpass_send(process->server, &number, sizeof(number), &process->pending, 1,
		MSG_DONTWAIT);

	if (!ret)
		process->pending = -1;
	else if (ret != -EAGAIN)
		process->paused = true;
}

/*
 * Called when the server has closed its descriptors of connections. Descriptors that it has not received
 * are still queued in the connection to it, and are closed with that connection. The exit of this process
 * closes the last copies.
 */
static void end_with_server(const struct process *process)
{
	struct pollfd closed = { .fd = process->server };

	while (poll(&closed, 1, -1) < 0)
		;
	_exit(0);
}

/*
 * Called when the server has ended; its descriptors may not be closed yet. No client can connect
 * any more, so the next server can take the path.
 */
static void end_after_server(const struct process *process)
{
	struct pollfd ended = { .fd = process->end, .events = POLLIN };

	shutdown(process->listening, SHUT_RDWR);
	while (poll(&ended, 1, process->end < 0 ? SERVER_END_MS : -1) < 0)
		;
	_exit(0);
}

static void take_word(const struct process *process)
{
	int32_t numbers[FDPASS_MAX];
	int after = -1;
	struct fdpass pass = { .fds = &after, .max = 1 };
	ssize_t got = fdpass_receive(process->server, numbers, sizeof(numbers), &pass, MSG_DONTWAIT);

	if (got == -EAGAIN || got == -EINTR)
		return;
	if (got <= 0)
		end_after_server(process);
	for (size_t i = 0; i < (size_t)got / sizeof(numbers[0]); i++) {
		if (numbers[i] == END)
			end_with_server(process);
		close(numbers[i]);
	}
	if (after >= 0)
		close(after);
}

static void run_process(struct process *process)
{
	for (;;) {
		const bool passes = process->pending >= 0;
		struct pollfd fds[] = {
			{ .fd = process->server, .events = POLLIN },
			{ .fd = process->listening, .events = POLLIN },
		};

		if (passes && !process->paused)
			fds[0].events |= POLLOUT;
		if (passes || process->paused)
			fds[1].fd = -1;
		if (poll(fds, G_N_ELEMENTS(fds), process->paused ? PAUSE_MS : -1) < 0)
			continue;
		process->paused = false;
		if (fds[0].revents & ~POLLOUT)
			take_word(process);
		else if (fds[0].revents)
			pass_on(process);
		else if (fds[1].revents)
			accept_next(process);
	}
}

/* ---- in the server --------------------------------------------------------------------------- */

static void fork_process(struct acceptor *acceptor, int server, int end)
{
	struct process process = { server, acceptor->listening, end, -1, false };
	int keep[] = { end, server, acceptor->listening };
	const size_t unused = end < 0 ? 1 : 0;

	acceptor->pid = fork();
	if (acceptor->pid)
		return;
	pthread_setname_np(pthread_self(), "kp-accept");
	child_sort(keep, G_N_ELEMENTS(keep));
	child_keep_only(keep + unused, G_N_ELEMENTS(keep) - unused);
	run_process(&process);
}

static int start_process(struct acceptor *acceptor)
{
	const struct timeval wait = { .tv_usec = SEND_MS * (NSEC_PER_MSEC / NSEC_PER_USEC) };
	int end = child_open_process(getpid()), pair[2], ret = 0;

	if (end < 0 && end != -ENOSYS) /* valgrind */
		return end;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		ret = -errno;
		if (end >= 0)
			close(end);
		return ret;
	}
	fork_process(acceptor, pair[1], end);
	if (acceptor->pid < 0)
		ret = -errno;
	if (end >= 0)
		close(end);
	close(pair[1]);
	if (ret) {
		close(pair[0]);
		return ret;
	}
	setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	acceptor->fd = pair[0];
	acceptor->generation++;
	return 0;
}

int acceptor_create(int listening, struct acceptor **acceptor)
{
	struct acceptor *a = g_new0(struct acceptor, 1);
	int ret;

	g_queue_init(&a->unsent);
	a->listening = listening;
	ret = start_process(a);
	if (ret)
		g_free(a);
	else
		*acceptor = a;
	return ret;
}

/* ---- what the process is to close ------------------------------------------------------------ */

static void free_release(struct release *release)
{
	if (release->after >= 0)
		close(release->after);
	g_free(release);
}

/* Called when the process has ended, and so has closed its descriptors, or is about to. */
static void forget_unsent(struct acceptor *acceptor)
{
	struct release *release;

	while ((release = g_queue_pop_head(&acceptor->unsent)))
		free_release(release);
}

void acceptor_send(struct acceptor *acceptor)
{
	struct release *release;

	while ((release = g_queue_peek_head(&acceptor->unsent))) {
		int ret = fdpass_send(acceptor->fd, release->numbers,
			release->count * sizeof(release->numbers[0]), &release->after,
			release->after >= 0 ? 1 : 0, MSG_DONTWAIT);

		/* without a process, acceptor_next() finds that out, and starts another one */
		if (ret)
			return;
		free_release(g_queue_pop_head(&acceptor->unsent));
	}
}

bool acceptor_has_unsent(const struct acceptor *acceptor)
{
	return acceptor->unsent.length > 0;
}

void acceptor_release(
	struct acceptor *acceptor, const struct accepted *accepted, unsigned int count, int after)
{
	struct release *release =
		g_malloc(sizeof(*release) + count * sizeof(release->numbers[0]));

	release->count = 0;
	release->after = after;
	for (unsigned int i = 0; i < count; i++)
		if (accepted[i].number >= 0 && accepted[i].generation == acceptor->generation)
			release->numbers[release->count++] = accepted[i].number;
	if (!release->count || acceptor->fd < 0) {
		free_release(release);
		return;
	}
	g_queue_push_tail(&acceptor->unsent, release);
	acceptor_send(acceptor);
}

void acceptor_destroy(struct acceptor *acceptor)
{
	const int32_t end = END;

	if (!acceptor)
		return;
	close(acceptor->listening); /* before the process does: not the last one */
	forget_unsent(acceptor); /* the process ends, which closes all */
	if (acceptor->fd >= 0) {
		fdpass_send(acceptor->fd, &end, sizeof(end), NULL, 0, 0);
		close(acceptor->fd);
	}
	g_free(acceptor);
}

int acceptor_fd(const struct acceptor *acceptor)
{
	return acceptor->fd;
}

/*
 * Called when the process has ended, or has sent an invalid message. The server now has the last
 * descriptors of its connections. The process is killed first, since a living one would end the
 * listening socket, which its successor needs.
 */
static int replace_process(struct acceptor *acceptor)
{
	int ret;

	if (acceptor->fd >= 0) {
		kill(acceptor->pid, SIGKILL);
		close(acceptor->fd);
		acceptor->fd = -1;
		acceptor->ended = acceptor->pid;
		forget_unsent(acceptor);
	}
	ret = start_process(acceptor);
	return ret ? ret : -EPIPE;
}

int acceptor_next(struct acceptor *acceptor, struct accepted *accepted)
{
	int fd = -1;
	struct fdpass pass = { .fds = &fd, .max = 1 };
	ssize_t got = -EPIPE;

	if (acceptor->ended && waitpid(acceptor->ended, NULL, WNOHANG) == acceptor->ended)
		acceptor->ended = 0;
	accepted->generation = acceptor->generation;
	/* a packet whose descriptor cannot be received stays */
	if (acceptor->fd >= 0)
		got = fdpass_receive(acceptor->fd, &accepted->number, sizeof(accepted->number),
			&pass, MSG_DONTWAIT | MSG_PEEK);
	if (got == -EAGAIN || got == -EINTR)
		return -EAGAIN;
	/* these two say that the process has ended */
	if (got < 0 && got != -EPIPE && got != -ECONNRESET)
		return (int)got;
	if (got != sizeof(accepted->number))
		return replace_process(acceptor);
	if (fd < 0)
		return -EMFILE;
	recv(acceptor->fd, &accepted->number, sizeof(accepted->number), MSG_DONTWAIT);
	return fd;
}
