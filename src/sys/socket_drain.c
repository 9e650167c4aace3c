/* SPDX-License-Identifier: MIT */
/* Closing strangers' sockets: see hangup.h. */
#include "sys/socket_drain.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/child.h"

/* Sockets that one thread is given. */
#define HANGUP_MAX 253
/* What a peer's end leaves in a queue: its send buffer, of packets that each count for 768 bytes or
 * more. */
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

/* Of a socket that was shut down, where an empty packet looks as the end does. */
static enum front look(int socket)
{
	int on = 0, flags;

	setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	if (!peek(socket, &flags))
		return FRONT_NOTHING;
	if (flags & MSG_CTRUNC)
		return FRONT_DESCRIPTORS;
	on = 1; /* with this each packet has something to say for which there is no room */
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

static int compare(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * Should one of the sockets be in the way of this thread's end, nothing else waits for it: a mount
 * ends when the last copy of its descriptor does.
 */
static void close_others(const struct holding *holding)
{
	int sorted[HANGUP_MAX];

	memcpy(sorted, holding->sockets, holding->count * sizeof(sorted[0]));
	qsort(sorted, holding->count, sizeof(sorted[0]), compare);
	child_keep_only(sorted, holding->count);
}

/* Its descriptors are the last ones, and go when it ends: no close is called for them. */
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

static void hangup_some(const int *sockets, size_t count)
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
	/* the kernel tells of its end before it lets go of the descriptors */
	if (held)
		pthread_join(thread, NULL);
	sem_destroy(&holding.copied);
	sem_destroy(&holding.closed);
}

void socket_drain_all(const int *sockets, size_t count)
{
	for (; count > HANGUP_MAX; sockets += HANGUP_MAX, count -= HANGUP_MAX)
		hangup_some(sockets, HANGUP_MAX);
	if (count)
		hangup_some(sockets, count);
}
