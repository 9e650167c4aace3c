/* SPDX-License-Identifier: MIT */
/*
 * prof/capture agrees with a model that has everything in one array, in random operations and with
 * several threads.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_streams.h"
#include "rounds.h"

/* ---- at random, against a model ------------------------------------------------------------------ */

/*
 * The model keeps every record that the capture accepted, in order. A reader is an index into that
 * array. The records that it misses must follow each other in the array, and their number must be
 * the reported one.
 */
struct entry {
	size_t at, len; /* of its bytes in model.bytes */
	uint32_t cpu, event, reason;
	uint64_t count;
	bool read; /* by anybody */
};

struct model_reader {
	struct capture_pos pos;
	bool attached;
	size_t index, partial; /* next entry, bytes of it that have been read */
	struct bytes rest;     /* of a record that was begun before a clear */
	bool in_flight;
	struct iovec iov[CAPTURE_PIECES_MAX];
	int count;
	struct bytes copy;	     /* of the pieces under way */
	size_t to_index, to_partial; /* where they end */
	size_t rest_used;
	bool cleared; /* while under way */
	struct bytes begun;	     /* of what was read, what is no whole record yet */
	struct record_counts counts, told; /* in the bytes that were read; as the capture reports */
};

#define MODEL_READERS 5

struct model {
	struct capture *c;
	unsigned int seed, seed0;
	int step;
	struct entry *log;
	size_t used, size;
	size_t base, held; /* first entry since clear, first one held */
	struct bytes bytes;
	struct tally pending, queue_lost;
	uint64_t received, limit;
	bool overwrite;
	struct model_reader readers[MODEL_READERS];
};

#define MODEL_CHECK(m, condition) \
	do { \
		if (!(condition)) \
			fail_msg("seed %u, step %d: %s", (m)->seed0, (m)->step, #condition); \
	} while (0)

static unsigned int chance(struct model *m, unsigned int below)
{
	return (unsigned int)rand_r(&m->seed) % below;
}

static void log_record(struct model *m, const uint8_t *data, const struct decoded *r)
{
	struct entry *e;

	if (m->used == m->size) {
		m->size = m->size ? m->size * 2 : 1024;
		m->log = realloc(m->log, m->size * sizeof(*m->log));
		assert_non_null(m->log);
	}
	e = &m->log[m->used++];
	*e = (struct entry){ .at = m->bytes.used, .len = r->bytes };
	if (r->type == 66) {
		e->cpu = decode_u32(r, 0);
		e->event = decode_u32(r, 4);
		e->reason = decode_u32(r, 8);
		e->count = decode_u64(r, 12);
	} else {
		e->cpu = decode_u16(r, 20);
		e->event = (uint32_t)decode_u64(r, 0);
		e->reason = KPROF_LOST_OVERWRITE;
		e->count = 1;
	}
	add_bytes(&m->bytes, data, r->bytes);
}

/* The LOST records that were outstanding stand in the capture now. */
static void log_pending(struct model *m)
{
	struct record_buf buf;
	struct decoded r;
	size_t i, at = 0;

	record_buf_init(&buf);
	for (i = 0; i < m->pending.count; i++)
		record_lost(&buf, m->pending.rows[i].cpu, m->pending.rows[i].event,
			m->pending.rows[i].reason, m->pending.rows[i].count);
	while (decode_next(buf.data, buf.used, &at, &r))
		log_record(m, buf.data + at - r.bytes, &r);
	record_buf_fini(&buf);
	tally_clear(&m->pending);
}

static uint64_t written_bytes(struct model *m)
{
	struct capture_stats stats;

	capture_get_stats(m->c, &stats);
	return stats.written_bytes;
}

/* Written in place where that is possible, or elsewhere: it must make no difference. */
static bool append_somewhere(struct model *m, const struct record_buf *buf)
{
	uint8_t *place = NULL;
	size_t size = 0;

	if (chance(m, 2))
		place = capture_reserve(m->c, &size);
	if (place && size >= buf->used) {
		memcpy(place, buf->data, buf->used);
		return capture_append(m->c, place, buf->used, NULL, 0);
	}
	if (place)
		capture_release(m->c);
	return capture_append(m->c, buf->data, buf->used, NULL, 0);
}

static void model_append(struct model *m)
{
	const uint16_t cpu = (uint16_t)chance(m, 3);
	const size_t bytes = chance(m, 3) ? chance(m, 9000) : chance(m, 65000);
	const uint64_t before = written_bytes(m);
	const size_t outstanding = m->pending.count * 22;
	struct record_buf buf;
	struct decoded r;
	uint64_t samples = 0;
	size_t at = 0;
	bool stored;

	record_buf_init(&buf);
	do {
		add_sample(&buf, cpu, 1 + chance(m, 3), chance(m, 50) ? chance(m, 30) : 600);
		samples++;
	} while (buf.used < bytes);
	stored = append_somewhere(m, &buf);
	m->received += samples;
	MODEL_CHECK(m, written_bytes(m) - before == (stored ? outstanding + buf.used : 0));
	if (stored) {
		log_pending(m);
		MODEL_CHECK(m, capture_memory_bytes(m->c) <= m->limit);
	}
	while (decode_next(buf.data, buf.used, &at, &r)) {
		if (stored) {
			log_record(m, buf.data + at - r.bytes, &r);
			continue;
		}
		tally_add(&m->pending, cpu, (uint32_t)decode_u64(&r, 0), KPROF_LOST_QUEUE, 1);
		tally_add(&m->queue_lost, cpu, (uint32_t)decode_u64(&r, 0), KPROF_LOST_QUEUE, 1);
	}
	record_buf_fini(&buf);
}

static void model_lost(struct model *m, bool force)
{
	const uint64_t before = written_bytes(m), count = 1 + chance(m, 1000);
	const uint32_t cpu = chance(m, 3), event = 1 + chance(m, 3);
	uint64_t delta;

	if (force) {
		capture_settle(m->c, true);
	} else {
		capture_lost(m->c, cpu, event, KPROF_LOST_RING, count);
		tally_add(&m->pending, cpu, event, KPROF_LOST_RING, count);
		m->received += count;
	}
	delta = written_bytes(m) - before;
	MODEL_CHECK(m, delta == m->pending.count * 22 || (delta == 0 && !force));
	if (delta)
		log_pending(m);
}

static size_t attached_readers(const struct model *m)
{
	size_t i, n = 0;

	for (i = 0; i < MODEL_READERS; i++)
		n += m->readers[i].attached;
	return n;
}

/* No reader has anything left of what is no longer held. */
static bool is_quiet(const struct model *m)
{
	size_t i;

	for (i = 0; i < MODEL_READERS; i++) {
		const struct model_reader *r = &m->readers[i];

		if (r->attached && (r->in_flight || r->index < m->held || r->rest.used))
			return false;
	}
	return true;
}

/* What was held, is no longer, and no reader has read. */
static void sum_unread(const struct model *m, struct tally *sum)
{
	size_t i;

	for (i = m->base; i < m->held; i++)
		if (!m->log[i].read)
			tally_add(sum, m->log[i].cpu, m->log[i].event, m->log[i].reason,
				m->log[i].count);
}

static bool same_tally(const struct tally *a, const struct tally *b)
{
	size_t i;

	if (a->count != b->count)
		return false;
	for (i = 0; i < a->count; i++)
		if (a->rows[i].cpu != b->rows[i].cpu || a->rows[i].event != b->rows[i].event ||
			a->rows[i].reason != b->rows[i].reason ||
			a->rows[i].count != b->rows[i].count)
			return false;
	return true;
}

static void model_attach(struct model *m, struct model_reader *r)
{
	struct tally missed, expected;

	capture_attach(m->c, &r->pos);
	tally_init(&missed);
	tally_init(&expected);
	capture_take_missed(m->c, &r->pos, &missed);
	sum_unread(m, &expected);
	if (is_quiet(m))
		MODEL_CHECK(m, same_tally(&missed, &expected));
	tally_fini(&missed);
	tally_fini(&expected);
	r->attached = true;
	r->begun.used = 0;
	r->counts = r->told = (struct record_counts){ 0 };
	r->index = m->held;
	r->partial = 0;
	r->rest.used = 0;
}

/* Moves over the records that were reported as missed. */
static void model_jump(struct model *m, struct model_reader *r)
{
	struct tally missed, skipped;

	tally_init(&missed);
	tally_init(&skipped);
	capture_take_missed(m->c, &r->pos, &missed);
	if (!tally_empty(&missed))
		MODEL_CHECK(m, !r->partial && !r->rest.used);
	while (!same_tally(&missed, &skipped)) {
		const struct entry *e = &m->log[r->index];

		MODEL_CHECK(m, r->index < m->held);
		if (r->index >= m->held)
			break;
		tally_add(&skipped, e->cpu, e->event, e->reason, e->count);
		r->index++;
	}
	tally_fini(&missed);
	tally_fini(&skipped);
}

/* Compares the pieces with the log; notes where they end. */
static void model_compare(struct model *m, struct model_reader *r)
{
	size_t at = 0;

	r->to_index = r->index;
	r->to_partial = r->partial;
	r->rest_used = 0;
	if (r->rest.used) {
		MODEL_CHECK(m, r->copy.used <= r->rest.used);
		MODEL_CHECK(m, !memcmp(r->copy.data, r->rest.data, r->copy.used));
		r->rest_used = r->copy.used;
		return;
	}
	while (at < r->copy.used) {
		const struct entry *e = &m->log[r->to_index];
		size_t n = r->copy.used - at;

		MODEL_CHECK(m, r->to_index < m->used);
		if (n > e->len - r->to_partial)
			n = e->len - r->to_partial;
		MODEL_CHECK(m, !memcmp(r->copy.data + at, m->bytes.data + e->at + r->to_partial, n));
		at += n;
		r->to_partial += n;
		if (r->to_partial == e->len) {
			r->to_index++;
			r->to_partial = 0;
		}
	}
}

static bool model_begin(struct model *m, struct model_reader *r, size_t want)
{
	struct capture_mark mark;
	size_t n;
	int i;

	model_jump(m, r);
	capture_mark(m->c, &mark);
	r->count = 1 + (int)chance(m, CAPTURE_PIECES_MAX);
	n = capture_pieces(m->c, &r->pos, &mark, want, true, r->iov, &r->count);
	if (!n) {
		MODEL_CHECK(m, r->index == m->used && !r->rest.used);
		return false;
	}
	r->copy.used = 0;
	for (i = 0; i < r->count; i++)
		add_bytes(&r->copy, r->iov[i].iov_base, r->iov[i].iov_len);
	MODEL_CHECK(m, r->copy.used == n && n <= want);
	model_compare(m, r);
	r->in_flight = true;
	r->cleared = false;
	return true;
}

/* The rest of entry `index`, of which `partial` bytes were read before a clear. */
static void keep_rest(const struct model *m, struct model_reader *r, size_t index, size_t partial)
{
	r->rest.used = 0;
	if (partial)
		add_bytes(&r->rest, m->bytes.data + m->log[index].at + partial,
			m->log[index].len - partial);
}

static void take_rest(struct model_reader *r)
{
	memmove(r->rest.data, r->rest.data + r->rest_used, r->rest.used - r->rest_used);
	r->rest.used -= r->rest_used;
}

/* The pieces contain what the capture reports of them: a record counts with its first part. */
static void model_count(const struct model *m, struct model_reader *r)
{
	struct decoded record;
	size_t at = 0;

	r->told.samples += r->pos.pin_counts.samples;
	r->told.lost += r->pos.pin_counts.lost;
	add_bytes(&r->begun, r->copy.data, r->copy.used);
	while (decode_whole(r->begun.data, r->begun.used, at, &record)) {
		if (record.type == 66)
			r->counts.lost += decode_u64(&record, 12);
		else if (record.type == 1 || record.type == 2)
			r->counts.samples++;
		at += record.bytes;
	}
	memmove(r->begun.data, r->begun.data + at, r->begun.used - at);
	r->begun.used -= at;
	if (!r->begun.used) {
		MODEL_CHECK(m, r->counts.samples == r->told.samples);
		MODEL_CHECK(m, r->counts.lost == r->told.lost);
	}
}

static void model_end(struct model *m, struct model_reader *r, bool taken)
{
	size_t at = 0, i;
	int piece;

	for (piece = 0; piece < r->count; piece++) {
		MODEL_CHECK(m, !memcmp(r->copy.data + at, r->iov[piece].iov_base,
				       r->iov[piece].iov_len));
		at += r->iov[piece].iov_len;
	}
	if (taken)
		model_count(m, r);
	capture_advance(m->c, &r->pos, taken);
	r->in_flight = false;
	if (!taken)
		return;
	if (r->rest_used) {
		take_rest(r);
	} else if (r->cleared) {
		keep_rest(m, r, r->to_index, r->to_partial);
	} else {
		for (i = r->index; i < r->to_index; i++)
			m->log[i].read = true;
		r->index = r->to_index;
		r->partial = r->to_partial;
	}
}

static void model_drain(struct model *m, struct model_reader *r)
{
	if (r->in_flight)
		model_end(m, r, chance(m, 2));
	while (model_begin(m, r, 1 + chance(m, 300000)))
		model_end(m, r, true);
}

static void model_clear(struct model *m)
{
	size_t i;

	capture_clear(m->c);
	for (i = 0; i < MODEL_READERS; i++) {
		struct model_reader *r = &m->readers[i];

		if (!r->attached)
			continue;
		r->cleared = true;
		if (!r->rest.used)
			keep_rest(m, r, r->index, r->partial);
		r->index = m->used;
		r->partial = 0;
	}
	m->base = m->held = m->used;
	m->received = 0;
	tally_clear(&m->pending);
	tally_clear(&m->queue_lost);
}

/* What was freed: in mode discard only what one reader has read and all have passed. */
static void check_gone(const struct model *m, size_t before)
{
	size_t i, j;

	for (i = before; !m->overwrite && i < m->held; i++) {
		MODEL_CHECK(m, m->log[i].read);
		for (j = 0; j < MODEL_READERS; j++)
			if (m->readers[j].attached)
				MODEL_CHECK(m, m->readers[j].index > i);
	}
}

static void check_model(struct model *m)
{
	uint64_t held = capture_held_bytes(m->c);
	const size_t before = m->held;
	struct tally unread;

	for (m->held = m->used; held && m->held > m->base; m->held--)
		held -= m->log[m->held - 1].len;
	MODEL_CHECK(m, held == 0);
	MODEL_CHECK(m, (m->held == m->used) == (capture_memory_bytes(m->c) == 0));
	MODEL_CHECK(m, m->held >= before);
	check_gone(m, before);
	MODEL_CHECK(m, book(m->c, CAPTURE_RECEIVED) == m->received);
	MODEL_CHECK(m, book(m->c, KPROF_LOST_QUEUE) == tally_sum(&m->queue_lost, KPROF_LOST_QUEUE));
	if (!is_quiet(m))
		return;
	tally_init(&unread);
	sum_unread(m, &unread);
	MODEL_CHECK(m, book(m->c, KPROF_LOST_OVERWRITE) == tally_sum(&unread, KPROF_LOST_OVERWRITE));
	tally_fini(&unread);
}

static void model_read(struct model *m, struct model_reader *r)
{
	const unsigned int kind = chance(m, 10);

	if (!r->attached)
		model_attach(m, r);
	else if (r->in_flight)
		model_end(m, r, kind);
	else if (kind == 0 && chance(m, 3) == 0)
		model_drain(m, r);
	else
		model_begin(m, r, 1 + chance(m, kind < 5 ? 200 : 200000));
}

static void model_leave(struct model *m, struct model_reader *r)
{
	if (!r->attached)
		return;
	if (r->in_flight)
		model_end(m, r, chance(m, 2));
	capture_detach(m->c, &r->pos);
	r->attached = false;
}

static void model_step(struct model *m)
{
	struct model_reader *r = &m->readers[chance(m, MODEL_READERS)];
	const unsigned int what = chance(m, 1000);

	if (what < 450) {
		model_append(m);
	} else if (what < 490) {
		model_lost(m, false);
	} else if (what < 500) {
		model_lost(m, true);
	} else if (what < 950) {
		model_read(m, r);
	} else if (what < 975) {
		model_leave(m, r);
	} else if (what < 978) {
		model_clear(m);
	} else if (what < 988) {
		m->overwrite = chance(m, 2);
		capture_set_overwrite(m->c, m->overwrite);
	} else {
		m->limit = (128 + chance(m, 1000)) * KIB;
		capture_set_limit(m->c, m->limit);
	}
}

static void run_model(unsigned int seed, int steps)
{
	struct model m = { .seed = seed, .seed0 = seed, .limit = 512 * KIB };
	struct capture_stats stats;
	size_t i;

	m.c = create(m.limit);
	capture_set_packing(m.c, seed % 2);
	m.overwrite = chance(&m, 2);
	capture_set_overwrite(m.c, m.overwrite);
	tally_init(&m.pending);
	tally_init(&m.queue_lost);
	for (m.step = 0; m.step < steps; m.step++) {
		model_step(&m);
		check_model(&m);
	}
	capture_get_stats(m.c, &stats);
	assert_int_equal(stats.readers, attached_readers(&m));
	for (i = 0; i < MODEL_READERS; i++) {
		if (m.readers[i].attached)
			model_drain(&m, &m.readers[i]);
		check_model(&m);
	}
	assert_true(is_quiet(&m));
	for (i = 0; i < MODEL_READERS; i++) {
		model_leave(&m, &m.readers[i]);
		check_model(&m);
		free_bytes(&m.readers[i].rest);
		free_bytes(&m.readers[i].begun);
		free_bytes(&m.readers[i].copy);
	}
	capture_destroy(m.c);
	tally_fini(&m.pending);
	tally_fini(&m.queue_lost);
	free_bytes(&m.bytes);
	free(m.log);
}

/* KPROFS_TEST_SEED repeats one that failed. */
static void test_random_operations_match_the_model(void **state)
{
	const char *given = getenv("KPROFS_TEST_SEED");
	unsigned int seed;

	(void)state;
	if (given) {
		run_model((unsigned int)strtoul(given, NULL, 0), 1500);
		return;
	}
	for (seed = 1; seed <= rounds(20); seed++)
		run_model(seed, 1500);
}

/* ---- several threads ----------------------------------------------------------------------------- */

#define RUNS 3000
#define RUN_SAMPLES 60

struct shared {
	struct capture *c;
	bool slow;
	uint64_t samples, lost;
	pthread_t thread;
};

static void *read_until_end(void *arg)
{
	struct shared *s = arg;
	struct capture_pos pos;
	struct bytes stream = { 0 };
	bool ends = false; /* a LOST of event 99 is among the writer's last records */

	capture_attach(s->c, &pos);
	for (;;) {
		struct decoded r;
		size_t at = 0;

		s->lost += take_missed(s->c, &pos);
		if (!read_some(s->c, &pos, s->slow ? 5000 : WANT_ALL, false, true, &stream)) {
			if (ends)
				break;
			sched_yield();
		}
		while (decode_next(stream.data, stream.used, &at, &r)) {
			if (r.type != 66)
				s->samples++;
			else if (decode_u32(&r, 4) == 99)
				ends = true;
			else
				s->lost += decode_u64(&r, 12);
		}
		stream.used = 0;
	}
	free_bytes(&stream);
	capture_detach(s->c, &pos);
	return NULL;
}

static void run_threads(bool overwrite, bool packs)
{
	struct capture *c = create(MIB);
	struct shared readers[3];
	struct capture_stats stats;
	int i;

	capture_set_overwrite(c, overwrite);
	capture_set_packing(c, packs);
	for (i = 0; i < 3; i++) {
		readers[i] = (struct shared){ .c = c, .slow = i == 2 };
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_until_end,
			&readers[i]), 0);
	}
	do { /* all see it from the beginning */
		capture_get_stats(c, &stats);
		sched_yield();
	} while (stats.readers < 3);
	for (i = 0; i < RUNS; i++) {
		append(c, RUN_SAMPLES);
		if (i % 100 == 0)
			capture_lost(c, 1, 1, KPROF_LOST_RING, 1);
	}
	capture_lost(c, 0, 99, KPROF_LOST_RING, 1);
	capture_settle(c, true);
	for (i = 0; i < 3; i++) {
		pthread_join(readers[i].thread, NULL);
		assert_int_equal(readers[i].samples + readers[i].lost,
			RUNS * RUN_SAMPLES + RUNS / 100);
	}
	capture_destroy(c);
}

static void test_threads_agree_in_mode_discard(void **state)
{
	(void)state;
	run_threads(false, false);
	run_threads(false, true);
}

static void test_threads_agree_in_mode_overwrite(void **state)
{
	(void)state;
	run_threads(true, false);
	run_threads(true, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_operations_match_the_model),
		cmocka_unit_test(test_threads_agree_in_mode_discard),
		cmocka_unit_test(test_threads_agree_in_mode_overwrite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
