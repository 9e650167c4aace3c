/* SPDX-License-Identifier: MIT */
/* Closes sockets in which descriptors may be queued: see socket_drain.h. */
#include "sys/socket_drain.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/child.h"

/* One thread gets this many sockets. */
#define SOCKETS_MAX 253
/*
 * What a peer can leave in a queue: its send buffer, of packets that each count for 768 bytes or
 * more.
 */
#define PACKETS_MAX 1024

enum front { FRONT_NOTHING, FRONT_PACKET, FRONT_DESCRIPTORS };

static bool peek(int socket, int *flags)
{
	struct msghdr message;
	ssize_t got;

	do {
		message = (struct msghdr){0};
		got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_PEEK);
	} while (got < 0 && (errno == ECONNRESET || errno == EINTR));
	*flags = message.msg_flags;
	return got >= 0;
}

/* For a socket that was shut down, where an empty packet looks like the end of the stream. */
static enum front look(int socket)
{
	int on = 0, flags;

	setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	if (!peek(socket, &flags))
		return FRONT_NOTHING;
	if (flags & MSG_CTRUNC)
		return FRONT_DESCRIPTORS;
	on = 1; /* with this each packet has credentials, for which there is no room: MSG_CTRUNC */
	setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	return peek(socket, &flags) && flags & MSG_CTRUNC ? FRONT_PACKET : FRONT_NOTHING;
}

bool socket_drain_try(int socket)
{
	shutdown(socket, SHUT_RDWR);
	for (int i = 0; i < PACKETS_MAX; i++) {
		switch (look(socket)) {
		case FRONT_NOTHING:
			close(socket);
			return true;
		case FRONT_PACKET:
			recv(socket, NULL, 0, MSG_DONTWAIT);
			break;
		default:
			return false;
		}
	}
	return false;
}

struct holding {
	const int *sockets;
	size_t count;
	sem_t copied, closed;
};

/*
 * If closing one of the sockets blocks this thread's end, no other descriptor may be open in it:
 * a mount ends when the last copy of its /dev/fuse descriptor is closed.
 */
static void close_others(const struct holding *holding)
{
	int sorted[SOCKETS_MAX];

	memcpy(sorted, holding->sockets, holding->count * sizeof(sorted[0]));
	child_sort(sorted, holding->count);
	child_keep_only(sorted, holding->count);
}

/*
 * Its descriptors are the last ones, and the kernel closes them when the thread ends: close(2) is
 * not called for them.
 */
static void *hold(void *arg)
{
	struct holding *holding = arg;

	if (!unshare(CLONE_FILES))
		close_others(holding);
	sem_post(&holding->copied);
	while (sem_wait(&holding->closed))
		;
	return NULL;
}

static void drain_some(const int *sockets, size_t count)
{
	struct holding holding = {.sockets = sockets, .count = count};
	pthread_t thread;
	bool held;

	sem_init(&holding.copied, 0, 0);
	sem_init(&holding.closed, 0, 0);
	held = !pthread_create(&thread, NULL, hold, &holding);
	while (held && sem_wait(&holding.copied))
		;
	for (size_t i = 0; i < count; i++)
		close(sockets[i]);
	sem_post(&holding.closed);
	/* the thread can be joined before the kernel has closed its descriptors */
	if (held)
		pthread_join(thread, NULL);
	sem_destroy(&holding.copied);
	sem_destroy(&holding.closed);
}

void socket_drain_all(const int *sockets, size_t count)
{
	for (; count > SOCKETS_MAX; sockets += SOCKETS_MAX, count -= SOCKETS_MAX)
		drain_some(sockets, SOCKETS_MAX);
	if (count)
		drain_some(sockets, count);
}
