/* SPDX-License-Identifier: MIT */
/*
 * A listener with its catalog and producers, and the other end of a connection: packets that
 * a producer sends, and what it has received. One server exists at a time.
 */
#ifndef KPROFS_TESTS_UNIT_LISTENER_FIXTURE_H
#define KPROFS_TESTS_UNIT_LISTENER_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/race/fixture.h"
#include "producers/catalog.h"
#include "producers/endpoint.h"
#include "producers/listener.h"
#include "producers/producers.h"

#define POOL_BYTES 65536u
#define WAIT_MS 30000

/* ---- the server's side ----------------------------------------------------------------------- */

static struct {
	char dir[64], path[80];
	struct catalog *catalog;
	struct producers *producers;
	struct endpoint *endpoint;
	struct listener *listener;
	pthread_mutex_t lock;
	GString *reports; /* (lock) PROGRAM: REASON, one a line */
	unsigned int own_reports; /* (lock) of connections that this process made */
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline void on_changed(void *arg)
{
	if (server.listener)
		listener_kick(server.listener);
}

static inline void on_report(void *arg, pid_t pid, uid_t uid, const char *program, const char *reason)
{
	assert_ptr_equal(arg, &server);
	pthread_mutex_lock(&server.lock);
	g_string_append_printf(server.reports, "%s: %s\n", program, reason);
	server.own_reports += pid == getpid();
	pthread_mutex_unlock(&server.lock);
}

static inline bool was_reported(const char *text)
{
	bool found;

	pthread_mutex_lock(&server.lock);
	found = strstr(server.reports->str, text) != NULL;
	pthread_mutex_unlock(&server.lock);
	return found;
}

/* `change` may change the options before the listener starts. */
static inline void start(void (*change)(struct listener_options *options))
{
	const struct catalog_hooks hooks = {on_changed, NULL};
	const struct endpoint_options place = {.path = server.path, .owner = geteuid()};
	struct producers_limits limits;
	struct listener_options options;
	struct err err = {""};

	producers_limits_init(&limits, 20000, 1ull << 36);
	limits.user_programs = limits.programs;
	server.catalog = catalog_create(&hooks);
	server.producers = producers_create(server.catalog, &limits);
	server.reports = g_string_new(NULL);
	server.own_reports = 0;
	if (endpoint_open(&place, &server.endpoint, &err))
		fail_msg("%s", err.text);
	listener_options_init(&options, limits.programs, limits.user_programs);
	options.process_connections = options.connections; /* the tests are one process */
	options.report = on_report;
	options.arg = &server;
	if (change)
		change(&options);
	assert_int_equal(listener_create(server.producers, endpoint_take_fd(server.endpoint), &options,
				 &server.listener), 0);
}

static inline int begin(void **state)
{
	start(NULL);
	return 0;
}

static inline int finish(void **state)
{
	struct catalog_counts counts;

	listener_stop(server.listener);
	endpoint_close(server.endpoint);
	listener_destroy(server.listener);
	server.listener = NULL;
	producers_destroy(server.producers);
	catalog_count(server.catalog, &counts);
	assert_int_equal(counts.bytes, 0); /* everything was released */
	catalog_destroy(server.catalog);
	g_string_free(server.reports, TRUE);
	return 0;
}

static inline uint64_t stat_of(const char *name)
{
	struct stats *stats = stats_create();
	uint64_t value = 0;

	listener_print_stats(server.listener, stats);
	assert_int_equal(stats_find_u64(stats, name, &value), 0);
	stats_destroy(stats);
	return value;
}

static inline struct producers_totals total(void)
{
	struct producers_totals totals;

	producers_total(server.producers, &totals);
	return totals;
}

/* Waits for a condition. The expression is evaluated again and again. */
#define WAIT_FOR(condition) \
	do { \
		gint64 until = g_get_monotonic_time() + WAIT_MS * 1000; \
		while (!(condition)) { \
			if (g_get_monotonic_time() > until) \
				fail_msg("line %d: waited in vain for " #condition, __LINE__); \
			g_usleep(1000); \
		} \
	} while (0)

/* ---- a producer's side ----------------------------------------------------------------------- */

static inline int open_connection(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	g_strlcpy(address.sun_path, server.path, sizeof(address.sun_path));
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static inline ssize_t send_with(int fd, const void *data, size_t bytes, const int *fds, size_t count)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control = {.room = {0}};
	struct iovec part = {(void *)data, bytes};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (count) {
		struct cmsghdr *head;

		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(head), fds, count * sizeof(int));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL);
}

static inline struct kprof_packet_hello make_hello(const char *program, uint32_t pool_bytes)
{
	struct kprof_packet_hello hello = {
		.head = {KPROF_PACKET_HELLO, sizeof(hello)},
		.magic = KPROF_ATTACH_MAGIC,
		.version = KPROF_ATTACH_VERSION,
		.pid = (uint32_t)getpid(),
		.pool_bytes = pool_bytes,
	};

	g_strlcpy(hello.program, program, sizeof(hello.program));
	return hello;
}

static inline void send_hello(int fd, const char *program, int pool)
{
	struct kprof_packet_hello hello = make_hello(program, POOL_BYTES);

	assert_int_equal(send_with(fd, &hello, sizeof(hello), &pool, 1), sizeof(hello));
}

/* Packets that define events and that remove ids. */
static inline GByteArray *begin_packet(uint32_t type)
{
	const struct kprof_packet_events head = {.head = {type, 0}};
	GByteArray *packet = g_byte_array_new();

	return g_byte_array_append(packet, (const guint8 *)&head, sizeof(head));
}

static inline void add_definition(GByteArray *packet, uint16_t id, uint8_t kind, const char *provider,
	const char *name, const char *format)
{
	const struct kprof_event_def def = {
		.bytes = (uint16_t)(sizeof(def) + strlen(provider) + strlen(name) + strlen(format)),
		.id = id,
		.kind = kind,
		.provider_bytes = (uint8_t)strlen(provider),
		.name_bytes = (uint8_t)strlen(name),
		.format_bytes = (uint16_t)strlen(format),
	};

	g_byte_array_append(packet, (const guint8 *)&def, sizeof(def));
	g_byte_array_append(packet, (const guint8 *)provider, (guint)strlen(provider));
	g_byte_array_append(packet, (const guint8 *)name, (guint)strlen(name));
	g_byte_array_append(packet, (const guint8 *)format, (guint)strlen(format));
	((struct kprof_packet_events *)(void *)packet->data)->count++;
}

static inline void send_packet(int fd, GByteArray *packet)
{
	((struct kprof_packet *)(void *)packet->data)->bytes = packet->len;
	assert_int_equal(send_with(fd, packet->data, packet->len, NULL, 0), packet->len);
	g_byte_array_unref(packet);
}

static inline void define_event(int fd, uint16_t id, const char *name)
{
	GByteArray *packet = begin_packet(KPROF_PACKET_EVENTS);

	add_definition(packet, id, KPROF_KIND_EVENT, "test", name, "%d");
	send_packet(fd, packet);
}

/* What a program has received. */
struct received {
	uint8_t on[64]; /* by id; 2: nothing */
	uint8_t probed[64]; /* the same, of PROBE */
	uint64_t clear;
	unsigned int welcomes, switches;
	bool ended;
};

static inline void init_received(struct received *received)
{
	memset(received, 0, sizeof(*received));
	memset(received->on, 2, sizeof(received->on));
	memset(received->probed, 2, sizeof(received->probed));
}

/* Receives all waiting packets, without blocking. */
static inline void receive_packets(int fd, struct received *received)
{
	static char data[KPROF_PACKET_MAX] __attribute__((aligned(8)));
	ssize_t got;

	while ((got = recv(fd, data, sizeof(data), MSG_DONTWAIT)) > 0) {
		const struct kprof_packet *head = (void *)data;
		const struct kprof_packet_switch *change = (void *)data;

		assert_int_equal(head->bytes, got);
		if (head->type == KPROF_PACKET_WELCOME) {
			received->welcomes++;
		} else if (head->type == KPROF_PACKET_CLEAR) {
			received->clear = ((const struct kprof_packet_clear *)(void *)data)->ticket;
		} else if (head->type == KPROF_PACKET_SWITCH || head->type == KPROF_PACKET_PROBE) {
			const bool is_probe = head->type == KPROF_PACKET_PROBE;
			uint8_t *values = is_probe ? received->probed : received->on;

			received->switches += !is_probe;
			for (uint32_t i = 0; i < change->count; i++)
				if (change->first + i < sizeof(received->on))
					values[change->first + i] = (uint8_t)data[sizeof(*change) + i];
		}
	}
	received->ended |= got == 0 || (got < 0 && errno != EAGAIN);
}

static inline bool is_switched(int fd, struct received *received, uint16_t id, uint8_t on)
{
	receive_packets(fd, received);
	assert_false(received->ended);
	return received->on[id] == on;
}

static inline bool is_ended(int fd, struct received *received)
{
	receive_packets(fd, received);
	return received->ended;
}

/* ---- wrong input---------------------------------------------------------------------------------  */

static inline void allow_many_reports(struct listener_options *options)
{
	options->reports = 1000;
}

static inline int begin_with_reports(void **state)
{
	start(allow_many_reports);
	return 0;
}

/* ---- the socket's path ----------------------------------------------------------------------- */

static inline int open_endpoint(const char *path, enum endpoint_who who, struct endpoint **endpoint,
	struct err *err)
{
	const struct endpoint_options options = {
		.path = path, .who = who, .owner = geteuid(), .group = getegid(),
	};

	err->text[0] = '\0';
	return endpoint_open(&options, endpoint, err);
}

static inline int make_dir(void **state)
{
	snprintf(server.dir, sizeof(server.dir), "/tmp/kprof-listener-XXXXXX");
	if (!mkdtemp(server.dir))
		return -1;
	snprintf(server.path, sizeof(server.path), "%s/trace", server.dir);
	return 0;
}

static inline int remove_dir(void **state)
{
	return rmdir(server.dir); /* the tests leave no files */
}

#endif
