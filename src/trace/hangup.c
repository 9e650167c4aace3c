/* SPDX-License-Identifier: MIT */
/* Closing strangers' sockets: see hangup.h. */
#include "trace/hangup.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <unistd.h>

bool hangup_try(int socket)
{
	const int on = 1;
	struct msghdr message;
	ssize_t got;

	shutdown(socket, SHUT_RDWR);
	/* with these each packet has something to say for which there is no room, also an empty one */
	setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	do {
		message = (struct msghdr){ 0 };
		got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_PEEK);
	} while (got < 0 && (errno == ECONNRESET || errno == EINTR));
	if (got < 0 || message.msg_flags & MSG_CTRUNC)
		return false;
	close(socket);
	return true;
}

struct closing {
	sem_t copied, closed;
};

/* Its descriptors are the last ones, and go when it ends: no close is called for them. */
static void *hold(void *arg)
{
	struct closing *closing = arg;

	unshare(CLONE_FILES);
	sem_post(&closing->copied);
	while (sem_wait(&closing->closed))
		;
	return NULL;
}

void hangup_all(const int *sockets, size_t count)
{
	struct closing closing;
	pthread_t thread;
	bool held;

	if (!count)
		return;
	sem_init(&closing.copied, 0, 0);
	sem_init(&closing.closed, 0, 0);
	held = !pthread_create(&thread, NULL, hold, &closing);
	while (held && sem_wait(&closing.copied))
		;
	for (size_t i = 0; i < count; i++)
		close(sockets[i]);
	sem_post(&closing.closed);
	/* the kernel tells of its end before it lets go of the descriptors */
	if (held)
		pthread_join(thread, NULL);
	sem_destroy(&closing.copied);
	sem_destroy(&closing.closed);
}
