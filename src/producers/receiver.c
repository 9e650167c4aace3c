/* SPDX-License-Identifier: MIT */
/*
 * Processes that receive descriptors: see receiver.h. A receiver may be forked from a process with
 * several threads: nothing in it allocates or locks.
 */
#include "producers/receiver.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/child.h"
#include "sys/fdpass.h"
#include "sys/memfile.h"
#include "sys/recv_fds.h"

/* The wait for TCP connections that linger. */
#define LINGER_S 1

int receiver_send(int fd, uint32_t request, const int *fds, unsigned int count)
{
	return fdpass_send(fd, &request, sizeof(request), fds, count, MSG_DONTWAIT);
}

int receiver_take_answer(int fd, struct receiver_answer *answer, int *memory)
{
	struct recv_fds received;
	enum recv_fds_result result;

	do
		result = recv_fds_descriptors(fd, answer, sizeof(*answer), &received);
	while (result == RECV_FDS_AGAIN);
	*memory = received.count ? received.fds[0] : -1;
	if (result == RECV_FDS_NOTHING)
		return -EAGAIN;
	return result == RECV_FDS_PACKET && received.bytes == sizeof(*answer) ? 0 : -EPIPE;
}

/* ---- in the processes ------------------------------------------------------------------------ */

/* Waits for a request, whose descriptors are sockets. Returns false if this process is to end. */
static bool take_request(int server, uint32_t *request, struct recv_fds *received)
{
	struct fdpass pass = { .fds = received->fds, .max = FDPASS_MAX };
	ssize_t got;

	do
		got = fdpass_receive(server, request, sizeof(*request), &pass, 0);
	while (got == -EINTR);
	received->count = pass.count;
	return got == sizeof(*request) && pass.count;
}

/* Only memfds have seals. F_GET_SEALS waits for no FUSE server, whatever the file is. */
static bool are_memfds(const struct recv_fds *received)
{
	for (unsigned int i = 0; i < received->count; i++)
		if (!memfile_has_seals(received->fds[i]))
			return false;
	return true;
}

/* Returns false if closing the received descriptors may block without end. */
static bool take_packet(int server, int socket)
{
	struct receiver_answer answer = { .result = -EAGAIN };
	struct recv_fds received;
	enum recv_fds_result result;
	bool sent;

	do
		result = recv_fds_descriptors(socket, answer.data, sizeof(answer.data), &received);
	while (result == RECV_FDS_AGAIN);
	answer.bytes = (uint32_t)received.bytes;
	if (!are_memfds(&received)) {
		answer.result = -EBADMSG;
		fdpass_send(server, &answer, sizeof(answer), NULL, 0, 0);
		return false;
	}
	if (result == RECV_FDS_PACKET)
		answer.result = received.count == 1 && !received.cut ? 0 : -EINVAL;
	/*
	 * The last descriptor of the socket if the server closed its own: to close what is queued
	 * in it may take long, too.
	 */
	close(socket);
	sent = !fdpass_send(server, &answer, sizeof(answer), received.fds, answer.result ? 0 : 1, 0);
	for (unsigned int i = 0; i < received.count; i++)
		close(received.fds[i]);
	return sent;
}

/*
 * Ends when the pipe of RECEIVER_END does. What it has is closed before its connection, which so tells the
 * server how long that took. A TCP connection that lingers would hold close(2) as long as its sender likes;
 * the exit, by SIGALRM, does not wait for that.
 */
static void end_receiver(int server, const struct recv_fds *received)
{
	char none;

	if (received->count)
		while (read(received->fds[0], &none, 1) < 0 && errno == EINTR)
			;
	alarm(LINGER_S);
	child_keep_only(&server, 1);
	_exit(0);
}

static void run_receiver(int server)
{
	struct recv_fds received;
	uint32_t request;

	while (take_request(server, &request, &received) && request != RECEIVER_END) {
		if (request == RECEIVER_TAKE && !take_packet(server, received.fds[0])) {
			received.count = 0;
			break;
		}
	}
	end_receiver(server, &received);
}

/*
 * Forks a receiver that serves `connection`, and closes the spawner's copy of it. The receiver
 * begins only then, which it sees as the end of a pipe: if it could end before, the spawner would
 * have the last copy, its close(2) would close the sockets that the receiver had not taken yet, and
 * could block without end.
 */
static void start_receiver(int server, int connection)
{
	int closed[2] = { -1, -1 };
	char none;

	if (!pipe2(closed, O_CLOEXEC) && fork() == 0) {
		close(server);
		close(closed[1]);
		while (read(closed[0], &none, 1) < 0 && errno == EINTR)
			;
		close(closed[0]);
		run_receiver(connection);
	}
	close(connection); /* without a receiver the server finds that it has ended */
	if (closed[0] >= 0) {
		close(closed[0]);
		close(closed[1]);
	}
}

static void run_spawner(int server)
{
	struct recv_fds received;
	uint32_t request;

	signal(SIGCHLD, SIG_IGN); /* receivers are not waited for */
	while (take_request(server, &request, &received))
		start_receiver(server, received.fds[0]);
	_exit(0);
}

int receiver_start_spawner(int *fd, pid_t *pid)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	*pid = fork();
	if (*pid == 0) {
		pthread_setname_np(pthread_self(), "kp-receive");
		child_keep_only(&pair[1], 1);
		run_spawner(pair[1]);
	}
	close(pair[1]);
	if (*pid < 0) {
		int ret = -errno;

		close(pair[0]);
		return ret;
	}
	*fd = pair[0];
	return 0;
}
