/* SPDX-License-Identifier: MIT */
/* The thread that talks with programs: see listener.h. */
#include "trace/listener.h"

#include <errno.h>
#include <glib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/bell.h"
#include "base/units.h"
#include "sys/clock.h"
#include "trace/discard.h"
#include "trace/hangup.h"
#include "trace/places.h"
#include "trace/producers.h"
#include "trace/receive.h"
#include "trace/reports.h"
#include "trace/session.h"
#include "trace/sync_rounds.h"

/* What is done at one wake: for all, and for each program. */
#define WAKE_EVENTS 64
#define ACCEPTS_PER_WAKE 64
#define PACKETS_PER_WAKE 16
#define SEND_BYTES (32 * 1024)
/* When descriptors are short: how long before the next try to accept. */
#define PAUSE_MS 1000
/* Programs that did not answer in time: so many are named, which is a line that can be read. */
#define LATE_NAMED 8

struct connection {
	int fd;		 /* -1: dropped */
	bool wants_room; /* EPOLLOUT is waited for */
	uint64_t packets;
	struct session session;
	struct place place;
	GList link;	 /* in all, or in dropped */
};

/* i: invariant; a: atomic; all others are the thread's */
struct listener {
	struct producers *producers;	 /* i */
	struct listener_options options; /* i */
	int fd;				 /* i: where programs connect */
	int epoll;			 /* i */
	int bell;			 /* i: of the thread */
	pthread_t thread;		 /* i */
	bool running;			 /* who creates and stops */
	_Atomic bool stopping;		 /* a */
	_Atomic bool liars;		 /* a: there may be new ones */
	_Atomic uint64_t connections;	 /* a */
	_Atomic uint64_t detached;	 /* a */
	_Atomic uint64_t sync_timeouts;	 /* a */
	struct sync_rounds *rounds;	 /* i; has a lock of its own */
	struct discard *discard;
	GQueue all;			 /* of struct connection */
	GQueue dropped;			 /* no more of all; the events at hand may still name them */
	GArray *doomed;			 /* of int: sockets for hangup_all */
	struct places *places;		 /* that these have */
	bool paused;			 /* no accepts for want of descriptors */
	struct reports *reports;
	char in[KPROF_PACKET_MAX] __attribute__((aligned(8)));
	char out[KPROF_PACKET_MAX] __attribute__((aligned(8)));
};

void listener_options_init(struct listener_options *options, unsigned int programs,
	unsigned int user_programs)
{
	*options = (struct listener_options){
		.connections = programs,
		.user_connections = user_programs,
		.process_connections = 16,
		.hello_ms = 5000,
		.packets = 10000,
		.packets_per_s = 1000,
		.reports = 16,
	};
}

/* ---- reports ---------------------------------------------------------------------------------- */

static void report(struct listener *listener, const struct session *session, const char *reason)
{
	if (listener->options.report && reports_may(listener->reports, session->pid, session->uid))
		listener->options.report(listener->options.arg, session->pid, session->uid,
			session->program, reason);
}

static void on_refused(void *arg, const struct session *session, const char *reason)
{
	report(arg, session, reason);
}

/* ---- connections ------------------------------------------------------------------------------ */

static struct connection *connection_at(struct place *place)
{
	return (struct connection *)(void *)((char *)place - offsetof(struct connection, place));
}

static int watch(struct listener *listener, int operation, int fd, uint32_t events, void *data)
{
	struct epoll_event event = { .events = events, .data.ptr = data };

	return epoll_ctl(listener->epoll, operation, fd, &event) ? -errno : 0;
}

static void set_paused(struct listener *listener, bool paused)
{
	if (listener->paused == paused)
		return;
	listener->paused = paused;
	watch(listener, EPOLL_CTL_MOD, listener->fd, paused ? 0 : EPOLLIN, &listener->fd);
}

/* Ends a connection that is in no epoll. */
static void hang_up(struct listener *listener, int fd)
{
	if (!hangup_try(fd))
		g_array_append_val(listener->doomed, fd);
}

static void drop(struct listener *listener, struct connection *connection)
{
	epoll_ctl(listener->epoll, EPOLL_CTL_DEL, connection->fd, NULL);
	hang_up(listener, connection->fd);
	g_queue_unlink(&listener->all, &connection->link);
	places_leave(listener->places, &connection->place);
	sync_rounds_answered(listener->rounds, connection->session.sync_answered,
		connection->session.sync_wanted);
	session_fini(&connection->session);
	/* relaxed: this thread is the only one that changes it */
	atomic_write_relaxed(&listener->connections, listener->all.length);
	connection->fd = -1;
	g_queue_push_tail_link(&listener->dropped, &connection->link);
	set_paused(listener, false); /* there are descriptors again */
#ifdef __GLIBC__
	/* thousands of events of a program are memory that the C library would keep for itself */
	if (!listener->all.length)
		malloc_trim(0);
#endif
}

static void detach(struct listener *listener, struct connection *connection, const char *reason)
{
	atomic_add_relaxed(&listener->detached, 1); /* a count */
	report(listener, &connection->session, reason);
	drop(listener, connection);
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
	session_skip_rounds(&connection->session, sync_rounds_newest(listener->rounds));
	places_take(listener->places, &connection->place, who);
	g_queue_push_tail_link(&listener->all, &connection->link);
	atomic_write_relaxed(&listener->connections, listener->all.length); /* as in drop */
	if (watch(listener, EPOLL_CTL_ADD, fd, EPOLLIN, connection))
		drop(listener, connection);
}

/* What is in the way of another connection of this process; NULL: nothing. */
static const char *make_place(struct listener *listener, const struct ucred *who)
{
	const char *reason;
	struct place *late;

	while (!(reason = places_find(listener->places, who, &late)) && late)
		detach(listener, connection_at(late), "it has not greeted, and its place is wanted");
	return reason;
}

/* Sends away whom there is no room for: a connection that waits would hold up those behind it. */
static void admit(struct listener *listener, int fd)
{
	struct session session = { .program = "?" };
	socklen_t bytes = sizeof(struct ucred);
	const char *reason;
	struct ucred who;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes)) {
		hang_up(listener, fd);
		return;
	}
	reason = make_place(listener, &who);
	if (!reason) {
		add_connection(listener, fd, &who);
		return;
	}
	session.pid = who.pid;
	session.uid = who.uid;
	report(listener, &session, reason);
	producers_count_refused(listener->producers);
	hang_up(listener, fd);
}

static void accept_programs(struct listener *listener)
{
	for (int i = 0; i < ACCEPTS_PER_WAKE; i++) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0)
			admit(listener, fd);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			set_paused(listener, true); /* else we would be woken for it on and on */
		if (fd < 0 && errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

/* ---- saying ----------------------------------------------------------------------------------- */

/* All that the program does not know yet, until its socket is full. */
static void tell(struct listener *listener, struct connection *connection)
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
	watch(listener, EPOLL_CTL_MOD, connection->fd, full ? EPOLLIN | EPOLLOUT : EPOLLIN,
		connection);
}

static void tell_all(struct listener *listener)
{
	uint64_t round = sync_rounds_begin(listener->rounds);

	for (GList *link = listener->all.head; link; link = link->next) {
		struct connection *connection = link->data;

		session_look(&connection->session);
		if (round)
			session_sync(&connection->session, round);
		tell(listener, connection);
		if (round && !session_is_synced(&connection->session))
			sync_rounds_ask(listener->rounds);
	}
}

/* ---- who waits for what was said --------------------------------------------------------------- */

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

/* Answers the writes whose rounds have ended. */
static void end_rounds(struct listener *listener)
{
	uint64_t round;
	bool late;

	while ((round = sync_rounds_due(listener->rounds, clock_monotonic_ns(), &late))) {
		g_autofree char *names = late ? name_late(listener, round) : NULL;

		sync_rounds_end(listener->rounds, round, names);
	}
}

/* How long until a round's time is over; -1: nobody waits. */
static int round_timeout_ms(struct listener *listener)
{
	uint64_t deadline_ns = sync_rounds_deadline_ns(listener->rounds), now_ns;

	if (!deadline_ns)
		return -1;
	now_ns = clock_monotonic_ns();
	return now_ns >= deadline_ns ? 0 : (int)((deadline_ns - now_ns) / NSEC_PER_MSEC) + 1;
}

/* ---- hearing ---------------------------------------------------------------------------------- */

static struct discard_owner owner_of(const struct connection *connection)
{
	return (struct discard_owner){ connection->session.pid, connection->session.uid };
}

/* With its greeting, and while there is who closes them if need be. */
static bool wants_descriptors(struct listener *listener, const struct connection *connection)
{
	const struct discard_owner owner = owner_of(connection);

	return !connection->session.producer && discard_may(listener->discard, &owner);
}

static void discard_descriptors(struct listener *listener, struct connection *connection,
	struct received *received)
{
	const struct discard_owner owner = owner_of(connection);

	discard_close(listener->discard, &owner, received->fds, received->count);
	received->count = 0;
}

static bool sends_too_much(const struct listener *listener, struct connection *connection)
{
	uint64_t seconds;

	if (++connection->packets <= listener->options.packets)
		return false;
	seconds = (clock_monotonic_ns() - connection->place.since_ns) / NSEC_PER_SEC;
	return connection->packets - listener->options.packets >
		seconds * listener->options.packets_per_s;
}

static int take_packet(struct listener *listener, struct connection *connection,
	struct received *received, struct err *err)
{
	bool single = received->count == 1 && !received->cut;
	int fd = single ? received->fds[0] : -1, ret;

	if (sends_too_much(listener, connection))
		ret = err_set(err, EPROTO, "it sends too many packets");
	else if (received->bytes > sizeof(listener->in))
		ret = err_set(err, EPROTO, "a packet that is too large");
	else
		ret = session_take(&connection->session, listener->in, received->bytes, &fd, err);
	if (single && fd < 0)
		received->count = 0; /* it was taken */
	discard_descriptors(listener, connection, received);
	return ret;
}

/* After the HELLO; a program that attaches again is here twice, and the older one is over. */
static bool is_over(const struct connection *connection)
{
	const struct producer *producer = connection->session.producer;

	/* relaxed: written by this thread */
	return producer && atomic_read_relaxed(&producer->ended);
}

/* A packet that was asked for is none of those that a program may send of its own accord. */
static void note_answer(struct listener *listener, struct connection *connection, uint64_t before)
{
	if (connection->session.sync_answered == before)
		return;
	connection->packets--;
	sync_rounds_answered(listener->rounds, before, connection->session.sync_answered);
}

static void hear(struct listener *listener, struct connection *connection)
{
	struct received received;
	struct err err = { "" };
	uint64_t answered;
	int ret;

	for (int i = 0; i < PACKETS_PER_WAKE; i++) {
		ret = receive_packet(connection->fd, wants_descriptors(listener, connection),
			listener->in, sizeof(listener->in), &received);
		if (ret == -EAGAIN)
			break;
		if (ret == -EINTR)
			continue;
		if (ret == -EPROTO) {
			detach(listener, connection, wants_descriptors(listener, connection) ||
					connection->session.producer ?
				"it sends descriptors that nobody asked for" :
				"what it has sent before is not closed yet");
			return;
		}
		if (ret == 0 || is_over(connection)) {
			connection->session.hung_up = ret == 0;
			discard_descriptors(listener, connection, &received);
			drop(listener, connection);
			return;
		}
		answered = connection->session.sync_answered;
		ret = take_packet(listener, connection, &received, &err);
		note_answer(listener, connection, answered);
		if (ret) {
			if (connection->session.welcome)
				tell(listener, connection); /* which version it should have */
			detach(listener, connection, err.text);
			return;
		}
		if (!connection->place.greeted && connection->session.producer)
			places_greet(listener->places, &connection->place);
	}
	tell(listener, connection);
}

/* ---- liars ------------------------------------------------------------------------------------ */

/* Those that are attached are sent away; of those that only their memory is left of, it is said. */
static void expose_liars(struct listener *listener)
{
	GPtrArray *all;
	GList *link, *next;

	for (link = listener->all.head; link; link = next) {
		struct connection *connection = link->data;
		struct producer *producer = connection->session.producer;
		const char *lie = producer ? producer_take_lie(producer) : NULL;

		next = link->next;
		if (lie)
			detach(listener, connection, lie);
	}
	all = producers_all(listener->producers);
	for (guint i = 0; i < all->len; i++) {
		struct producer *producer = g_ptr_array_index(all, i);
		struct session session = { .pid = producer->pid, .uid = producer->uid };
		const char *lie = producer_take_lie(producer);

		g_strlcpy(session.program, producer->program, sizeof(session.program));
		if (lie)
			report(listener, &session, lie);
	}
	g_ptr_array_free(all, TRUE);
}

static void on_liar(void *arg)
{
	struct listener *listener = arg;

	atomic_write_relaxed(&listener->liars, true); /* a flag that the bell goes with */
	listener_kick(listener);
}

/* ---- the thread ------------------------------------------------------------------------------- */

/* Sends away who is late; how long to wait for the next one, -1: for ever. */
static int check_late(struct listener *listener)
{
	const uint64_t patience_ns = listener->options.hello_ms * NSEC_PER_MSEC;
	struct place *late;

	while ((late = places_first_late(listener->places))) {
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns - late->since_ns < patience_ns)
			return (int)((late->since_ns + patience_ns - now_ns) / NSEC_PER_MSEC) + 1;
		detach(listener, connection_at(late), "it did not greet in time");
	}
	return listener->paused ? PAUSE_MS : -1;
}

static void handle(struct listener *listener, const struct epoll_event *event, bool *kicked)
{
	struct connection *connection = event->data.ptr;

	if (event->data.ptr == &listener->bell) {
		bell_wait(listener->bell);
		*kicked = true;
	} else if (event->data.ptr == &listener->fd) {
		accept_programs(listener);
	} else if (connection->fd < 0) {
		return; /* made place for somebody a moment ago */
	} else if (event->events & ~(uint32_t)EPOLLOUT) {
		hear(listener, connection);
	} else {
		tell(listener, connection);
	}
}

static int next_timeout_ms(struct listener *listener)
{
	int late_ms = check_late(listener), round_ms = round_timeout_ms(listener);

	if (late_ms < 0 || round_ms < 0)
		return MAX(late_ms, round_ms);
	return MIN(late_ms, round_ms);
}

static void free_dropped(struct listener *listener)
{
	GList *link;

	while ((link = g_queue_pop_head_link(&listener->dropped)))
		g_free(link->data);
	hangup_all((const int *)(const void *)listener->doomed->data, listener->doomed->len);
	g_array_set_size(listener->doomed, 0);
}

static void *run(void *arg)
{
	struct listener *listener = arg;
	struct epoll_event events[WAKE_EVENTS];

	pthread_setname_np(pthread_self(), "kp-listen");
	/* relaxed: a flag that the bell goes with */
	while (!atomic_read_relaxed(&listener->stopping)) {
		bool kicked = false;
		int n = epoll_wait(listener->epoll, events, WAKE_EVENTS, next_timeout_ms(listener));

		if (n == 0)
			set_paused(listener, false);
		for (int i = 0; i < n; i++)
			handle(listener, &events[i], &kicked);
		if (kicked)
			tell_all(listener);
		/* relaxed, both: see on_liar */
		if (kicked && atomic_read_relaxed(&listener->liars)) {
			atomic_write_relaxed(&listener->liars, false);
			expose_liars(listener);
		}
		end_rounds(listener);
		free_dropped(listener);
	}
	sync_rounds_close(listener->rounds);
	while (listener->all.head)
		drop(listener, listener->all.head->data);
	free_dropped(listener);
	return NULL;
}

int listener_create(struct producers *producers, int fd, const struct listener_options *options,
	struct listener **listener)
{
	struct listener *l = g_new0(struct listener, 1);
	int ret = 0;

	l->producers = producers;
	l->options = *options;
	l->fd = fd;
	l->reports = reports_create(options->reports);
	l->discard = discard_create();
	l->rounds = sync_rounds_create();
	l->places = places_create(&(struct places_limits){
		.all = options->connections,
		.user = options->user_connections,
		.process = options->process_connections,
	});
	g_queue_init(&l->all);
	g_queue_init(&l->dropped);
	l->doomed = g_array_new(FALSE, FALSE, sizeof(int));
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->bell = bell_open();
	if (l->epoll < 0 || l->bell < 0)
		ret = -errno;
	if (!ret)
		ret = watch(l, EPOLL_CTL_ADD, l->bell, EPOLLIN, &l->bell);
	if (!ret)
		ret = watch(l, EPOLL_CTL_ADD, fd, EPOLLIN, &l->fd);
	if (!ret)
		ret = -pthread_create(&l->thread, NULL, run, l);
	l->running = !ret;
	if (!ret)
		producers_on_liar(producers, on_liar, l);
	if (ret)
		listener_destroy(l);
	else
		*listener = l;
	return ret;
}

bool listener_sync(struct listener *listener, struct sync_waiter *waiter)
{
	if (!sync_rounds_add(listener->rounds, waiter))
		return false;
	listener_kick(listener);
	return true;
}

bool listener_sync_cancel(struct listener *listener, struct sync_waiter *waiter)
{
	return sync_rounds_cancel(listener->rounds, waiter);
}

void listener_kick(struct listener *listener)
{
	bell_ring(listener->bell);
}

void listener_stop(struct listener *listener)
{
	if (!listener || !listener->running)
		return;
	atomic_write_relaxed(&listener->stopping, true); /* as in run */
	listener_kick(listener);
	pthread_join(listener->thread, NULL);
	listener->running = false;
}

void listener_destroy(struct listener *listener)
{
	if (!listener)
		return;
	listener_stop(listener);
	producers_on_liar(listener->producers, NULL, NULL);
	discard_destroy(listener->discard);
	reports_destroy(listener->reports);
	g_array_unref(listener->doomed);
	places_destroy(listener->places);
	sync_rounds_destroy(listener->rounds);
	if (listener->epoll >= 0)
		close(listener->epoll);
	if (listener->bell >= 0)
		close(listener->bell);
	g_free(listener);
}

void listener_print_stats(struct listener *listener, struct stats *stats)
{
	/* relaxed, all: counts */
	stats_u64(stats, atomic_read_relaxed(&listener->connections), "trace.connections");
	stats_u64(stats, atomic_read_relaxed(&listener->detached), "trace.detached");
	stats_u64(stats, atomic_read_relaxed(&listener->sync_timeouts), "trace.sync_timeouts");
}
