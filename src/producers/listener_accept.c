/* SPDX-License-Identifier: MIT */
/* Connections that come and go: the part of the listener that accepts and drops them. */
#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/reserve.h"
#include "sys/clock.h"
#include "producers/closing.h"
#include "producers/listener_state.h"
#include "producers/producers.h"
#include "producers/reports.h"
#include "producers/sync_rounds.h"

#define ACCEPTS_PER_WAKE 64
#define SEND_BYTES (32 * 1024)

/*
 * ---- reports ----------------------------------------------------------------------------------
 */

void listener_report(struct listener *listener, const struct session *session, const char *reason)
{
	if (listener->options.report && reports_may(listener->reports, session->pid, session->uid))
		listener->options.report(listener->options.arg, session->pid, session->uid,
			session->program, reason);
}

void listener_charge(struct listener *listener, const struct session *session, uint64_t begin_ns)
{
	uint64_t used_ns = clock_thread_ns() - begin_ns;

	if (!user_turns_charge(listener->turns, session->uid, used_ns, clock_monotonic_ns()))
		return;
	atomic_add_relaxed(&listener->deferred, 1); /* a count */
	listener_report(listener, session,
		"the programs of this user take too much time: they are served later");
}

static void on_refused(void *arg, const struct session *session, const char *reason)
{
	listener_report(arg, session, reason);
}

/*
 * ---- connections ------------------------------------------------------------------------------
 */

struct connection *listener_connection_at(struct admission_entry *place)
{
	return (struct connection *)(void *)((char *)place - offsetof(struct connection, place));
}

struct receivers_owner listener_owner_of(const struct connection *connection)
{
	return (struct receivers_owner){ connection->session.pid, connection->session.uid };
}

int listener_watch(struct listener *listener, int operation, int fd, uint32_t events, void *data)
{
	struct epoll_event event = { .events = events, .data.ptr = data };

	return epoll_ctl(listener->epoll, operation, fd, &event) ? -errno : 0;
}

void listener_pause(struct listener *listener, bool paused)
{
	if (listener->paused == paused)
		return;
	listener->paused = paused;
	listener_watch(listener, EPOLL_CTL_MOD, listener->fd, paused ? 0 : EPOLLIN, &listener->fd);
}

void listener_drop(struct listener *listener, struct connection *connection)
{
	const struct receivers_owner owner = listener_owner_of(connection);

	epoll_ctl(listener->epoll, EPOLL_CTL_DEL, connection->fd, NULL);
	if (connection->asked)
		receivers_forget(listener->receivers, connection);
	if (connection->waits.data)
		g_queue_unlink(&listener->waiting, &connection->waits);
	closing_add(listener->closing, connection->fd, &owner);
	g_queue_unlink(&listener->all, &connection->link);
	admission_leave(listener->places, &connection->place);
	user_turns_leave(listener->turns, &connection->turn);
	sync_rounds_answered(listener->rounds, connection->session.sync_answered,
		connection->session.sync_wanted);
	session_fini(&connection->session);
	/* relaxed: this thread is the only one that changes it */
	atomic_write_relaxed(&listener->connections, listener->all.length);
	connection->fd = -1;
	g_queue_push_tail_link(&listener->dropped, &connection->link);
	listener_pause(listener, false); /* there are descriptors again */
#ifdef __GLIBC__
	/* thousands of events of a program are memory that the C library would keep for itself */
	if (!listener->all.length)
		malloc_trim(0);
#endif
}

void listener_detach(struct listener *listener, struct connection *connection, const char *reason)
{
	atomic_add_relaxed(&listener->detached, 1); /* a count */
	listener_report(listener, &connection->session, reason);
	listener_drop(listener, connection);
}

static void add_connection(struct listener *listener, int fd, const struct ucred *who)
{
	struct connection *connection = g_new0(struct connection, 1);
	const int bytes = SEND_BYTES;

	/* what the kernel holds for a program that does not read is small, whatever the default */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	connection->fd = fd;
	connection->link.data = connection;
	session_init(&connection->session, listener->producers, who->pid, who->uid, on_refused,
		listener);
	connection->session.stop = &listener->stopping;
	session_skip_rounds(&connection->session, sync_rounds_newest(listener->rounds));
	admission_take(listener->places, &connection->place, who);
	user_turns_join(listener->turns, &connection->turn, who->uid, connection);
	g_queue_push_tail_link(&listener->all, &connection->link);
	atomic_write_relaxed(&listener->connections, listener->all.length); /* as in drop */
	if (listener_watch(listener, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLONESHOT, connection))
		listener_drop(listener, connection);
}

/* What is in the way of another connection of this process; NULL: nothing. */
static const char *make_place(struct listener *listener, const struct ucred *who)
{
	const char *reason;
	struct admission_entry *late;

	while (!(reason = admission_find(listener->places, who, &late)) && late)
		listener_detach(listener, listener_connection_at(late),
			"it has not greeted, and its place is wanted");
	return reason;
}

/* Sends away whom there is no room for: a connection that waits would hold up those behind it. */
static void admit(struct listener *listener, int fd)
{
	struct session session = { .program = "?" };
	struct ucred who = { .uid = (uid_t)-1 };
	uint64_t begin_ns = clock_thread_ns();
	socklen_t bytes = sizeof(who);
	const char *reason;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes)) {
		closing_add(listener->closing, fd, &(struct receivers_owner){ who.pid, who.uid });
		return;
	}
	session.pid = who.pid;
	session.uid = who.uid;
	reason = make_place(listener, &who);
	if (!reason) {
		add_connection(listener, fd, &who);
	} else {
		listener_report(listener, &session, reason);
		producers_count_refused(listener->producers);
		closing_add(listener->closing, fd, &(struct receivers_owner){ who.pid, who.uid });
	}
	listener_charge(listener, &session, begin_ns);
}

void listener_accept(struct listener *listener)
{
	if (!reserve_is_whole()) {
		listener_pause(listener, true); /* a program takes memory */
		return;
	}
	for (int i = 0; i < ACCEPTS_PER_WAKE; i++) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0)
			admit(listener, fd);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			listener_pause(listener, true); /* else we would be woken for it on and on */
		if (fd < 0 && errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

void listener_arm(struct listener *listener, struct connection *connection)
{
	uint32_t events = EPOLLIN | EPOLLONESHOT | (connection->wants_room ? EPOLLOUT : 0);

	if (!connection->asked && !connection->waits.data)
		listener_watch(listener, EPOLL_CTL_MOD, connection->fd, events, connection);
}
