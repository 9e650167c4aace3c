/* SPDX-License-Identifier: MIT */
/*
 * prof/capture: the sampler writes runs directly into blocks, and readers get them as if they had been
 * appended.
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

/* ---- runs written in place ----------------------------------------------------------------------- */

/* The samples written in place have times that are later by this than those of others. */
#define AHEAD 100000

/*
 * Writes a run of `samples` at the place that the capture returns, and returns that place. Other
 * runs may be appended before it; end_in_place() must follow.
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
	/* a run that is given up leaves no trace */
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
	assert_int_equal(book(c, CAPTURE_RECEIVED), 10);
	capture_detach(c, &pos);
	/* nowhere near the end of a block */
	append(c, BIG);
	append(c, 1500);
	assert_null(capture_reserve(c, &size));
	capture_destroy(c);
}

/*
 * Runs that are appended while another one is being written stand before it, and neither is
 * damaged.
 */
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
	assert_int_equal(book(c, CAPTURE_RECEIVED), 6 + 10);
	capture_detach(c, &pos);
	capture_destroy(c);
}

/* The block in which a run is being written is cleared or overwritten meanwhile. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_written_in_place_is_read),
		cmocka_unit_test(test_records_appended_meanwhile_come_before_the_run),
		cmocka_unit_test(test_run_in_place_of_an_overwritten_block_is_moved),
		cmocka_unit_test(test_run_in_place_is_refused_when_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
