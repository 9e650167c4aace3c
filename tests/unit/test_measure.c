/* SPDX-License-Identifier: MIT */
/* What several threads copy and measure together is what one thread finds, and what is made of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>

#include "base/parallel.h"
#include "sys/clock.h"
#include "tests/unit/tracing.h"
#include "trace/measure.h"
#include "trace/merge.h"
#include "trace/snapshot.h"

#define PROGRAMS 3
#define POOL (2u << 20)
#define EVENTS 40000u /* of 24 bytes, in each pool */
#define TRACING_PADDED 6u
#define PADDED "%256d%256d%256d%256d"
#define PADDED_EVENTS 30000u /* of 48 bytes */
/* as kprof(5) says: 16 bytes of text for a byte, and 64 KiB */
#define TEXT_MOST(bytes) (16 * (uint64_t)(bytes) + 65536)

/* Which calls of pthread_create fail. */
enum failing { NONE, EVERY_SECOND, ALL };

static struct {
	enum failing failing;
	unsigned int calls, started;
} threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	threads.calls++;
	if (threads.failing == ALL || (threads.failing == EVERY_SECOND && threads.calls % 2))
		return EAGAIN;
	threads.started++;
	return __real_pthread_create(thread, attr, start, arg);
}

static const struct trace_records_cpu text = { .cpu = TRACE_RECORDS_TEXT };

/* As many bytes as all items make, one by one. */
static uint64_t make_all(const struct snapshot *snapshot, uint64_t *events)
{
	struct trace_records *records = trace_records_create(&text);
	struct merge *merge = merge_create(snapshot);
	GString *line = g_string_new(NULL);
	struct merge_item item;
	uint64_t bytes = 0;

	for (*events = 0; merge_next(merge, &item); ++*events) {
		g_string_truncate(line, 0);
		trace_records_append(records, &item, line);
		bytes += line->len;
	}
	g_string_free(line, TRUE);
	merge_destroy(merge);
	trace_records_destroy(records);
	return bytes;
}

static struct snapshot *take(struct snapshot_budget *budget, struct program **programs, size_t count)
{
	struct clock_map *clocks = clock_map_create();
	struct snapshot *snapshot = snapshot_create(budget, 0, tracing_list(programs, count), NULL, 0);

	assert_int_equal(snapshot_take(snapshot, clocks, NULL, NULL), 0);
	clock_map_destroy(clocks);
	return snapshot;
}

/* The words of a producer's events, which count from 0, are there once, in the order of the chunks. */
static void check_order(const struct snapshot *snapshot, struct program **programs)
{
	size_t p = 0;
	uint64_t n = 0;

	for (guint i = 0; i < snapshot->chunks->len; i++) {
		const struct snapshot_chunk *chunk =
			&g_array_index(snapshot->chunks, struct snapshot_chunk, i);
		struct ring_walk walk;
		struct ring_record record;
		enum ring_item item;

		if (chunk->producer != &programs[p]->producer) {
			assert_int_equal(n, EVENTS);
			n = 0;
			p++;
		}
		assert_ptr_equal(chunk->producer, &programs[p]->producer);
		ring_walk_begin(&walk, &chunk->extent, chunk->data, 0);
		while ((item = ring_walk_next(&walk, &record)) != RING_END) {
			uint64_t word;

			if (item != RING_EVENT)
				continue;
			memcpy(&word, record.args, sizeof(word));
			assert_int_equal(word, n++);
		}
	}
	assert_int_equal(n, EVENTS);
	assert_int_equal(p, PROGRAMS - 1);
}

/* Each tenth event of the second program has no meaning. */
static void measure_three(enum failing failing)
{
	struct snapshot_budget *budget = snapshot_budget_create(SNAPSHOT_BYTES_DEFAULT, 0);
	struct program *programs[PROGRAMS];
	struct snapshot *snapshot;
	struct measured measured;
	uint64_t events, bytes;

	for (size_t p = 0; p < PROGRAMS; p++) {
		struct ring_writer *writer;

		programs[p] = tracing_create(p + 1, POOL, KPROF_MODE_OVERWRITE);
		writer = ring_writer_begin(&programs[p]->pool.pool);
		for (uint64_t n = 0; n < EVENTS; n++)
			assert_true(tracing_write_at(programs[p], writer,
				p == 1 && n % 10 == 0 ? TRACING_UNKNOWN : TRACING_INT, 1, 0, 0, &n,
				1));
	}
	threads.calls = threads.started = 0;
	threads.failing = failing;
	snapshot = take(budget, programs, PROGRAMS);
	assert_int_equal(threads.calls, parallel_threads() - 1);
	check_order(snapshot, programs);
	assert_int_equal(measure_snapshot(snapshot, &text, NULL, &measured), 0);
	assert_int_equal(threads.calls, 2 * (parallel_threads() - 1));
	assert_int_equal(threads.started,
		failing == NONE ? threads.calls : failing == ALL ? 0 : threads.calls / 2);
	threads.failing = NONE;
	assert_int_equal(snapshot->left_out + snapshot->overwritten, 0);
	assert_int_equal(measured.unknown, EVENTS / 10);
	bytes = make_all(snapshot, &events);
	assert_int_equal(events, PROGRAMS * EVENTS - EVENTS / 10);
	assert_int_equal(measured.bytes, bytes);
	snapshot_destroy(snapshot);
	assert_int_equal(snapshot_budget_used(budget), 0);
	snapshot_budget_destroy(budget);
	for (size_t p = 0; p < PROGRAMS; p++)
		tracing_destroy(programs[p]);
}

static void test_all_events_are_copied_and_measured(void **state)
{
	measure_three(NONE);
	measure_three(EVERY_SECOND);
	measure_three(ALL);
}

/* The newest chunks whose text is within the bound, whichever thread measures first. */
static void leave_out_text(enum failing failing)
{
	struct snapshot_budget *budget = snapshot_budget_create(SNAPSHOT_BYTES_DEFAULT, 0);
	struct program *program = tracing_create(1, POOL, KPROF_MODE_OVERWRITE);
	struct ring_writer *writer = ring_writer_begin(&program->pool.pool);
	uint64_t most = 0, want = 0, left_out = 0, line, events, words[4] = { 1, 2, 3, 4 };
	/* far enough in the future for every chunk to be older */
	uint64_t stamp = clock_monotonic_ns() + 1000000000000;
	struct snapshot *snapshot;
	struct measured measured;
	guint i;

	tracing_define(program, TRACING_PADDED, "net:padded", PADDED, true);
	for (uint64_t n = 0; n < PADDED_EVENTS; n++)
		assert_true(tracing_write_at(program, writer, TRACING_PADDED, 1, 0, stamp, words, 4));
	snapshot = take(budget, &program, 1);
	line = make_all(snapshot, &events) / PADDED_EVENTS;
	assert_int_equal(events, PADDED_EVENTS);
	assert_true(line > 4 * 256);
	for (i = 0; i < snapshot->chunks->len; i++)
		most += g_array_index(snapshot->chunks, struct snapshot_chunk, i).extent.end;
	most = TEXT_MOST(most);
	for (; i; i--) {
		uint32_t count = g_array_index(snapshot->chunks, struct snapshot_chunk, i - 1).extent.count;

		if (want + count * line > most)
			break;
		want += count * line;
	}
	for (; i; i--)
		left_out += g_array_index(snapshot->chunks, struct snapshot_chunk, i - 1).extent.count;
	assert_true(left_out > 0 && left_out < PADDED_EVENTS);
	threads.failing = failing;
	assert_int_equal(measure_snapshot(snapshot, &text, NULL, &measured), 0);
	threads.failing = NONE;
	assert_int_equal(measured.bytes, want);
	assert_int_equal(snapshot->left_out, left_out);
	assert_int_equal(make_all(snapshot, &events), want);
	assert_int_equal(events, PADDED_EVENTS - left_out);
	snapshot_destroy(snapshot);
	snapshot_budget_destroy(budget);
	tracing_destroy(program);
}

static void test_the_oldest_text_is_left_out(void **state)
{
	leave_out_text(NONE);
	leave_out_text(EVERY_SECOND);
	leave_out_text(ALL);
}

static bool always(void *arg)
{
	return true;
}

/* A cancelled one returns, and all that it took is given back. */
static void test_measuring_is_cancelled(void **state)
{
	const struct cancel cancel = { always, NULL, -1 };
	struct snapshot_budget *budget = snapshot_budget_create(SNAPSHOT_BYTES_DEFAULT, 0);
	struct program *program = tracing_create(1, POOL, KPROF_MODE_OVERWRITE);
	struct ring_writer *writer = ring_writer_begin(&program->pool.pool);
	struct clock_map *clocks = clock_map_create();
	struct snapshot *snapshot;
	struct measured measured;

	for (uint64_t n = 0; n < EVENTS; n++)
		assert_true(tracing_write(program, writer, n));
	snapshot = snapshot_create(budget, 0, tracing_list(&program, 1), NULL, 0);
	assert_int_equal(snapshot_take(snapshot, clocks, NULL, &cancel), -EINTR);
	snapshot_destroy(snapshot);
	assert_int_equal(snapshot_budget_used(budget), 0);
	snapshot = take(budget, &program, 1);
	assert_int_equal(measure_snapshot(snapshot, &text, &cancel, &measured), -EINTR);
	snapshot_destroy(snapshot);
	assert_int_equal(snapshot_budget_used(budget), 0);
	snapshot_budget_destroy(budget);
	clock_map_destroy(clocks);
	tracing_destroy(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_events_are_copied_and_measured),
		cmocka_unit_test(test_the_oldest_text_is_left_out),
		cmocka_unit_test(test_measuring_is_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
