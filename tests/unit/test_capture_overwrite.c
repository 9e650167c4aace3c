/* SPDX-License-Identifier: MIT */
/*
 * prof/capture in mode overwrite: each reader gets the newest runs and a count of those that it
 * missed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture_streams.h"

/* ---- mode overwrite ------------------------------------------------------------------------------ */

static void test_overwritten_unread_samples_are_counted(void **state)
{
	struct capture *c = create_ring(MIB);
	struct capture_pos pos;
	struct sums sums;
	int i;

	(void)state;
	for (i = 0; i < 40; i++)
		assert_true(append(c, BIG));
	assert_true(capture_held_bytes(c) <= MIB);
	assert_int_equal(book(c, KPROF_LOST_OVERWRITE), 25 * BIG);
	capture_attach(c, &pos);
	assert_true(capture_pending(c, &pos));
	assert_int_equal(take_missed(c, &pos), 25 * BIG);
	assert_int_equal(take_missed(c, &pos), 0);
	sums = read_sums(c, &pos);
	assert_int_equal(sums.samples, 15 * BIG);
	assert_int_equal(sums.last, next_id - 1);
	capture_detach(c, &pos);
	capture_destroy(c);
}

static void test_slow_reader_is_told_what_was_overwritten(void **state)
{
	struct capture *c = create_ring(MIB);
	struct capture_pos fast, slow;
	struct sums sums;
	uint64_t read = 0;
	int i;

	(void)state;
	capture_attach(c, &fast);
	capture_attach(c, &slow);
	for (i = 0; i < 40; i++) {
		assert_true(append(c, BIG));
		read += read_sums(c, &fast).samples;
	}
	assert_int_equal(read, 40 * BIG);
	assert_int_equal(take_missed(c, &fast), 0);
	assert_int_equal(take_missed(c, &slow), 25 * BIG);
	sums = read_sums(c, &slow);
	assert_int_equal(sums.samples, 15 * BIG);
	assert_int_equal(sums.last, next_id - 1);
	/* one reader has read all: nothing is lost for every reader */
	assert_int_equal(book(c, KPROF_LOST_OVERWRITE), 0);
	capture_detach(c, &fast);
	capture_detach(c, &slow);
	capture_attach(c, &slow);
	assert_int_equal(take_missed(c, &slow), 0);
	capture_detach(c, &slow);
	capture_destroy(c);
}

/*
 * A reader in the middle of a block that is overwritten gets the rest of its record. The next
 * record counts all others up to the oldest held one as lost.
 */
static void test_overwrite_within_a_record_delivers_its_rest(void **state)
{
	struct capture *c = create_ring(MIB);
	struct bytes stream = { 0 };
	struct capture_pos pos;
	struct sums sums;
	size_t rest;
	int i;

	(void)state;
	capture_attach(c, &pos);
	append(c, BIG);
	read_some(c, &pos, 10 * 34 + 5, true, true, &stream);
	read_some(c, &pos, 5, true, true, &stream); /* and in the middle of a record */
	for (i = 0; i < 40; i++)
		append(c, BIG);
	assert_int_equal(take_missed(c, &pos), 0);
	assert_true(capture_pending(c, &pos));
	assert_int_equal(read_some(c, &pos, 20, true, true, &stream), 20);
	assert_int_equal(take_missed(c, &pos), 0);
	rest = 11 * 34 - stream.used;
	assert_int_equal(read_some(c, &pos, WANT_ALL, true, true, &stream), rest);
	sums = sum_stream(&stream);
	assert_int_equal(sums.samples, 11);
	assert_int_equal(read_some(c, &pos, WANT_ALL, true, true, &stream), 0);
	assert_int_equal(take_missed(c, &pos), BIG - 11 + 25 * BIG);
	sums = read_sums(c, &pos);
	assert_int_equal(sums.samples, 15 * BIG);
	assert_int_equal(sums.last, next_id - 1);
	/* 11 of the first block were read by it; no reader read the rest and the 25 */
	assert_int_equal(book(c, KPROF_LOST_OVERWRITE), BIG - 11 + 25 * BIG);
	free_bytes(&stream);
	capture_detach(c, &pos);
	capture_destroy(c);
}

/* The same between two records. */
static void test_overwrite_between_two_records_keeps_the_stream_whole(void **state)
{
	struct capture *c = create_ring(MIB);
	struct capture_pos pos;
	int i;

	(void)state;
	capture_attach(c, &pos);
	append(c, BIG);
	assert_int_equal(read_some(c, &pos, 10 * 34, true, true, NULL), 10 * 34);
	for (i = 0; i < 15; i++)
		append(c, BIG);
	assert_int_equal(read_some(c, &pos, WANT_ALL, true, true, NULL), 0);
	assert_int_equal(take_missed(c, &pos), BIG - 10);
	assert_int_equal(read_sums(c, &pos).samples, 15 * BIG);
	assert_int_equal(take_missed(c, &pos), 0);
	capture_detach(c, &pos);
	capture_destroy(c);
}

/* A block that is overwritten while a reply refers to it was read or was missed, never both. */
static void test_overwritten_reply_is_read_or_missed_never_both(void **state)
{
	int taken;

	(void)state;
	for (taken = 0; taken < 2; taken++) {
		struct capture *c = create_ring(MIB);
		struct iovec iov[CAPTURE_PIECES_MAX];
		int count = CAPTURE_PIECES_MAX, i;
		struct capture_mark mark;
		struct capture_pos pos;
		uint64_t samples, missed;
		uint8_t copy[34];

		capture_attach(c, &pos);
		for (i = 0; i < 3; i++)
			append(c, BIG);
		capture_mark(c, &mark);
		assert_int_equal(capture_pieces(c, &pos, &mark, 2 * BIG_BYTES + 100, true, iov,
			&count), 2 * BIG_BYTES + 68);
		memcpy(copy, iov[0].iov_base, sizeof(copy));
		for (i = 0; i < 40; i++)
			append(c, BIG);
		assert_memory_equal(iov[0].iov_base, copy, sizeof(copy));
		capture_advance(c, &pos, taken);
		samples = taken ? 2 * BIG + 2 : 0;
		missed = take_missed(c, &pos);
		samples += read_sums(c, &pos).samples;
		assert_int_equal(samples + missed, 43 * BIG);
		/* the rest of the third block went with it */
		assert_int_equal(missed, taken ? 26 * BIG - 2 : 28 * BIG);
		assert_int_equal(book(c, CAPTURE_RECEIVED), 43 * BIG);
		assert_int_equal(book(c, KPROF_LOST_OVERWRITE), missed);
		capture_detach(c, &pos);
		capture_destroy(c);
	}
}

/* The reader gets the count of overwritten samples before any newer sample. */
static void test_missed_records_are_told_before_newer_ones(void **state)
{
	struct capture *c = create_ring(MIB);
	struct capture_pos pos;
	int i;

	(void)state;
	capture_attach(c, &pos);
	for (i = 0; i < 15; i++)
		append(c, BIG);
	assert_int_equal(take_missed(c, &pos), 0);
	append(c, BIG);
	assert_int_equal(read_some(c, &pos, WANT_ALL, true, true, NULL), 0);
	assert_true(capture_pending(c, &pos));
	assert_int_equal(take_missed(c, &pos), BIG);
	assert_int_equal(read_sums(c, &pos).samples, 15 * BIG);
	capture_detach(c, &pos);
	capture_destroy(c);
}

/*
 * The rest of a block that its only reader has not read is lost once. A later reader gets that
 * count.
 */
static void test_rest_of_a_left_block_is_lost_once(void **state)
{
	struct capture *c = create_ring(MIB);
	struct capture_pos pos, late;
	int i;

	(void)state;
	capture_attach(c, &pos);
	append(c, BIG);
	read_some(c, &pos, 500 * 34, true, true, NULL);
	for (i = 0; i < 15; i++)
		append(c, BIG);
	assert_int_equal(book(c, KPROF_LOST_OVERWRITE), BIG - 500);
	assert_int_equal(take_missed(c, &pos), BIG - 500);
	capture_detach(c, &pos);
	assert_int_equal(book(c, KPROF_LOST_OVERWRITE), BIG - 500);
	capture_attach(c, &late);
	assert_int_equal(take_missed(c, &late), BIG - 500);
	assert_int_equal(read_sums(c, &late).samples, 15 * BIG);
	capture_detach(c, &late);
	capture_destroy(c);
}

/* LOST records that are overwritten with their block keep their counts. */
static void test_overwritten_lost_records_keep_their_counts(void **state)
{
	struct capture *c = create_ring(MIB);
	struct capture_pos pos;
	struct tally missed;
	int i;

	(void)state;
	append(c, 10);
	capture_lost(c, 3, 4, KPROF_LOST_RING, 1000);
	append(c, BIG);
	for (i = 0; i < 15; i++)
		append(c, BIG);
	tally_init(&missed);
	capture_attach(c, &pos);
	capture_take_missed(c, &pos, &missed);
	assert_int_equal(tally_get(&missed, 0, 1, KPROF_LOST_OVERWRITE), 10 + BIG);
	assert_int_equal(tally_get(&missed, 3, 4, KPROF_LOST_RING), 1000);
	tally_fini(&missed);
	assert_int_equal(book(c, KPROF_LOST_RING), 1000);
	assert_int_equal(book(c, KPROF_LOST_OVERWRITE), 10 + BIG);
	capture_detach(c, &pos);
	capture_destroy(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overwritten_unread_samples_are_counted),
		cmocka_unit_test(test_slow_reader_is_told_what_was_overwritten),
		cmocka_unit_test(test_overwrite_within_a_record_delivers_its_rest),
		cmocka_unit_test(test_overwrite_between_two_records_keeps_the_stream_whole),
		cmocka_unit_test(test_overwritten_reply_is_read_or_missed_never_both),
		cmocka_unit_test(test_missed_records_are_told_before_newer_ones),
		cmocka_unit_test(test_rest_of_a_left_block_is_lost_once),
		cmocka_unit_test(test_overwritten_lost_records_keep_their_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
