/* SPDX-License-Identifier: MIT */
/*
 * producers/producers: producers attach, define events, write and exit; sums and corruption are
 * counted.
 */
#include "tests/unit/producers_fixture.h"

static void test_program_names_are_made_printable(void **state)
{
	struct world world = create(&roomy);
	struct producer *producer = NULL;
	struct err err = {""};
	char text[KPROF_PROGRAM_MAX];
	struct fixture f;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	memset(text, 'a', sizeof(text)); /* no NUL */
	memcpy(text, "a b\x1b[2J]\n'\xff", 11);
	assert_int_equal(attach(&world, 10, 1, text, f.fd, &producer, &err), 0);
	assert_int_equal(strlen(producer->program), KPROF_PROGRAM_MAX - 1);
	assert_memory_equal(producer->program, "a_b__2J____a", 12);
	end(producer);
	memset(text, 0, sizeof(text));
	assert_int_equal(attach(&world, 10, 1, text, f.fd, &producer, &err), 0);
	assert_string_equal(producer->program, "?");
	assert_int_equal(producer->serial, 2);
	end(producer);
	fixture_close(&f);
	destroy(&world);
}

static void test_file_that_is_not_a_pool_is_refused(void **state)
{
	struct world world = create(&roomy);
	struct producer *producer = NULL;
	struct err err = {""};
	int fd = memfd_create("x", MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, POOL_BYTES), 0);
	assert_int_equal(attach(&world, 10, 1, "prog", fd, &producer, &err), -EINVAL);
	assert_non_null(strstr(err.text, "its pool is refused: not a memfd sealed"));
	assert_int_equal(total(&world).refused, 1);
	assert_int_equal(total(&world).pool_bytes, 0);
	close(fd);
	destroy(&world);
}

static void test_events_are_defined_and_counted(void **state)
{
	struct world world = create(&roomy);
	const struct producer_event *event;
	struct err err = {""};
	struct producer *producer, *second;
	struct fixture f, g;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	fixture_open(&g, POOL_BYTES, KPROF_MODE_OVERWRITE);
	producer = attached(&world, 10, 1, f.fd);
	second = attached(&world, 11, 1, g.fd);
	assert_null(producer_event(producer, 2));
	assert_null(producer_event(producer, UINT16_MAX));
	assert_int_equal(producer_event(producer, 1)->kind, KPROF_KIND_PRINTX);
	assert_false(producer_event(producer, 1)->show_provisional);
	assert_true(producer_event(producer, 0)->show_provisional);

	assert_int_equal(producer_define(producer, 2, KPROF_KIND_EVENT, "p:a", "%d", &err), 0);
	event = producer_event(producer, 2);
	assert_int_equal(event->number, 1);
	assert_string_equal(event->label, "p:a");
	assert_string_equal(event->format, "%d");
	assert_false(event->show_provisional);
	assert_false(producer_is_on(producer, 2));
	assert_true(producer_is_on(producer, 0));
	assert_int_equal(catalog_set(world.catalog, "p:a", true), 0);
	assert_true(producer_is_on(producer, 2));
	assert_false(event->show_provisional); /* the event was off when the program began */

	/* the same name means the same event in every program */
	assert_int_equal(producer_define(second, 900, KPROF_KIND_EVENT, "p:a", "%d", &err), 0);
	assert_int_equal(producer_event(second, 900)->number, 1);
	assert_true(producer_event(second, 900)->show_provisional);
	assert_int_equal(producer_define(second, 3, KPROF_KIND_EVENT, "p:a", "%u", &err), -EEXIST);
	assert_null(producer_event(second, 3));
	assert_false(producer_is_on(second, 3));
	assert_int_equal(total(&world).refused, 1);

	/* a span has a meaning for its end, too; a name has one kind */
	assert_int_equal(producer_define(producer, 4, KPROF_KIND_SPAN, "p:s", "n %d", &err), 0);
	assert_string_equal(producer_event(producer, 4)->format, "begin n %d");
	assert_int_equal(producer_event(producer, KPROF_ID_SPAN_END + 4)->kind, PRODUCER_SPAN_END);
	assert_int_equal(producer_event(producer, KPROF_ID_SPAN_END + 4)->number, 2);
	assert_null(producer_event(producer, KPROF_ID_SPAN_END + 2)); /* no span */
	assert_null(producer_event(producer, KPROF_ID_SPAN_END + 5));
	assert_null(producer_event(producer, KPROF_ID_RECORDS + 4));
	assert_int_equal(producer_define(second, 4, KPROF_KIND_EVENT, "p:s", "n %d", &err), -EEXIST);
	assert_int_equal(producer_define(second, 4, KPROF_KIND_SPAN, "p:s", "n %d", &err), 0);
	assert_int_equal(producer_define(second, 4, KPROF_KIND_COUNTER, "p:s", "n %d", &err), -EPROTO);
	assert_int_equal(total(&world).refused, 2);

	/* removed and defined again, and once too often */
	producer_undefine(producer, 2);
	producer_undefine(producer, 2);
	producer_undefine(producer, 77);
	assert_false(producer_is_on(producer, 2));
	assert_ptr_equal(producer_event(producer, 2), event);
	assert_int_equal(producer_define(producer, 2, KPROF_KIND_EVENT, "p:a", "%d", &err), 0);
	assert_true(producer_is_on(producer, 2));
	assert_int_equal(producer_define(producer, 2, KPROF_KIND_EVENT, "p:b", "%d", &err), -EPROTO);
	assert_int_equal(producer_define(producer, 2, KPROF_KIND_PRINTF, "", "%d", &err), -EPROTO);
	assert_int_equal(producer_define(producer, 1, KPROF_KIND_PRINTF, "", "%d", &err), -EPROTO);
	assert_int_equal(producer_define(producer, KPROF_ID_LIMIT, KPROF_KIND_PRINTF, "", "", &err),
		-EPROTO);
	assert_int_equal(producer_define(producer, 3, 0, "", "%d", &err), -EPROTO);
	assert_int_equal(producer_define(producer, 3, KPROF_KIND_COUNTER + 1, "", "%d", &err), -EPROTO);
	assert_int_equal(producer_define(producer, 3, KPROF_KIND_PRINTF, "", "%n", &err), -EINVAL);
	assert_int_equal(producer_define(producer, 3, KPROF_KIND_EVENT, "p b:c", "", &err), -EINVAL);
	assert_int_equal(producer_define(producer, 3, KPROF_KIND_COUNTER, "p:c", "%s", &err), -EINVAL);
	assert_int_equal(producer_define(producer, 3, KPROF_KIND_COUNTER, "p:c", "%d %d", &err), -EINVAL);
	assert_int_equal(total(&world).refused, 6);
	assert_int_equal(producer_define(producer, KPROF_ID_LIMIT - 1, KPROF_KIND_PRINTX, "x", "%d",
		&err), 0);
	assert_int_equal(producer_event(producer, KPROF_ID_LIMIT - 1)->number, 0);

	end(producer);
	end(second);
	fixture_close(&f);
	fixture_close(&g);
	destroy(&world);
}

/* Chunks of 8 KiB in 64 KiB: 7 chunks. The test counts beside them what the numbers must be. */
static void test_written_and_lost_events_add_up(void **state)
{
	struct world world = create(&roomy);
	struct producers_totals totals;
	struct producer *producer;
	struct ring_writer *writer;
	struct ring_room room;
	struct fixture f;
	uint64_t overwritten;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	writer = ring_writer_begin(&f.pool);
	producer = attached(&world, 10, 1, f.fd);
	write_events(&f, writer, 100);
	totals = total(&world);
	assert_int_equal(totals.written, 100);
	assert_int_equal(totals.overwritten + totals.dropped + totals.torn, 0);
	assert_int_equal(totals.attached, 1);
	assert_int_equal(totals.slow_clocks, 1); /* as the fixture makes them */
	assert_int_equal(totals.pool_bytes, POOL_BYTES);
	write_events(&f, writer, 10000); /* 24 bytes each: more than it holds */
	totals = total(&world);
	assert_int_equal(totals.written, 10100);
	assert_in_range(totals.overwritten, 10100 - 7 * 8192 / 24, 10100 - 6 * 8100 / 24);
	overwritten = totals.overwritten;
	assert_true(ring_reserve(writer, 3, &room)); /* and killed in the middle of it */
	assert_int_equal(total(&world).torn, 0);
	producer_end(producer, false);
	producer_end(producer, false);
	assert_true(atomic_read_acquire(&producer->ended));
	totals = total(&world);
	assert_int_equal(totals.written, 10101);
	assert_int_equal(totals.torn, 1);
	assert_int_equal(totals.overwritten, overwritten);
	assert_int_equal(totals.attached, 0);
	assert_int_equal(totals.exited, 1);
	assert_in_range(totals.exited_bytes, POOL_BYTES / 4, POOL_BYTES);
	producer_put(producer);

	/* the pool is attached again: the same events, not twice as many */
	producer = attached(&world, 10, 1, f.fd);
	write_events(&f, writer, 9);
	totals = total(&world);
	assert_int_equal(totals.written, 10110);
	assert_int_equal(totals.exited, 0);
	assert_int_equal(totals.exited_bytes, 0);
	assert_int_equal(totals.pool_bytes, POOL_BYTES);
	end(producer);

	producers_clear(world.producers);
	totals = total(&world);
	assert_int_equal(totals.written, 10110);
	assert_int_equal(totals.exited, 0);
	assert_int_equal(totals.pool_bytes, 0);
	assert_int_equal(totals.cleared + totals.overwritten, 10110);
	assert_int_equal(totals.overwritten, overwritten);
	fixture_close(&f);
	destroy(&world);
}

/*
 * Killed after the commit and before the record was counted as done: that record is whole, others
 * may be torn.
 */
static void test_record_committed_before_a_kill_is_whole(void **state)
{
	struct world world = create(&roomy);
	struct producers_totals totals;
	struct producer *producer;
	struct ring_writer *writers[2];
	struct ring_room room;
	struct fixture f;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	producer = attached(&world, 10, 1, f.fd);
	for (int i = 0; i < 2; i++) {
		writers[i] = ring_writer_begin(&f.pool);
		write_events(&f, writers[i], 100);
	}
	assert_true(ring_reserve(writers[0], 3, &room)); /* torn */
	for (int i = 0; i < 2; i++) {
		write_events(&f, writers[i], 1);
		writers[i]->slot->done--;
	}
	producer_end(producer, false);
	totals = total(&world);
	assert_int_equal(totals.written, 203);
	assert_int_equal(totals.torn, 1);
	assert_int_equal(totals.overwritten + totals.dropped, 0);
	producer_put(producer);
	destroy(&world);
	fixture_close(&f);
}

/*
 * The process can attach again before the end of its old connection is noticed. Another process
 * cannot.
 */
static void test_same_process_may_attach_its_pool_again(void **state)
{
	struct world world = create(&roomy);
	struct producer *first, *second, *third = NULL;
	struct ring_writer *writer;
	struct err err = {""};
	GPtrArray *all;
	struct fixture f;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	writer = ring_writer_begin(&f.pool);
	first = attached(&world, 10, 1, f.fd);
	assert_int_equal(producer_define(first, 2, KPROF_KIND_EVENT, "p:a", "%d", &err), 0);
	write_events(&f, writer, 5);
	assert_int_equal(attach(&world, 11, 1, "prog", f.fd, &third, &err), -EBUSY);
	assert_non_null(strstr(err.text, "process 10"));
	second = attached(&world, 10, 1, f.fd);
	assert_true(atomic_read_acquire(&first->ended));
	assert_int_equal(producer_define(second, 2, KPROF_KIND_EVENT, "p:a", "%u", &err), 0);
	assert_int_equal(total(&world).written, 5);
	assert_int_equal(total(&world).attached, 1);
	all = producers_all(world.producers);
	assert_int_equal(all->len, 1);
	assert_ptr_equal(g_ptr_array_index(all, 0), second);
	g_ptr_array_free(all, TRUE);
	end(first);
	assert_int_equal(total(&world).attached, 1);
	end(second);
	/*
	 * only its pool is still here: a process that has it may attach it again, also where room
	 * is short
	 */
	third = attached(&world, 11, 1, f.fd);
	assert_int_equal(total(&world).written, 5);
	end(third);
	fixture_close(&f);
	destroy(&world);
}

/*
 * A producer that closed its descriptors before it wrote anything, and writes later, is read and
 * counted. Its pool is the first to be evicted.
 */
static void test_producer_that_closed_its_connection_is_still_read(void **state)
{
	struct world world = create(&roomy);
	struct producer *producer;
	struct fixture f[2];

	live_and_die(&world, 1, 100, 1);
	for (int i = 0; i < 2; i++) {
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
		producer = attached(&world, 10 + i, 200, f[i].fd);
		producer_end(producer, true);
		producer_put(producer);
	}
	check_pids(&world, __LINE__, "1 10 11");
	write_events(&f[0], ring_writer_begin(&f[0].pool), 3);
	assert_int_equal(total(&world).written, 4);
	live_and_die(&world, 2, 300, 1);
	check_pids(&world, __LINE__, "1 10 11 2");
	write_events(&f[1], ring_writer_begin(&f[1].pool), 5); /* its counters were not read since */
	live_and_die(&world, 3, 400, 1);
	check_pids(&world, __LINE__, "1 10 2 3");
	assert_int_equal(total(&world).written, 11);
	assert_int_equal(total(&world).overwritten, 5);
	for (int i = 0; i < 2; i++)
		fixture_close(&f[i]);
	destroy(&world);
}

static void test_clear_hides_events_and_keeps_counting(void **state)
{
	struct world world = create(&roomy);
	struct ring_writer *writer;
	struct producer *producer;
	struct fixture f;

	assert_int_equal(producers_cleared_ns(world.producers), 0);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_DISCARD);
	writer = ring_writer_begin(&f.pool);
	producer = attached(&world, 10, 1, f.fd);
	write_events(&f, writer, 10000);
	assert_true(total(&world).dropped > 0);
	assert_int_equal(total(&world).written + total(&world).dropped, 10000);
	assert_int_equal(producer_clear_ticket(producer), 0);
	producers_clear(world.producers);
	assert_true(producers_cleared_ns(world.producers) > 0);
	assert_int_equal(producer_clear_ticket(producer), f.pool.layout.chunk_count);
	end(producer);
	fixture_close(&f);
	destroy(&world);
}

/*
 * The producer closes its connection, as daemons do, and writes on in the memory that it has
 * mapped.
 */
static void test_producer_writes_after_its_connection_ended(void **state)
{
	struct world world = create(&roomy);
	struct producer *producer;
	struct ring_writer *writer;
	struct fixture f;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	writer = ring_writer_begin(&f.pool);
	producer = attached(&world, 10, 1, f.fd);
	write_events(&f, writer, 5);
	end(producer);
	assert_int_equal(total(&world).written, 5);
	write_events(&f, writer, 7);
	assert_int_equal(total(&world).written, 12);
	assert_int_equal(total(&world).exited, 1);

	/* not looked at between its last event and the end of its memory */
	write_events(&f, writer, 11);
	producers_clear(world.producers);
	assert_int_equal(total(&world).written, 23);
	assert_int_equal(total(&world).cleared, 23);
	assert_int_equal(total(&world).overwritten, 0);
	fixture_close(&f);

	/* the same where room is made, and where the pool attaches again */
	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	writer = ring_writer_begin(&f.pool);
	producer = attached(&world, 11, 1, f.fd);
	write_events(&f, writer, 100);
	end(producer);
	write_events(&f, writer, 200);
	producer = attached(&world, 11, 1, f.fd);
	assert_int_equal(total(&world).written, 323);
	end(producer);
	write_events(&f, writer, 400);
	for (int i = 0; i < 4; i++)
		live_and_die(&world, 20 + i, 2 + i, 1);
	assert_int_equal(total(&world).written, 727);
	assert_int_equal(total(&world).overwritten, 700);
	assert_int_equal(total(&world).cleared, 23);
	fixture_close(&f);
	destroy(&world);
}

/* ---- corrupt pools --------------------------------------------------------------------------- */

static void lie_reserved(struct fixture *f)
{
	f->pool.slots[0].base += 1u << 20;
	f->pool.slots[0].done = 0;
}

static void lie_wrap(struct fixture *f) /* 2^64 together */
{
	for (int i = 0; i < 2; i++) {
		f->pool.slots[i].state = KPROF_SLOT_ENDED;
		f->pool.slots[i].base = 1ull << 63;
		f->pool.slots[i].pos = 0;
	}
}

static void lie_done(struct fixture *f)
{
	f->pool.slots[0].done++;
}

static void lie_dropped(struct fixture *f)
{
	f->pool.slots[0].dropped = (1ull << 48) + 1;
}

static void lie_starved(struct fixture *f)
{
	f->pool.shared->starved = UINT64_MAX;
}

/* What 79 seconds of 1000 CPUs could count, in a pool that was just made. */
static void lie_aged(struct fixture *f)
{
	f->pool.slots[0].dropped = 79000000000000;
}

static void lie_tickets(struct fixture *f)
{
	f->pool.shared->tickets = (1ull << 40) + 1;
}

static void lie_fewer(struct fixture *f)
{
	f->pool.slots[0].state = KPROF_SLOT_FREE;
}

static void lie_punched(struct fixture *f)
{
	assert_int_equal(fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				 f->pool.layout.pool_bytes), 0);
}

static const struct {
	int line;
	void (*lie)(struct fixture *f);
	const char *reason;
} lies[] = {
	{__LINE__, lie_reserved, "event count out of range"},
	{__LINE__, lie_wrap, "event count out of range"},
	{__LINE__, lie_done, "more events committed than reserved"},
	{__LINE__, lie_dropped, "dropped event count out of range"},
	{__LINE__, lie_starved, "dropped event count out of range"},
	{__LINE__, lie_aged, "more events than the age of its pool allows"},
	{__LINE__, lie_tickets, "chunk count out of range"},
	{__LINE__, lie_fewer, "event count has decreased"},
	{__LINE__, lie_punched, "event count has decreased"},
};

static void count_call(void *arg)
{
	++*(int *)arg;
}

static void check_sums(struct world *world, int line, uint64_t corrupt)
{
	struct producers_totals totals = total(world);

	if (totals.written != 100 || totals.overwritten + totals.cleared > 100 || totals.dropped ||
		totals.torn || totals.corrupt != corrupt)
		fail_msg("line %d: written %" PRIu64 ", overwritten %" PRIu64 ", dropped %" PRIu64
			", torn %" PRIu64 ", corrupt %" PRIu64, line, totals.written,
			totals.overwritten, totals.dropped, totals.torn, totals.corrupt);
}

/* What was counted before stays, and nothing is added, also when the pool is released. */
static void test_counts_of_a_corrupt_producer_stay_as_they_were(void **state)
{
	for (size_t i = 0; i < G_N_ELEMENTS(lies); i++) {
		struct world world = create(&roomy);
		struct producer *producer;
		const char *reason;
		struct fixture f;
		int called = 0;

		fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
		producer = attached(&world, 10, 1, f.fd);
		producers_on_corrupt(world.producers, count_call, &called);
		write_events(&f, ring_writer_begin(&f.pool), 100);
		check_sums(&world, lies[i].line, 0);
		assert_null(producer_take_corruption(producer));
		lies[i].lie(&f);
		check_sums(&world, lies[i].line, 1);
		check_sums(&world, lies[i].line, 1); /* seen once */
		assert_int_equal(called, 1);
		reason = producer_take_corruption(producer);
		if (!reason || !strstr(reason, lies[i].reason))
			fail_msg("line %d: %s", lies[i].line, reason ? reason : "no lie");
		assert_null(producer_take_corruption(producer));
		end(producer);
		check_sums(&world, lies[i].line, 1);
		producers_clear(world.producers);
		check_sums(&world, lies[i].line, 1);
		fixture_close(&f);
		destroy(&world);
	}
}

#define WRITERS 4
#define ROUNDS 2000
#define STRETCH 500 /* events; more than a chunk holds */

static void *write_much(void *arg)
{
	struct fixture *f = arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct ring_writer *writer = ring_writer_begin(&f->pool);

		assert_non_null(writer);
		write_events(f, writer, STRETCH);
		ring_writer_end(&f->pool, writer);
	}
	return NULL;
}

/* Counters that change while they are read make no producer corrupt, and no sum decreases. */
static void test_moving_counters_are_not_taken_for_corruption(void **state)
{
	struct world world = create(&roomy);
	uint64_t all = (uint64_t)WRITERS * ROUNDS * STRETCH, seen = 0;
	pthread_t threads[WRITERS];
	struct producers_totals totals;
	struct producer *producer;
	struct fixture f;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	producer = attached(&world, 10, 1, f.fd);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_much, &f), 0);
	do {
		totals = total(&world);
		assert_int_equal(totals.corrupt, 0);
		assert_true(totals.written + totals.dropped >= seen);
		assert_true(totals.written + totals.dropped <= all);
		seen = totals.written + totals.dropped;
	} while (seen < all);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	end(producer);
	assert_int_equal(total(&world).corrupt, 0);
	fixture_close(&f);
	destroy(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program_names_are_made_printable),
		cmocka_unit_test(test_file_that_is_not_a_pool_is_refused),
		cmocka_unit_test(test_events_are_defined_and_counted),
		cmocka_unit_test(test_written_and_lost_events_add_up),
		cmocka_unit_test(test_record_committed_before_a_kill_is_whole),
		cmocka_unit_test(test_same_process_may_attach_its_pool_again),
		cmocka_unit_test(test_producer_that_closed_its_connection_is_still_read),
		cmocka_unit_test(test_clear_hides_events_and_keeps_counting),
		cmocka_unit_test(test_producer_writes_after_its_connection_ended),
		cmocka_unit_test(test_counts_of_a_corrupt_producer_stay_as_they_were),
		cmocka_unit_test(test_moving_counters_are_not_taken_for_corruption),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
