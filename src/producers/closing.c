/* SPDX-License-Identifier: MIT */
/* Closes sockets of producers: see closing.h. */
#include "producers/closing.h"

#include <glib.h>

#include "sys/socket_drain.h"
#include "sys/fdpass.h"

/* A socket in which descriptors may be queued, and the process that sent them. */
struct full_socket {
	int fd;
	struct receivers_owner owner;
};

struct closing {
	struct receivers *receivers;
	GArray *sockets; /* of struct full_socket */
};

struct closing *closing_create(struct receivers *receivers)
{
	struct closing *closing = g_new0(struct closing, 1);

	closing->receivers = receivers;
	closing->sockets = g_array_new(FALSE, FALSE, sizeof(struct full_socket));
	return closing;
}

void closing_destroy(struct closing *closing)
{
	if (!closing)
		return;
	g_array_unref(closing->sockets);
	g_free(closing);
}

void closing_add(struct closing *closing, int socket, const struct receivers_owner *owner)
{
	const struct full_socket full = { socket, *owner };

	if (!socket_drain_try(socket))
		g_array_append_val(closing->sockets, full);
}

/* Takes the sockets of one user out of the queue, as many as one message carries. */
static unsigned int take_sockets(struct closing *closing, uid_t uid, int *fds)
{
	unsigned int count = 0;

	for (guint i = closing->sockets->len; i-- > 0 && count < FDPASS_MAX;) {
		const struct full_socket *full =
			&g_array_index(closing->sockets, struct full_socket, i);

		if (full->owner.uid != uid)
			continue;
		fds[count++] = full->fd;
		g_array_remove_index(closing->sockets, i);
	}
	return count;
}

void closing_run(struct closing *closing)
{
	int fds[FDPASS_MAX];

	while (closing->sockets->len) {
		const struct receivers_owner owner =
			g_array_index(closing->sockets, struct full_socket, 0).owner;
		unsigned int count = take_sockets(closing, owner.uid, fds);

		if (!receivers_close(closing->receivers, &owner, fds, count))
			socket_drain_all(fds, count);
	}
}
