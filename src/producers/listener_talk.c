/* SPDX-License-Identifier: MIT */
/* What the listener says to programs and hears of them. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/clock.h"
#include "producers/listener_state.h"
#include "producers/producers.h"
#include "sys/recv_fds.h"
#include "producers/sync_rounds.h"

/*
 * What a process costs that is started because another one is lost, in this thread and elsewhere.
 */
#define RECEIVER_LOST_NS (200 * NSEC_PER_USEC)
/* Programs that did not answer in time: so many are named, which is a line that can be read. */
#define LATE_NAMED 8

/*
 * ---- saying -----------------------------------------------------------------------------------
 */

void listener_tell(struct listener *listener, struct connection *connection)
{
	bool full = false;
	size_t bytes;

	while (!full && (bytes = session_next(&connection->session, listener->out))) {
		if (send(connection->fd, listener->out, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) ==
			(ssize_t)bytes)
			session_told(&connection->session, listener->out);
		else if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)
			full = true;
		else
			return; /* its end will be read */
	}
	if (full == connection->wants_room)
		return;
	connection->wants_room = full;
	listener_arm(listener, connection);
}

void listener_tell_all(struct listener *listener)
{
	uint64_t round = sync_rounds_begin(listener->rounds);

	for (GList *link = listener->all.head; link; link = link->next) {
		struct connection *connection = link->data;

		session_look(&connection->session);
		if (round)
			session_sync(&connection->session, round);
		listener_tell(listener, connection);
		if (round && !session_is_synced(&connection->session))
			sync_rounds_ask(listener->rounds);
	}
}

/*
 * ---- who waits for what was said ---------------------------------------------------------------
 */

/* A sentence that names the programs whose answer to this round is missing. */
static char *name_late(struct listener *listener, uint64_t round)
{
	GString *names = g_string_new(NULL), *text = g_string_new(NULL);
	unsigned int late = 0;

	for (GList *link = listener->all.head; link; link = link->next) {
		const struct session *session = &((struct connection *)link->data)->session;

		if (session->sync_answered >= round)
			continue;
		if (late++ < LATE_NAMED)
			g_string_append_printf(names, "%s %d (%s)", late > 1 ? "," : "",
				(int)session->pid, session->producer->program);
	}
	g_string_printf(text, "%u program%s not answered within %d ms:%s", late,
		late == 1 ? " has" : "s have", SYNC_ROUNDS_WAIT_MS, names->str);
	if (late > LATE_NAMED)
		g_string_append_printf(text, " and %u more", late - LATE_NAMED);
	g_string_free(names, TRUE);
	atomic_add_relaxed(&listener->sync_timeouts, late); /* a count */
	return g_string_free(text, FALSE);
}

void listener_end_rounds(struct listener *listener)
{
	uint64_t round;
	bool late;

	while ((round = sync_rounds_due(listener->rounds, clock_monotonic_ns(), &late))) {
		g_autofree char *names = late ? name_late(listener, round) : NULL;

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

/*
 * ---- hearing ----------------------------------------------------------------------------------
 */

static bool sends_too_much(const struct listener *listener, struct connection *connection)
{
	uint64_t seconds;

	if (++connection->packets <= listener->options.packets)
		return false;
	seconds = (clock_monotonic_ns() - connection->place.since_ns) / NSEC_PER_SEC;
	return connection->packets - listener->options.packets >
		seconds * listener->options.packets_per_s;
}

/* A packet that was asked for is none of those that a program may send of its own accord. */
static void note_answer(struct listener *listener, struct connection *connection, uint64_t before)
{
	if (connection->session.sync_answered == before)
		return;
	connection->packets--;
	sync_rounds_answered(listener->rounds, before, connection->session.sync_answered);
}

/* fd: of the one memfd that came with it, or -1; taken or closed. */
static int take_packet(struct listener *listener, struct connection *connection, const char *data,
	size_t bytes, int fd, struct err *err)
{
	uint64_t answered = connection->session.sync_answered;
	int ret;

	if (sends_too_much(listener, connection))
		ret = err_set(err, EPROTO, "it sends too many packets");
	else if (bytes > KPROF_PACKET_MAX)
		ret = err_set(err, EPROTO, "a packet that is too large");
	else
		ret = session_take(&connection->session, data, bytes, &fd, err);
	note_answer(listener, connection, answered);
	if (fd >= 0)
		close(fd);
	if (!ret && !connection->place.greeted && connection->session.producer)
		admission_greet(listener->places, &connection->place);
	return ret;
}

/* After the HELLO; a program that attaches again is here twice, and the older one is over. */
static bool is_over(const struct connection *connection)
{
	const struct producer *producer = connection->session.producer;

	/* relaxed: written by this thread */
	return producer && atomic_read_relaxed(&producer->ended);
}

/* The packet in front has descriptors: only a HELLO has one, and it is received elsewhere. */
static void ask_receiver(struct listener *listener, struct connection *connection, uint32_t type)
{
	const struct receivers_owner owner = listener_owner_of(connection);
	int ret;

	if (connection->session.producer || type != KPROF_PACKET_HELLO) {
		listener_detach(listener, connection, "unexpected descriptors in a packet");
		return;
	}
	if (!receivers_may(listener->receivers, &owner)) {
		listener_detach(listener, connection, "descriptors that it sent before are not closed yet");
		return;
	}
	ret = receivers_ask(listener->receivers, &owner, connection->fd, connection);
	if (ret == -EAGAIN) {
		connection->waits.data = connection;
		g_queue_push_tail_link(&listener->waiting, &connection->waits);
	} else if (ret) {
		listener_detach(listener, connection, "no process can be started that receives its memory");
	} else {
		connection->asked = true;
	}
}

bool listener_hear(struct listener *listener, struct connection *connection)
{
	enum recv_fds_result result;
	struct err err = { "" };
	uint32_t type;
	size_t bytes;

	result = recv_fds_packet(connection->fd, listener->in, sizeof(listener->in), &bytes, &type);
	if (result == RECV_FDS_WITH_DESCRIPTORS) {
		ask_receiver(listener, connection, type);
		return false;
	}
	if (result == RECV_FDS_END || (result == RECV_FDS_PACKET && is_over(connection))) {
		connection->session.hung_up = result == RECV_FDS_END;
		listener_drop(listener, connection);
		return false;
	}
	if (result == RECV_FDS_PACKET &&
		take_packet(listener, connection, listener->in, bytes, -1, &err)) {
		if (connection->session.welcome)
			listener_tell(listener, connection); /* which version it should have */
		listener_detach(listener, connection, err.text);
		return false;
	}
	if (result == RECV_FDS_NOTHING)
		listener_tell(listener, connection);
	return result != RECV_FDS_NOTHING;
}

/* Those that waited ask anew. */
static void end_waiting(struct listener *listener)
{
	GQueue waiting = listener->waiting;
	struct connection *connection;
	GList *link;

	g_queue_init(&listener->waiting);
	while ((link = g_queue_pop_head_link(&waiting))) {
		connection = link->data;
		link->data = NULL;
		ask_receiver(listener, connection, KPROF_PACKET_HELLO);
	}
}

static void take_answer(struct listener *listener, struct connection *connection,
	const struct receiver_answer *answer, int fd)
{
	struct err err = { "" };

	connection->asked = false;
	if (answer->result == -EBADMSG || answer->result == -EINVAL) {
		producers_count_refused(listener->producers);
		listener_detach(listener, connection, "its memory is not taken: not one memfd");
	} else if (answer->result == -EIO) {
		listener_detach(listener, connection, "the process that received its memory ended");
	} else if (!answer->result && take_packet(listener, connection, answer->data,
			MIN(answer->bytes, sizeof(answer->data) + 1), fd, &err)) {
		if (connection->session.welcome)
			listener_tell(listener, connection); /* which version it should have */
		listener_detach(listener, connection, err.text);
	} else {
		listener_tell(listener, connection);
		listener_arm(listener, connection);
	}
}

void listener_take_answers(struct listener *listener)
{
	struct receiver_answer answer;
	void *asker;
	int fd;

	while (receivers_next(listener->receivers, &asker, &answer, &fd)) {
		struct connection *connection = asker;
		uint64_t begin_ns = clock_thread_ns();

		if (!connection)
			continue;
		take_answer(listener, connection, &answer, fd);
		if (answer.result == -EBADMSG)
			begin_ns -= RECEIVER_LOST_NS;
		listener_charge(listener, &connection->session, begin_ns);
	}
	end_waiting(listener);
}
