/* SPDX-License-Identifier: MIT */
/*
 * prof/capture: what readers at any size and speed get of what was appended, whose loss is counted
 * where, and when space is given up.
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
 * What a read of `want` bytes at byte `at` must give: whole records, as many as fit; a part where
 * not even one does. The rest of one that was begun comes alone, or with what fits behind it.
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
	assert_int_equal(read_some(c, &pos, 68, false, false, &got), 68); /* and not taken */
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

/* What comes after an end was fixed is for later, in the same block and in others. */
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

/* Nothing that somebody may still read goes; what does not fit is counted at its place. */
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
	assert_int_equal(book(c, CAPTURE_BOOK_RECEIVED), 40 * BIG);
	assert_int_equal(book(c, KPROF_LOST_QUEUE), dropped);

	/* somebody reads, so there is room: LOST stands before what comes next */
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

/* Blocks go when all have passed them and one has read them: not sooner. */
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
	assert_false(append(c, BIG)); /* nobody has read */
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
	/* the readers left: what they read may go, what came after them may not */
	for (i = 0; append(c, BIG); i++)
		;
	assert_int_equal(i, 13);
	assert_int_equal(book(c, CAPTURE_BOOK_RECEIVED), next_id - first);
	capture_destroy(c);
}

/* What other state keeps for the records counts; more than the limit stops everything, not for ever. */
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
	assert_true(sums.lost < 300 * 10); /* as many as fitted */
	capture_settle(c, false);
	assert_int_equal(read_sums(c, &pos).lost, 0);
	capture_settle(c, true); /* the last drain: all must be told */
	sums.lost += read_sums(c, &pos).lost;
	assert_int_equal(sums.lost, 300 * 10);
	capture_settle(c, true);
	assert_int_equal(read_sums(c, &pos).lost, 0);
	assert_int_equal(book(c, CAPTURE_BOOK_RECEIVED), 3000 + 3000);
	assert_int_equal(book(c, KPROF_LOST_RING), 3000);
	capture_detach(c, &pos);
	capture_destroy(c);
}

/* ---- mode overwrite ------------------------------------------------------------------------------ */

static struct capture *create_ring(uint64_t limit)
{
	struct capture *c = create(limit);

	capture_set_overwrite(c, true);
	return c;
}

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
	/* somebody has read all: nothing is lost to all */
	assert_int_equal(book(c, KPROF_LOST_OVERWRITE), 0);
	capture_detach(c, &fast);
	capture_detach(c, &slow);
	capture_attach(c, &slow);
	assert_int_equal(take_missed(c, &slow), 0);
	capture_detach(c, &slow);
	capture_destroy(c);
}

/*
 * A reader in the middle of a block that goes gets the record that it has begun, to its end; then it
 * hears that the rest is missing, like all that was between: nobody keeps for it what the rest refers to.
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
	/* of the first one 11 were read by it, the rest and the 25 by nobody */
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

/* A block that goes while a reply with it is under way was read, or was missed: never both. */
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
		assert_int_equal(book(c, CAPTURE_BOOK_RECEIVED), 43 * BIG);
		assert_int_equal(book(c, KPROF_LOST_OVERWRITE), missed);
		capture_detach(c, &pos);
		capture_destroy(c);
	}
}

/* What was overwritten after the reader last asked is told before anything newer is read. */
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

/* The rest of a block that its only reader has not read is lost once, and told to who comes later. */
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

/* LOST records that go with a block are told as what they said. */
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

/* ---- runs written in place ----------------------------------------------------------------------- */

/* How much later the samples written in place are than others. */
#define AHEAD 100000

/*
 * A run of `samples`, written where the capture says. Its place. Others may append theirs before it is
 * appended; end_in_place() must follow.
 */
static uint8_t *write_in_place(struct capture *c, int samples, size_t *len)
{
	const uint64_t now = next_id;
	struct record_buf buf;
	uint8_t *place;
	size_t size;
	int i;

	place = capture_reserve(c, &size);
	assert_non_null(place);
	record_buf_fixed(&buf, place, size);
	next_id += AHEAD;
	for (i = 0; i < samples; i++)
		add_sample(&buf, 0, 1, 1);
	next_id = now;
	*len = buf.used;
	return place;
}

static bool end_in_place(struct capture *c, const uint8_t *place, size_t len)
{
	next_id += 2 * AHEAD;
	return capture_append(c, place, len, NULL, 0);
}

static const void *last_place(struct capture *c)
{
	struct iovec iov[CAPTURE_PIECES_MAX];
	int count = CAPTURE_PIECES_MAX;
	struct capture_mark mark;
	struct capture_pos pos;
	size_t last;

	capture_attach(c, &pos);
	capture_mark(c, &mark);
	assert_true(capture_pieces(c, &pos, &mark, WANT_ALL, true, iov, &count) > 0);
	last = (size_t)count - 1;
	capture_advance(c, &pos, false);
	capture_detach(c, &pos);
	return (const uint8_t *)iov[last].iov_base + iov[last].iov_len;
}

static void test_run_written_in_place_is_read(void **state)
{
	struct capture *c = create(MIB);
	const uint64_t first = next_id;
	struct capture_pos pos;
	struct sums sums;
	uint8_t *place;
	size_t len, size;

	(void)state;
	assert_null(capture_reserve(c, &size)); /* no block yet */
	append(c, 3);
	place = write_in_place(c, 5, &len);
	assert_ptr_equal(place, last_place(c));
	assert_int_equal(capture_held_bytes(c), 3 * 34);
	assert_null(capture_reserve(c, &size)); /* one at a time */
	assert_true(end_in_place(c, place, len));
	assert_ptr_equal(place + len, last_place(c));
	/* what is given up leaves no trace */
	place = write_in_place(c, 7, &len);
	capture_release(c);
	capture_release(c);
	assert_ptr_equal(place, last_place(c));
	append(c, 2);
	assert_ptr_equal(place + 2 * 34u, last_place(c));
	capture_attach(c, &pos);
	sums = read_sums(c, &pos);
	assert_int_equal(sums.samples, 10);
	assert_int_equal(sums.first, first);
	assert_int_equal(book(c, CAPTURE_BOOK_RECEIVED), 10);
	capture_detach(c, &pos);
	/* nowhere near the end of a block */
	append(c, BIG);
	append(c, 1500);
	assert_null(capture_reserve(c, &size));
	capture_destroy(c);
}

/* What others append while a run is being written comes before it, and harms neither. */
static void test_records_appended_meanwhile_come_before_the_run(void **state)
{
	struct capture *c = create(MIB);
	const uint64_t first = next_id + 1;
	struct capture_pos pos;
	struct sums sums;
	uint8_t *place;
	size_t len;

	(void)state;
	append(c, 1);
	capture_attach(c, &pos);
	read_sums(c, &pos);
	place = write_in_place(c, 4, &len);
	append(c, 1);
	capture_lost(c, 3, 4, KPROF_LOST_RING, 10);
	assert_true(end_in_place(c, place, len));
	sums = read_sums(c, &pos);
	assert_int_equal(sums.samples, 5);
	assert_int_equal(sums.first, first);
	assert_int_equal(sums.lost, 10);
	assert_int_equal(book(c, CAPTURE_BOOK_RECEIVED), 6 + 10);
	capture_detach(c, &pos);
	capture_destroy(c);
}

/* The block in which a run is being written goes meanwhile: cleared, or overwritten. */
static void test_run_in_place_of_an_overwritten_block_is_moved(void **state)
{
	struct capture *c = create_ring(MIB);
	struct capture_pos pos;
	uint8_t *place;
	size_t len;
	int i;

	(void)state;
	append(c, 1);
	place = write_in_place(c, 4, &len);
	capture_clear(c);
	append(c, 1);
	assert_true(end_in_place(c, place, len));
	capture_attach(c, &pos);
	assert_int_equal(read_sums(c, &pos).samples, 5);
	capture_detach(c, &pos);
	place = write_in_place(c, 4, &len);
	for (i = 0; i < 20; i++)
		append(c, BIG);
	assert_true(end_in_place(c, place, len));
	capture_attach(c, &pos);
	take_missed(c, &pos);
	assert_int_equal(read_sums(c, &pos).samples % BIG, 4);
	capture_detach(c, &pos);
	capture_destroy(c);
}

static void test_run_in_place_is_refused_when_full(void **state)
{
	struct capture *c = create(MIB);
	struct capture_pos pos;
	struct sums sums;
	uint8_t *place;
	size_t len;
	int i;

	(void)state;
	for (i = 0; i < 15; i++)
		assert_true(append(c, BIG));
	place = write_in_place(c, 1500, &len);
	assert_false(end_in_place(c, place, len));
	assert_int_equal(book(c, KPROF_LOST_QUEUE), 1500);
	place = write_in_place(c, 100, &len);
	assert_true(end_in_place(c, place, len)); /* behind the LOST that was written there */
	capture_attach(c, &pos);
	sums = read_sums(c, &pos);
	assert_int_equal(sums.samples, 15 * BIG + 100);
	assert_int_equal(sums.lost, 1500);
	capture_detach(c, &pos);
	capture_destroy(c);
}

/* ---- clear, limits ------------------------------------------------------------------------------- */

static void test_clear_empties_the_capture_and_its_counts(void **state)
{
	struct capture *c = create_ring(MIB);
	struct capture_stats stats;
	struct capture_pos pos;
	int i;

	(void)state;
	for (i = 0; i < 20; i++)
		append(c, BIG);
	capture_attach(c, &pos);
	read_some(c, &pos, 340, true, true, NULL);
	capture_lost(c, 1, 1, KPROF_LOST_RING, 5);
	capture_clear(c);
	capture_get_stats(c, &stats);
	assert_int_equal(stats.held_bytes, 0);
	assert_int_equal(stats.written_bytes, 0);
	assert_int_equal(stats.dropped_bytes, 0);
	assert_int_equal(stats.readers, 1);
	assert_int_equal(book(c, CAPTURE_BOOK_RECEIVED), 0);
	assert_int_equal(take_missed(c, &pos), 0);
	assert_false(capture_pending(c, &pos));
	assert_int_equal(read_sums(c, &pos).samples, 0);
	append(c, 7);
	assert_int_equal(read_sums(c, &pos).samples, 7);
	capture_detach(c, &pos);
	capture_attach(c, &pos);
	assert_int_equal(take_missed(c, &pos), 0);
	assert_int_equal(read_sums(c, &pos).samples, 7);
	capture_detach(c, &pos);
	capture_destroy(c);
}

/* Where the records of all blocks stand in memory. */
static int find_blocks(struct capture *c, const void *data[], int most)
{
	struct iovec iov[CAPTURE_PIECES_MAX];
	struct capture_mark mark;
	struct capture_pos pos;
	int count = most, i;

	capture_attach(c, &pos);
	capture_mark(c, &mark);
	assert_true(capture_pieces(c, &pos, &mark, WANT_ALL, true, iov, &count) > 0);
	for (i = 0; i < count; i++)
		data[i] = iov[i].iov_base;
	capture_advance(c, &pos, false);
	capture_detach(c, &pos);
	return count;
}

static bool is_mapped(const void *data)
{
	const uintptr_t page = (uintptr_t)data & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	unsigned char resident;

	return !mincore((void *)page, 1, &resident);
}

static bool is_among(const void *data, const void *const all[], int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (all[i] == data)
			return true;
	return false;
}

/* What is cleared serves what comes next; only trimming gives it back. */
static void test_cleared_memory_is_reused_until_trimmed(void **state)
{
	struct capture *c = create(8 * MIB);
	const void *before[40], *after[40];
	int i;

	(void)state;
	for (i = 0; i < 40; i++)
		append(c, BIG);
	assert_int_equal(find_blocks(c, before, 40), 40);
	assert_false(capture_has_spare(c));
	capture_clear(c);
	assert_true(capture_has_spare(c));
	for (i = 0; i < 40; i++)
		assert_true(is_mapped(before[i]));
	for (i = 0; i < 40; i++)
		append(c, BIG);
	assert_int_equal(find_blocks(c, after, 40), 40);
	for (i = 0; i < 40; i++)
		assert_true(is_among(after[i], before, 40));
	assert_false(capture_has_spare(c));
	capture_clear(c);
	capture_trim(c);
	assert_false(capture_has_spare(c));
	for (i = 0; i < 40; i++)
		assert_false(is_mapped(before[i]));
	append(c, BIG);
	assert_int_equal(capture_held_bytes(c), BIG_BYTES);
	capture_destroy(c);
}

/*
 * A large capture takes many blocks together. What it frees serves it again; trimming gives the rest of
 * an arena back although a reader still pins one of its blocks, and that block stays whole.
 */
static void test_trimming_keeps_a_pinned_block_of_an_arena(void **state)
{
	struct capture *c = create(64 * MIB);
	const void *before[40];
	struct capture_pos pos;
	struct bytes got = { 0 };
	int i, gone = 0;

	(void)state;
	for (i = 0; i < 40; i++)
		append(c, BIG);
	assert_int_equal(find_blocks(c, before, 40), 40);
	for (i = 1; i < 16; i++)
		assert_ptr_equal(before[i], (const uint8_t *)before[0] + (size_t)i * 131072);
	capture_attach(c, &pos);
	read_some(c, &pos, BIG_BYTES, true, true, NULL);
	read_some(c, &pos, 20, true, true, NULL); /* a part of a record in the second block */
	capture_clear(c);
	assert_true(capture_has_spare(c));
	capture_trim(c);
	assert_false(capture_has_spare(c));
	assert_int_equal(read_some(c, &pos, WANT_ALL, true, true, &got), 14);
	assert_int_equal(got.used, 14);
	for (i = 0; i < 40; i++)
		gone += !is_mapped(before[i]);
	assert_int_equal(gone, 24); /* the second arena and the third */
	append(c, BIG);
	append(c, BIG);
	assert_int_equal(read_sums(c, &pos).samples, 2 * BIG);
	capture_detach(c, &pos);
	free_bytes(&got);
	capture_clear(c);
	capture_trim(c);
	assert_false(is_mapped(before[0]));
	capture_destroy(c);
}

/* A reader that has the first bytes of a record gets its last ones, then what is new. */
static void test_clear_within_a_record_delivers_its_rest(void **state)
{
	size_t first, step;

	(void)state;
	for (first = 1; first < 34; first++) {
		for (step = 1; step < 36; step += 3) {
			struct capture *c = create(MIB);
			struct bytes stream = { 0 };
			struct capture_pos pos;
			struct sums sums;

			capture_attach(c, &pos);
			append(c, 10);
			read_some(c, &pos, 34, true, true, &stream);
			read_some(c, &pos, first, true, true, &stream);
			capture_clear(c);
			assert_true(capture_pending(c, &pos));
			append(c, 3);
			while (read_some(c, &pos, step, true, true, &stream))
				;
			sums = sum_stream(&stream);
			assert_int_equal(sums.samples, 2 + 3);
			assert_int_equal(sums.last, next_id - 1);
			free_bytes(&stream);
			capture_detach(c, &pos);
			capture_destroy(c);
		}
	}
}

static void test_clear_during_a_reply_keeps_the_stream_whole(void **state)
{
	const size_t wants[] = { 34, 50, 90, 1000 };
	int taken;
	size_t i;

	(void)state;
	for (taken = 0; taken < 2; taken++) {
		for (i = 0; i < sizeof(wants) / sizeof(wants[0]); i++) {
			struct capture *c = create_ring(MIB);
			struct iovec iov[4];
			int count = 4, j;
			struct bytes stream = { 0 };
			struct capture_mark mark;
			struct capture_pos pos;

			capture_attach(c, &pos);
			append(c, 10);
			read_some(c, &pos, 20, true, true, &stream); /* in a record */
			capture_mark(c, &mark);
			assert_true(capture_pieces(c, &pos, &mark, wants[i] - 30, true, iov, &count) >
				    0);
			if (taken)
				for (j = 0; j < count; j++)
					add_bytes(&stream, iov[j].iov_base, iov[j].iov_len);
			capture_clear(c);
			append(c, 5);
			capture_advance(c, &pos, taken);
			read_all(c, &pos, &stream);
			assert_int_equal(sum_stream(&stream).last, next_id - 1);
			assert_in_range(sum_stream(&stream).samples, 6, 15);
			assert_int_equal(take_missed(c, &pos), 0);
			free_bytes(&stream);
			capture_detach(c, &pos);
			assert_int_equal(book(c, KPROF_LOST_OVERWRITE), 0);
			capture_destroy(c);
		}
	}
}

/* Cleared while its block is pinned and overwritten: what is lost of the old books is in no new one. */
static void test_clear_of_an_overwritten_pinned_block_counts_nothing(void **state)
{
	struct capture *c = create_ring(MIB);
	struct capture_pos pos;
	int i;

	(void)state;
	capture_attach(c, &pos);
	append(c, BIG);
	read_some(c, &pos, 50, true, true, NULL);
	for (i = 0; i < 20; i++)
		append(c, BIG);
	capture_clear(c);
	capture_detach(c, &pos);
	assert_int_equal(book(c, KPROF_LOST_OVERWRITE), 0);
	capture_attach(c, &pos);
	assert_int_equal(take_missed(c, &pos), 0);
	capture_detach(c, &pos);
	capture_destroy(c);
}

static void test_lower_limit_discards_or_overwrites(void **state)
{
	struct capture *c = create(2 * MIB);
	struct capture_pos pos;
	int i;

	(void)state;
	for (i = 0; i < 20; i++)
		assert_true(append(c, BIG));
	/* mode discard: what nobody has read stays, nothing new comes */
	capture_set_limit(c, MIB);
	assert_int_equal(capture_held_bytes(c), 20 * BIG_BYTES);
	assert_false(append(c, 1));
	capture_attach(c, &pos);
	read_some(c, &pos, 10 * BIG_BYTES, true, true, NULL);
	capture_set_limit(c, MIB);
	assert_true(capture_held_bytes(c) <= MIB);
	assert_true(append(c, 1));
	capture_detach(c, &pos);
	capture_destroy(c);

	c = create_ring(2 * MIB);
	for (i = 0; i < 20; i++)
		assert_true(append(c, BIG));
	capture_set_limit(c, MIB);
	assert_true(capture_held_bytes(c) <= MIB);
	assert_int_equal(book(c, KPROF_LOST_OVERWRITE), 5 * BIG);
	capture_set_limit(c, 2 * MIB);
	for (i = 0; i < 15; i++)
		assert_true(append(c, BIG));
	assert_int_equal(book(c, KPROF_LOST_OVERWRITE), 5 * BIG);
	capture_destroy(c);
}

/* A run larger than the whole limit: lost, whatever the mode. */
static void test_limit_below_a_run_refuses_it(void **state)
{
	int overwrite;

	(void)state;
	for (overwrite = 0; overwrite < 2; overwrite++) {
		struct capture *c = create(32 * KIB);

		capture_set_overwrite(c, overwrite);
		assert_false(append(c, BIG));
		assert_true(append(c, 100));
		assert_int_equal(book(c, CAPTURE_BOOK_RECEIVED), BIG + 100);
		assert_int_equal(book(c, KPROF_LOST_QUEUE), BIG);
		capture_destroy(c);
	}
}

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
	/* numbers go on: what was in the old blocks is before all that comes */
	assert_int_equal(capture_oldest_seq(c), first + 2);
	assert_int_equal(capture_newest_seq(c), first + 2);
	assert_int_equal(capture_runs(c), 2);
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
		cmocka_unit_test(test_overwritten_unread_samples_are_counted),
		cmocka_unit_test(test_slow_reader_is_told_what_was_overwritten),
		cmocka_unit_test(test_overwrite_within_a_record_delivers_its_rest),
		cmocka_unit_test(test_overwrite_between_two_records_keeps_the_stream_whole),
		cmocka_unit_test(test_overwritten_reply_is_read_or_missed_never_both),
		cmocka_unit_test(test_missed_records_are_told_before_newer_ones),
		cmocka_unit_test(test_rest_of_a_left_block_is_lost_once),
		cmocka_unit_test(test_overwritten_lost_records_keep_their_counts),
		cmocka_unit_test(test_run_written_in_place_is_read),
		cmocka_unit_test(test_records_appended_meanwhile_come_before_the_run),
		cmocka_unit_test(test_run_in_place_of_an_overwritten_block_is_moved),
		cmocka_unit_test(test_run_in_place_is_refused_when_full),
		cmocka_unit_test(test_trimming_keeps_a_pinned_block_of_an_arena),
		cmocka_unit_test(test_clear_empties_the_capture_and_its_counts),
		cmocka_unit_test(test_cleared_memory_is_reused_until_trimmed),
		cmocka_unit_test(test_clear_within_a_record_delivers_its_rest),
		cmocka_unit_test(test_clear_during_a_reply_keeps_the_stream_whole),
		cmocka_unit_test(test_clear_of_an_overwritten_pinned_block_counts_nothing),
		cmocka_unit_test(test_lower_limit_discards_or_overwrites),
		cmocka_unit_test(test_limit_below_a_run_refuses_it),
		cmocka_unit_test(test_blocks_are_numbered_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
