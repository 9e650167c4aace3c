/* SPDX-License-Identifier: MIT */
/*
 * producers/listener and connection: wrong pools, packets, descriptors and definitions are refused.
 */
#include "tests/unit/listener_fixture.h"

/* ---- wrong input---------------------------------------------------------------------------------  */

static int open_memfd(off_t bytes, unsigned int flags, int seals)
{
	int fd = memfd_create("not a pool", MFD_ALLOW_SEALING | flags);

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

/* why a HELLO with a descriptor is not received for the moment */
#define NOT_CLOSED_YET "descriptors that it sent before are not closed yet"

static const struct pool_row pool_rows[] = {
	{__LINE__, open_unsealed, "not a memfd sealed"},
	{__LINE__, open_shrinkable, "not a memfd sealed"},
	{__LINE__, open_zeroes, "its pool is refused"},
	{__LINE__, open_small, "wrong size"},
	{__LINE__, open_enormous, "wrong size"},
	{__LINE__, open_huge_pages, "not in ordinary memory"},
	{__LINE__, open_null, "not exactly one memfd"},
	{__LINE__, open_folder, "not exactly one memfd"},
	{__LINE__, open_socket, "not exactly one memfd"},
};

static unsigned int count_descriptors(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void clear_reports(void)
{
	pthread_mutex_lock(&server.lock);
	g_string_truncate(server.reports, 0);
	pthread_mutex_unlock(&server.lock);
}

static void test_bad_pools_are_refused(void **state)
{
	unsigned int before = count_descriptors();
	uint64_t refused = 0, detached = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(pool_rows); i++) {
		const struct pool_row *row = &pool_rows[i];
		int pool = row->open(), fd;
		struct received received;

		if (pool < 0) { /* no huge pages here */
			assert_ptr_equal(row->open, open_huge_pages);
			continue;
		}
		/* again where the processes that close the descriptors sent before have not ended yet */
		do {
			init_received(&received);
			clear_reports();
			fd = open_connection();
			send_hello(fd, "\x1b[2J\n", pool);
			WAIT_FOR(is_ended(fd, &received));
			close(fd);
			detached++;
		} while (was_reported(NOT_CLOSED_YET));
		if (!was_reported(row->reason) || received.welcomes)
			fail_msg("row of line %d: %s", row->line, server.reports->str);
		assert_int_equal(total().refused, ++refused);
		assert_int_equal(stat_of("trace.detached"), detached);
		close(pool);
	}
	WAIT_FOR(count_descriptors() == before);
	assert_int_equal(total().pool_bytes, 0);
}

/* Each packet alone, before or after HELLO. */
struct packet_row {
	int line;
	bool has_sent_hello;
	const char *reason;
	size_t bytes;
	union {
		struct kprof_packet head;
		struct kprof_packet_hello hello;
		struct kprof_packet_sync sync;
		struct {
			struct kprof_packet head;
			char path[16];
		} file;
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
#define FILE_OF(bytes, path) bytes, {.file = {{KPROF_PACKET_FILE, bytes}, path}}
#define SYNCED(bytes, number) bytes, {.sync = {{KPROF_PACKET_SYNCED, bytes}, number}}

static const struct packet_row packet_rows[] = {
	{__LINE__, false, "not the one in its header", 1, {.room = {1}}},
	{__LINE__, false, "not the one in its header", 8, {.head = {KPROF_PACKET_HELLO, 9}}},
	{__LINE__, false, "not the one in its header", 96, {.head = {KPROF_PACKET_HELLO, 0xffffffff}}},
	{__LINE__, false, "a HELLO of the wrong size", 8, {.head = {KPROF_PACKET_HELLO, 8}}},
	{__LINE__, false, "a HELLO with a wrong magic number", HELLO(1, KPROF_ATTACH_VERSION)},
	{__LINE__, false, "version 1 of the protocol, not 3", HELLO(KPROF_ATTACH_MAGIC, 1)},
	{__LINE__, false, "version 4 of the protocol, not 3", HELLO(KPROF_ATTACH_MAGIC, 4)},
	{__LINE__, false, "a packet before HELLO", SYNCED(16, 1)},
	{__LINE__, true, "a SYNCED of the wrong size", SYNCED(8, 1)},
	{__LINE__, true, "a SYNCED whose number no SYNC had", SYNCED(16, 0)},
	{__LINE__, true, "a SYNCED whose number no SYNC had", SYNCED(16, 1)},
	{__LINE__, false, "without the descriptor", HELLO(KPROF_ATTACH_MAGIC, KPROF_ATTACH_VERSION)},
	{__LINE__, true, "a second HELLO", HELLO(KPROF_ATTACH_MAGIC, KPROF_ATTACH_VERSION)},
	{__LINE__, false, "a packet before HELLO", ONE(16, 0, 0)},
	{__LINE__, false, "a packet before HELLO", GONE(16, 0)},
	{__LINE__, false, "a packet before HELLO", FILE_OF(12, "/lib")},
	{__LINE__, true, "no absolute path", FILE_OF(8, "")},
	{__LINE__, true, "no absolute path", FILE_OF(11, "lib")},
	{__LINE__, true, "no absolute path", FILE_OF(12, "/l\0b")},
	{__LINE__, true, "too short", ONE(8, 0, 0)},
	{__LINE__, true, "too short", ONE(16, 1, 0)},
	{__LINE__, true, "too short", ONE(27, 1, 12, 2)},
	{__LINE__, true, "bytes behind its last event", ONE(28, 0, 12, 2)},
	/* bytes, id, kind, refusal, provider, name, format */
	{__LINE__, true, "wrong size", ONE(33, 1, 16, 2, 1, 0, 1, 2, 2)},
	{__LINE__, true, "wrong size", ONE(33, 1, 0, 2, 1, 0, 1, 2, 2)},
	{__LINE__, true, "wrong size", ONE(33, 1, 18, 2, 1, 0, 1, 2, 3)},
	{__LINE__, true, "wrong size", ONE(33, 1, 17, 2, 1, 0, 255, 255, 65535)},
	{__LINE__, true, "id is out of range", ONE(33, 1, 17, 0, 1, 0, 1, 2, 2)},
	{__LINE__, true, "id is out of range", ONE(33, 1, 17, 1, 1, 0, 1, 2, 2)},
	{__LINE__, true, "id is out of range", ONE(33, 1, 17, KPROF_ID_LIMIT, 1, 0, 1, 2, 2)},
	{__LINE__, true, "unknown kind", ONE(33, 1, 17, 2, 0, 0, 1, 2, 2)},
	{__LINE__, true, "unknown kind", ONE(33, 1, 17, 2, 7, 0, 1, 2, 2)},
	{__LINE__, true, "NUL", ONE(34, 1, 18, 2, 1, 0, 1, 2, 3)},
	{__LINE__, true, "too short", ONE(33, 2, 17, 2, 1, 0, 1, 2, 2)},
	{__LINE__, true, "too short", GONE(8, 0)},
	{__LINE__, true, "does not match its count", GONE(16, 1)},
	{__LINE__, true, "does not match its count", GONE(18, 0x80000001)},
	{__LINE__, true, "does not match its count", GONE(19, 1)},
};

static void test_bad_packets_end_their_connection(void **state)
{
	unsigned int before = count_descriptors();
	struct received good_received;
	struct fixture good;
	int good_fd = open_connection();

	fixture_open(&good, POOL_BYTES, KPROF_MODE_OVERWRITE);
	init_received(&good_received);
	send_hello(good_fd, "good", good.fd);
	for (size_t i = 0; i < G_N_ELEMENTS(packet_rows); i++) {
		const struct packet_row *row = &packet_rows[i];
		struct received received;
		struct fixture f;
		int fd = open_connection();

		init_received(&received);
		clear_reports();
		fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
		if (row->has_sent_hello)
			send_hello(fd, "bad", f.fd);
		assert_int_equal(send_with(fd, &row->data, row->bytes, NULL, 0), row->bytes);
		WAIT_FOR(is_ended(fd, &received));
		if (!was_reported(row->reason))
			fail_msg("row of line %d: %s", row->line, server.reports->str);
		/* a HELLO of another version is answered with the version of the server */
		assert_int_equal(received.welcomes,
			row->has_sent_hello || strstr(row->reason, "of the protocol") != NULL);
		assert_int_equal(stat_of("trace.detached"), i + 1);
		close(fd);
		fixture_close(&f);
		/* no other connection is affected */
		define_event(good_fd, (uint16_t)(2 + i), "good");
		WAIT_FOR(is_switched(good_fd, &good_received, (uint16_t)(2 + i), 0));
	}
	close(good_fd);
	fixture_close(&good);
	/*
	 * the pool of a living process is kept after its connection ended: it might be written to
	 */
	WAIT_FOR(total().exited == 1);
	producers_clear(server.producers);
	WAIT_FOR(count_descriptors() == before);
}

/*
 * Sends a HELLO that is refused over a connection of its own. false if it was not received, since the
 * processes that close the descriptors sent before have not ended yet.
 */
static bool is_hello_received(const struct kprof_packet_hello *hello, const int *fds, size_t count)
{
	struct received received;
	int fd = open_connection();

	init_received(&received);
	clear_reports();
	assert_int_equal(send_with(fd, hello, sizeof(*hello), fds, count), sizeof(*hello));
	WAIT_FOR(is_ended(fd, &received));
	close(fd);
	return !was_reported(NOT_CLOSED_YET);
}

static void test_superfluous_descriptors_are_closed(void **state)
{
	const uint32_t unknown[2] = {99, 8};
	unsigned int before = count_descriptors();
	struct kprof_packet_hello hello = make_hello("prog", POOL_BYTES);
	struct received received;
	struct fixture f;
	int fd = open_connection(), fds[8];

	init_received(&received);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	for (int i = 0; i < 8; i++)
		fds[i] = f.fd;
	/* other packets carry no descriptor, before HELLO or after it */
	assert_int_equal(send_with(fd, unknown, sizeof(unknown), fds, 3), 8);
	WAIT_FOR(is_ended(fd, &received));
	assert_true(was_reported("?: unexpected descriptors in a packet\n"));
	close(fd);
	init_received(&received);
	clear_reports();
	fd = open_connection();
	send_hello(fd, "prog", f.fd);
	WAIT_FOR(is_switched(fd, &received, 0, 1));
	assert_int_equal(send_with(fd, unknown, sizeof(unknown), fds, 8), 8);
	WAIT_FOR(is_ended(fd, &received));
	assert_true(was_reported("prog: unexpected descriptors in a packet\n"));
	close(fd);
	/* a HELLO carries exactly one */
	for (size_t count = 2; count <= 8; count += 3) {
		WAIT_FOR(is_hello_received(&hello, fds, count));
		assert_true(was_reported("not exactly one memfd"));
	}
	/* an empty packet ends the connection; its descriptors are closed */
	init_received(&received);
	fd = open_connection();
	assert_int_equal(send_with(fd, "", 0, fds, 1), 0);
	WAIT_FOR(is_ended(fd, &received));
	close(fd);
	hello.pool_bytes++;
	WAIT_FOR(is_hello_received(&hello, fds, 1));
	assert_true(was_reported("another size than its HELLO says"));
	fixture_close(&f);
	WAIT_FOR(count_descriptors() == before);
}

static void test_too_large_packet_ends_the_connection(void **state)
{
	static char data[2 * KPROF_PACKET_MAX];
	struct kprof_packet *head = (void *)data;
	struct received received;
	int fd = open_connection();

	init_received(&received);
	*head = (struct kprof_packet){77, KPROF_PACKET_MAX};
	assert_int_equal(send_with(fd, data, KPROF_PACKET_MAX, NULL, 0), KPROF_PACKET_MAX);
	head->bytes++;
	assert_int_equal(send_with(fd, data, head->bytes, NULL, 0), head->bytes);
	WAIT_FOR(is_ended(fd, &received));
	assert_true(was_reported("larger than the protocol"));
	close(fd);
}

/* The events are refused, and the connection stays. */
static void test_refused_events_keep_the_connection(void **state)
{
	GByteArray *packet = begin_packet(KPROF_PACKET_EVENTS);
	struct kprof_event_def *def;
	struct received received;
	struct fixture f;
	int fd = open_connection();

	init_received(&received);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	send_hello(fd, "prog", f.fd);
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
	WAIT_FOR(is_switched(fd, &received, 3, 1));
	for (uint16_t id = 2; id < 8; id++)
		WAIT_FOR(is_switched(fd, &received, id, id == 3));
	assert_int_equal(total().refused, 5);
	assert_true(was_reported("prog: a format with an unknown conversion, or too long\n"));
	assert_true(was_reported("prog: t:b already exists with another format\n"));
	assert_true(was_reported("prog: not a provider and a name"));
	assert_true(was_reported("prog: arguments that don't fit the format '%s' of t:own\n"));
	assert_int_equal(stat_of("trace.detached"), 0);
	close(fd);
	fixture_close(&f);
}

static bool has_corrupt_producers(uint64_t count)
{
	return total().corrupt == count;
}

/*
 * Counters in the pool that are out of range: the producer is detached and reported, also when its
 * connection was closed before.
 */
static void test_corrupt_producer_is_detached_and_reported(void **state)
{
	struct received received;
	struct fixture f[2];
	int fd[2];

	for (int i = 0; i < 2; i++) {
		const uint64_t word = 1;

		fd[i] = open_connection();
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
		assert_true(fixture_write(&f[i], ring_writer_begin(&f[i].pool), KPROF_ID_FIRST, &word,
			1));
		init_received(&received);
		send_hello(fd[i], i ? "closed" : "open", f[i].fd);
		WAIT_FOR(is_switched(fd[i], &received, 0, 1));
	}
	close(fd[1]);
	WAIT_FOR(total().exited == 1);
	f[0].pool.shared->starved = UINT64_MAX;
	f[1].pool.slots[0].base = 1ull << 50;
	WAIT_FOR(has_corrupt_producers(2));
	WAIT_FOR(is_ended(fd[0], &received));
	WAIT_FOR(was_reported("open: dropped event count out of range\n"));
	WAIT_FOR(was_reported("closed: event count out of range\n"));
	assert_int_equal(stat_of("trace.detached"), 1);
	assert_int_equal(total().written, 2);
	close(fd[0]);
	fixture_close(&f[0]);
	fixture_close(&f[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
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
		cmocka_unit_test_setup_teardown(test_corrupt_producer_is_detached_and_reported,
						begin_with_reports, finish),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
