/* SPDX-License-Identifier: MIT */
/* prof/capture: clear, trim and limits release memory and leave the blocks that readers hold. */
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
	assert_int_equal(book(c, CAPTURE_RECEIVED), 0);
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

/* The addresses of the records of all blocks. */
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

/* Cleared memory is used for the next runs. Only trimming releases it. */
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
 * A large capture allocates many blocks together and reuses the freed ones. Trimming releases the
 * rest of an arena although a reader still pins one of its blocks, and that block stays intact.
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

/* A reader that has the first bytes of a record gets the last ones too, then what is new. */
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
			pos.fills = step % 2;
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

/*
 * Cleared while its block is pinned and overwritten: losses from before the clear are not counted
 * after it.
 */
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
	/* mode discard: what no reader has read stays, and nothing new is stored */
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

/* A run larger than the whole limit is lost in every mode. */
static void test_limit_below_a_run_refuses_it(void **state)
{
	int overwrite;

	(void)state;
	for (overwrite = 0; overwrite < 2; overwrite++) {
		struct capture *c = create(32 * KIB);

		capture_set_overwrite(c, overwrite);
		assert_false(append(c, BIG));
		assert_true(append(c, 100));
		assert_int_equal(book(c, CAPTURE_RECEIVED), BIG + 100);
		assert_int_equal(book(c, KPROF_LOST_QUEUE), BIG);
		capture_destroy(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trimming_keeps_a_pinned_block_of_an_arena),
		cmocka_unit_test(test_clear_empties_the_capture_and_its_counts),
		cmocka_unit_test(test_cleared_memory_is_reused_until_trimmed),
		cmocka_unit_test(test_clear_within_a_record_delivers_its_rest),
		cmocka_unit_test(test_clear_during_a_reply_keeps_the_stream_whole),
		cmocka_unit_test(test_clear_of_an_overwritten_pinned_block_counts_nothing),
		cmocka_unit_test(test_lower_limit_discards_or_overwrites),
		cmocka_unit_test(test_limit_below_a_run_refuses_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
