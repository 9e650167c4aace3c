/* SPDX-License-Identifier: MIT */
/*
 * producers/listener and connection: producers that follow the protocol attach, define events and
 * detach.
 */
#include "tests/unit/listener_fixture.h"

/* ---- a producer's side ----------------------------------------------------------------------- */

static void remove_event(int fd, uint16_t id)
{
	GByteArray *packet = begin_packet(KPROF_PACKET_GONE);

	g_byte_array_append(packet, (const guint8 *)&id, sizeof(id));
	((struct kprof_packet_events *)(void *)packet->data)->count++;
	send_packet(fd, packet);
}

/* ---- correct producers ----------------------------------------------------------------------- */

static void test_producer_attaches_and_is_switched(void **state)
{
	struct ring_writer *writer;
	struct received received;
	struct fixture f;
	int fd = open_connection();
	bool on;

	init_received(&received);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_DISCARD);
	writer = ring_writer_begin(&f.pool);
	send_hello(fd, "prog", f.fd);
	WAIT_FOR(is_switched(fd, &received, KPROF_ID_TEXT, 1));
	WAIT_FOR(is_switched(fd, &received, KPROF_ID_TEXTX, 0));
	assert_int_equal(received.welcomes, 1);
	catalog_set_printx(server.catalog, true);
	WAIT_FOR(is_switched(fd, &received, KPROF_ID_TEXTX, 1));

	define_event(fd, 5, "a");
	WAIT_FOR(is_switched(fd, &received, 5, 0));
	assert_int_equal(received.on[4], 2); /* no switch was sent for an id that it did not define */
	assert_int_equal(received.on[6], 2);
	assert_int_equal(catalog_set(server.catalog, "test:a", true), 0);
	WAIT_FOR(is_switched(fd, &received, 5, 1));
	catalog_set_enabled(server.catalog, false);
	WAIT_FOR(is_switched(fd, &received, 5, 0) && received.on[0] == 0 && received.on[1] == 0);
	catalog_set_enabled(server.catalog, true);
	WAIT_FOR(is_switched(fd, &received, 5, 1) && received.on[0] == 1 && received.on[1] == 1);

	remove_event(fd, 5);
	received.on[5] = 2;
	WAIT_FOR(catalog_get(server.catalog, "test:a", &on) == -ENOENT);
	define_event(fd, 5, "a");
	WAIT_FOR(is_switched(fd, &received, 5, 1)); /* the switch was kept */
	define_event(fd, 5, "a"); /* said twice, answered twice */
	received.on[5] = 2;
	WAIT_FOR(is_switched(fd, &received, 5, 1));

	for (uint64_t i = 0; i < 1000; i++)
		fixture_write(&f, writer, 5, &i, 1);
	producers_clear(server.producers);
	listener_kick(server.listener);
	WAIT_FOR(is_switched(fd, &received, 5, 1) && received.clear == 3); /* of 8 KiB, 24 bytes an event */
	close(fd);
	WAIT_FOR(stat_of("trace.connections") == 0);
	assert_int_equal(total().exited, 1);
	assert_int_equal(stat_of("trace.detached"), 0);
	fixture_close(&f);
}

static bool is_probed(int fd, struct received *received, uint16_t id, uint8_t on)
{
	receive_packets(fd, received);
	assert_false(received->ended);
	return received->probed[id] == on;
}

/* PROBE tells which events programs of probes/ want, SWITCH which are on; also of events that come later. */
static void test_producer_is_told_what_is_probed(void **state)
{
	struct received received;
	struct fixture f;
	int fd = open_connection();

	(void)state;
	init_received(&received);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	send_hello(fd, "prog", f.fd);
	define_event(fd, 5, "a");
	define_event(fd, 6, "b");
	WAIT_FOR(is_switched(fd, &received, 6, 0));
	assert_int_equal(received.probed[5], 2); /* what is not wanted is not said */
	assert_int_equal(catalog_probe(server.catalog, "test:a", 1), 0);
	assert_int_equal(catalog_probe(server.catalog, "test:a", 1), 0);
	WAIT_FOR(is_probed(fd, &received, 5, 1));
	assert_int_equal(received.on[5], 0);
	assert_int_equal(received.probed[6], 2);
	assert_int_equal(catalog_probe(server.catalog, "test:a", -1), 0);
	assert_int_equal(catalog_probe(server.catalog, "test:c", 1), 0);
	define_event(fd, 7, "c");
	WAIT_FOR(is_probed(fd, &received, 7, 1));
	assert_int_equal(received.probed[5], 1); /* one wants it still */
	assert_int_equal(catalog_probe(server.catalog, "test:a", -1), 0);
	WAIT_FOR(is_probed(fd, &received, 5, 0));
	assert_int_equal(catalog_probe(server.catalog, "test:c", -1), 0);
	WAIT_FOR(is_probed(fd, &received, 7, 0));
	close(fd);
	WAIT_FOR(stat_of("trace.connections") == 0);
	fixture_close(&f);
}

/* A producer that exits before the server has looked. It never reads what the server sent. */
static void test_producer_that_exits_early_is_kept(void **state)
{
	const uint64_t value = 7;
	GPtrArray *all;

	for (int i = 0; i < 50; i++) {
		struct pollfd told = {.events = POLLIN};
		struct fixture f;
		int fd = open_connection();

		fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
		fixture_write(&f, ring_writer_begin(&f.pool), 2, &value, 1);
		send_hello(fd, "short", f.fd);
		told.fd = fd;
		if (i % 2) /* and with unread packets when it exits */
			assert_int_equal(poll(&told, 1, WAIT_MS), 1);
		define_event(fd, 2, "short");
		close(fd);
		fixture_close(&f);
	}
	WAIT_FOR(total().exited == 50);
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

/* The same pool again, over another connection: the older connection ends. */
static void test_same_pool_ends_the_older_connection(void **state)
{
	struct received first, second;
	struct fixture f;
	int a = open_connection(), b = open_connection();

	init_received(&first);
	init_received(&second);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	send_hello(a, "prog", f.fd);
	define_event(a, 2, "again");
	WAIT_FOR(is_switched(a, &first, 2, 0));
	send_hello(b, "prog", f.fd);
	define_event(b, 2, "again");
	catalog_set_all(server.catalog, true);
	WAIT_FOR(is_switched(b, &second, 2, 1));
	assert_int_equal(total().attached, 1);
	define_event(a, 3, "late"); /* on the older connection, which is closed */
	WAIT_FOR(is_ended(a, &first));
	assert_int_equal(total().attached, 1);
	assert_int_equal(stat_of("trace.detached"), 0);
	close(a);
	close(b);
	fixture_close(&f);
}

/* A producer that does not read receives the latest state later. No other producer waits for it. */
static void test_producer_that_does_not_read_delays_no_other(void **state)
{
	struct received slow, quick;
	struct fixture f, g;
	int a = open_connection(), b = open_connection();
	GByteArray *packet = begin_packet(KPROF_PACKET_EVENTS);
	char name[16];

	init_received(&slow);
	init_received(&quick);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	fixture_open(&g, POOL_BYTES, KPROF_MODE_OVERWRITE);
	send_hello(a, "slow", f.fd);
	for (uint16_t id = 2; id < 802; id++) {
		snprintf(name, sizeof(name), "n%u", id);
		add_definition(packet, id, KPROF_KIND_EVENT, "t", name, "");
	}
	send_packet(a, packet);
	send_hello(b, "quick", g.fd);
	define_event(b, 2, "quick");
	WAIT_FOR(is_switched(b, &quick, 2, 0));
	for (int i = 0; i < 3000; i++) { /* 800 bytes each time: more than a socket holds */
		catalog_set_all(server.catalog, !(i & 1));
		WAIT_FOR(is_switched(b, &quick, 2, !(i & 1)));
	}
	catalog_set_all(server.catalog, true);
	WAIT_FOR(is_switched(b, &quick, 2, 1));
	WAIT_FOR(is_switched(a, &slow, 2, 1) && slow.on[63] == 1);
	assert_true(slow.switches < quick.switches);
	assert_int_equal(stat_of("trace.detached"), 0);
	close(a);
	close(b);
	fixture_close(&f);
	fixture_close(&g);
}

/* 200 producers of 50 events. All receive the switches. */
/*
 * The 200 connections are one user's, and a slow machine, or an instrumented server, takes seconds of
 * CPU time for them: with the ordinary budget they would be served in minutes.
 */
static void give_time(struct listener_options *options)
{
	options->user_burst_ns = UINT64_MAX / 4;
}

static int begin_with_time(void **state)
{
	start(give_time);
	return 0;
}

static void test_all_of_many_producers_are_switched(void **state)
{
	static struct fixture f[200];
	static struct received received[200];
	static int fds[200];

	for (int i = 0; i < 200; i++) {
		GByteArray *packet = begin_packet(KPROF_PACKET_EVENTS);
		char name[32];

		fds[i] = open_connection();
		init_received(&received[i]);
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
		send_hello(fds[i], "many", f[i].fd);
		for (uint16_t id = 2; id < 52; id++) {
			snprintf(name, sizeof(name), "p%d.n%u", i, id);
			add_definition(packet, id, KPROF_KIND_EVENT, "t", name, "%d %s");
		}
		send_packet(fds[i], packet);
	}
	for (int i = 0; i < 200; i++)
		WAIT_FOR(is_switched(fds[i], &received[i], 51, 0));
	catalog_set_all(server.catalog, true);
	for (int i = 0; i < 200; i++)
		for (uint16_t id = 2; id < 52; id++)
			WAIT_FOR(is_switched(fds[i], &received[i], id, 1));
	assert_int_equal(catalog_set(server.catalog, "t:p77.n20", false), 0);
	WAIT_FOR(is_switched(fds[77], &received[77], 20, 0));
	for (int i = 0; i < 200; i++) {
		receive_packets(fds[i], &received[i]);
		for (uint16_t id = 2; id < 52; id++)
			assert_int_equal(received[i].on[id], !(i == 77 && id == 20));
		close(fds[i]);
		fixture_close(&f[i]);
	}
	WAIT_FOR(total().attached == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_producer_attaches_and_is_switched,
						begin, finish),
		cmocka_unit_test_setup_teardown(test_producer_is_told_what_is_probed,
						begin, finish),
		cmocka_unit_test_setup_teardown(test_producer_that_exits_early_is_kept,
						begin, finish),
		cmocka_unit_test_setup_teardown(test_same_pool_ends_the_older_connection,
						begin, finish),
		cmocka_unit_test_setup_teardown(test_producer_that_does_not_read_delays_no_other,
						begin, finish),
		cmocka_unit_test_setup_teardown(test_all_of_many_producers_are_switched,
						begin_with_time, finish),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
