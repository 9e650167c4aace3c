/* SPDX-License-Identifier: MIT */
/* Sending packets to producers and receiving theirs: a part of the listener. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/clock.h"
#include "producers/listener_state.h"
#include "producers/producers.h"
#include "sys/recv_fds.h"
#include "producers/sync_rounds.h"

/* CPU time, in all processes, of starting a receiver because another one is lost. */
#define RECEIVER_LOST_NS (200 * NSEC_PER_USEC)
/* How many producers that did not answer in time are named: the sentence fits in a line. */
#define NAMED_MAX 8

/* ---- sending --------------------------------------------------------------------------------- */

void listener_send(struct listener *listener, struct listener_peer *peer)
{
	bool full = false;
	size_t bytes;

	while (!full && (bytes = connection_next(&peer->connection, listener->out))) {
		if (send(peer->fd, listener->out, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) ==
			(ssize_t)bytes)
			connection_sent(&peer->connection, listener->out);
		else if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)
			full = true;
		else
			return; /* recv will report the end of the connection */
	}
	if (full == peer->wants_room)
		return;
	peer->wants_room = full;
	listener_rearm(listener, peer);
}

void listener_send_all(struct listener *listener)
{
	uint64_t round = sync_rounds_begin(listener->rounds);

	for (GList *link = listener->all.head; link; link = link->next) {
		struct listener_peer *peer = link->data;

		connection_rescan(&peer->connection);
		if (round)
			connection_sync(&peer->connection, round);
		listener_send(listener, peer);
		if (round && !connection_is_synced(&peer->connection))
			sync_rounds_ask(listener->rounds);
	}
}

/* ---- rounds of SYNC -------------------------------------------------------------------------- */

/* A sentence that names the producers whose SYNCED of this round is missing. */
static char *name_unsynced(struct listener *listener, uint64_t round)
{
	GString *names = g_string_new(NULL), *text = g_string_new(NULL);
	unsigned int late = 0;

	for (GList *link = listener->all.head; link; link = link->next) {
		const struct connection *connection =
			&((struct listener_peer *)link->data)->connection;

		if (connection->sync_answered >= round)
			continue;
		if (late++ < NAMED_MAX)
			g_string_append_printf(names, "%s %d (%s)", late > 1 ? "," : "",
				(int)connection->pid, connection->producer->program);
	}
	g_string_printf(text, "%u program%s not answered within %d ms:%s", late,
		late == 1 ? " has" : "s have", SYNC_ROUNDS_WAIT_MS, names->str);
	if (late > NAMED_MAX)
		g_string_append_printf(text, " and %u more", late - NAMED_MAX);
	g_string_free(names, TRUE);
	atomic_add_relaxed(&listener->sync_timeouts, late); /* a counter */
	return g_string_free(text, FALSE);
}

void listener_end_rounds(struct listener *listener)
{
	uint64_t round;
	bool late;

	while ((round = sync_rounds_due(listener->rounds, clock_monotonic_ns(), &late))) {
		g_autofree char *names = late ? name_unsynced(listener, round) : NULL;

		sync_rounds_end(listener->rounds, round, names);
	}
}

int listener_round_ms(struct listener *listener)
{
	uint64_t deadline_ns = sync_rounds_deadline_ns(listener->rounds), now_ns;

	if (!deadline_ns)
		return -1;
	now_ns = clock_monotonic_ns();
	return now_ns >= deadline_ns ? 0 : (int)((deadline_ns - now_ns) / NSEC_PER_MSEC) + 1;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static bool sends_too_much(const struct listener *listener, struct listener_peer *peer)
{
	uint64_t seconds;

	if (++peer->packets <= listener->options.packets)
		return false;
	seconds = (clock_monotonic_ns() - peer->entry.since_ns) / NSEC_PER_SEC;
	return peer->packets - listener->options.packets >
		seconds * listener->options.packets_per_s;
}

/* A SYNCED that answers a SYNC does not count against the packet limit. */
static void count_answer(struct listener *listener, struct listener_peer *peer, uint64_t before)
{
	if (peer->connection.sync_answered == before)
		return;
	peer->packets--;
	sync_rounds_answered(listener->rounds, before, peer->connection.sync_answered);
}

/* fd: the memfd that came with the packet, or -1; it is taken or closed. */
static int take_packet(struct listener *listener, struct listener_peer *peer, const char *data,
	size_t bytes, int fd, struct err *err)
{
	uint64_t answered = peer->connection.sync_answered;
	int ret;

	if (sends_too_much(listener, peer))
		ret = err_set(err, EPROTO, "it sends too many packets");
	else if (bytes > KPROF_PACKET_MAX)
		ret = err_set(err, EPROTO, "a packet that is larger than the protocol allows");
	else
		ret = connection_take(&peer->connection, data, bytes, &fd, err);
	count_answer(listener, peer, answered);
	if (fd >= 0)
		close(fd);
	if (!ret && !peer->entry.attached && peer->connection.producer)
		admission_hello(listener->admission, &peer->entry);
	return ret;
}

/* Whether a newer connection of the same producer has taken over its pool. */
static bool is_superseded(const struct listener_peer *peer)
{
	const struct producer *producer = peer->connection.producer;

	/* relaxed: written by this thread */
	return producer && atomic_read_relaxed(&producer->ended);
}

/* The next packet has descriptors: only HELLO may have one, and a receiver process receives it. */
static void start_receiver(struct listener *listener, struct listener_peer *peer, uint32_t type)
{
	const struct receivers_owner owner = listener_owner_of(peer);
	int ret;

	if (peer->connection.producer || type != KPROF_PACKET_HELLO) {
		listener_detach(listener, peer, "unexpected descriptors in a packet");
		return;
	}
	if (!receivers_may(listener->receivers, &owner)) {
		listener_detach(
			listener, peer, "descriptors that it sent before are not closed yet");
		return;
	}
	ret = receivers_request(listener->receivers, &owner, peer->fd, peer);
	if (ret == -EAGAIN) {
		peer->waits.data = peer;
		g_queue_push_tail_link(&listener->waiting, &peer->waits);
	} else if (ret) {
		listener_detach(listener, peer, "cannot start a process that receives its pool");
	} else {
		peer->receiving = true;
	}
}

bool listener_receive(struct listener *listener, struct listener_peer *peer)
{
	enum recv_fds_result result;
	struct err err = { "" };
	uint32_t type;
	size_t bytes;

	result = recv_fds_packet(peer->fd, listener->in, sizeof(listener->in), &bytes, &type);
	if (result == RECV_FDS_WITH_DESCRIPTORS) {
		start_receiver(listener, peer, type);
		return false;
	}
	if (result == RECV_FDS_END || (result == RECV_FDS_PACKET && is_superseded(peer))) {
		peer->connection.hung_up = result == RECV_FDS_END;
		listener_drop(listener, peer);
		return false;
	}
	if (result == RECV_FDS_PACKET &&
		take_packet(listener, peer, listener->in, bytes, -1, &err)) {
		if (peer->connection.welcome)
			listener_send(listener, peer); /* WELCOME, with our version */
		listener_detach(listener, peer, err.text);
		return false;
	}
	if (result == RECV_FDS_NOTHING || peer->connection.marked)
		listener_send(listener, peer);
	return result != RECV_FDS_NOTHING;
}

/* Tries again to find a receiver for those that wait for one. */
static void retry_waiting(struct listener *listener)
{
	GQueue waiting = listener->waiting;
	struct listener_peer *peer;
	GList *link;

	g_queue_init(&listener->waiting);
	while ((link = g_queue_pop_head_link(&waiting))) {
		peer = link->data;
		link->data = NULL;
		start_receiver(listener, peer, KPROF_PACKET_HELLO);
	}
}

static void take_answer(struct listener *listener, struct listener_peer *peer,
	const struct receiver_answer *answer, int fd)
{
	struct err err = { "" };

	peer->receiving = false;
	if (answer->result == -EBADMSG || answer->result == -EINVAL) {
		producers_count_refused(listener->producers);
		listener_detach(listener, peer, "its pool is refused: not exactly one memfd");
	} else if (answer->result == -EIO) {
		listener_detach(listener, peer, "the process that received its pool ended");
	} else if (!answer->result && take_packet(listener, peer, answer->data,
			MIN(answer->bytes, sizeof(answer->data) + 1), fd, &err)) {
		if (peer->connection.welcome)
			listener_send(listener, peer); /* WELCOME, with our version */
		listener_detach(listener, peer, err.text);
	} else {
		listener_send(listener, peer);
		listener_rearm(listener, peer);
	}
}

void listener_take_received(struct listener *listener)
{
	struct receiver_answer answer;
	void *cookie;
	int fd;

	while (receivers_next(listener->receivers, &cookie, &answer, &fd)) {
		struct listener_peer *peer = cookie;
		uint64_t begin_ns = clock_thread_ns();

		if (!peer)
			continue;
		take_answer(listener, peer, &answer, fd);
		if (answer.result == -EBADMSG)
			begin_ns -= RECEIVER_LOST_NS;
		listener_charge(listener, &peer->connection, begin_ns);
	}
	retry_waiting(listener);
}
