/* SPDX-License-Identifier: MIT */
/*
 * prof/capture: readers with reads of any size get all appended runs in order, or a count of those
 * that mode discard has dropped.
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
#include "sys/clock.h"

/* ---- sizes of reads ------------------------------------------------------------------------------ */

/* Records of many sizes over several blocks. */
static void append_mixture(struct capture *c, size_t bytes)
{
	unsigned int seed = 11;
	size_t total = 0;

	while (total < bytes) {
		struct record_buf buf;
		int i, n = 1 + rand_r(&seed) % 40;

		record_buf_init(&buf);
		for (i = 0; i < n; i++) {
			int kind = rand_r(&seed) % 20;

			add_sample(&buf, 0, 1, kind ? (size_t)kind : 600);
		}
		assert_true(buf.used <= CAPTURE_RUN_MAX);
		assert_true(capture_append(c, buf.data, buf.used, NULL, 0));
		if (rand_r(&seed) % 4 == 0)
			capture_lost(c, 1, 2, KPROF_LOST_RING, (uint64_t)rand_r(&seed));
		total += buf.used;
		record_buf_fini(&buf);
	}
}

/*
 * What a read of `want` bytes at byte `at` must give: as many whole records as fit, or a part where
 * not even one fits. The rest of a record that was begun comes alone, or with the records that fit
 * behind it.
 */
static size_t expect_read(const struct bytes *all, size_t at, size_t begun, size_t want)
{
	struct decoded r;
	size_t n = begun;

	if (begun >= want)
		return want;
	while (at + n < all->used && decode_whole(all->data, all->used, at + n, &r) &&
		r.bytes <= want - n)
		n += r.bytes;
	return n || at == all->used ? n : want;
}

static void read_at_size(struct capture *c, const struct bytes *all, size_t want)
{
	struct bytes got = { 0 };
	struct capture_pos pos;
	struct decoded r;
	size_t begun = 0; /* bytes of a record that are still to come */

	capture_attach(c, &pos);
	for (;;) {
		const size_t at = got.used, expected = expect_read(all, at, begun, want);
		const size_t n = read_some(c, &pos, want, true, true, &got);

		if (n != expected && n != begun)
			fail_msg("reads of %zu bytes: %zu at byte %zu, expected %zu", want, n, at,
				expected);
		if (!n)
			break;
		if (begun) {
			begun -= n < begun ? n : begun;
		} else if (decode_whole(all->data, all->used, at, &r) && r.bytes > n) {
			begun = r.bytes - n;
		}
	}
	assert_int_equal(got.used, all->used);
	assert_memory_equal(got.data, all->data, all->used);
	free_bytes(&got);
	capture_detach(c, &pos);
}

static void test_reads_of_every_size_give_the_same_bytes(void **state)
{
	static const size_t larger[] = {
		511, 512, 513, 4095, 4096, 4097, 4800, 65535, 65536, 131071, 131072, 131073, 200000,
		300000, 1048576,
	};
	struct capture *c = create(4 * MIB);
	struct bytes all = { 0 };
	struct capture_pos pos;
	size_t i;

	(void)state;
	append_mixture(c, 300000);
	capture_attach(c, &pos);
	read_all(c, &pos, &all);
	assert_true(all.used > 300000);
	assert_int_equal(all.used, capture_held_bytes(c));
	capture_detach(c, &pos);
	sum_stream(&all);
	for (i = 1; i <= 260; i++)
		read_at_size(c, &all, i);
	for (i = 0; i < sizeof(larger) / sizeof(larger[0]); i++)
		read_at_size(c, &all, larger[i]);
	free_bytes(&all);
	capture_destroy(c);
}

/* Without `split` a record that does not fit stays where it is. */
static void test_record_that_does_not_fit_stays_without_split(void **state)
{
	struct capture *c = create(MIB);
	struct bytes got = { 0 };
	struct capture_pos pos;

	(void)state;
	append(c, 3);
	capture_attach(c, &pos);
	assert_int_equal(read_some(c, &pos, 33, false, true, &got), 0);
	assert_int_equal(read_some(c, &pos, 0, true, true, &got), 0);
	assert_int_equal(read_some(c, &pos, 67, false, true, &got), 34);
	assert_int_equal(read_some(c, &pos, 68, false, false, &got), 68); /* and it is not consumed */
	assert_int_equal(read_some(c, &pos, 68, false, true, &got), 68);
	assert_int_equal(sum_stream(&got).samples, 3);
	free_bytes(&got);
	capture_detach(c, &pos);
	capture_destroy(c);
}

static void test_pieces_are_limited_to_the_count_given(void **state)
{
	struct capture *c = create(MIB);
	struct capture_mark mark;
	struct capture_pos pos;
	struct iovec iov[2];
	int i, count;

	(void)state;
	for (i = 0; i < 5; i++)
		assert_true(append(c, BIG));
	capture_attach(c, &pos);
	capture_mark(c, &mark);
	count = 0;
	assert_int_equal(capture_pieces(c, &pos, &mark, WANT_ALL, true, iov, &count), 0);
	count = 1;
	assert_int_equal(capture_pieces(c, &pos, &mark, WANT_ALL, true, iov, &count), BIG_BYTES);
	assert_int_equal(count, 1);
	capture_advance(c, &pos, true);
	count = 2;
	assert_int_equal(capture_pieces(c, &pos, &mark, WANT_ALL, true, iov, &count), 2 * BIG_BYTES);
	assert_int_equal(count, 2);
	capture_advance(c, &pos, true);
	assert_int_equal(read_sums(c, &pos).samples, 2 * BIG);
	capture_detach(c, &pos);
	capture_destroy(c);
}

/* What is appended after the mark was set is read later, in the same block and in others. */
static void test_records_after_the_mark_are_read_later(void **state)
{
	struct capture *c = create(MIB);
	struct capture_mark mark;
	struct capture_pos pos;
	struct iovec iov[4];
	int count = 4;

	(void)state;
	capture_attach(c, &pos);
	capture_mark(c, &mark);
	append(c, 5);
	assert_int_equal(capture_pieces(c, &pos, &mark, WANT_ALL, true, iov, &count), 0);
	capture_mark(c, &mark);
	append(c, 7);
	append(c, BIG); /* fits the same block */
	append(c, BIG); /* the next one */
	count = 4;
	assert_int_equal(capture_pieces(c, &pos, &mark, WANT_ALL, true, iov, &count), 5 * 34);
	capture_advance(c, &pos, true);
	count = 4;
	assert_int_equal(capture_pieces(c, &pos, &mark, WANT_ALL, true, iov, &count), 0);
	assert_true(capture_pending(c, &pos));
	assert_int_equal(read_sums(c, &pos).samples, 7 + 2 * BIG);
	assert_false(capture_pending(c, &pos));
	capture_detach(c, &pos);
	capture_destroy(c);
}

static void test_two_readers_get_the_same_bytes(void **state)
{
	struct capture *c = create(MIB);
	struct bytes fast = { 0 }, slow = { 0 };
	struct capture_pos a, b;
	int i;

	(void)state;
	capture_attach(c, &a);
	capture_attach(c, &b);
	for (i = 0; i < 200; i++) {
		assert_true(append(c, 100));
		read_all(c, &a, &fast);
		read_some(c, &b, 1000 + (size_t)i, true, true, &slow);
	}
	read_all(c, &b, &slow);
	assert_int_equal(fast.used, 200 * 100 * 34);
	assert_int_equal(slow.used, fast.used);
	assert_memory_equal(slow.data, fast.data, fast.used);
	free_bytes(&fast);
	free_bytes(&slow);
	capture_detach(c, &a);
	capture_detach(c, &b);
	capture_destroy(c);
}

static void test_readers_attach_and_detach_in_any_order(void **state)
{
	static const int orders[6][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	struct capture *c = create(MIB);
	struct capture_pos pos[3];
	struct capture_stats stats;
	int i, j;

	(void)state;
	for (i = 0; i < 6; i++) {
		append(c, 10);
		for (j = 0; j < 3; j++) {
			capture_attach(c, &pos[j]);
			assert_int_equal(read_sums(c, &pos[j]).samples, 10 * (i + 1));
		}
		for (j = 0; j < 3; j++) {
			capture_get_stats(c, &stats);
			assert_int_equal(stats.readers, 3 - j);
			capture_detach(c, &pos[orders[i][j]]);
		}
		capture_get_stats(c, &stats);
		assert_int_equal(stats.readers, 0);
	}
	capture_destroy(c);
}

/* ---- mode discard -------------------------------------------------------------------------------- */

/*
 * Nothing that a reader may still read is freed. What does not fit is counted where it is missing.
 */
static void test_full_capture_discards_new_records_and_counts_them(void **state)
{
	struct capture *c = create(MIB);
	struct bytes stream = { 0 };
	struct capture_pos pos;
	struct decoded r;
	uint64_t stored = 0, dropped = 0;
	size_t at = 0;
	int i;

	(void)state;
	for (i = 0; i < 40; i++) {
		if (append(c, BIG))
			stored += BIG;
		else
			dropped += BIG;
	}
	assert_int_equal(stored, 15 * BIG); /* 15 * 68,000 = 1,020,000; the limit is 1,048,576 */
	assert_int_equal(dropped, 25 * BIG);
	assert_true(capture_held_bytes(c) <= MIB);
	assert_int_equal(book(c, CAPTURE_RECEIVED), 40 * BIG);
	assert_int_equal(book(c, KPROF_LOST_QUEUE), dropped);

	/* a reader has read, so there is room: LOST stands before the next run */
	capture_attach(c, &pos);
	read_all(c, &pos, &stream);
	assert_int_equal(sum_stream(&stream).samples, stored);
	assert_int_equal(sum_stream(&stream).lost, 0);
	stream.used = 0;
	assert_true(append(c, 1));
	read_all(c, &pos, &stream);
	assert_true(decode_next(stream.data, stream.used, &at, &r));
	assert_int_equal(r.type, 66);
	assert_int_equal(decode_u32(&r, 0), 0);
	assert_int_equal(decode_u32(&r, 4), 1);
	assert_int_equal(decode_u32(&r, 8), KPROF_LOST_QUEUE);
	assert_int_equal(decode_u64(&r, 12), dropped);
	assert_true(decode_next(stream.data, stream.used, &at, &r));
	assert_int_equal(r.type, 2);
	assert_false(decode_next(stream.data, stream.used, &at, &r));
	assert_int_equal(take_missed(c, &pos), 0);
	free_bytes(&stream);
	capture_detach(c, &pos);
	capture_destroy(c);
}

/* Blocks are freed when all readers have passed them and one has read them, not sooner. */
static void test_blocks_are_freed_when_all_readers_passed_them(void **state)
{
	struct capture *c = create(MIB);
	struct capture_pos a, b, late;
	const uint64_t first = next_id;
	uint64_t oldest;
	int i;

	(void)state;
	for (i = 0; i < 15; i++)
		assert_true(append(c, BIG));
	oldest = capture_oldest_seq(c);
	assert_false(append(c, BIG)); /* no reader has read yet */
	capture_attach(c, &a);
	capture_attach(c, &b);
	read_sums(c, &a);
	assert_false(append(c, BIG)); /* b has not passed */
	read_some(c, &b, BIG_BYTES, true, true, NULL);
	read_some(c, &b, 34, true, true, NULL); /* one block and a bit */
	assert_true(append(c, BIG));
	assert_int_equal(capture_oldest_seq(c), oldest + 1);
	assert_false(append(c, BIG)); /* b stands in the second */
	capture_attach(c, &late);
	assert_int_equal(read_sums(c, &late).first, first + BIG);
	capture_detach(c, &late);
	read_sums(c, &b);
	assert_true(append(c, BIG));
	assert_int_equal(capture_oldest_seq(c), oldest + 2);
	capture_detach(c, &a);
	capture_detach(c, &b);
	/* the readers are detached: runs that they have read can be freed, later ones cannot */
	for (i = 0; append(c, BIG); i++)
		;
	assert_int_equal(i, 13);
	assert_int_equal(book(c, CAPTURE_RECEIVED), next_id - first);
	capture_destroy(c);
}

/*
 * Memory that other modules keep for the records counts. More than the limit refuses records until
 * it is released.
 */
static void test_memory_beside_the_records_counts_to_the_limit(void **state)
{
	struct capture *c = create(MIB);

	(void)state;
	assert_true(append_beside(c, 0, 1, BIG, MIB - BIG_BYTES));
	assert_false(append_beside(c, 0, 1, 1, MIB - BIG_BYTES));
	assert_false(append_beside(c, 0, 1, 1, UINT64_MAX / 2));
	assert_true(append_beside(c, 0, 1, 1, 0));
	capture_destroy(c);
}

static void test_repeated_losses_take_bounded_memory(void **state)
{
	struct capture *c = create(100 * KIB);
	struct capture_pos pos;
	struct sums sums;
	uint32_t i;

	(void)state;
	assert_true(append(c, 3000)); /* 102,000 of 102,400 bytes */
	for (i = 0; i < 300; i++)
		capture_lost(c, i, i + 1, KPROF_LOST_RING, 10);
	capture_attach(c, &pos);
	sums = read_sums(c, &pos);
	assert_true(sums.lost < 300 * 10); /* as many as fit */
	capture_settle(c, false);
	assert_int_equal(read_sums(c, &pos).lost, 0);
	capture_settle(c, true); /* after the last drain all losses must be in the stream */
	sums.lost += read_sums(c, &pos).lost;
	assert_int_equal(sums.lost, 300 * 10);
	capture_settle(c, true);
	assert_int_equal(read_sums(c, &pos).lost, 0);
	assert_int_equal(book(c, CAPTURE_RECEIVED), 3000 + 3000);
	assert_int_equal(book(c, KPROF_LOST_RING), 3000);
	capture_detach(c, &pos);
	capture_destroy(c);
}

/* ---- clear, limits ------------------------------------------------------------------------------- */

static void test_blocks_are_numbered_in_order(void **state)
{
	struct capture *c = create(MIB);
	struct capture_stats stats;
	uint64_t first;

	(void)state;
	first = capture_oldest_seq(c);
	assert_int_equal(capture_newest_seq(c), first);
	append(c, BIG);
	assert_int_equal(capture_newest_seq(c), first);
	assert_int_equal(capture_runs(c), 1);
	append(c, BIG);
	assert_int_equal(capture_newest_seq(c), first + 1);
	assert_int_equal(capture_oldest_seq(c), first);
	capture_get_stats(c, &stats);
	assert_int_equal(stats.filled, 1);
	capture_clear(c);
	/* block numbers go on: those of the old blocks are below all that come */
	assert_int_equal(capture_oldest_seq(c), first + 2);
	assert_int_equal(capture_newest_seq(c), first + 2);
	assert_int_equal(capture_runs(c), 2);
	capture_destroy(c);
}

/* ---- times --------------------------------------------------------------------------------------- */

/* The samples of a part, and those in the same blocks. */
static uint64_t samples_of(struct capture *c, uint64_t since_ns, uint64_t until_ns, uint64_t bytes_max)
{
	const struct capture_part part = { since_ns, until_ns, bytes_max };
	struct iovec iov[CAPTURE_PIECES_MAX];
	int count = CAPTURE_PIECES_MAX;
	struct capture_mark mark;
	struct capture_pos pos;
	uint64_t samples;

	capture_attach(c, &pos);
	capture_seek_part(c, &pos, &mark, &part);
	capture_pieces(c, &pos, &mark, WANT_ALL, false, iov, &count);
	samples = pos.pin_counts.samples;
	if (count)
		capture_advance(c, &pos, true);
	capture_detach(c, &pos);
	return samples;
}

static uint64_t samples_between(struct capture *c, uint64_t since_ns, uint64_t until_ns)
{
	return samples_of(c, since_ns, until_ns, UINT64_MAX);
}

/* Each run fills a block; their samples are counted from next_id on. */
static void test_blocks_outside_of_a_time_are_skipped(void **state)
{
	struct capture *c = create(4 * MIB);
	uint64_t since[3], first[3];
	int i;

	(void)state;
	assert_int_equal(capture_late_time(c), 0);
	assert_int_equal(samples_between(c, 0, UINT64_MAX), 0);
	for (i = 0; i < 3; i++) {
		since[i] = clock_monotonic_ns() + 1; /* later than the append of the blocks before */
		while (clock_monotonic_ns() <= since[i])
			;
		first[i] = next_id;
		assert_true(append(c, BIG));
	}
	assert_int_equal(capture_late_time(c), first[2]);
	assert_int_equal(samples_between(c, 0, UINT64_MAX), 3 * BIG);
	assert_int_equal(samples_between(c, since[0], UINT64_MAX), 3 * BIG);
	assert_int_equal(samples_between(c, since[1], UINT64_MAX), 2 * BIG);
	assert_int_equal(samples_between(c, since[2], UINT64_MAX), BIG);
	assert_int_equal(samples_between(c, clock_monotonic_ns() + 1, UINT64_MAX), 0);
	assert_int_equal(samples_between(c, 0, first[0]), 0);
	assert_int_equal(samples_between(c, 0, first[1]), BIG);
	assert_int_equal(samples_between(c, 0, first[1] + 1), 2 * BIG);
	assert_int_equal(samples_between(c, since[1], first[2]), BIG);
	assert_int_equal(samples_between(c, since[2], first[1]), 0);
	assert_int_equal(samples_of(c, 0, UINT64_MAX, 3 * BIG_BYTES), 3 * BIG);
	assert_int_equal(samples_of(c, 0, UINT64_MAX, 3 * BIG_BYTES - 1), 2 * BIG);
	assert_int_equal(samples_of(c, 0, UINT64_MAX, 0), BIG); /* at least one block */
	assert_int_equal(samples_of(c, 0, first[2], BIG_BYTES), BIG); /* of the second */
	capture_destroy(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_of_every_size_give_the_same_bytes),
		cmocka_unit_test(test_record_that_does_not_fit_stays_without_split),
		cmocka_unit_test(test_pieces_are_limited_to_the_count_given),
		cmocka_unit_test(test_records_after_the_mark_are_read_later),
		cmocka_unit_test(test_two_readers_get_the_same_bytes),
		cmocka_unit_test(test_readers_attach_and_detach_in_any_order),
		cmocka_unit_test(test_full_capture_discards_new_records_and_counts_them),
		cmocka_unit_test(test_blocks_are_freed_when_all_readers_passed_them),
		cmocka_unit_test(test_memory_beside_the_records_counts_to_the_limit),
		cmocka_unit_test(test_repeated_losses_take_bounded_memory),
		cmocka_unit_test(test_blocks_are_numbered_in_order),
		cmocka_unit_test(test_blocks_outside_of_a_time_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
