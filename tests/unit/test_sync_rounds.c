/* SPDX-License-Identifier: MIT */
/*
 * producers/sync_rounds and connection: a write to a switch waits until the programs have acknowledged
 * it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"
#include "sys/clock.h"
#include "tests/race/fixture.h"
#include "producers/catalog.h"
#include "producers/producers.h"
#include "producers/connection.h"
#include "producers/sync_rounds.h"

/* ---- rounds ---------------------------------------------------------------------------------- */

struct write {
	struct sync_waiter waiter; /* first, so that one is the other */
	unsigned int done;
	char late[64];
};

static void on_done(struct sync_waiter *waiter, const char *late)
{
	struct write *write = (struct write *)waiter;

	write->done++;
	g_strlcpy(write->late, late ? late : "", sizeof(write->late));
}

static void begin_write(struct sync_rounds *rounds, struct write *write)
{
	*write = (struct write){.waiter.done = on_done};
	assert_true(sync_rounds_add(rounds, &write->waiter));
}

/* Ends the rounds that can end now. Returns how many. */
static unsigned int end_due(struct sync_rounds *rounds, uint64_t now_ns)
{
	unsigned int ended = 0;
	uint64_t round;
	bool late;

	while ((round = sync_rounds_due(rounds, now_ns, &late))) {
		sync_rounds_end(rounds, round, late ? "late" : NULL);
		ended++;
	}
	return ended;
}

static void test_write_without_programs_ends_at_once(void **state)
{
	struct sync_rounds *rounds = sync_rounds_create();
	struct write write;

	assert_int_equal(sync_rounds_begin(rounds), 0);
	assert_int_equal(sync_rounds_deadline_ns(rounds), 0);
	begin_write(rounds, &write);
	assert_int_equal(sync_rounds_begin(rounds), 1);
	assert_int_equal(end_due(rounds, 0), 1);
	assert_int_equal(write.done, 1);
	assert_string_equal(write.late, "");
	assert_int_equal(sync_rounds_deadline_ns(rounds), 0);
	sync_rounds_destroy(rounds);
}

static void test_round_ends_with_the_last_answer(void **state)
{
	struct sync_rounds *rounds = sync_rounds_create();
	struct write one, two, three;

	begin_write(rounds, &one);
	begin_write(rounds, &two);
	assert_int_equal(sync_rounds_begin(rounds), 1);
	sync_rounds_ask(rounds);
	sync_rounds_ask(rounds);
	begin_write(rounds, &three);
	assert_int_equal(sync_rounds_begin(rounds), 2);
	sync_rounds_ask(rounds);
	assert_int_equal(sync_rounds_newest(rounds), 2);
	sync_rounds_answered(rounds, 0, 1);
	assert_int_equal(end_due(rounds, 0), 0);
	/* the newest number answers for the older rounds too */
	sync_rounds_answered(rounds, 0, 2);
	assert_int_equal(end_due(rounds, 0), 2);
	assert_int_equal(one.done + two.done + three.done, 3);
	assert_string_equal(three.late, "");
	sync_rounds_destroy(rounds);
}

static void test_later_round_does_not_wait_for_an_earlier_one(void **state)
{
	struct sync_rounds *rounds = sync_rounds_create();
	struct write one, two;

	begin_write(rounds, &one);
	sync_rounds_begin(rounds);
	sync_rounds_ask(rounds);
	begin_write(rounds, &two);
	sync_rounds_begin(rounds); /* no producer has to change; it may have ended */
	assert_int_equal(end_due(rounds, 0), 1);
	assert_int_equal(one.done, 0);
	assert_int_equal(two.done, 1);
	assert_int_equal(end_due(rounds, one.waiter.since_ns + SYNC_ROUNDS_WAIT_MS * NSEC_PER_MSEC), 1);
	assert_string_equal(one.late, "late");
	sync_rounds_destroy(rounds);
}

static void test_round_times_out(void **state)
{
	struct sync_rounds *rounds = sync_rounds_create();
	uint64_t end_ns;
	struct write write;

	begin_write(rounds, &write);
	end_ns = write.waiter.since_ns + SYNC_ROUNDS_WAIT_MS * NSEC_PER_MSEC;
	sync_rounds_begin(rounds);
	sync_rounds_ask(rounds);
	assert_int_equal(sync_rounds_deadline_ns(rounds), end_ns);
	assert_int_equal(end_due(rounds, end_ns - 1), 0);
	assert_int_equal(end_due(rounds, end_ns), 1);
	assert_string_equal(write.late, "late");
	sync_rounds_answered(rounds, 0, 1); /* too late, and harmless */
	sync_rounds_destroy(rounds);
}

static void test_cancelled_write_is_not_answered(void **state)
{
	struct sync_rounds *rounds = sync_rounds_create();
	struct write one, two;

	begin_write(rounds, &one);
	assert_true(sync_rounds_cancel(rounds, &one.waiter));
	assert_false(sync_rounds_cancel(rounds, &one.waiter));
	assert_int_equal(sync_rounds_begin(rounds), 0);
	begin_write(rounds, &one);
	begin_write(rounds, &two);
	sync_rounds_begin(rounds);
	sync_rounds_ask(rounds);
	assert_true(sync_rounds_cancel(rounds, &one.waiter));
	sync_rounds_answered(rounds, 0, 1);
	assert_int_equal(end_due(rounds, 0), 1);
	assert_int_equal(one.done, 0);
	assert_int_equal(two.done, 1);
	assert_false(sync_rounds_cancel(rounds, &two.waiter));
	sync_rounds_destroy(rounds);
}

static void test_closing_ends_all_writes(void **state)
{
	struct sync_rounds *rounds = sync_rounds_create();
	struct write asked, added, after = {.waiter.done = on_done};

	begin_write(rounds, &asked);
	sync_rounds_begin(rounds);
	sync_rounds_ask(rounds);
	begin_write(rounds, &added);
	sync_rounds_close(rounds);
	assert_int_equal(asked.done + added.done, 2);
	assert_false(sync_rounds_add(rounds, &after.waiter));
	assert_int_equal(after.done, 0);
	sync_rounds_destroy(rounds);
}

/* ---- what a program is asked ----------------------------------------------------------------- */

static struct {
	struct catalog *catalog;
	struct producers *producers;
	struct connection connection;
	struct fixture f;
} world;

static void on_refused(void *arg, const struct connection *connection, const char *reason)
{
	fail_msg("%s", reason);
}

static void take(const void *packet, size_t bytes, int fd)
{
	struct err err = {""};

	if (connection_take(&world.connection, packet, bytes, &fd, &err))
		fail_msg("%s", err.text);
	assert_int_equal(fd, -1);
}

static int begin(void **state)
{
	struct kprof_packet_hello hello = {
		.head = {KPROF_PACKET_HELLO, sizeof(hello)},
		.magic = KPROF_ATTACH_MAGIC,
		.version = KPROF_ATTACH_VERSION,
		.pool_bytes = KPROF_POOL_BYTES_MIN,
		.program = "test",
	};
	struct producers_limits limits;

	producers_limits_init(&limits, 1024, 1u << 30);
	world.catalog = catalog_create(NULL);
	world.producers = producers_create(world.catalog, &limits);
	fixture_open(&world.f, KPROF_POOL_BYTES_MIN, KPROF_MODE_OVERWRITE);
	connection_init(&world.connection, world.producers, 1234, 1000, on_refused, NULL);
	take(&hello, sizeof(hello), dup(world.f.fd));
	return 0;
}

static int end(void **state)
{
	connection_fini(&world.connection);
	producers_clear(world.producers);
	producers_destroy(world.producers);
	catalog_destroy(world.catalog);
	fixture_close(&world.f);
	return 0;
}

/* Receives all packets sent now. Returns their types, one letter each; *number: that of a SYNC. */
static const char *take_packets(uint64_t *number)
{
	static char packet[KPROF_PACKET_MAX] __attribute__((aligned(8)));
	static char types[16];
	size_t n = 0;

	while (n < sizeof(types) - 1 && connection_next(&world.connection, packet)) {
		struct kprof_packet_sync sync;

		memcpy(&sync, packet, sizeof(sync));
		types[n++] = sync.head.type == KPROF_PACKET_WELCOME ? 'w' :
			sync.head.type == KPROF_PACKET_SWITCH ? 's' :
			sync.head.type == KPROF_PACKET_CLEAR ? 'c' :
			sync.head.type == KPROF_PACKET_SYNC ? 'S' : '?';
		if (sync.head.type == KPROF_PACKET_SYNC)
			*number = sync.number;
		connection_sent(&world.connection, packet);
	}
	types[n] = '\0';
	return types;
}

static void answer(uint64_t number)
{
	const struct kprof_packet_sync answer = {
		.head = {KPROF_PACKET_SYNCED, sizeof(answer)}, .number = number};

	take(&answer, sizeof(answer), -1);
}

static void switch_printx(bool on)
{
	catalog_set_printx(world.catalog, on);
	connection_rescan(&world.connection);
}

static void test_request_for_an_answer_follows_the_change(void **state)
{
	uint64_t number = 0;

	assert_string_equal(take_packets(&number), "ws");
	switch_printx(true);
	connection_sync(&world.connection, 1);
	assert_string_equal(take_packets(&number), "sS");
	assert_int_equal(number, 1);
	assert_false(connection_is_synced(&world.connection));
	answer(1);
	assert_true(connection_is_synced(&world.connection));
}

/* The change was sent before the write began to wait, and its receipt is not yet confirmed. */
static void test_sync_is_requested_for_a_change_sent_before(void **state)
{
	uint64_t number = 0;

	take_packets(&number);
	connection_sync(&world.connection, 1);
	assert_string_equal(take_packets(&number), "S");
	answer(1);
	connection_sync(&world.connection, 2);
	assert_string_equal(take_packets(&number), "");
	assert_true(connection_is_synced(&world.connection)); /* it has nothing to answer */
}

static void test_answer_to_an_older_round_is_not_enough(void **state)
{
	uint64_t number = 0;

	take_packets(&number);
	connection_sync(&world.connection, 1);
	take_packets(&number);
	connection_sync(&world.connection, 2); /* nothing changed, but 1 is still to be answered */
	assert_string_equal(take_packets(&number), "S");
	assert_int_equal(number, 2);
	answer(1);
	assert_false(connection_is_synced(&world.connection));
	answer(2);
	assert_true(connection_is_synced(&world.connection));
}

static void test_newest_number_answers_all(void **state)
{
	uint64_t number = 0;

	take_packets(&number);
	connection_sync(&world.connection, 1);
	take_packets(&number);
	switch_printx(true);
	connection_sync(&world.connection, 2);
	assert_string_equal(take_packets(&number), "sS");
	answer(2);
	assert_true(connection_is_synced(&world.connection));
}

static void test_clear_is_answered_too(void **state)
{
	uint64_t number = 0;

	take_packets(&number);
	connection_sync(&world.connection, 1);
	take_packets(&number);
	answer(1);
	assert_true(fixture_write(&world.f, ring_writer_begin(&world.f.pool), KPROF_ID_TEXT, NULL, 0));
	producers_clear(world.producers);
	connection_sync(&world.connection, 2);
	assert_string_equal(take_packets(&number), "cS");
	assert_int_equal(number, 2);
}

/* It has not sent HELLO, so it can't answer. */
static void test_program_without_hello_is_not_waited_for(void **state)
{
	uint64_t number = 0;
	struct connection connection;

	connection_init(&connection, world.producers, 1235, 1000, on_refused, NULL);
	connection_sync(&connection, 7);
	assert_true(connection_is_synced(&connection));
	connection_fini(&connection);
	take_packets(&number);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write_without_programs_ends_at_once),
		cmocka_unit_test(test_round_ends_with_the_last_answer),
		cmocka_unit_test(test_later_round_does_not_wait_for_an_earlier_one),
		cmocka_unit_test(test_round_times_out),
		cmocka_unit_test(test_cancelled_write_is_not_answered),
		cmocka_unit_test(test_closing_ends_all_writes),
		cmocka_unit_test_setup_teardown(test_request_for_an_answer_follows_the_change, begin, end),
		cmocka_unit_test_setup_teardown(test_sync_is_requested_for_a_change_sent_before, begin,
			end),
		cmocka_unit_test_setup_teardown(test_answer_to_an_older_round_is_not_enough, begin, end),
		cmocka_unit_test_setup_teardown(test_newest_number_answers_all, begin, end),
		cmocka_unit_test_setup_teardown(test_clear_is_answered_too, begin, end),
		cmocka_unit_test_setup_teardown(test_program_without_hello_is_not_waited_for, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
