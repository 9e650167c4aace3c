/* SPDX-License-Identifier: MIT */
/* The thread that serves the connections of producers: see listener.h. */
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
#include "producers/sync_rounds.h"

/* Events of epoll that are handled at one wakeup. */
#define WAKE_EVENTS 64
/*
 * Packets are received for so long before the thread accepts connections or sends switches; one
 * packet takes up to 5 ms.
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
		.marks = 32, /* with their headers less than a fifth of the trace's default size */
		/* to attach a producer takes 0.1 ms, and its 1000 events 2 ms */
		.user_burst_ns = 250 * NSEC_PER_MSEC,
		.user_ns_per_s = 50 * NSEC_PER_MSEC,
	};
}

/* ---- corrupt producers ----------------------------------------------------------------------- */

/* Detaches corrupt producers that are attached; reports those of which only the pool is left. */
static void report_corrupt(struct listener *listener)
{
	GPtrArray *all;
	GList *link, *next;

	for (link = listener->all.head; link; link = next) {
		struct listener_peer *peer = link->data;
		struct producer *producer = peer->connection.producer;
		const char *corruption = producer ? producer_take_corruption(producer) : NULL;

		next = link->next;
		if (corruption)
			listener_detach(listener, peer, corruption);
	}
	all = producers_all(listener->producers);
	for (guint i = 0; i < all->len; i++) {
		struct producer *producer = g_ptr_array_index(all, i);
		struct connection connection = { .pid = producer->pid, .uid = producer->uid };
		const char *corruption = producer_take_corruption(producer);

		g_strlcpy(connection.program, producer->program, sizeof(connection.program));
		if (corruption)
			listener_report(listener, &connection, corruption);
	}
	g_ptr_array_free(all, TRUE);
}

static void on_corrupt(void *arg)
{
	struct listener *listener = arg;

	atomic_write_relaxed(&listener->corrupt, true); /* relaxed: a flag; the bell orders it */
	listener_kick(listener);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/*
 * Detaches connections without HELLO whose time is over. Returns the timeout for the next one in
 * ms, or -1 if there is none.
 */
static int detach_without_hello(struct listener *listener)
{
	const uint64_t timeout_ns = listener->options.hello_ms * NSEC_PER_MSEC;
	struct admission_entry *pending;

	while ((pending = admission_oldest_pending(listener->admission))) {
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns - pending->since_ns < timeout_ns)
			return (int)((pending->since_ns + timeout_ns - now_ns) / NSEC_PER_MSEC) + 1;
		listener_detach(listener, listener_peer_at(pending), "it sent no HELLO in time");
	}
	return -1;
}

/* Returns the ms until accepting is tried again, or -1 if it is not paused. */
static int pause_timeout_ms(const struct listener *listener)
{
	const uint64_t now_ns = clock_monotonic_ns();

	if (!listener->paused)
		return -1;
	return listener->paused_until_ns <= now_ns ?
		0 : (int)((listener->paused_until_ns - now_ns) / NSEC_PER_MSEC) + 1;
}

static void receive(struct listener *listener, struct listener_peer *peer)
{
	uint64_t begin_ns = clock_thread_ns();

	if (listener_receive(listener, peer))
		user_turns_add(listener->turns, &peer->turn);
	else if (peer->fd >= 0)
		listener_rearm(listener, peer);
	listener_charge(listener, &peer->connection, begin_ns);
}

/* Receives a packet of each user in turn, for TURNS_NS; then the thread looks for other events. */
static void take_turns(struct listener *listener)
{
	uint64_t now_ns = clock_monotonic_ns(), end_ns = now_ns + TURNS_NS;
	struct listener_peer *peer;

	while (now_ns < end_ns && (peer = user_turns_next(listener->turns, now_ns))) {
		receive(listener, peer);
		now_ns = clock_monotonic_ns();
	}
}

static int turns_timeout_ms(struct listener *listener)
{
	uint64_t wait_ns = user_turns_wait_ns(listener->turns, clock_monotonic_ns());

	return wait_ns == UINT64_MAX ? -1 : (int)((wait_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
}

static void take_event(struct listener *listener, struct listener_peer *peer, uint32_t events)
{
	if (peer->fd < 0)
		return; /* evicted by an event that was handled before */
	if (events & ~(uint32_t)EPOLLOUT) {
		user_turns_add(listener->turns, &peer->turn);
		return;
	}
	listener_send(listener, peer);
	listener_rearm(listener, peer);
}

static void handle(struct listener *listener, const struct epoll_event *event, bool *kicked)
{
	struct listener_peer *peer = event->data.ptr;

	if (event->data.ptr == &listener->bell) {
		*kicked = bell_take(listener->bell);
	} else if (event->data.ptr == listener->acceptor) {
		/* room in the socket to it is used by free_dropped() */
		if (event->events & ~(uint32_t)EPOLLOUT)
			listener_accept(listener);
	} else if (event->data.ptr == listener->receivers) {
		listener_take_received(listener);
	} else {
		take_event(listener, peer, event->events);
	}
}

static int sooner_ms(int a, int b)
{
	return a < 0 || b < 0 ? MAX(a, b) : MIN(a, b);
}

static int next_timeout_ms(struct listener *listener)
{
	int ms = sooner_ms(detach_without_hello(listener), pause_timeout_ms(listener));

	return sooner_ms(ms, sooner_ms(listener_round_ms(listener), turns_timeout_ms(listener)));
}

static void free_dropped(struct listener *listener)
{
	GList *link;

	while ((link = g_queue_pop_head_link(&listener->dropped)))
		g_free(link->data);
	closing_run(listener->closing);
	listener_send_to_acceptor(listener);
}

static void *run(void *arg)
{
	struct listener *listener = arg;
	struct epoll_event events[WAKE_EVENTS];

	pthread_setname_np(pthread_self(), "kp-listen");
	/* relaxed: a flag; the bell orders it */
	while (!atomic_read_relaxed(&listener->stopping)) {
		bool kicked = false;
		int n = epoll_wait(listener->epoll, events, WAKE_EVENTS, next_timeout_ms(listener));

		for (int i = 0; i < n; i++)
			handle(listener, &events[i], &kicked);
		if (pause_timeout_ms(listener) == 0)
			listener_end_pause(listener);
		if (kicked)
			listener_send_all(listener);
		/* relaxed, both: see on_corrupt */
		if (kicked && atomic_read_relaxed(&listener->corrupt)) {
			atomic_write_relaxed(&listener->corrupt, false);
			report_corrupt(listener);
		}
		take_turns(listener);
		listener_end_rounds(listener);
		free_dropped(listener);
	}
	sync_rounds_close(listener->rounds);
	while (listener->all.head)
		listener_drop(listener, listener->all.head->data);
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
	l->reports = user_limits_create(options->reports, options->reports / 2);
	l->marks = user_limits_create(options->marks, 0);
	l->rounds = sync_rounds_create();
	g_queue_init(&l->waiting);
	l->turns = user_turns_create(&(struct user_turns_limits){
		.burst_ns = options->user_burst_ns,
		.per_s_ns = options->user_ns_per_s,
	});
	l->admission = admission_create(&(struct admission_limits){
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
		ret = acceptor_create(fd, &l->acceptor);
	if (!l->acceptor)
		close(fd);
	if (!ret)
		l->closing = closing_create(l->acceptor, l->receivers);
	if (!ret)
		ret = listener_watch(
			l, EPOLL_CTL_ADD, receivers_fd(l->receivers), EPOLLIN, l->receivers);
	if (!ret)
		ret = listener_watch(l, EPOLL_CTL_ADD, l->bell, EPOLLIN, &l->bell);
	if (!ret)
		ret = listener_watch(
			l, EPOLL_CTL_ADD, acceptor_fd(l->acceptor), EPOLLIN, l->acceptor);
	if (!ret)
		ret = -pthread_create(&l->thread, NULL, run, l);
	l->running = !ret;
	if (!ret)
		producers_on_corrupt(producers, on_corrupt, l);
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
	acceptor_destroy(listener->acceptor);
	listener->acceptor = NULL;
}

void listener_destroy(struct listener *listener)
{
	if (!listener)
		return;
	listener_stop(listener);
	producers_on_corrupt(listener->producers, NULL, NULL);
	acceptor_destroy(listener->acceptor);
	closing_destroy(listener->closing);
	receivers_destroy(listener->receivers);
	user_limits_destroy(listener->reports);
	user_limits_destroy(listener->marks);
	admission_destroy(listener->admission);
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
	/* relaxed, all: counters */
	stats_u64(stats, atomic_read_relaxed(&listener->connections), "trace.connections");
	stats_u64(stats, atomic_read_relaxed(&listener->deferred), "trace.deferred");
	stats_u64(stats, atomic_read_relaxed(&listener->detached), "trace.detached");
	stats_u64(stats, atomic_read_relaxed(&listener->marks_refused), "trace.marks_refused");
	stats_u64(stats, atomic_read_relaxed(&listener->sync_timeouts), "trace.sync_timeouts");
}
