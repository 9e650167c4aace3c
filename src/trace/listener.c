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
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/units.h"
#include "sys/clock.h"
#include "trace/discard.h"
#include "trace/producers.h"
#include "trace/session.h"

/* What is done at one wake: for all, and for each program. */
#define WAKE_EVENTS 64
#define ACCEPTS_PER_WAKE 64
#define PACKETS_PER_WAKE 16
/* Descriptors of one packet that are taken, to be closed; more are dropped by the kernel. */
#define DESCRIPTORS_MAX 4
#define SEND_BYTES (32 * 1024)
/* When another report may be passed on. */
#define REPORT_NS NSEC_PER_SEC
#define REPORTS_BITS 7
/* When descriptors are short: how long before the next try to accept. */
#define PAUSE_MS 1000

/* About a user's programs. */
struct reports {
	unsigned int left; /* that may be passed on now */
	uint64_t since_ns; /* when that was reckoned */
	pid_t pid;	   /* whose was the last */
};

struct connection {
	int fd;		 /* -1: dropped */
	bool wants_room; /* EPOLLOUT is waited for */
	bool greeted;
	uint64_t since_ns;
	uint64_t packets;
	struct session session;
	GList link;	 /* in all, or in dropped */
	GList late_link; /* in late, until it has greeted */
};

/* i: invariant; a: atomic; all others are the thread's */
struct listener {
	struct producers *producers;	 /* i */
	struct listener_options options; /* i */
	int fd;				 /* i: where programs connect */
	int epoll;			 /* i */
	int bell;			 /* i: an eventfd */
	pthread_t thread;		 /* i */
	bool running;			 /* who creates and stops */
	_Atomic bool stopping;		 /* a */
	_Atomic bool liars;		 /* a: there may be new ones */
	_Atomic uint64_t connections;	 /* a */
	_Atomic uint64_t detached;	 /* a */
	struct discard *discard;
	GQueue all;			 /* of struct connection */
	GQueue dropped;			 /* no more of all; the events at hand may still name them */
	GQueue late;			 /* of these, who have not greeted; oldest first */
	GHashTable *users;		 /* uid to number of connections */
	bool paused;			 /* no accepts for want of descriptors */
	struct reports reports[1u << REPORTS_BITS];
	char in[KPROF_PACKET_MAX] __attribute__((aligned(8)));
	char out[KPROF_PACKET_MAX] __attribute__((aligned(8)));
};

void listener_options_init(struct listener_options *options, unsigned int programs,
	unsigned int user_programs)
{
	*options = (struct listener_options){
		.connections = programs,
		.user_connections = user_programs,
		.hello_ms = 5000,
		.packets = 10000,
		.packets_per_s = 1000,
		.reports = 16,
	};
}

/* ---- reports ---------------------------------------------------------------------------------- */

/* Users share one only by chance: there are so few that all of them together are bounded, too. */
static struct reports *reports_of(struct listener *listener, uid_t uid)
{
	uint32_t mixed = (uint32_t)uid * 2654435769u; /* neighbours are far from each other */

	return &listener->reports[mixed >> (32 - REPORTS_BITS)];
}

/*
 * A program that is refused over and over must drown neither what is said about other users nor about
 * this one's other programs: who was reported last leaves half of what there is to them.
 */
static bool may_report(struct listener *listener, const struct session *session)
{
	struct reports *reports = reports_of(listener, session->uid);
	uint64_t now_ns = clock_monotonic_ns(), more = (now_ns - reports->since_ns) / REPORT_NS;

	if (more) {
		reports->left = (unsigned int)MIN(reports->left + more, listener->options.reports);
		reports->since_ns = now_ns;
	}
	if (reports->left <= (session->pid == reports->pid ? listener->options.reports / 2 : 0))
		return false;
	reports->left--;
	reports->pid = session->pid;
	return true;
}

static void report(struct listener *listener, const struct session *session, const char *reason)
{
	if (listener->options.report && may_report(listener, session))
		listener->options.report(listener->options.arg, session->pid, session->uid,
			session->program, reason);
}

static void on_refused(void *arg, const struct session *session, const char *reason)
{
	report(arg, session, reason);
}

/* ---- connections ------------------------------------------------------------------------------ */

static unsigned int count_user(struct listener *listener, uid_t uid, int change)
{
	gpointer key = GUINT_TO_POINTER(uid);
	unsigned int count = GPOINTER_TO_UINT(g_hash_table_lookup(listener->users, key));

	count += (unsigned int)change;
	if (count)
		g_hash_table_insert(listener->users, key, GUINT_TO_POINTER(count));
	else
		g_hash_table_remove(listener->users, key);
	return count;
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

static void drop(struct listener *listener, struct connection *connection)
{
	close(connection->fd); /* which takes it out of the epoll */
	g_queue_unlink(&listener->all, &connection->link);
	if (!connection->greeted)
		g_queue_unlink(&listener->late, &connection->late_link);
	count_user(listener, connection->session.uid, -1);
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
	connection->since_ns = clock_monotonic_ns();
	connection->link.data = connection->late_link.data = connection;
	session_init(&connection->session, listener->producers, who->pid, who->uid, on_refused,
		listener);
	g_queue_push_tail_link(&listener->all, &connection->link);
	g_queue_push_tail_link(&listener->late, &connection->late_link);
	atomic_write_relaxed(&listener->connections, listener->all.length); /* as in drop */
	if (watch(listener, EPOLL_CTL_ADD, fd, EPOLLIN, connection))
		drop(listener, connection);
}

/* A place for a newcomer: that of the oldest who has not greeted, of this user or (NULL) of anybody. */
static bool make_place(struct listener *listener, const uid_t *uid)
{
	for (GList *link = listener->late.head; link; link = link->next) {
		struct connection *connection = link->data;

		if (uid && connection->session.uid != *uid)
			continue;
		detach(listener, connection, "it has not greeted, and its place is wanted");
		return true;
	}
	return false;
}

/* What is in the way of another connection of this user; NULL: nothing. */
static const char *find_place(struct listener *listener, uid_t uid)
{
	if (count_user(listener, uid, 0) >= listener->options.user_connections &&
		!make_place(listener, &uid))
		return "this user's places for programs are taken";
	if (listener->all.length >= listener->options.connections && !make_place(listener, NULL))
		return "all places for programs are taken";
	return NULL;
}

/* Sends away whom there is no room for: a connection that waits would hold up those behind it. */
static void admit(struct listener *listener, int fd)
{
	struct session session = { .program = "?" };
	socklen_t bytes = sizeof(struct ucred);
	const char *reason;
	struct ucred who;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes)) {
		close(fd);
		return;
	}
	reason = find_place(listener, who.uid);
	if (!reason) {
		count_user(listener, who.uid, 1);
		add_connection(listener, fd, &who);
		return;
	}
	session.pid = who.pid;
	session.uid = who.uid;
	report(listener, &session, reason);
	producers_count_refused(listener->producers);
	close(fd);
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
	for (GList *link = listener->all.head; link; link = link->next) {
		struct connection *connection = link->data;

		session_look(&connection->session);
		tell(listener, connection);
	}
}

/* ---- hearing ---------------------------------------------------------------------------------- */

struct received {
	size_t bytes;
	int fds[DESCRIPTORS_MAX];
	unsigned int fd_count;
	int flags;
};

static void take_descriptors(struct msghdr *message, struct received *received)
{
	struct cmsghdr *head;

	for (head = CMSG_FIRSTHDR(message); head; head = CMSG_NXTHDR(message, head)) {
		size_t bytes = head->cmsg_len - CMSG_LEN(0);

		if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
			continue;
		bytes = MIN(bytes, sizeof(received->fds));
		memcpy(received->fds, CMSG_DATA(head), bytes);
		received->fd_count = (unsigned int)(bytes / sizeof(int));
	}
}

/* 1: a packet; 0: the end; -EAGAIN: nothing now. */
static int receive(struct listener *listener, struct connection *connection,
	struct received *received)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
	} control;
	struct iovec to = { listener->in, sizeof(listener->in) };
	struct msghdr message = { .msg_iov = &to, .msg_iovlen = 1 };
	ssize_t got;

	/* without room for them the kernel drops descriptors, and waits for nobody */
	if (discard_may(listener->discard, connection->session.uid)) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	received->fd_count = 0;
	got = recvmsg(connection->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
	if (got < 0) /* reset: it ended without reading what we said; what it said is still there */
		return errno == ECONNRESET || errno == EINTR ? -EINTR :
			errno == EAGAIN			     ? -EAGAIN :
							       0;
	received->bytes = (size_t)got;
	received->flags = message.msg_flags;
	if (message.msg_control)
		take_descriptors(&message, received);
	return got ? 1 : 0;
}

static void discard_descriptors(struct listener *listener, struct connection *connection,
	struct received *received)
{
	while (received->fd_count)
		discard_close(listener->discard, connection->session.uid,
			received->fds[--received->fd_count]);
}

static bool sends_too_much(const struct listener *listener, struct connection *connection)
{
	uint64_t seconds;

	if (++connection->packets <= listener->options.packets)
		return false;
	seconds = (clock_monotonic_ns() - connection->since_ns) / NSEC_PER_SEC;
	return connection->packets - listener->options.packets >
		seconds * listener->options.packets_per_s;
}

static int take_packet(struct listener *listener, struct connection *connection,
	struct received *received, struct err *err)
{
	bool single = received->fd_count == 1 && !(received->flags & MSG_CTRUNC);
	int fd = single ? received->fds[0] : -1, ret;

	if (sends_too_much(listener, connection))
		ret = err_set(err, EPROTO, "it sends too many packets");
	else if (received->flags & MSG_TRUNC || received->bytes > sizeof(listener->in))
		ret = err_set(err, EPROTO, "a packet that is too large");
	else
		ret = session_take(&connection->session, listener->in, received->bytes, &fd, err);
	if (single && fd < 0)
		received->fd_count = 0; /* it was taken */
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

static void hear(struct listener *listener, struct connection *connection)
{
	struct received received;
	struct err err = { "" };
	int ret;

	for (int i = 0; i < PACKETS_PER_WAKE; i++) {
		ret = receive(listener, connection, &received);
		if (ret == -EAGAIN)
			break;
		if (ret == -EINTR)
			continue;
		if (ret == 0 || is_over(connection)) {
			discard_descriptors(listener, connection, &received);
			drop(listener, connection);
			return;
		}
		if (take_packet(listener, connection, &received, &err)) {
			detach(listener, connection, err.text);
			return;
		}
		if (!connection->greeted && connection->session.producer) {
			connection->greeted = true;
			g_queue_unlink(&listener->late, &connection->late_link);
		}
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
	uint64_t now_ns, late_ns = listener->options.hello_ms * NSEC_PER_MSEC;
	GList *link;

	if (g_queue_is_empty(&listener->late))
		return listener->paused ? PAUSE_MS : -1;
	now_ns = clock_monotonic_ns();
	while ((link = g_queue_peek_head_link(&listener->late))) {
		struct connection *connection = link->data;

		if (now_ns - connection->since_ns < late_ns)
			return (int)((connection->since_ns + late_ns - now_ns) / NSEC_PER_MSEC) + 1;
		detach(listener, connection, "it did not greet in time");
	}
	return listener->paused ? PAUSE_MS : -1;
}

static void handle(struct listener *listener, const struct epoll_event *event, bool *kicked)
{
	struct connection *connection = event->data.ptr;
	uint64_t rings;

	if (event->data.ptr == &listener->bell)
		*kicked = read(listener->bell, &rings, sizeof(rings)) > 0;
	else if (event->data.ptr == &listener->fd)
		accept_programs(listener);
	else if (connection->fd < 0)
		return; /* made place for somebody a moment ago */
	else if (event->events & ~(uint32_t)EPOLLOUT)
		hear(listener, connection);
	else
		tell(listener, connection);
}

static void free_dropped(struct listener *listener)
{
	GList *link;

	while ((link = g_queue_pop_head_link(&listener->dropped)))
		g_free(link->data);
}

static void *run(void *arg)
{
	struct listener *listener = arg;
	struct epoll_event events[WAKE_EVENTS];

	pthread_setname_np(pthread_self(), "kp-listen");
	/* relaxed: a flag that the bell goes with */
	while (!atomic_read_relaxed(&listener->stopping)) {
		bool kicked = false;
		int n = epoll_wait(listener->epoll, events, WAKE_EVENTS, check_late(listener));

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
		free_dropped(listener);
	}
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
	for (size_t i = 0; i < G_N_ELEMENTS(l->reports); i++)
		l->reports[i] = (struct reports){ options->reports, clock_monotonic_ns(), -1 };
	l->discard = discard_create();
	l->users = g_hash_table_new(g_direct_hash, g_direct_equal);
	g_queue_init(&l->all);
	g_queue_init(&l->dropped);
	g_queue_init(&l->late);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
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

void listener_kick(struct listener *listener)
{
	const uint64_t one = 1;
	ssize_t ret;

	do /* full: it has been rung and will look */
		ret = write(listener->bell, &one, sizeof(one));
	while (ret < 0 && errno == EINTR);
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
	g_hash_table_destroy(listener->users);
	if (listener->epoll >= 0)
		close(listener->epoll);
	if (listener->bell >= 0)
		close(listener->bell);
	g_free(listener);
}

void listener_print_stats(struct listener *listener, struct stats *stats)
{
	/* relaxed, both: counts */
	stats_u64(stats, atomic_read_relaxed(&listener->connections), "trace.connections");
	stats_u64(stats, atomic_read_relaxed(&listener->detached), "trace.detached");
}
