/* SPDX-License-Identifier: MIT */
/*
 * Functions that write to a capture and read from it, for tests. The time of each sample is a
 * number of its own, so that a test can tell which samples a stream has. A run of BIG samples fills
 * more than half a block, so each such run takes one block. Include after cmocka.h.
 */
#ifndef KPROFS_TESTS_CAPTURE_STREAMS_H
#define KPROFS_TESTS_CAPTURE_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "prof/capture.h"
#include "prof/record.h"

#define KIB 1024u
#define MIB (1024u * KIB)

#define BIG 2000	      /* samples of one frame, 34 bytes each: 68,000 bytes */
#define BIG_BYTES (BIG * 34u) /* of 131,072 in a block */

#define WANT_ALL ((size_t)64 * MIB)

static uint64_t next_id = 1;

/* ---- writing ------------------------------------------------------------------------------------- */

static inline void add_sample(struct record_buf *buf, uint16_t cpu, uint32_t event, size_t frames)
{
	const struct kprof_rec_trace head = {
		.info = event, .time_ns = next_id++, .pid = 42, .cpu = cpu
	};
	uint64_t words[600];
	size_t i;

	for (i = 0; i < frames; i++)
		words[i] = head.time_ns * 1000 + i;
	assert_int_equal(record_trace(buf, KPROF_REC_USER_TRACE, &head, NULL, 0, words, frames), 0);
}

static inline bool append_beside(struct capture *c, uint16_t cpu, uint32_t event, int samples,
	uint64_t beside)
{
	struct record_buf buf;
	bool stored;
	int i;

	record_buf_init(&buf);
	for (i = 0; i < samples; i++)
		add_sample(&buf, cpu, event, 1);
	stored = capture_append(c, buf.data, buf.used, NULL, beside);
	record_buf_fini(&buf);
	return stored;
}

static inline bool append(struct capture *c, int samples)
{
	return append_beside(c, 0, 1, samples, 0);
}

static inline struct capture *create(uint64_t limit)
{
	struct capture *c;

	assert_int_equal(capture_create(limit, &c), 0);
	capture_set_packing(c, false);
	return c;
}

/* A capture in mode overwrite. */
static inline struct capture *create_ring(uint64_t limit)
{
	struct capture *c = create(limit);

	capture_set_overwrite(c, true);
	return c;
}

/* ---- reading ------------------------------------------------------------------------------------- */

struct bytes {
	uint8_t *data;
	size_t used, size;
};

static inline void add_bytes(struct bytes *to, const void *data, size_t len)
{
	if (to->used + len > to->size) {
		to->size = (to->used + len) * 2;
		to->data = realloc(to->data, to->size);
		assert_non_null(to->data);
	}
	memcpy(to->data + to->used, data, len);
	to->used += len;
}

static inline void free_bytes(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){ 0 };
}

/* One read of at most `want` bytes of what the capture has now. */
static inline size_t read_some(struct capture *c, struct capture_pos *pos, size_t want, bool split,
	bool taken, struct bytes *to)
{
	struct iovec iov[CAPTURE_PIECES_MAX];
	struct capture_mark mark;
	int count = CAPTURE_PIECES_MAX, i;
	size_t n, sum = 0;

	capture_mark(c, &mark);
	n = capture_pieces(c, pos, &mark, want, split, iov, &count);
	for (i = 0; i < count; i++) {
		assert_true(iov[i].iov_len > 0);
		sum += iov[i].iov_len;
		if (taken && to)
			add_bytes(to, iov[i].iov_base, iov[i].iov_len);
	}
	assert_int_equal(sum, n);
	assert_true(n <= want);
	if (n)
		capture_advance(c, pos, taken);
	else
		assert_int_equal(count, 0);
	return n;
}

static inline void read_all(struct capture *c, struct capture_pos *pos, struct bytes *to)
{
	while (read_some(c, pos, WANT_ALL, true, true, to))
		;
}

struct sums {
	uint64_t samples, lost;
	uint64_t first, last; /* numbers of samples */
};

/* Counts what a stream holds; its samples must be in order. */
static inline struct sums sum_stream(const struct bytes *stream)
{
	struct sums sums = { 0 };
	struct decoded r;
	size_t at = 0;

	while (decode_next(stream->data, stream->used, &at, &r)) {
		if (r.type == 66) {
			sums.lost += decode_u64(&r, 12);
			continue;
		}
		assert_int_equal(r.type, 2);
		assert_true(decode_u64(&r, 8) > sums.last);
		sums.last = decode_u64(&r, 8);
		if (!sums.first)
			sums.first = sums.last;
		sums.samples++;
	}
	return sums;
}

static inline struct sums read_sums(struct capture *c, struct capture_pos *pos)
{
	struct bytes stream = { 0 };
	struct sums sums;

	read_all(c, pos, &stream);
	sums = sum_stream(&stream);
	free_bytes(&stream);
	return sums;
}

static inline uint64_t take_missed(struct capture *c, struct capture_pos *pos)
{
	struct tally missed;
	uint64_t sum = 0;
	size_t i;

	tally_init(&missed);
	capture_take_missed(c, pos, &missed);
	for (i = 0; i < missed.count; i++)
		sum += missed.rows[i].count;
	tally_fini(&missed);
	return sum;
}

static inline uint64_t book(struct capture *c, uint32_t reason)
{
	struct tally totals;
	uint64_t sum;

	tally_init(&totals);
	capture_get_totals(c, &totals);
	sum = tally_sum(&totals, reason);
	tally_fini(&totals);
	return sum;
}

#endif
