/* SPDX-License-Identifier: MIT */
/* Closes sockets of producers: see closing.h. */
#include "producers/closing.h"

#include <fcntl.h>
#include <glib.h>
#include <unistd.h>

#include "sys/socket_drain.h"
#include "sys/fdpass.h"

/* A socket in which descriptors may be queued, and the process that sent them. */
struct full_socket {
	int fd;
	struct accepted accepted;
	struct receivers_owner owner;
};

struct closing {
	struct acceptor *acceptor;
	struct receivers *receivers;
	GArray *sockets; /* of struct full_socket */
	GArray *closed;	 /* of struct accepted: those that the acceptor may close */
};

struct closing *closing_create(struct acceptor *acceptor, struct receivers *receivers)
{
	struct closing *closing = g_new0(struct closing, 1);

	closing->acceptor = acceptor;
	closing->receivers = receivers;
	closing->sockets = g_array_new(FALSE, FALSE, sizeof(struct full_socket));
	closing->closed = g_array_new(FALSE, FALSE, sizeof(struct accepted));
	return closing;
}

void closing_destroy(struct closing *closing)
{
	if (!closing)
		return;
	g_array_unref(closing->sockets);
	g_array_unref(closing->closed);
	g_free(closing);
}

void closing_add(struct closing *closing, int socket, const struct accepted *accepted,
	const struct receivers_owner *owner)
{
	const struct full_socket full = { socket, *accepted, *owner };

	if (socket_drain_try(socket))
		g_array_append_val(closing->closed, *accepted);
	else
		g_array_append_val(closing->sockets, full);
}

/* Takes the sockets of one user out of the queue, as many as one message carries. */
static unsigned int take_sockets(
	struct closing *closing, uid_t uid, int *fds, struct accepted *accepted)
{
	unsigned int count = 0;

	for (guint i = closing->sockets->len; i-- > 0 && count < FDPASS_MAX;) {
		const struct full_socket *full =
			&g_array_index(closing->sockets, struct full_socket, i);

		if (full->owner.uid != uid)
			continue;
		fds[count] = full->fd;
		accepted[count++] = full->accepted;
		g_array_remove_index(closing->sockets, i);
	}
	return count;
}

/*
 * Three processes have descriptors of these sockets. The receiver closes its own last: when the acceptor has
 * closed the pipe, which it does after its own.
 */
static void close_full(struct closing *closing, const struct receivers_owner *owner, const int *fds,
	const struct accepted *accepted, unsigned int count)
{
	int ends[2] = { -1, -1 };

	if (!pipe2(ends, O_CLOEXEC) &&
		receivers_close(closing->receivers, owner, fds, count, ends[0])) {
		close(ends[0]);
		acceptor_release(closing->acceptor, accepted, count, ends[1]);
		return;
	}
	if (ends[0] >= 0)
		close(ends[0]);
	acceptor_release(closing->acceptor, accepted, count, ends[1]);
	socket_drain_all(fds, count);
}

static void release_closed(struct closing *closing)
{
	const struct accepted *closed = (const struct accepted *)(void *)closing->closed->data;
	const guint count = closing->closed->len;

	for (guint i = 0; i < count; i += FDPASS_MAX)
		acceptor_release(
			closing->acceptor, closed + i, MIN(count - i, FDPASS_MAX), -1);
	g_array_set_size(closing->closed, 0);
}

void closing_run(struct closing *closing)
{
	struct accepted accepted[FDPASS_MAX];
	int fds[FDPASS_MAX];

	while (closing->sockets->len) {
		const struct receivers_owner owner =
			g_array_index(closing->sockets, struct full_socket, 0).owner;
		unsigned int count = take_sockets(closing, owner.uid, fds, accepted);

		close_full(closing, &owner, fds, accepted, count);
	}
	release_closed(closing);
}
