/* SPDX-License-Identifier: MIT */
/*
 * producers/producers: limits of users and of the server hold, and the right exited producers are
 * evicted.
 */
#include "tests/unit/producers_fixture.h"

/* The events of a user are limited. Refused ones take no numbers for long. */
static void test_ids_of_a_user_are_bounded(void **state)
{
	struct world world = create(&roomy);
	struct err err = {""};
	struct producer *producer;
	struct fixture f;
	uint16_t id;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	producer = attached(&world, 10, 1, f.fd);
	for (id = 2; id < 12; id++)
		assert_int_equal(producer_define(producer, id, KPROF_KIND_PRINTF, "", "", &err), 0);
	assert_int_equal(producer_define(producer, id, KPROF_KIND_PRINTF, "", "", &err), -EDQUOT);
	end(producer);
	producer = attached(&world, 10, 1, f.fd);
	assert_int_equal(producer_define(producer, id, KPROF_KIND_PRINTF, "", "", &err), 0);
	end(producer);
	fixture_close(&f);
	destroy(&world);
}

/* How many ids from `id` on the producer gets. */
static uint16_t define_all(struct producer *producer, uint16_t id, int error)
{
	struct err err = {""};
	uint16_t next = id;
	int ret;

	while ((ret = producer_define(producer, next, KPROF_KIND_PRINTF, "", "", &err)) == 0)
		next++;
	assert_int_equal(ret, error);
	return next - id;
}

/*
 * Ids of exited producers are freed for events of attached ones: first those of the same user, then
 * those of others.
 */
static void test_ids_of_exited_producers_are_freed(void **state)
{
	struct world world = create(&roomy);
	struct producer *producer;
	struct fixture f[3];

	for (int i = 0; i < 3; i++) {
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
		producer = attached(&world, 10 + i, i == 2 ? 2 : 1, f[i].fd);
		assert_int_equal(define_all(producer, 2, -EDQUOT), 10);
		write_events(&f[i], ring_writer_begin(&f[i].pool), 1);
		end(producer);
		fixture_close(&f[i]);
	}
	destroy(&world);
}

/*
 * Users who take as much as they can of each resource leave some for the next user, and a sixteenth for
 * root, who comes last.
 */
static void test_users_who_take_all_leave_a_share_for_others(void **state)
{
	const struct producers_limits limits = {
		.programs = 64, .user_programs = 48,
		.bytes = 64 * POOL_BYTES, .user_bytes = 32 * POOL_BYTES,
		.ids = 64, .user_ids = 32,
		.exited_programs = 4, .exited_bytes = 100 * POOL_BYTES,
	};
	static const struct {
		int line;
		unsigned int programs, ids;
	} rows[] = {
		{__LINE__, 32, 32}, /* its pools are what is bounded first */
		{__LINE__, 21, 21}, /* three fourths of 28, and of 7, and of 2: of ids of 1 */
		{__LINE__, 5, 6},
		{__LINE__, 1, 1},
		{__LINE__, 0, 0},
		{__LINE__, 5, 4}, /* what is left: 64 - 59, and 64 - 60 */
	};
	struct producer *programs[64], *more;
	struct world world = create(&limits);
	struct fixture f[65]; /* and one that is refused */
	struct err err;
	unsigned int n = 0;
	int ret;

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		const uid_t uid = i + 1 < G_N_ELEMENTS(rows) ? (uid_t)i + 1 : 0;
		unsigned int first = n;

		do {
			fixture_open(&f[n], POOL_BYTES, KPROF_MODE_OVERWRITE);
			ret = attach(&world, (pid_t)(100 + n), uid, "prog", f[n].fd, &more, &err);
			if (!ret)
				programs[n++] = more;
		} while (!ret);
		fixture_close(&f[n]);
		if (n - first != rows[i].programs)
			fail_msg("line %d: %u programs", rows[i].line, n - first);
		if (n > first)
			assert_int_equal(define_all(programs[first], 2, i ? -ENOSPC : -EDQUOT),
				rows[i].ids);
	}
	while (n--) {
		end(programs[n]);
		fixture_close(&f[n]);
	}
	destroy(&world);
}

static void test_producers_and_their_memory_are_limited(void **state)
{
	struct world world = create(&roomy);
	struct producer *programs[8], *more = NULL;
	struct fixture f[9];
	struct err err = {""};

	for (int i = 0; i < 9; i++)
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
	for (int i = 0; i < 6; i++)
		programs[i] = attached(&world, 10 + i, 1, f[i].fd);
	assert_int_equal(attach(&world, 20, 1, "prog", f[6].fd, &more, &err), -EDQUOT);
	programs[6] = attached(&world, 21, 2, f[6].fd);
	programs[7] = attached(&world, 22, 2, f[7].fd);
	assert_int_equal(attach(&world, 23, 3, "prog", f[8].fd, &more, &err), -ENOSPC);
	assert_int_equal(total(&world).refused, 2);
	assert_int_equal(total(&world).pool_bytes, 8 * POOL_BYTES);
	end(programs[7]);
	programs[7] = attached(&world, 23, 3, f[8].fd);
	for (int i = 0; i < 8; i++)
		end(programs[i]);
	for (int i = 0; i < 9; i++)
		fixture_close(&f[i]);
	assert_int_equal(total(&world).pool_bytes, 0); /* no producer had written anything */
	destroy(&world);
}

/*
 * The oldest exited producer of the user who keeps most is evicted. Its events count as overwritten
 * then.
 */
static void test_oldest_exited_producer_of_the_largest_user_is_evicted(void **state)
{
	struct world world = create(&roomy);
	struct producers_totals totals;
	GPtrArray *held;

	live_and_die(&world, 1, 100, 10);
	live_and_die(&world, 2, 200, 20);
	live_and_die(&world, 3, 200, 40);
	live_and_die(&world, 4, 200, 80);
	check_pids(&world, __LINE__, "1 2 3 4");
	assert_int_equal(total(&world).overwritten, 0);
	held = producers_all(world.producers);
	live_and_die(&world, 5, 300, 160);
	check_pids(&world, __LINE__, "1 3 4 5");
	totals = total(&world);
	assert_int_equal(totals.written, 310);
	assert_int_equal(totals.overwritten, 20);
	assert_int_equal(totals.exited, 4);
	/* a reader has it still, and may read it */
	assert_int_equal(((struct producer *)g_ptr_array_index(held, 1))->pid, 2);
	assert_int_equal(totals.pool_bytes, 5 * POOL_BYTES);
	g_ptr_array_free(held, TRUE);
	assert_int_equal(total(&world).pool_bytes, 4 * POOL_BYTES);
	/* a producer that wrote nothing evicts no other */
	live_and_die(&world, 6, 300, 0);
	check_pids(&world, __LINE__, "1 3 4 5");
	destroy(&world);
}

static void test_memory_of_exited_producers_is_bounded(void **state)
{
	struct producers_limits limits = roomy;
	struct world world;

	limits.exited_bytes = 2 * POOL_BYTES; /* each counts for a fourth at least, for all at most */
	limits.exited_programs = 100;
	world = create(&limits);
	for (int i = 1; i < 10; i++) {
		live_and_die(&world, i, 100, 1);
		assert_in_range(total(&world).exited_bytes, POOL_BYTES / 4, 2 * POOL_BYTES);
	}
	assert_in_range(total(&world).exited, 2, 8);
	destroy(&world);
}

/* Exited producers are evicted for new ones. */
static void test_exited_producers_are_evicted_for_new_ones(void **state)
{
	struct producers_limits limits = roomy;
	struct producer *programs[3], *more = NULL;
	struct err err = {""};
	struct fixture f[4];
	struct world world;

	limits.user_bytes = 3 * POOL_BYTES;
	limits.bytes = 5 * POOL_BYTES * 16 / 15; /* five for users other than root */
	world = create(&limits);
	for (int i = 0; i < 4; i++)
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
	live_and_die(&world, 1, 100, 1);
	live_and_die(&world, 2, 100, 1);
	live_and_die(&world, 3, 200, 1);
	programs[0] = attached(&world, 10, 100, f[0].fd);
	check_pids(&world, __LINE__, "1 2 3 10");
	programs[1] = attached(&world, 11, 100, f[1].fd); /* the oldest one of its own user is evicted */
	check_pids(&world, __LINE__, "2 3 10 11");
	programs[2] = attached(&world, 12, 300, f[2].fd); /* anybody's oldest */
	check_pids(&world, __LINE__, "3 10 11 12");
	assert_int_equal(attach(&world, 13, 100, "prog", f[3].fd, &more, &err), 0);
	check_pids(&world, __LINE__, "10 11 12 13");
	end(more);
	for (int i = 0; i < 3; i++)
		end(programs[i]);
	for (int i = 0; i < 4; i++)
		fixture_close(&f[i]);
	destroy(&world);
}

/* The same pool takes no more room when it is attached again, and no producer is evicted for it. */
static void test_pool_attached_again_evicts_no_other(void **state)
{
	struct producers_limits limits = roomy;
	struct producer *again;
	struct ring_writer *writer;
	struct world world;
	struct fixture f;

	limits.user_bytes = 2 * POOL_BYTES;
	limits.bytes = 3 * POOL_BYTES;
	world = create(&limits);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	writer = ring_writer_begin(&f.pool);
	write_events(&f, writer, 3);
	end(attached(&world, 10, 100, f.fd));
	live_and_die(&world, 11, 100, 1);
	again = attached(&world, 10, 100, f.fd);
	check_pids(&world, __LINE__, "11 10");
	assert_int_equal(total(&world).written, 4);
	assert_int_equal(total(&world).overwritten, 0);
	assert_int_equal(total(&world).pool_bytes, 2 * POOL_BYTES);
	end(again);
	fixture_close(&f);
	destroy(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_of_a_user_are_bounded),
		cmocka_unit_test(test_ids_of_exited_producers_are_freed),
		cmocka_unit_test(test_users_who_take_all_leave_a_share_for_others),
		cmocka_unit_test(test_producers_and_their_memory_are_limited),
		cmocka_unit_test(test_oldest_exited_producer_of_the_largest_user_is_evicted),
		cmocka_unit_test(test_memory_of_exited_producers_is_bounded),
		cmocka_unit_test(test_exited_producers_are_evicted_for_new_ones),
		cmocka_unit_test(test_pool_attached_again_evicts_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
