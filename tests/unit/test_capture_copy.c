/* SPDX-License-Identifier: MIT */
/*
 * prof/capture: a copy holds the records of its moment, in memory that both captures have, whatever
 * becomes of the other one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_streams.h"

static void read_capture(struct capture *c, struct bytes *out)
{
	struct capture_pos pos;

	capture_attach(c, &pos);
	read_all(c, &pos, out);
	capture_detach(c, &pos);
}

static void assert_holds(struct capture *c, const struct bytes *expected)
{
	struct bytes got = { 0 };

	read_capture(c, &got);
	assert_int_equal(got.used, expected->used);
	assert_memory_equal(got.data, expected->data, got.used);
	free_bytes(&got);
}

/* Where the memory of the first block is. */
static const void *first_piece(struct capture *c)
{
	struct capture_mark mark;
	struct capture_pos pos;
	struct iovec iov[1];
	int count = 1;

	capture_attach(c, &pos);
	capture_mark(c, &mark);
	assert_true(capture_pieces(c, &pos, &mark, WANT_ALL, false, iov, &count) > 0);
	capture_advance(c, &pos, false);
	capture_detach(c, &pos);
	return iov[0].iov_base;
}

static void test_a_copy_has_the_bytes_of_its_moment(void **state)
{
	struct capture *c = create(1 * MIB), *copy;
	struct bytes before = { 0 }, after = { 0 };

	(void)state;
	assert_true(append(c, BIG));
	assert_true(append(c, 7));
	read_capture(c, &before);
	copy = capture_copy(c);
	assert_ptr_equal(first_piece(copy), first_piece(c));
	assert_true(append(c, 5)); /* behind the same bytes, in the same block */
	assert_holds(copy, &before);
	read_capture(c, &after);
	assert_int_equal(after.used, before.used + 5 * 34);
	assert_true(append(copy, 3)); /* not behind them */
	assert_holds(c, &after);
	assert_int_equal(capture_held_bytes(copy), before.used + 3 * 34);
	free_bytes(&before);
	free_bytes(&after);
	capture_destroy(copy);
	capture_destroy(c);
}

static void test_a_run_in_place_is_not_placed_behind_shared_records(void **state)
{
	struct capture *c = create(1 * MIB), *copy;
	struct bytes before = { 0 };
	uint8_t *place;
	size_t size;

	(void)state;
	assert_true(append(c, 7));
	read_capture(c, &before);
	copy = capture_copy(c);
	place = capture_reserve(c, &size);
	assert_non_null(place);
	memset(place, 0xff, size);
	assert_null(capture_reserve(copy, &size));
	assert_holds(copy, &before);
	capture_release(c);
	free_bytes(&before);
	capture_destroy(c);
	capture_destroy(copy);
}

static void check_copy_outlives(bool packs)
{
	struct capture *c = create(1 * MIB), *copy, *second;
	struct bytes before = { 0 };
	int i;

	capture_set_packing(c, packs);
	capture_set_overwrite(c, true);
	for (i = 0; i < 14; i++)
		assert_true(append(c, BIG));
	read_capture(c, &before);
	copy = capture_copy(c);
	assert_int_equal(capture_memory_bytes(copy) < MIB / 4 * 3, packs);
	for (i = 0; i < 400; i++)
		assert_true(append(c, BIG));
	assert_true(capture_oldest_seq(c) > capture_newest_seq(copy));
	assert_holds(copy, &before);
	second = capture_copy(copy);
	capture_clear(c);
	capture_trim(c);
	capture_destroy(c);
	assert_holds(copy, &before);
	capture_destroy(copy);
	assert_holds(second, &before);
	capture_destroy(second);
	free_bytes(&before);
}

static void test_a_copy_outlives_what_is_overwritten_and_cleared(void **state)
{
	(void)state;
	check_copy_outlives(false);
	check_copy_outlives(true);
}

/* Those that could not be written yet are written into the copy. */
static void test_a_copy_has_the_totals_and_all_losses(void **state)
{
	struct capture *c = create(1 * MIB), *copy;
	struct capture_stats stats;
	struct capture_pos pos;
	struct sums sums;
	uint64_t stored = 0;

	(void)state;
	while (append(c, BIG))
		stored += BIG;
	copy = capture_copy(c);
	capture_get_stats(copy, &stats);
	assert_int_equal(stats.held_bytes, capture_held_bytes(copy));
	assert_int_equal(book(copy, CAPTURE_RECEIVED), stored + BIG);
	assert_int_equal(book(copy, KPROF_LOST_QUEUE), BIG);
	capture_attach(copy, &pos);
	sums = read_sums(copy, &pos);
	capture_detach(copy, &pos);
	assert_int_equal(sums.samples, stored);
	assert_int_equal(sums.lost, BIG);
	capture_destroy(copy);
	capture_destroy(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_copy_has_the_bytes_of_its_moment),
		cmocka_unit_test(test_a_run_in_place_is_not_placed_behind_shared_records),
		cmocka_unit_test(test_a_copy_outlives_what_is_overwritten_and_cleared),
		cmocka_unit_test(test_a_copy_has_the_totals_and_all_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
