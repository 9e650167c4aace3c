/* SPDX-License-Identifier: MIT */
/*
 * src/trace/listener, session, endpoint: programs that attach, and strangers that do as they like.
 */
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

/*
 * ---- the server's side --------------------------------------------------------------------------
 */

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

static void on_changed(void *arg)
{
	if (server.listener)
		listener_kick(server.listener);
}

static void on_report(void *arg, pid_t pid, uid_t uid, const char *program, const char *reason)
{
	assert_ptr_equal(arg, &server);
	pthread_mutex_lock(&server.lock);
	g_string_append_printf(server.reports, "%s: %s\n", program, reason);
	server.own_reports += pid == getpid();
	pthread_mutex_unlock(&server.lock);
}

static bool was_reported(const char *text)
{
	bool found;

	pthread_mutex_lock(&server.lock);
	found = strstr(server.reports->str, text) != NULL;
	pthread_mutex_unlock(&server.lock);
	return found;
}

static bool own_was_reported(void)
{
	unsigned int own;

	pthread_mutex_lock(&server.lock);
	own = server.own_reports;
	pthread_mutex_unlock(&server.lock);
	return own > 0;
}

/* Changes what the options say before the listener starts. */
static void start(void (*change)(struct listener_options *options))
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
	assert_int_equal(listener_create(server.producers, endpoint_fd(server.endpoint), &options,
				 &server.listener), 0);
}

static int begin(void **state)
{
	start(NULL);
	return 0;
}

static int finish(void **state)
{
	struct catalog_counts counts;

	listener_stop(server.listener);
	endpoint_close(server.endpoint);
	listener_destroy(server.listener);
	server.listener = NULL;
	producers_destroy(server.producers);
	catalog_count(server.catalog, &counts);
	assert_int_equal(counts.bytes, 0); /* all was given back */
	catalog_destroy(server.catalog);
	g_string_free(server.reports, TRUE);
	return 0;
}

static uint64_t stat_of(const char *name)
{
	struct stats *stats = stats_create();
	uint64_t value = 0;

	listener_print_stats(server.listener, stats);
	assert_int_equal(stats_find_u64(stats, name, &value), 0);
	stats_destroy(stats);
	return value;
}

static struct producers_totals total(void)
{
	struct producers_totals totals;

	producers_total(server.producers, &totals);
	return totals;
}

/* Waits for a condition: an expression that is looked at again and again. */
#define WAIT_FOR(condition) \
	do { \
		gint64 until = g_get_monotonic_time() + WAIT_MS * 1000; \
		while (!(condition)) { \
			if (g_get_monotonic_time() > until) \
				fail_msg("line %d: waited in vain for " #condition, __LINE__); \
			g_usleep(1000); \
		} \
	} while (0)

/*
 * ---- a program's side ---------------------------------------------------------------------------
 */

static int dial(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	g_strlcpy(address.sun_path, server.path, sizeof(address.sun_path));
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static ssize_t send_with(int fd, const void *data, size_t bytes, const int *fds, size_t count)
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

static struct kprof_packet_hello make_hello(const char *program, uint32_t pool_bytes)
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

static void greet(int fd, const char *program, int pool)
{
	struct kprof_packet_hello hello = make_hello(program, POOL_BYTES);

	assert_int_equal(send_with(fd, &hello, sizeof(hello), &pool, 1), sizeof(hello));
}

/* Packets of events and of ids that are gone. */
static GByteArray *begin_packet(uint32_t type)
{
	const struct kprof_packet_events head = {.head = {type, 0}};
	GByteArray *packet = g_byte_array_new();

	return g_byte_array_append(packet, (const guint8 *)&head, sizeof(head));
}

static void add_definition(GByteArray *packet, uint16_t id, uint8_t kind, const char *provider,
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

static void send_packet(int fd, GByteArray *packet)
{
	((struct kprof_packet *)(void *)packet->data)->bytes = packet->len;
	assert_int_equal(send_with(fd, packet->data, packet->len, NULL, 0), packet->len);
	g_byte_array_unref(packet);
}

static void announce(int fd, uint16_t id, const char *name)
{
	GByteArray *packet = begin_packet(KPROF_PACKET_EVENTS);

	add_definition(packet, id, KPROF_KIND_EVENT, "test", name, "%d");
	send_packet(fd, packet);
}

static void withdraw(int fd, uint16_t id)
{
	GByteArray *packet = begin_packet(KPROF_PACKET_GONE);

	g_byte_array_append(packet, (const guint8 *)&id, sizeof(id));
	((struct kprof_packet_events *)(void *)packet->data)->count++;
	send_packet(fd, packet);
}

/* What a program has heard. */
struct heard {
	uint8_t on[64]; /* by id; 2: nothing */
	uint64_t clear;
	unsigned int welcomes, switches;
	bool ended;
};

static void begin_hearing(struct heard *heard)
{
	memset(heard, 0, sizeof(*heard));
	memset(heard->on, 2, sizeof(heard->on));
}

/* Takes what is there, without waiting. */
static void hear(int fd, struct heard *heard)
{
	static char data[KPROF_PACKET_MAX] __attribute__((aligned(8)));
	ssize_t got;

	while ((got = recv(fd, data, sizeof(data), MSG_DONTWAIT)) > 0) {
		const struct kprof_packet *head = (void *)data;
		const struct kprof_packet_switch *change = (void *)data;

		assert_int_equal(head->bytes, got);
		if (head->type == KPROF_PACKET_WELCOME) {
			heard->welcomes++;
		} else if (head->type == KPROF_PACKET_CLEAR) {
			heard->clear = ((const struct kprof_packet_clear *)(void *)data)->ticket;
		} else if (head->type == KPROF_PACKET_SWITCH) {
			heard->switches++;
			for (uint32_t i = 0; i < change->count; i++)
				if (change->first + i < sizeof(heard->on))
					heard->on[change->first + i] =
						(uint8_t)data[sizeof(*change) + i];
		}
	}
	heard->ended |= got == 0 || (got < 0 && errno != EAGAIN);
}

static bool hears(int fd, struct heard *heard, uint16_t id, uint8_t on)
{
	hear(fd, heard);
	assert_false(heard->ended);
	return heard->on[id] == on;
}

static bool is_ended(int fd, struct heard *heard)
{
	hear(fd, heard);
	return heard->ended;
}

/*
 * ---- as it should be ----------------------------------------------------------------------------
 */

static void test_producer_attaches_and_is_switched(void **state)
{
	struct ring_writer *writer;
	struct heard heard;
	struct fixture f;
	int fd = dial();
	bool on;

	begin_hearing(&heard);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_DISCARD);
	writer = ring_writer_begin(&f.pool);
	greet(fd, "prog", f.fd);
	WAIT_FOR(hears(fd, &heard, KPROF_ID_TEXT, 1));
	WAIT_FOR(hears(fd, &heard, KPROF_ID_TEXTX, 0));
	assert_int_equal(heard.welcomes, 1);
	catalog_set_printx(server.catalog, true);
	WAIT_FOR(hears(fd, &heard, KPROF_ID_TEXTX, 1));

	announce(fd, 5, "a");
	WAIT_FOR(hears(fd, &heard, 5, 0));
	assert_int_equal(heard.on[4], 2); /* nothing was said of what it never spoke of */
	assert_int_equal(heard.on[6], 2);
	assert_int_equal(catalog_set(server.catalog, "test:a", true), 0);
	WAIT_FOR(hears(fd, &heard, 5, 1));
	catalog_set_enabled(server.catalog, false);
	WAIT_FOR(hears(fd, &heard, 5, 0) && heard.on[0] == 0 && heard.on[1] == 0);
	catalog_set_enabled(server.catalog, true);
	WAIT_FOR(hears(fd, &heard, 5, 1) && heard.on[0] == 1 && heard.on[1] == 1);

	withdraw(fd, 5);
	heard.on[5] = 2;
	WAIT_FOR(catalog_get(server.catalog, "test:a", &on) == -ENOENT);
	announce(fd, 5, "a");
	WAIT_FOR(hears(fd, &heard, 5, 1)); /* remembered */
	announce(fd, 5, "a"); /* said twice, answered twice */
	heard.on[5] = 2;
	WAIT_FOR(hears(fd, &heard, 5, 1));

	for (uint64_t i = 0; i < 1000; i++)
		fixture_write(&f, writer, 5, &i, 1);
	producers_clear(server.producers);
	listener_kick(server.listener);
	WAIT_FOR(hears(fd, &heard, 5, 1) && heard.clear == 3); /* of 8 KiB, 24 bytes an event */
	close(fd);
	WAIT_FOR(stat_of("trace.connections") == 0);
	assert_int_equal(total().kept, 1);
	assert_int_equal(stat_of("trace.detached"), 0);
	fixture_close(&f);
}

/* A program that is over before the server has looked. It never reads what it was told. */
static void test_producer_that_exits_early_is_kept(void **state)
{
	const uint64_t value = 7;
	GPtrArray *all;

	for (int i = 0; i < 50; i++) {
		struct pollfd told = {.events = POLLIN};
		struct fixture f;
		int fd = dial();

		fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
		fixture_write(&f, ring_writer_begin(&f.pool), 2, &value, 1);
		greet(fd, "short", f.fd);
		told.fd = fd;
		if (i % 2) /* and with something unread when it ends */
			assert_int_equal(poll(&told, 1, WAIT_MS), 1);
		announce(fd, 2, "short");
		close(fd);
		fixture_close(&f);
	}
	WAIT_FOR(total().kept == 50);
	all = producers_all(server.producers);
	for (guint i = 0; i < all->len; i++) {
		const struct producer *producer = g_ptr_array_index(all, i);

		assert_non_null(producer_event(producer, 2));
		assert_int_equal(producer_event(producer, 2)->number, 1);
		assert_int_equal(producer->pid, getpid());
		assert_int_equal(producer->uid, geteuid());
	}
	g_ptr_array_free(all, TRUE);
}

/* The same memory again, over another connection: the older one is over. */
static void test_same_pool_ends_the_older_connection(void **state)
{
	struct heard first, second;
	struct fixture f;
	int a = dial(), b = dial();

	begin_hearing(&first);
	begin_hearing(&second);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	greet(a, "prog", f.fd);
	announce(a, 2, "again");
	WAIT_FOR(hears(a, &first, 2, 0));
	greet(b, "prog", f.fd);
	announce(b, 2, "again");
	catalog_set_all(server.catalog, true);
	WAIT_FOR(hears(b, &second, 2, 1));
	assert_int_equal(total().attached, 1);
	announce(a, 3, "late"); /* of a connection that is over: it is closed */
	WAIT_FOR(is_ended(a, &first));
	assert_int_equal(total().attached, 1);
	assert_int_equal(stat_of("trace.detached"), 0);
	close(a);
	close(b);
	fixture_close(&f);
}

/* Who does not read is told later, of how things are then; nobody else waits for it. */
static void test_producer_that_does_not_read_delays_no_other(void **state)
{
	struct heard slow, quick;
	struct fixture f, g;
	int a = dial(), b = dial();
	GByteArray *packet = begin_packet(KPROF_PACKET_EVENTS);
	char name[16];

	begin_hearing(&slow);
	begin_hearing(&quick);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	fixture_open(&g, POOL_BYTES, KPROF_MODE_OVERWRITE);
	greet(a, "slow", f.fd);
	for (uint16_t id = 2; id < 802; id++) {
		snprintf(name, sizeof(name), "n%u", id);
		add_definition(packet, id, KPROF_KIND_EVENT, "t", name, "");
	}
	send_packet(a, packet);
	greet(b, "quick", g.fd);
	announce(b, 2, "quick");
	WAIT_FOR(hears(b, &quick, 2, 0));
	for (int i = 0; i < 3000; i++) { /* 800 bytes each time: more than a socket holds */
		catalog_set_all(server.catalog, !(i & 1));
		WAIT_FOR(hears(b, &quick, 2, !(i & 1)));
	}
	catalog_set_all(server.catalog, true);
	WAIT_FOR(hears(b, &quick, 2, 1));
	WAIT_FOR(hears(a, &slow, 2, 1) && slow.on[63] == 1);
	assert_true(slow.switches < quick.switches);
	assert_int_equal(stat_of("trace.detached"), 0);
	close(a);
	close(b);
	fixture_close(&f);
	fixture_close(&g);
}

/* 200 programs of 50 events; all are told when all are switched. */
static void test_all_of_many_producers_are_switched(void **state)
{
	static struct fixture f[200];
	static struct heard heard[200];
	static int fds[200];

	for (int i = 0; i < 200; i++) {
		GByteArray *packet = begin_packet(KPROF_PACKET_EVENTS);
		char name[32];

		fds[i] = dial();
		begin_hearing(&heard[i]);
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
		greet(fds[i], "many", f[i].fd);
		for (uint16_t id = 2; id < 52; id++) {
			snprintf(name, sizeof(name), "p%d.n%u", i, id);
			add_definition(packet, id, KPROF_KIND_EVENT, "t", name, "%d %s");
		}
		send_packet(fds[i], packet);
	}
	for (int i = 0; i < 200; i++)
		WAIT_FOR(hears(fds[i], &heard[i], 51, 0));
	catalog_set_all(server.catalog, true);
	for (int i = 0; i < 200; i++)
		for (uint16_t id = 2; id < 52; id++)
			WAIT_FOR(hears(fds[i], &heard[i], id, 1));
	assert_int_equal(catalog_set(server.catalog, "t:p77.n20", false), 0);
	WAIT_FOR(hears(fds[77], &heard[77], 20, 0));
	for (int i = 0; i < 200; i++) {
		hear(fds[i], &heard[i]);
		for (uint16_t id = 2; id < 52; id++)
			assert_int_equal(heard[i].on[id], !(i == 77 && id == 20));
		close(fds[i]);
		fixture_close(&f[i]);
	}
	WAIT_FOR(total().attached == 0);
}

/*
 * ---- strangers ----------------------------------------------------------------------------------
 */

static int open_memfd(off_t bytes, unsigned int flags, int seals)
{
	int fd = memfd_create("stranger", MFD_ALLOW_SEALING | flags);

	if (fd >= 0 && (ftruncate(fd, bytes) || fcntl(fd, F_ADD_SEALS, seals))) {
		close(fd);
		return -1;
	}
	return fd;
}

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int open_unsealed(void) { return open_memfd(POOL_BYTES, 0, 0); }
static int open_shrinkable(void) { return open_memfd(POOL_BYTES, 0, F_SEAL_SEAL); }
static int open_zeroes(void) { return open_memfd(POOL_BYTES, 0, SEALS); }
static int open_small(void) { return open_memfd(100, 0, SEALS); }
static int open_enormous(void) { return open_memfd((off_t)1 << 40, 0, SEALS); }
static int open_huge_pages(void) { return open_memfd(2 << 20, MFD_HUGETLB, SEALS); }
static int open_null(void) { return open("/dev/null", O_RDWR | O_CLOEXEC); }
static int open_folder(void) { return open("/", O_RDONLY | O_CLOEXEC); }

static int open_socket(void)
{
	return socket(AF_UNIX, SOCK_SEQPACKET, 0);
}

struct pool_row {
	int line;
	int (*open)(void);
	const char *reason;
};

static const struct pool_row pool_rows[] = {
	{__LINE__, open_unsealed, "not a memfd sealed"},
	{__LINE__, open_shrinkable, "not a memfd sealed"},
	{__LINE__, open_zeroes, "its memory is not taken"},
	{__LINE__, open_small, "wrong size"},
	{__LINE__, open_enormous, "wrong size"},
	{__LINE__, open_huge_pages, "not in ordinary memory"},
	{__LINE__, open_null, "not one memfd"},
	{__LINE__, open_folder, "not one memfd"},
	{__LINE__, open_socket, "not one memfd"},
};

static unsigned int count_descriptors(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void forget_reports(void)
{
	pthread_mutex_lock(&server.lock);
	g_string_truncate(server.reports, 0);
	pthread_mutex_unlock(&server.lock);
}

static void many_reports(struct listener_options *options)
{
	options->reports = 1000;
}

static int begin_with_reports(void **state)
{
	start(many_reports);
	return 0;
}

static void test_bad_pools_are_refused(void **state)
{
	unsigned int before = count_descriptors();
	uint64_t refused = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(pool_rows); i++) {
		const struct pool_row *row = &pool_rows[i];
		int pool = row->open(), fd;
		struct heard heard;

		if (pool < 0) { /* no huge pages here */
			assert_ptr_equal(row->open, open_huge_pages);
			continue;
		}
		begin_hearing(&heard);
		forget_reports();
		fd = dial();
		greet(fd, "\x1b[2J\n", pool);
		WAIT_FOR(is_ended(fd, &heard));
		if (!was_reported(row->reason) || heard.welcomes)
			fail_msg("row of line %d: %s", row->line, server.reports->str);
		assert_int_equal(total().refused, ++refused);
		assert_int_equal(stat_of("trace.detached"), refused);
		close(pool);
		close(fd);
	}
	WAIT_FOR(count_descriptors() == before);
	assert_int_equal(total().pool_bytes, 0);
}

/* Each packet alone, of a program that has greeted or of one that has not. */
struct packet_row {
	int line;
	bool greeted;
	const char *reason;
	size_t bytes;
	union {
		struct kprof_packet head;
		struct kprof_packet_hello hello;
		struct kprof_packet_sync sync;
		struct kprof_packet_events events;
		struct {
			struct kprof_packet_events head;
			struct kprof_event_def def;
			char text[16];
		} __attribute__((packed)) one;
		char room[160];
	} data;
};

#define HELLO(...) \
	sizeof(struct kprof_packet_hello), {.hello = {{KPROF_PACKET_HELLO, 96}, __VA_ARGS__}}
#define ONE(bytes, count, ...) \
	bytes, {.one = {{{KPROF_PACKET_EVENTS, bytes}, count, 0}, {__VA_ARGS__}, "abc%d"}}
#define GONE(bytes, count) bytes, {.events = {{KPROF_PACKET_GONE, bytes}, count, 0}}

#define SYNCED(bytes, number) bytes, {.sync = {{KPROF_PACKET_SYNCED, bytes}, number}}

static const struct packet_row packet_rows[] = {
	{__LINE__, false, "size than it says", 1, {.room = {1}}},
	{__LINE__, false, "size than it says", 8, {.head = {KPROF_PACKET_HELLO, 9}}},
	{__LINE__, false, "size than it says", 96, {.head = {KPROF_PACKET_HELLO, 0xffffffff}}},
	{__LINE__, false, "a greeting of another size", 8, {.head = {KPROF_PACKET_HELLO, 8}}},
	{__LINE__, false, "a greeting that is none", HELLO(1, KPROF_ATTACH_VERSION)},
	{__LINE__, false, "version 1 of the protocol, not 2", HELLO(KPROF_ATTACH_MAGIC, 1)},
	{__LINE__, false, "version 3 of the protocol, not 2", HELLO(KPROF_ATTACH_MAGIC, 3)},
	{__LINE__, false, "did not greet", SYNCED(16, 1)},
	{__LINE__, true, "an answer of another size", SYNCED(8, 1)},
	{__LINE__, true, "an answer to what it was not asked", SYNCED(16, 0)},
	{__LINE__, true, "an answer to what it was not asked", SYNCED(16, 1)},
	{__LINE__, false, "without its memory", HELLO(KPROF_ATTACH_MAGIC, KPROF_ATTACH_VERSION)},
	{__LINE__, true, "a second greeting", HELLO(KPROF_ATTACH_MAGIC, KPROF_ATTACH_VERSION)},
	{__LINE__, false, "did not greet", ONE(16, 0, 0)},
	{__LINE__, false, "did not greet", GONE(16, 0)},
	{__LINE__, true, "cut off", ONE(8, 0, 0)},
	{__LINE__, true, "cut off", ONE(16, 1, 0)},
	{__LINE__, true, "cut off", ONE(27, 1, 12, 2)},
	{__LINE__, true, "more events than", ONE(28, 0, 12, 2)},
	/* bytes, id, kind, refusal, provider, name, format */
	{__LINE__, true, "wrong size", ONE(33, 1, 16, 2, 1, 0, 1, 2, 2)},
	{__LINE__, true, "wrong size", ONE(33, 1, 0, 2, 1, 0, 1, 2, 2)},
	{__LINE__, true, "wrong size", ONE(33, 1, 18, 2, 1, 0, 1, 2, 3)},
	{__LINE__, true, "wrong size", ONE(33, 1, 17, 2, 1, 0, 255, 255, 65535)},
	{__LINE__, true, "id that can't be", ONE(33, 1, 17, 0, 1, 0, 1, 2, 2)},
	{__LINE__, true, "id that can't be", ONE(33, 1, 17, 1, 1, 0, 1, 2, 2)},
	{__LINE__, true, "id that can't be", ONE(33, 1, 17, KPROF_ID_LIMIT, 1, 0, 1, 2, 2)},
	{__LINE__, true, "unknown kind", ONE(33, 1, 17, 2, 0, 0, 1, 2, 2)},
	{__LINE__, true, "unknown kind", ONE(33, 1, 17, 2, 5, 0, 1, 2, 2)},
	{__LINE__, true, "NUL", ONE(34, 1, 18, 2, 1, 0, 1, 2, 3)},
	{__LINE__, true, "cut off", ONE(33, 2, 17, 2, 1, 0, 1, 2, 2)},
	{__LINE__, true, "cut off", GONE(8, 0)},
	{__LINE__, true, "another length", GONE(16, 1)},
	{__LINE__, true, "another length", GONE(18, 0x80000001)},
	{__LINE__, true, "another length", GONE(19, 1)},
};

static void test_bad_packets_end_their_connection(void **state)
{
	unsigned int before = count_descriptors();
	struct heard good_heard;
	struct fixture good;
	int good_fd = dial();

	fixture_open(&good, POOL_BYTES, KPROF_MODE_OVERWRITE);
	begin_hearing(&good_heard);
	greet(good_fd, "good", good.fd);
	for (size_t i = 0; i < G_N_ELEMENTS(packet_rows); i++) {
		const struct packet_row *row = &packet_rows[i];
		struct heard heard;
		struct fixture f;
		int fd = dial();

		begin_hearing(&heard);
		forget_reports();
		fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
		if (row->greeted)
			greet(fd, "bad", f.fd);
		assert_int_equal(send_with(fd, &row->data, row->bytes, NULL, 0), row->bytes);
		WAIT_FOR(is_ended(fd, &heard));
		if (!was_reported(row->reason))
			fail_msg("row of line %d: %s", row->line, server.reports->str);
		/* who greets as another version is told which one is spoken here */
		assert_int_equal(heard.welcomes,
			row->greeted || strstr(row->reason, "of the protocol") != NULL);
		assert_int_equal(stat_of("trace.detached"), i + 1);
		close(fd);
		fixture_close(&f);
		/* nobody else notices */
		announce(good_fd, (uint16_t)(2 + i), "good");
		WAIT_FOR(hears(good_fd, &good_heard, (uint16_t)(2 + i), 0));
	}
	close(good_fd);
	fixture_close(&good);
	/* of who hung up and lives, the memory is kept: it might be written to */
	WAIT_FOR(total().kept == 1);
	producers_clear(server.producers);
	WAIT_FOR(count_descriptors() == before);
}

static void test_superfluous_descriptors_are_closed(void **state)
{
	const uint32_t unknown[2] = {99, 8};
	unsigned int before = count_descriptors();
	struct kprof_packet_hello hello = make_hello("prog", POOL_BYTES);
	struct heard heard;
	struct fixture f;
	int fd = dial(), fds[8];

	begin_hearing(&heard);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	for (int i = 0; i < 8; i++)
		fds[i] = f.fd;
	/* another packet has none, be it before the greeting or behind it */
	assert_int_equal(send_with(fd, unknown, sizeof(unknown), fds, 3), 8);
	WAIT_FOR(is_ended(fd, &heard));
	assert_true(was_reported("?: unexpected descriptors in a packet\n"));
	close(fd);
	begin_hearing(&heard);
	forget_reports();
	fd = dial();
	greet(fd, "prog", f.fd);
	WAIT_FOR(hears(fd, &heard, 0, 1));
	assert_int_equal(send_with(fd, unknown, sizeof(unknown), fds, 8), 8);
	WAIT_FOR(is_ended(fd, &heard));
	assert_true(was_reported("prog: unexpected descriptors in a packet\n"));
	close(fd);
	/* a greeting comes with just one */
	for (size_t count = 2; count <= 8; count += 3) {
		begin_hearing(&heard);
		forget_reports();
		fd = dial();
		assert_int_equal(send_with(fd, &hello, sizeof(hello), fds, count), sizeof(hello));
		WAIT_FOR(is_ended(fd, &heard));
		assert_true(was_reported("not one memfd"));
		close(fd);
	}
	/* an empty packet is an end; what comes with it is closed */
	begin_hearing(&heard);
	fd = dial();
	assert_int_equal(send_with(fd, "", 0, fds, 1), 0);
	WAIT_FOR(is_ended(fd, &heard));
	close(fd);
	hello.pool_bytes++;
	begin_hearing(&heard);
	fd = dial();
	assert_int_equal(send_with(fd, &hello, sizeof(hello), fds, 1), sizeof(hello));
	WAIT_FOR(is_ended(fd, &heard));
	assert_true(was_reported("another size than it says"));
	close(fd);
	fixture_close(&f);
	WAIT_FOR(count_descriptors() == before);
}

static void test_too_large_packet_ends_the_connection(void **state)
{
	static char data[2 * KPROF_PACKET_MAX];
	struct kprof_packet *head = (void *)data;
	struct heard heard;
	int fd = dial();

	begin_hearing(&heard);
	*head = (struct kprof_packet){77, KPROF_PACKET_MAX};
	assert_int_equal(send_with(fd, data, KPROF_PACKET_MAX, NULL, 0), KPROF_PACKET_MAX);
	head->bytes++;
	assert_int_equal(send_with(fd, data, head->bytes, NULL, 0), head->bytes);
	WAIT_FOR(is_ended(fd, &heard));
	assert_true(was_reported("too large"));
	close(fd);
}

/* Refused, and the program goes on. */
static void test_refused_events_keep_the_connection(void **state)
{
	GByteArray *packet = begin_packet(KPROF_PACKET_EVENTS);
	struct kprof_event_def *def;
	struct heard heard;
	struct fixture f;
	int fd = dial();

	begin_hearing(&heard);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	greet(fd, "prog", f.fd);
	add_definition(packet, 2, KPROF_KIND_EVENT, "t", "a", "%n");
	add_definition(packet, 3, KPROF_KIND_EVENT, "t", "b", "%d");
	add_definition(packet, 4, KPROF_KIND_EVENT, "t", "b", "%u");
	add_definition(packet, 5, KPROF_KIND_EVENT, "t", "b\x1b[2J", "%u");
	add_definition(packet, 6, KPROF_KIND_PRINTF, "", "", "%5000d");
	def = (void *)(packet->data + packet->len);
	add_definition(packet, 7, KPROF_KIND_EVENT, "t", "own", "%s");
	def = (void *)(packet->data + packet->len - sizeof(*def) - 6);
	def->refusal = KPROF_REFUSED_TYPES;
	send_packet(fd, packet);
	catalog_set_all(server.catalog, true);
	WAIT_FOR(hears(fd, &heard, 3, 1));
	for (uint16_t id = 2; id < 8; id++)
		WAIT_FOR(hears(fd, &heard, id, id == 3));
	assert_int_equal(total().refused, 5);
	assert_true(was_reported("prog: a format that is not taken\n"));
	assert_true(was_reported("prog: t:b is there with another format already\n"));
	assert_true(was_reported("prog: not a provider and a name"));
	assert_true(was_reported("prog: arguments that don't fit the format '%s' of t:own\n"));
	assert_int_equal(stat_of("trace.detached"), 0);
	close(fd);
	fixture_close(&f);
}

static void be_strict(struct listener_options *options)
{
	options->connections = 5;
	options->user_connections = 3;
	options->hello_ms = 3000; /* a busy machine can hold up a greeting, too */
	options->packets = 20;
	options->packets_per_s = 1;
	options->reports = 1000;
}

static int begin_strict(void **state)
{
	start(be_strict);
	return 0;
}

static void test_connection_without_hello_times_out(void **state)
{
	struct heard heard, good;
	struct fixture f;
	int fd = dial(), good_fd = dial();

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	begin_hearing(&heard);
	begin_hearing(&good);
	greet(good_fd, "prog", f.fd);
	WAIT_FOR(is_ended(fd, &heard));
	assert_true(was_reported("?: it did not greet in time\n"));
	assert_int_equal(stat_of("trace.detached"), 1);
	WAIT_FOR(hears(good_fd, &good, 0, 1)); /* who greeted stays */
	close(fd);
	close(good_fd);
	fixture_close(&f);
}

static void test_too_many_packets_end_the_connection(void **state)
{
	const uint32_t unknown[2] = {99, 8};
	struct heard heard;
	struct fixture f;
	int fd = dial();

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	begin_hearing(&heard);
	greet(fd, "flood", f.fd);
	for (int i = 0; i < 19; i++)
		assert_int_equal(send_with(fd, unknown, sizeof(unknown), NULL, 0), 8);
	WAIT_FOR(hears(fd, &heard, 0, 1));
	while (send_with(fd, unknown, sizeof(unknown), NULL, 0) == 8)
		;
	assert_true(errno == EPIPE || errno == ECONNRESET);
	WAIT_FOR(was_reported("flood: it sends too many packets\n"));
	close(fd);
	fixture_close(&f);
}

static bool finds_liars(uint64_t count)
{
	return total().liars == count;
}

/*
 * Memory that counts what can't be: its program is sent away, and named; also if it closed before.
 */
static void test_corrupt_producer_is_detached_and_reported(void **state)
{
	struct heard heard;
	struct fixture f[2];
	int fd[2];

	for (int i = 0; i < 2; i++) {
		const uint64_t word = 1;

		fd[i] = dial();
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
		assert_true(fixture_write(&f[i], ring_writer_begin(&f[i].pool), KPROF_ID_FIRST, &word,
			1));
		begin_hearing(&heard);
		greet(fd[i], i ? "gone" : "liar", f[i].fd);
		WAIT_FOR(hears(fd[i], &heard, 0, 1));
	}
	close(fd[1]);
	WAIT_FOR(total().kept == 1);
	f[0].pool.shared->starved = UINT64_MAX;
	f[1].pool.slots[0].base = 1ull << 50;
	WAIT_FOR(finds_liars(2));
	WAIT_FOR(is_ended(fd[0], &heard));
	WAIT_FOR(was_reported("liar: its memory counts more dropped events than can be\n"));
	WAIT_FOR(was_reported("gone: its memory counts more events than can be\n"));
	assert_int_equal(stat_of("trace.detached"), 1);
	assert_int_equal(total().written, 2);
	close(fd[0]);
	fixture_close(&f[0]);
	fixture_close(&f[1]);
}

static void test_connections_over_the_limit_are_refused(void **state)
{
	struct heard heard[4];
	struct fixture f[4];
	int fds[4];

	for (int i = 0; i < 4; i++) {
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
		begin_hearing(&heard[i]);
	}
	for (int i = 0; i < 3; i++) {
		fds[i] = dial();
		greet(fds[i], "crowd", f[i].fd);
		WAIT_FOR(hears(fds[i], &heard[i], 0, 1));
	}
	fds[3] = dial();
	WAIT_FOR(is_ended(fds[3], &heard[3]));
	assert_true(was_reported("?: this user's places for programs are taken\n"));
	close(fds[3]);
	close(fds[0]);
	WAIT_FOR(stat_of("trace.connections") == 2);
	fds[3] = dial();
	begin_hearing(&heard[3]);
	greet(fds[3], "crowd", f[3].fd);
	WAIT_FOR(hears(fds[3], &heard[3], 0, 1));
	for (int i = 0; i < 4; i++) {
		if (i)
			close(fds[i]);
		fixture_close(&f[i]);
	}
}

static void be_strict_with_processes(struct listener_options *options)
{
	options->process_connections = 3;
	options->reports = 1000;
}

static int begin_strict_with_processes(void **state)
{
	start(be_strict_with_processes);
	return 0;
}

/*
 * A process of the same user that attaches once; see was_welcome(). It does not exit: valgrind
 * would look for what the threads hold that a child does not have.
 */
static pid_t fork_honest(void)
{
	pid_t child = fork();

	if (child == 0) {
		struct pollfd told = {.events = POLLIN};
		struct fixture f;

		fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
		told.fd = dial();
		greet(told.fd, "honest", f.fd);
		kill(getpid(), poll(&told, 1, WAIT_MS) == 1 && told.revents == POLLIN ? SIGKILL : SIGTERM);
	}
	return child;
}

static bool was_welcome(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* One process that attaches as often as it can takes no places from the user's others. */
static void test_greedy_process_leaves_connections_to_others(void **state)
{
	struct heard heard[4], late;
	struct fixture f[4];
	int fds[4], fd;

	for (int i = 0; i < 4; i++) {
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
		begin_hearing(&heard[i]);
		fds[i] = dial();
		if (i == 3)
			break;
		greet(fds[i], "greedy", f[i].fd);
		WAIT_FOR(hears(fds[i], &heard[i], 0, 1));
	}
	WAIT_FOR(is_ended(fds[3], &heard[3]));
	assert_true(was_reported("?: this process is attached too often\n"));
	assert_true(was_welcome(fork_honest()));
	/* of its own places those go first that it does nothing with */
	close(fds[2]);
	WAIT_FOR(stat_of("trace.connections") == 2);
	begin_hearing(&late);
	fd = dial();
	close(fds[3]);
	begin_hearing(&heard[3]);
	fds[3] = dial();
	greet(fds[3], "greedy", f[3].fd);
	WAIT_FOR(hears(fds[3], &heard[3], 0, 1));
	WAIT_FOR(is_ended(fd, &late));
	assert_true(was_reported("?: it has not greeted, and its place is wanted\n"));
	close(fd);
	for (int i = 0; i < 4; i++) {
		if (i != 2)
			close(fds[i]);
		fixture_close(&f[i]);
	}
}

/*
 * ---- descriptors whose close takes long -------------------------------------------------------
 */

/*
 * A connection that is full of what nobody reads: who closes it waits, as it was told to, until the
 * other end, *reader, is closed. -1: there is no network here.
 */
static int make_lingering(int *reader)
{
	const struct linger linger = {.l_onoff = 1, .l_linger = 3600};
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char data[4096] = {0};

	if (bind(listener, (struct sockaddr *)&address, bytes) || listen(listener, 1) ||
		getsockname(listener, (struct sockaddr *)&address, &bytes) ||
		connect(fd, (struct sockaddr *)&address, bytes)) {
		close(listener);
		close(fd);
		return -1;
	}
	*reader = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	assert_true(*reader >= 0);
	while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	return fd;
}

/* No thread of it runs when this returns. */
static void stop_process(pid_t pid)
{
	kill(pid, SIGSTOP);
	for (bool stopped = false; !stopped; g_usleep(1000)) {
		g_autofree char *dir = g_strdup_printf("/proc/%d/task", (int)pid);
		g_autoptr(GDir) tasks = g_dir_open(dir, 0, NULL);
		const char *task;

		stopped = true;
		while ((task = g_dir_read_name(tasks))) {
			g_autofree char *path = g_strdup_printf("%s/%s/status", dir, task);
			g_autofree char *status = NULL;

			stopped = stopped && (!g_file_get_contents(path, &status, NULL, NULL) ||
				strstr(status, "State:\tT"));
		}
	}
}

#define HANGING 8

/*
 * In a process of its own: sends descriptors that nobody can close, some where they are not wanted,
 * or behind a packet for which it is sent away. Lives until it may end, since it has the other
 * ends.
 */
static void send_hanging(pid_t server_pid, int may_end)
{
	const struct kprof_packet_hello hello = make_hello("hanging", POOL_BYTES);
	int fds[HANGING], to[HANGING], reader;
	char c;

	for (int i = 0; i < HANGING; i++) {
		fds[i] = make_lingering(&reader);
		if (fds[i] < 0)
			_exit(77);
		to[i] = dial();
	}
	stop_process(server_pid); /* so that its descriptors are the last ones */
	for (int i = 0; i < HANGING; i++) {
		if (i == 0)
			send_with(to[i], "", 0, &fds[i], 1);
		if (i == 1)
			send_with(to[i], "junk", 4, NULL, 0);
		send_with(to[i], &hello, sizeof(hello), &fds[i], 1);
		close(fds[i]);
		close(to[i]);
	}
	kill(server_pid, SIGCONT);
	_exit(read(may_end, &c, 1) == 0 ? 0 : 1);
}

/* A process whose descriptors nobody can close: the user's others are welcome all the same. */
static void test_descriptors_that_cannot_be_closed_block_no_other(void **state)
{
	int may_end[2], status = -1;
	const char *preload = getenv("LD_PRELOAD");
	pid_t child, server_pid = getpid();

	if (preload && strstr(preload, "vgpreload"))
		skip(); /* valgrind's threads are not stopped one by one, nor end as the kernel's do */
	alarm(60); /* a listener that hangs is not stopped either */
	assert_int_equal(pipe2(may_end, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		close(may_end[1]);
		send_hanging(server_pid, may_end[0]);
	}
	close(may_end[0]);
	WAIT_FOR(stat_of("trace.detached") == HANGING || waitpid(child, &status, WNOHANG) == child);
	if (stat_of("trace.detached") < HANGING) {
		assert_int_equal(WEXITSTATUS(status), 77);
		skip(); /* without a network */
	}
	assert_true(was_reported("?: unexpected descriptors in a packet\n"));
	assert_true(was_welcome(fork_honest()));
	close(may_end[1]);
	assert_int_equal(waitpid(child, &status, 0) == child ? status : -1, 0);
	alarm(0);
}

/* Who says nothing keeps nobody out. */
static void test_connections_without_hello_keep_no_producer_out(void **state)
{
	struct heard heard[7], good;
	struct fixture f;
	int fds[7], fd;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	begin_hearing(&good);
	fd = dial();
	greet(fd, "good", f.fd);
	WAIT_FOR(hears(fd, &good, 0, 1));
	for (int i = 0; i < 7; i++) {
		begin_hearing(&heard[i]);
		fds[i] = dial();
	}
	for (int i = 0; i < 5; i++) /* of three places two are theirs */
		WAIT_FOR(is_ended(fds[i], &heard[i]));
	assert_true(was_reported("?: it has not greeted, and its place is wanted\n"));
	assert_int_equal(stat_of("trace.connections"), 3);
	hear(fd, &good);
	assert_false(good.ended);
	for (int i = 0; i < 7; i++)
		close(fds[i]);
	close(fd);
	fixture_close(&f);
}

static void keep_quiet(struct listener_options *options)
{
	options->reports = 4;
}

static int begin_quiet(void **state)
{
	start(keep_quiet);
	return 0;
}

/* Reports are few, counts are not. */
static void test_reports_are_limited_and_counts_are_not(void **state)
{
	for (int i = 0; i < 40; i++) {
		struct heard heard;
		int fd = dial();

		begin_hearing(&heard);
		assert_int_equal(send_with(fd, "x", 1, NULL, 0), 1);
		WAIT_FOR(is_ended(fd, &heard));
		close(fd);
	}
	assert_int_equal(stat_of("trace.detached"), 40);
	pthread_mutex_lock(&server.lock);
	/* 14 bytes at least; one more for each second that it took */
	assert_true(server.reports->len >= 2 * 14 && server.reports->len < 39 * 14);
	pthread_mutex_unlock(&server.lock);
}

/* Sends damaged packets over connections of its own until `stop` can be read. */
static void flood(int ready, int stop)
{
	struct pollfd ends[2] = {{.fd = stop, .events = POLLIN}, {.events = POLLIN}};
	bool told = false;

	for (int i = 0; poll(ends, 1, 0) == 0; i++) {
		struct sockaddr_un address = {.sun_family = AF_UNIX};
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		char byte;

		ends[1].fd = fd;
		memcpy(address.sun_path, server.path, sizeof(server.path));
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
			send(fd, "xx", 2, MSG_NOSIGNAL) == 2)
			do /* the end of the connection, or of the test */
				poll(ends, 2, -1);
			while (!ends[0].revents && recv(fd, &byte, 1, MSG_DONTWAIT) > 0);
		close(fd);
		if (i >= 20 && !told)
			told = write(ready, "x", 1) == 1;
	}
}

/* One process floods: another's damage is reported all the same. */
static void test_flood_of_one_process_hides_no_other_report(void **state)
{
	int ready[2], stop[2], fd;
	const uint32_t none[2] = {99, 7};
	struct heard heard;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready) | pipe(stop), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(stop[1]);
		flood(ready[1], stop[0]);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	begin_hearing(&heard);
	fd = dial();
	assert_int_equal(send_with(fd, none, sizeof(none), NULL, 0), 8);
	WAIT_FOR(is_ended(fd, &heard));
	WAIT_FOR(own_was_reported());
	close(stop[0]);
	close(stop[1]); /* the flood reads its end */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(ready[0]);
	close(ready[1]);
	close(fd);
}

/*
 * ---- the socket's place -------------------------------------------------------------------------
 */

static int open_place(const char *path, enum endpoint_who who, struct endpoint **endpoint,
	struct err *err)
{
	const struct endpoint_options options = {
		.path = path, .who = who, .owner = geteuid(), .group = getegid(),
	};

	err->text[0] = '\0';
	return endpoint_open(&options, endpoint, err);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? 0 : st.st_mode;
}

static void test_socket_path_is_locked_and_reused(void **state)
{
	g_autofree char *path = g_build_filename(server.dir, "place", NULL);
	g_autofree char *lock = g_strconcat(path, ".lock", NULL);
	struct endpoint *first = NULL, *second = NULL;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct err err;
	int stale, fd;

	assert_int_equal(open_place(path, ENDPOINT_ALL, &first, &err), 0);
	assert_int_equal(mode_of(path), S_IFSOCK | 0666);
	assert_int_equal(mode_of(lock), S_IFREG | 0600);
	assert_int_equal(open_place(path, ENDPOINT_ALL, &second, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "another server has"));
	endpoint_close(first);
	assert_int_equal(mode_of(path), 0);
	assert_int_equal(mode_of(lock), 0);

	/* of one that was killed: nobody listens, nobody has the lock */
	stale = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	assert_int_equal(bind(stale, (struct sockaddr *)&address, sizeof(address)), 0);
	fd = open(lock, O_CREAT | O_RDWR, 0600);
	assert_int_equal(open_place(path, ENDPOINT_OWNER, &first, &err), 0);
	assert_int_equal(mode_of(path), S_IFSOCK | 0600);
	close(fd);
	endpoint_close(first);
	close(stale);
	assert_int_equal(open_place(path, ENDPOINT_GROUP, &first, &err), 0);
	assert_int_equal(mode_of(path), S_IFSOCK | 0660);
	/* somebody put another one there: it is not ours to remove */
	assert_int_equal(unlink(path), 0);
	stale = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(stale, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(stale, 1), 0);
	endpoint_close(first);
	assert_int_equal(mode_of(path) & S_IFMT, S_IFSOCK);
	/* and who listens there is left alone */
	assert_int_equal(open_place(path, ENDPOINT_ALL, &first, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "somebody else listens"));
	close(stale);
	assert_int_equal(unlink(path), 0);
}

static void test_bad_socket_paths_are_refused(void **state)
{
	g_autofree char *dir = g_build_filename(server.dir, "dir", NULL);
	g_autofree char *path = g_build_filename(dir, "trace", NULL);
	g_autofree char *long_path = g_strdup_printf("%s/%0100d", dir, 0);
	struct endpoint *endpoint = NULL;
	struct err err;
	int fd;

	assert_int_equal(open_place(path, ENDPOINT_ALL, &endpoint, &err), -ENOENT);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(open_place(long_path, ENDPOINT_ALL, &endpoint, &err), -ENAMETOOLONG);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(open_place(path, ENDPOINT_ALL, &endpoint, &err), -EPERM);
	assert_non_null(strstr(err.text, "others may write"));
	assert_int_equal(chmod(dir, 01777), 0);
	assert_int_equal(open_place(path, ENDPOINT_ALL, &endpoint, &err), 0);
	endpoint_close(endpoint);
	if (geteuid() == 0) {
		assert_int_equal(chown(dir, 1, 1), 0);
		assert_int_equal(open_place(path, ENDPOINT_ALL, &endpoint, &err), -EPERM);
		assert_non_null(strstr(err.text, "another user"));
		assert_int_equal(chown(dir, 0, 0), 0);
	}
	assert_int_equal(chmod(dir, 0700), 0);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	close(fd);
	assert_int_equal(open_place(path, ENDPOINT_ALL, &endpoint, &err), -EEXIST);
	assert_int_equal(mode_of(path), S_IFREG | 0600);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(open_place(path, ENDPOINT_ALL, &endpoint, &err), -EEXIST);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static int make_dir(void **state)
{
	snprintf(server.dir, sizeof(server.dir), "/tmp/kprof-listener-XXXXXX");
	if (!mkdtemp(server.dir))
		return -1;
	snprintf(server.path, sizeof(server.path), "%s/trace", server.dir);
	return 0;
}

static int remove_dir(void **state)
{
	return rmdir(server.dir); /* the tests leave nothing */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_producer_attaches_and_is_switched,
						begin, finish),
		cmocka_unit_test_setup_teardown(test_producer_that_exits_early_is_kept,
						begin, finish),
		cmocka_unit_test_setup_teardown(test_same_pool_ends_the_older_connection,
						begin, finish),
		cmocka_unit_test_setup_teardown(test_producer_that_does_not_read_delays_no_other,
						begin, finish),
		cmocka_unit_test_setup_teardown(test_all_of_many_producers_are_switched,
						begin, finish),
		cmocka_unit_test_setup_teardown(test_bad_pools_are_refused,
						begin_with_reports, finish),
		cmocka_unit_test_setup_teardown(test_bad_packets_end_their_connection,
						begin_with_reports, finish),
		cmocka_unit_test_setup_teardown(test_superfluous_descriptors_are_closed,
						begin_with_reports, finish),
		cmocka_unit_test_setup_teardown(test_too_large_packet_ends_the_connection,
						begin, finish),
		cmocka_unit_test_setup_teardown(test_refused_events_keep_the_connection,
						begin, finish),
		cmocka_unit_test_setup_teardown(test_connection_without_hello_times_out,
						begin_strict, finish),
		cmocka_unit_test_setup_teardown(test_too_many_packets_end_the_connection,
						begin_strict, finish),
		cmocka_unit_test_setup_teardown(test_corrupt_producer_is_detached_and_reported,
						begin_with_reports, finish),
		cmocka_unit_test_setup_teardown(test_connections_over_the_limit_are_refused,
						begin_strict, finish),
		cmocka_unit_test_setup_teardown(test_greedy_process_leaves_connections_to_others,
						begin_strict_with_processes, finish),
		cmocka_unit_test_setup_teardown(test_descriptors_that_cannot_be_closed_block_no_other,
						begin_with_reports, finish),
		cmocka_unit_test_setup_teardown(test_connections_without_hello_keep_no_producer_out,
						begin_strict, finish),
		cmocka_unit_test_setup_teardown(test_reports_are_limited_and_counts_are_not,
						begin_quiet, finish),
		cmocka_unit_test_setup_teardown(test_flood_of_one_process_hides_no_other_report,
						begin_quiet, finish),
		cmocka_unit_test(test_socket_path_is_locked_and_reused),
		cmocka_unit_test(test_bad_socket_paths_are_refused),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
