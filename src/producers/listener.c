/* SPDX-License-Identifier: MIT */
/* The thread that talks with programs: see listener.h. */
#include "producers/listener.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/units.h"
#include "sys/clock.h"
#include "producers/closing.h"
#include "producers/listener_state.h"
#include "producers/producers.h"
#include "producers/reports.h"
#include "producers/sync_rounds.h"

/* What is done at one wake. */
#define WAKE_EVENTS 64
/* When descriptors are short: how long before the next try to accept. */
#define PAUSE_MS 1000
/*
 * So long programs are heard before others are accepted, or told of a switch; a packet takes up to
 * 5 ms.
 */
#define TURNS_NS (5 * NSEC_PER_MSEC)

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
		/* a program attaches in 0.1 ms, and 1000 events of it take 2 ms */
		.user_burst_ns = 250 * NSEC_PER_MSEC,
		.user_ns_per_s = 50 * NSEC_PER_MSEC,
	};
}

/*
 * ---- liars ------------------------------------------------------------------------------------
 */

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
			listener_detach(listener, connection, lie);
	}
	all = producers_all(listener->producers);
	for (guint i = 0; i < all->len; i++) {
		struct producer *producer = g_ptr_array_index(all, i);
		struct session session = { .pid = producer->pid, .uid = producer->uid };
		const char *lie = producer_take_lie(producer);

		g_strlcpy(session.program, producer->program, sizeof(session.program));
		if (lie)
			listener_report(listener, &session, lie);
	}
	g_ptr_array_free(all, TRUE);
}

static void on_liar(void *arg)
{
	struct listener *listener = arg;

	atomic_write_relaxed(&listener->liars, true); /* a flag that the bell goes with */
	listener_kick(listener);
}

/*
 * ---- the thread -------------------------------------------------------------------------------
 */

/* Sends away who is late; how long to wait for the next one, -1: for ever. */
static int check_late(struct listener *listener)
{
	const uint64_t patience_ns = listener->options.hello_ms * NSEC_PER_MSEC;
	struct admission_entry *late;

	while ((late = admission_first_late(listener->places))) {
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns - late->since_ns < patience_ns)
			return (int)((late->since_ns + patience_ns - now_ns) / NSEC_PER_MSEC) + 1;
		listener_detach(listener, listener_connection_at(late), "it did not greet in time");
	}
	return listener->paused ? PAUSE_MS : -1;
}

static void hear(struct listener *listener, struct connection *connection)
{
	uint64_t begin_ns = clock_thread_ns();

	if (listener_hear(listener, connection))
		user_turns_add(listener->turns, &connection->turn);
	else if (connection->fd >= 0)
		listener_arm(listener, connection);
	listener_charge(listener, &connection->session, begin_ns);
}

/*
 * Those who have said something are heard, a packet of each user in turn; then others may have
 * come.
 */
static void take_turns(struct listener *listener)
{
	uint64_t now_ns = clock_monotonic_ns(), end_ns = now_ns + TURNS_NS;
	struct connection *connection;

	while (now_ns < end_ns && (connection = user_turns_next(listener->turns, now_ns))) {
		hear(listener, connection);
		now_ns = clock_monotonic_ns();
	}
}

static int turns_timeout_ms(struct listener *listener)
{
	uint64_t wait_ns = user_turns_wait_ns(listener->turns, clock_monotonic_ns());

	return wait_ns == UINT64_MAX ? -1 : (int)((wait_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
}

static void take_event(struct listener *listener, struct connection *connection, uint32_t events)
{
	if (connection->fd < 0)
		return; /* made place for somebody a moment ago */
	if (events & ~(uint32_t)EPOLLOUT) {
		user_turns_add(listener->turns, &connection->turn);
		return;
	}
	listener_tell(listener, connection);
	listener_arm(listener, connection);
}

static void handle(struct listener *listener, const struct epoll_event *event, bool *kicked)
{
	struct connection *connection = event->data.ptr;

	if (event->data.ptr == &listener->bell) {
		*kicked = bell_take(listener->bell);
	} else if (event->data.ptr == &listener->fd) {
		listener_accept(listener);
	} else if (event->data.ptr == listener->receivers) {
		listener_take_answers(listener);
	} else {
		take_event(listener, connection, event->events);
	}
}

static int sooner_ms(int a, int b)
{
	return a < 0 || b < 0 ? MAX(a, b) : MIN(a, b);
}

static int next_timeout_ms(struct listener *listener)
{
	return sooner_ms(check_late(listener),
		sooner_ms(listener_round_ms(listener), turns_timeout_ms(listener)));
}

static void free_dropped(struct listener *listener)
{
	GList *link;

	while ((link = g_queue_pop_head_link(&listener->dropped)))
		g_free(link->data);
	closing_run(listener->closing);
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
			listener_pause(listener, false);
		for (int i = 0; i < n; i++)
			handle(listener, &events[i], &kicked);
		if (kicked)
			listener_tell_all(listener);
		/* relaxed, both: see on_liar */
		if (kicked && atomic_read_relaxed(&listener->liars)) {
			atomic_write_relaxed(&listener->liars, false);
			expose_liars(listener);
		}
		take_turns(listener);
		listener_end_rounds(listener);
		free_dropped(listener);
	}
	sync_rounds_close(listener->rounds);
	while (listener->all.head)
		listener_drop(listener, listener->all.head->data);
	free_dropped(listener);
	/* who connected and was not accepted may have sent descriptors, which go with the socket */
	receivers_hold(listener->receivers, listener->fd);
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
	l->rounds = sync_rounds_create();
	g_queue_init(&l->waiting);
	l->turns = user_turns_create(&(struct user_turns_limits){
		.burst_ns = options->user_burst_ns,
		.per_s_ns = options->user_ns_per_s,
	});
	l->places = admission_create(&(struct admission_limits){
		.all = options->connections,
		.user = options->user_connections,
		.process = options->process_connections,
	});
	g_queue_init(&l->all);
	g_queue_init(&l->dropped);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->bell = bell_open();
	if (l->epoll < 0 || l->bell < 0)
		ret = -errno;
	if (!ret)
		ret = receivers_create(&l->receivers);
	if (!ret)
		l->closing = closing_create(l->receivers);
	if (!ret)
		ret = listener_watch(l, EPOLL_CTL_ADD, receivers_fd(l->receivers), EPOLLIN, l->receivers);
	if (!ret)
		ret = listener_watch(l, EPOLL_CTL_ADD, l->bell, EPOLLIN, &l->bell);
	if (!ret)
		ret = listener_watch(l, EPOLL_CTL_ADD, fd, EPOLLIN, &l->fd);
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
	closing_destroy(listener->closing);
	receivers_destroy(listener->receivers);
	reports_destroy(listener->reports);
	admission_destroy(listener->places);
	user_turns_destroy(listener->turns);
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
	stats_u64(stats, atomic_read_relaxed(&listener->deferred), "trace.deferred");
	stats_u64(stats, atomic_read_relaxed(&listener->detached), "trace.detached");
	stats_u64(stats, atomic_read_relaxed(&listener->sync_timeouts), "trace.sync_timeouts");
}
