/* SPDX-License-Identifier: MIT */
/* Accepting and dropping connections: a part of the listener. */
#include "producers/listener_state.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/reserve.h"
#include "base/trim.h"
#include "base/units.h"
#include "sys/clock.h"
#include "producers/closing.h"
#include "producers/producers.h"
#include "producers/sync_rounds.h"

#define ACCEPTS_PER_WAKE 64
#define SEND_BYTES (32 * 1024)

/* ---- reports --------------------------------------------------------------------------------- */

void listener_report(
	struct listener *listener, const struct connection *connection, const char *reason)
{
	if (listener->options.report &&
		user_limits_take(listener->reports, connection->uid, connection->pid))
		listener->options.report(listener->options.arg, connection->pid, connection->uid,
			connection->program, reason);
}

void listener_charge(
	struct listener *listener, const struct connection *connection, uint64_t begin_ns)
{
	uint64_t used_ns = clock_thread_ns() - begin_ns;

	if (!user_turns_charge(listener->turns, connection->uid, used_ns, clock_monotonic_ns()))
		return;
	atomic_add_relaxed(&listener->deferred, 1); /* a count */
	listener_report(listener, connection,
		"the programs of this user have used up their CPU time: they are served later");
}

static void on_refused(void *arg, const struct connection *connection, const char *reason)
{
	listener_report(arg, connection, reason);
}

/* root and the owner of the mount can write to kptrace, so they are not limited. */
static bool may_mark(struct listener *listener, const struct connection *connection)
{
	return connection->uid == 0 || connection->uid == listener->options.owner ||
	       user_limits_take(listener->marks, connection->uid, connection->pid);
}

static int on_mark(void *arg, const struct connection *connection, const char *text, size_t bytes)
{
	struct listener *listener = arg;
	int ret = -EOPNOTSUPP;

	if (!may_mark(listener, connection))
		ret = -EDQUOT;
	else if (listener->options.mark)
		ret = listener->options.mark(listener->options.arg, connection->pid, text, bytes);
	if (ret)
		atomic_add_relaxed(&listener->marks_refused, 1); /* a count */
	return ret;
}

/* ---- connections ----------------------------------------------------------------------------- */

struct listener_peer *listener_peer_at(struct admission_entry *entry)
{
	return (struct listener_peer *)(void *)((char *)entry -
						offsetof(struct listener_peer, entry));
}

struct receivers_owner listener_owner_of(const struct listener_peer *peer)
{
	return (struct receivers_owner){ peer->connection.pid, peer->connection.uid };
}

int listener_watch(struct listener *listener, int operation, int fd, uint32_t events, void *data)
{
	struct epoll_event event = { .events = events, .data.ptr = data };

	return epoll_ctl(listener->epoll, operation, fd, &event) ? -errno : 0;
}

/* The acceptor that replaced another one may not be watched yet. */
static int watch_acceptor(struct listener *listener, bool accepts)
{
	const int fd = acceptor_fd(listener->acceptor);
	const bool sends = acceptor_has_unsent(listener->acceptor);
	const uint32_t events = (accepts ? EPOLLIN : 0) | (sends ? EPOLLOUT : 0);
	int ret = listener_watch(listener, EPOLL_CTL_MOD, fd, events, listener->acceptor);

	if (ret == -ENOENT)
		ret = listener_watch(listener, EPOLL_CTL_ADD, fd, events, listener->acceptor);
	if (!ret)
		listener->acceptor_sends = sends;
	return ret;
}

void listener_send_to_acceptor(struct listener *listener)
{
	acceptor_send(listener->acceptor);
	/* if it can't be watched, the next wakeup tries again */
	if (acceptor_has_unsent(listener->acceptor) != listener->acceptor_sends)
		(void)watch_acceptor(listener, !listener->paused);
}

/* While paused, no connection is accepted. */
static void set_paused(struct listener *listener, bool paused)
{
	if (listener->paused == paused)
		return;
	/* without an acceptor, or where it can't be watched, the pause goes on */
	if (watch_acceptor(listener, !paused) && !paused)
		return;
	listener->paused = paused;
	if (paused)
		listener->paused_until_ns = clock_monotonic_ns() + LISTENER_PAUSE_MS * NSEC_PER_MSEC;
}

void listener_end_pause(struct listener *listener)
{
	set_paused(listener, false);
	listener->paused_until_ns = clock_monotonic_ns() + LISTENER_PAUSE_MS * NSEC_PER_MSEC;
	listener_accept(listener);
}

void listener_drop(struct listener *listener, struct listener_peer *peer)
{
	const struct receivers_owner owner = listener_owner_of(peer);

	epoll_ctl(listener->epoll, EPOLL_CTL_DEL, peer->fd, NULL);
	if (peer->receiving)
		receivers_forget(listener->receivers, peer);
	if (peer->waits.data)
		g_queue_unlink(&listener->waiting, &peer->waits);
	closing_add(listener->closing, peer->fd, &peer->accepted, &owner);
	g_queue_unlink(&listener->all, &peer->link);
	admission_remove(listener->admission, &peer->entry);
	user_turns_leave(listener->turns, &peer->turn);
	sync_rounds_answered(listener->rounds, peer->connection.sync_answered,
		peer->connection.sync_wanted);
	connection_fini(&peer->connection);
	/* relaxed: this thread is the only one that changes it */
	atomic_write_relaxed(&listener->connections, listener->all.length);
	peer->fd = -1;
	g_queue_push_tail_link(&listener->dropped, &peer->link);
	set_paused(listener, false); /* a descriptor is free again */
	/* memory of thousands of events, which the C library would keep */
	if (!listener->all.length)
		trim_memory();
}

void listener_detach(struct listener *listener, struct listener_peer *peer, const char *reason)
{
	atomic_add_relaxed(&listener->detached, 1); /* a count */
	listener_report(listener, &peer->connection, reason);
	listener_drop(listener, peer);
}

static void add_connection(struct listener *listener, int fd, const struct accepted *accepted,
	const struct ucred *who)
{
	struct listener_peer *peer = g_new0(struct listener_peer, 1);
	const int bytes = SEND_BYTES;

	/*
	 * bounds what the kernel buffers for a producer that does not read, whatever the default is
	 */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	peer->fd = fd;
	peer->accepted = *accepted;
	peer->link.data = peer;
	connection_init(&peer->connection, listener->producers, who->pid, who->uid, on_refused,
		listener);
	peer->connection.stop = &listener->stopping;
	peer->connection.mark = on_mark;
	connection_skip_rounds(&peer->connection, sync_rounds_newest(listener->rounds));
	admission_add(listener->admission, &peer->entry, who);
	user_turns_join(listener->turns, &peer->turn, who->uid, peer);
	g_queue_push_tail_link(&listener->all, &peer->link);
	atomic_write_relaxed(&listener->connections, listener->all.length); /* as in drop */
	if (listener_watch(listener, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLONESHOT, peer))
		listener_drop(listener, peer);
}

/*
 * Evicts pending connections until another connection of this process may be added. Returns NULL,
 * or the reason why it may not be added.
 */
static const char *make_room(struct listener *listener, const struct ucred *who)
{
	const char *reason;
	struct admission_entry *pending;

	while (!(reason = admission_check(listener->admission, who, &pending)) && pending)
		listener_detach(listener, listener_peer_at(pending),
			"evicted: no HELLO yet, and the connection limit is reached");
	return reason;
}

/*
 * Adds the connection, or closes it at once: a connection that waits in the queue would delay those
 * behind it.
 */
static void admit(struct listener *listener, int fd, const struct accepted *accepted)
{
	struct connection connection = { .program = "?" };
	struct ucred who = { .uid = (uid_t)-1 };
	uint64_t begin_ns = clock_thread_ns();
	socklen_t bytes = sizeof(who);
	const char *reason;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes)) {
		closing_add(listener->closing, fd, accepted,
			&(struct receivers_owner){ who.pid, who.uid });
		return;
	}
	connection.pid = who.pid;
	connection.uid = who.uid;
	reason = make_room(listener, &who);
	if (!reason) {
		add_connection(listener, fd, accepted, &who);
	} else {
		listener_report(listener, &connection, reason);
		producers_count_refused(listener->producers);
		closing_add(listener->closing, fd, accepted,
			&(struct receivers_owner){ who.pid, who.uid });
	}
	listener_charge(listener, &connection, begin_ns);
}

void listener_accept(struct listener *listener)
{
	if (!reserve_is_whole()) {
		set_paused(listener, true); /* to attach a producer takes memory */
		return;
	}
	for (int i = 0; i < ACCEPTS_PER_WAKE; i++) {
		struct accepted accepted;
		int fd = acceptor_next(listener->acceptor, &accepted);

		if (fd == -EPIPE) {
			fd = watch_acceptor(listener, true);
			if (!fd)
				listener->paused = false;
		} else if (fd >= 0) {
			admit(listener, fd, &accepted);
		}
		if (fd < 0 && fd != -EAGAIN)
			set_paused(listener, true); /* else epoll reports it again */
		if (fd < 0)
			return;
	}
}

void listener_rearm(struct listener *listener, struct listener_peer *peer)
{
	uint32_t events = EPOLLIN | EPOLLONESHOT | (peer->wants_room ? EPOLLOUT : 0);

	if (!peer->receiving && !peer->waits.data)
		listener_watch(listener, EPOLL_CTL_MOD, peer->fd, events, peer);
}
