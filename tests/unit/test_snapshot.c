/* SPDX-License-Identifier: MIT */
/*
 * trace/snapshot and trace/merge: snapshots of pools have what the test wrote, in the order of time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>

#include "sys/clock.h"
#include "tests/unit/tracing.h"
#include "trace/merge.h"
#include "producers/fair_share.h"
#include "trace/snapshot.h"

#define POOL (1u << 16)
#define EVENTS_A_CHUNK 339u /* (8192 - 56) / 24 */

static struct snapshot_budget *budget;
static struct clock_map *stamps;

static int set_up(void **state)
{
	budget = snapshot_budget_create(SNAPSHOT_BYTES_DEFAULT, 0);
	stamps = clock_map_create();
	return 0;
}

static int tear_down(void **state)
{
	int leak = snapshot_budget_used(budget) != 0;

	snapshot_budget_destroy(budget);
	clock_map_destroy(stamps);
	return leak;
}

static struct snapshot *take(struct program **programs, size_t count, struct trace *trace,
	uint64_t cleared_ns)
{
	struct snapshot *snapshot = snapshot_create(budget, 0, tracing_list(programs, count),
		NULL, cleared_ns);

	assert_int_equal(snapshot_take(snapshot, stamps, trace, NULL), 0);
	return snapshot;
}

static uint64_t first_word(const struct merge_item *item)
{
	uint64_t word = 0;

	assert_true(item->event.args_bytes >= sizeof(word));
	memcpy(&word, item->event.args, sizeof(word));
	return word;
}

/* Far enough in the future for every chunk to be older. */
static uint64_t later_ns(void)
{
	return clock_monotonic_ns() + 1000000000000;
}

/* Three programs and messages, by times given by hand; equal ones in the order that is promised. */
static void test_merge_is_in_order_of_time(void **state)
{
	static const struct {
		int program; /* 0: a message */
		uint64_t after_ns;
	} written[] = { { 1, 10 }, { 2, 5 }, { 3, 20 }, { 1, 20 }, { 2, 20 }, { 0, 20 }, { 3, 21 },
		{ 1, 30 }, { 0, 30 }, { 2, 31 } };
	/* indices into the above, in the order of the merge */
	static const size_t order[] = { 1, 0, 5, 3, 4, 2, 6, 8, 7, 9 };
	struct program *programs[3];
	struct ring_writer *writers[3];
	struct snapshot *snapshot;
	struct merge_item item;
	struct merge_sums sums;
	struct merge *merge;
	struct trace *trace;
	uint64_t base = later_ns();
	size_t i;
	int round;

	assert_int_equal(trace_create(TRACE_RING_BYTES_DEFAULT, &trace), 0);
	for (i = 0; i < 3; i++) {
		programs[i] = tracing_create(i + 1, POOL, KPROF_MODE_OVERWRITE);
		writers[i] = ring_writer_begin(&programs[i]->pool.pool);
	}
	for (i = 0; i < G_N_ELEMENTS(written); i++) {
		int p = written[i].program;
		uint64_t n = i;
		char text[] = "0";

		text[0] = (char)('0' + i);
		if (p)
			assert_true(tracing_write_at(programs[p - 1], writers[p - 1], TRACING_INT,
				7, 0, base + written[i].after_ns, &n, 1));
		else
			assert_int_equal(trace_append_at(trace, base + written[i].after_ns, 0, text,
				1), 0);
	}
	snapshot = take(programs, 3, trace, 0);
	merge = merge_create(snapshot);
	for (round = 0; round < 2; round++, merge_restart(merge)) {
		for (i = 0; i < G_N_ELEMENTS(order); i++) {
			size_t n = order[i];

			assert_true(merge_next(merge, &item));
			assert_int_equal(item.time_ns, base + written[n].after_ns);
			if (!written[n].program) {
				assert_non_null(item.message);
				assert_int_equal(item.message[item.message_bytes - 2], '0' + n);
				continue;
			}
			assert_null(item.message);
			assert_int_equal(first_word(&item), n);
			assert_int_equal(item.event.pid, 1000 + written[n].program);
			assert_int_equal(item.event.cpu, 7);
			assert_string_equal(item.event.label, "net:packet");
		}
		assert_false(merge_next(merge, &item));
		assert_false(merge_next(merge, &item));
		merge_get_sums(merge, &sums);
		assert_int_equal(sums.shown, 8);
		assert_int_equal(sums.hidden + sums.unknown + sums.missing, 0);
	}
	merge_destroy(merge);
	snapshot_destroy(snapshot);
	for (i = 0; i < 3; i++)
		tracing_destroy(programs[i]);
	trace_destroy(trace);
}

/* Cleared, provisional and unknown events are not shown, each for its reason; texts are. */
static void test_cleared_and_unknown_events_are_counted_not_shown(void **state)
{
	struct program *program = tracing_create(1, POOL, KPROF_MODE_OVERWRITE);
	struct ring_writer *writer = ring_writer_begin(&program->pool.pool);
	uint64_t base = later_ns(), n = 1, text[3] = { 0 };
	struct snapshot *snapshot;
	struct merge_sums sums;
	struct merge_item item;
	struct merge *merge;
	const uint32_t early = KPROF_RECORD_PROVISIONAL;

	tracing_write_at(program, writer, TRACING_INT, 0, 0, base, &n, 1); /* cleared */
	tracing_write_at(program, writer, TRACING_INT, 0, 0, base + 100, &n, 1);
	tracing_write_at(program, writer, TRACING_EARLY, 0, early, base + 101, &n, 1); /* was off */
	tracing_write_at(program, writer, TRACING_EARLY, 0, 0, base + 102, &n, 1);
	tracing_write_at(program, writer, TRACING_INT, 0, early, base + 103, &n, 1); /* was on */
	tracing_write_at(program, writer, TRACING_UNKNOWN, 0, 0, base + 104, &n, 1);
	memcpy(text, "\x04\0n %d", 6);
	text[1] = 42;
	tracing_write_at(program, writer, KPROF_ID_TEXT, 0, 0, base + 105, text, 2);
	snapshot = take(&program, 1, NULL, base + 100);
	merge = merge_create(snapshot);
	assert_true(merge_next(merge, &item) && item.time_ns == base + 100);
	assert_true(merge_next(merge, &item) && item.time_ns == base + 102);
	assert_true(merge_next(merge, &item) && item.time_ns == base + 103);
	assert_true(merge_next(merge, &item) && item.time_ns == base + 105);
	assert_int_equal(item.event.format_bytes, 4);
	assert_memory_equal(item.event.format, "n %d", 4);
	assert_int_equal(first_word(&item), 42);
	assert_string_equal(item.event.label, "");
	assert_int_equal(item.id, KPROF_ID_TEXT);
	assert_false(merge_next(merge, &item));
	merge_get_sums(merge, &sums);
	assert_int_equal(sums.shown, 4);
	assert_int_equal(sums.hidden, 2);
	assert_int_equal(sums.unknown, 1);
	merge_destroy(merge);
	snapshot_destroy(snapshot);
	tracing_destroy(program);
}

/*
 * Ends of spans: the time since their begin. A producer may write any: without its timestamp, with one in the
 * future, or of an event that is no span.
 */
static void test_end_of_a_span_has_its_duration(void **state)
{
	struct producer_event end = { .kind = PRODUCER_SPAN_END, .label = "net:early",
		.format = "end duration_us=%.3f", .format_bytes = 20, .show_provisional = true };
	struct program *program = tracing_create(1, POOL, KPROF_MODE_OVERWRITE);
	struct ring_writer *writer = ring_writer_begin(&program->pool.pool);
	const uint32_t id = KPROF_ID_SPAN_END + TRACING_EARLY;
	uint64_t base = later_ns(), begun = base, future = base + 5000, n = 1, word;
	struct snapshot *snapshot;
	struct merge_sums sums;
	struct merge_item item;
	struct merge *merge;
	double us;

	atomic_read_relaxed(&program->block[TRACING_EARLY])->end = &end;
	tracing_write_at(program, writer, TRACING_EARLY, 0, 0, begun, &n, 1);
	tracing_write_at(program, writer, id, 0, 0, base + 1234, &begun, 1);
	tracing_write_at(program, writer, id, 0, 0, base + 2000, NULL, 0);
	tracing_write_at(program, writer, id, 0, 0, base + 3000, &future, 1);
	tracing_write_at(program, writer, KPROF_ID_SPAN_END + TRACING_INT, 0, 0, base + 4000, &begun, 1);
	snapshot = take(&program, 1, NULL, 0);
	merge = merge_create(snapshot);
	assert_true(merge_next(merge, &item) && item.time_ns == base);
	assert_int_equal(item.duration_ns, 0);
	assert_true(merge_next(merge, &item) && item.time_ns == base + 1234);
	assert_int_equal(item.duration_ns, 1234);
	assert_ptr_equal(item.meaning, &end);
	assert_int_equal(item.id, id);
	word = first_word(&item);
	memcpy(&us, &word, sizeof(us));
	assert_true(us == 1.234);
	assert_true(merge_next(merge, &item) && item.time_ns == base + 2000);
	assert_int_equal(item.event.args_bytes, 0);
	assert_int_equal(item.duration_ns, 0);
	assert_true(merge_next(merge, &item) && item.time_ns == base + 3000);
	assert_int_equal(first_word(&item), 0); /* the double 0 */
	assert_false(merge_next(merge, &item));
	merge_get_sums(merge, &sums);
	assert_int_equal(sums.unknown, 1);
	merge_destroy(merge);
	snapshot_destroy(snapshot);
	tracing_destroy(program);
}

/* An uncommitted record is left out. Its neighbours are there. */
static void test_uncommitted_record_is_left_out(void **state)
{
	struct program *program = tracing_create(1, POOL, KPROF_MODE_OVERWRITE);
	struct ring_writer *writer = ring_writer_begin(&program->pool.pool);
	struct snapshot *snapshot;
	struct merge_sums sums;
	struct merge_item item;
	struct merge *merge;
	struct ring_room room;

	assert_true(tracing_write(program, writer, 1));
	assert_true(ring_reserve(writer, 4, &room));
	assert_true(tracing_write(program, writer, 2));
	snapshot = take(&program, 1, NULL, 0);
	merge = merge_create(snapshot);
	assert_true(merge_next(merge, &item) && first_word(&item) == 1);
	assert_int_equal(item.number, 0);
	assert_int_equal(item.thread, 1);
	assert_int_equal(item.event.tid, gettid());
	assert_true(merge_next(merge, &item) && first_word(&item) == 2);
	assert_false(merge_next(merge, &item));
	merge_get_sums(merge, &sums);
	assert_int_equal(sums.shown, 2);
	assert_int_equal(sums.missing, 1);
	merge_destroy(merge);
	snapshot_destroy(snapshot);
	tracing_destroy(program);
}

/*
 * Two programs with three full chunks each, and room for three in all: the newest three, of
 * whichever program, and the number of the others.
 */
static void test_newest_chunks_of_all_producers_are_taken(void **state)
{
	struct program *programs[2] = { tracing_create(1, POOL, KPROF_MODE_OVERWRITE),
		tracing_create(2, POOL, KPROF_MODE_OVERWRITE) };
	struct snapshot_budget *all = budget;
	struct ring_writer *writers[2];
	struct snapshot *first, *second;
	struct merge_item item;
	struct merge *merge;
	uint64_t n = 0, shown = 0;
	int p, i;

	for (p = 0; p < 2; p++)
		writers[p] = ring_writer_begin(&programs[p]->pool.pool);
	for (i = 0; i < 3; i++)
		for (p = 0; p < 2; p++)
			for (uint32_t k = 0; k < EVENTS_A_CHUNK; k++)
				assert_true(tracing_write(programs[p], writers[p], n++));
	budget = snapshot_budget_create(3 * 8192, 0);
	first = take(programs, 2, NULL, 0);
	assert_int_equal(first->left_out, 3 * EVENTS_A_CHUNK);
	merge = merge_create(first);
	while (merge_next(merge, &item)) {
		assert_int_equal(first_word(&item), 3 * EVENTS_A_CHUNK + shown);
		shown++;
	}
	assert_int_equal(shown, 3 * EVENTS_A_CHUNK);
	merge_destroy(merge);
	/* while the first snapshot has all memory, another one gets none, and returns an error */
	second = take(programs, 2, NULL, 0);
	assert_int_equal(second->left_out, 6 * EVENTS_A_CHUNK);
	assert_int_equal(second->chunks->len, 0);
	snapshot_destroy(second);
	snapshot_destroy(first);
	assert_int_equal(snapshot_budget_used(budget), 0);
	snapshot_budget_destroy(budget);
	budget = all;
	for (p = 0; p < 2; p++)
		tracing_destroy(programs[p]);
}

/* As many bytes as a reader gets, a kind of chunk at a time. */
static uint64_t reserve_all(struct snapshot_budget *from, uid_t reader, struct snapshot **snapshot)
{
	*snapshot = snapshot_create(from, reader, tracing_list(NULL, 0), NULL, 0);
	while (!snapshot_reserve(*snapshot, 1000))
		;
	return (*snapshot)->bytes;
}

/* Of 8000 bytes a user gets half, all users three fourths; root and the owner all that is left. */
static void test_budget_leaves_memory_for_other_users(void **state)
{
	struct snapshot_budget *of_readers = snapshot_budget_create(8000, 500);
	struct snapshot *user, *other, *third, *owner, *root;

	assert_int_equal(reserve_all(of_readers, 1000, &user), 4000);
	assert_int_equal(reserve_all(of_readers, 1001, &other), 2000);
	assert_int_equal(reserve_all(of_readers, 1002, &third), 0);
	assert_int_equal(reserve_all(of_readers, 500, &owner), 2000);
	assert_int_equal(reserve_all(of_readers, 0, &root), 0);
	snapshot_destroy(owner);
	snapshot_destroy(root);
	assert_int_equal(reserve_all(of_readers, 0, &root), 2000);
	snapshot_destroy(third);
	snapshot_destroy(user);
	assert_int_equal(reserve_all(of_readers, 1002, &user), 4000);
	snapshot_destroy(user);
	snapshot_destroy(other);
	snapshot_destroy(root);
	assert_int_equal(snapshot_budget_used(of_readers), 0);
	snapshot_budget_destroy(of_readers);
}

/* The last `shown` of a program's numbers, and none before them. */
static void check_newest(struct merge *merge, const struct producer *producer, uint64_t end,
	uint64_t shown)
{
	struct merge_item item;

	merge_restart(merge);
	while (merge_next(merge, &item)) {
		if (item.program.serial != producer->serial)
			continue;
		assert_int_equal(first_word(&item), end - shown);
		shown--;
	}
	assert_int_equal(shown, 0);
}

/*
 * A program that claims the newest events, or has them, gets its share and no more. One that needs
 * less than a share gets all that it needs.
 */
static void test_corrupt_producer_takes_no_more_than_its_share(void **state)
{
	static const uint64_t begun[] = { UINT64_MAX, 0 }; /* 0 for the truth */
	struct snapshot_budget *all = budget;

	for (size_t round = 0; round < G_N_ELEMENTS(begun); round++) {
		struct program *programs[3];
		struct ring_writer *writers[3];
		struct snapshot *snapshot;
		struct merge *merge;

		for (int p = 0; p < 3; p++) {
			programs[p] = tracing_create((uint64_t)p + 1, POOL, KPROF_MODE_OVERWRITE);
			writers[p] = ring_writer_begin(&programs[p]->pool.pool);
			/* one chunk, and twice six; the last one is corrupt */
			for (uint64_t n = 0; n < (p ? 6 : 1) * EVENTS_A_CHUNK; n++)
				assert_true(tracing_write(programs[p], writers[p], n));
		}
		for (int i = 0; i < 6 && begun[round]; i++)
			programs[2]->pool.pool.heads[i].begun = begun[round];
		budget = snapshot_budget_create(7 * 8192, 0);
		snapshot = take(programs, 3, NULL, 0);
		assert_int_equal(snapshot->left_out, 6 * EVENTS_A_CHUNK);
		merge = merge_create(snapshot);
		check_newest(merge, &programs[0]->producer, EVENTS_A_CHUNK, EVENTS_A_CHUNK);
		for (int p = 1; p < 3; p++)
			check_newest(merge, &programs[p]->producer, 6 * EVENTS_A_CHUNK,
				3 * EVENTS_A_CHUNK);
		merge_destroy(merge);
		snapshot_destroy(snapshot);
		snapshot_budget_destroy(budget);
		for (int p = 0; p < 3; p++)
			tracing_destroy(programs[p]);
	}
	budget = all;
}

/* Divided by hand. */
static void test_memory_is_divided_fairly(void **state)
{
	static const struct {
		int line;
		uint64_t room;
		struct fair_share shares[5]; /* gets: what is expected */
	} rows[] = {
		{ __LINE__, 100, { { 1, 10, 10 }, { 2, 20, 20 } } }, /* enough */
		{ __LINE__, 0, { { 1, 10, 0 }, { 2, 20, 0 } } },
		{ __LINE__, 100, { { 1, 1000, 50 }, { 2, 1000, 50 } } },
		/* what 1 leaves is 2's and 3's */
		{ __LINE__, 100, { { 1, 10, 10 }, { 2, 1000, 45 }, { 3, 46, 45 } } },
		{ __LINE__, 100, { { 1, 10, 10 }, { 2, 1000, 50 }, { 3, 40, 40 } } },
		/* many programs get a user no more than one does */
		{ __LINE__, 120, { { 1, 99, 20 }, { 2, 99, 60 }, { 1, 99, 20 }, { 1, 99, 20 } } },
		/* what a user's small program leaves is his large ones', then others' */
		{ __LINE__, 120, { { 1, 4, 4 }, { 1, 99, 28 }, { 1, 99, 28 }, { 2, 99, 60 } } },
		{ __LINE__, 120, { { 1, 4, 4 }, { 1, 26, 26 }, { 2, 98, 90 } } },
		{ __LINE__, UINT64_MAX, { { 1, UINT64_MAX / 2, UINT64_MAX / 2 }, { 2, 7, 7 } } },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct fair_share shares[5];

		for (size_t k = 0; k < 5; k++)
			shares[k] = (struct fair_share){
				rows[i].shares[k].uid, rows[i].shares[k].wants, 99};
		fair_share_divide(shares, 5, rows[i].room);
		for (size_t k = 0; k < 5; k++)
			if (shares[k].gets != rows[i].shares[k].gets)
				fail_msg("row of line %d, share %zu: %lu", rows[i].line, k,
					shares[k].gets);
	}
	fair_share_divide(NULL, 0, 100);
}

/* However many other users there are, root has a sixteenth, if it wants that. */
static void test_root_gets_its_part_of_memory(void **state)
{
	static const struct {
		int line;
		uint64_t wants, root, others;
	} rows[] = {
		{ __LINE__, 1000, 100, 37 }, /* 1600 / 16; 1500 / 40 */
		{ __LINE__, 60, 60, 38 },    /* 1540 / 40 */
		{ __LINE__, 10, 10, 39 },    /* 1590 / 40 */
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct fair_share shares[41];

		for (size_t k = 0; k < 41; k++)
			shares[k] = (struct fair_share){ (uid_t)(40 - k), 500, 99 };
		shares[40].wants = rows[i].wants; /* of user id 0 */
		fair_share_divide(shares, 41, 1600);
		for (size_t k = 0; k < 41; k++)
			if (shares[k].gets != (k == 40 ? rows[i].root : rows[i].others))
				fail_msg("row of line %d, share %zu: %lu", rows[i].line, k,
					shares[k].gets);
	}
}

static bool always(void *arg)
{
	return true;
}

static const struct cancel cancel = { always, NULL, -1 };

static void test_cancelled_snapshot_is_interrupted(void **state)
{
	struct program *program = tracing_create(1, POOL, KPROF_MODE_OVERWRITE);
	struct snapshot *snapshot = snapshot_create(budget, 0, tracing_list(&program, 1), NULL, 0);

	assert_int_equal(snapshot_take(snapshot, stamps, NULL, &cancel), -EINTR);
	snapshot_destroy(snapshot);
	tracing_destroy(program);
}

/* A pool that can no longer be read as it was announced is passed over. */
static void test_unreadable_pool_is_passed_over(void **state)
{
	struct program *programs[2] = { tracing_create(1, POOL, KPROF_MODE_OVERWRITE),
		tracing_create(2, POOL, KPROF_MODE_OVERWRITE) };
	struct ring_writer *writer = ring_writer_begin(&programs[1]->pool.pool);
	struct snapshot *snapshot;
	struct merge_item item;
	struct merge *merge;

	assert_true(tracing_write(programs[1], writer, 5));
	programs[0]->producer.reader.fd = -1;
	snapshot = take(programs, 2, NULL, 0);
	merge = merge_create(snapshot);
	assert_true(merge_next(merge, &item) && first_word(&item) == 5);
	assert_false(merge_next(merge, &item));
	merge_destroy(merge);
	snapshot_destroy(snapshot);
	tracing_destroy(programs[0]);
	tracing_destroy(programs[1]);
}

/* ---- stress ---------------------------------------------------------------------------------- */

#define THREADS 4
#define PROGRAMS 2
#define ROUNDS 300000u

struct work {
	struct program *program;
	uint64_t begun, dropped;
};

/* Each event carries the number that its thread gave it, and the thread. */
static void *write_numbers(void *arg)
{
	struct work *work = arg;
	struct ring_writer *writer = ring_writer_begin(&work->program->pool.pool);
	uint64_t words[2];

	words[1] = writer->slot->serial;
	for (words[0] = 0; words[0] < ROUNDS; words[0]++) {
		work->begun++;
		work->dropped += !tracing_write_at(work->program, writer, TRACING_INT, 0, 0, 0,
			words, 2);
	}
	ring_writer_end(&work->program->pool.pool, writer);
	return NULL;
}

/* Times don't fall; a thread's numbers rise, and are those under which the pool counts them. */
static uint64_t check_reading(struct snapshot *snapshot)
{
	struct merge *merge = merge_create(snapshot);
	uint64_t next[PROGRAMS + 1][THREADS + 2] = { { 0 } }, last_ns = 0, thread, number, p;
	struct merge_item item;
	struct merge_sums sums;

	while (merge_next(merge, &item)) {
		assert_true(item.time_ns >= last_ns);
		last_ns = item.time_ns;
		number = first_word(&item);
		memcpy(&thread, item.event.args + 8, sizeof(thread));
		assert_int_equal(thread, item.thread);
		assert_in_range(thread, 1, THREADS);
		assert_int_equal(number, item.number);
		p = item.program.serial;
		assert_true(number >= next[p][thread]);
		next[p][thread] = number + 1;
	}
	merge_get_sums(merge, &sums);
	assert_int_equal(sums.hidden + sums.unknown, 0);
	merge_destroy(merge);
	return sums.shown + sums.missing;
}

static void test_every_event_is_read_or_counted_under_load(void **state)
{
	struct program *programs[PROGRAMS];
	struct ring_index *index = g_new(struct ring_index, 1);
	struct work works[PROGRAMS * THREADS];
	pthread_t threads[PROGRAMS * THREADS];
	struct snapshot *snapshot;
	uint64_t begun = 0, dropped = 0, gone = 0, read;
	size_t i;

	for (i = 0; i < PROGRAMS; i++)
		programs[i] = tracing_create(i + 1, POOL,
			i ? KPROF_MODE_OVERWRITE : KPROF_MODE_DISCARD);
	for (i = 0; i < G_N_ELEMENTS(works); i++) {
		works[i] = (struct work){ .program = programs[i % PROGRAMS] };
		assert_int_equal(pthread_create(&threads[i], NULL, write_numbers, &works[i]), 0);
	}
	for (i = 0; i < 200; i++) {
		snapshot = take(programs, PROGRAMS, NULL, 0);
		check_reading(snapshot);
		snapshot_destroy(snapshot);
	}
	for (i = 0; i < G_N_ELEMENTS(works); i++) {
		pthread_join(threads[i], NULL);
		begun += works[i].begun;
		dropped += works[i].dropped;
	}
	snapshot = take(programs, PROGRAMS, NULL, 0);
	assert_int_equal(snapshot->overwritten + snapshot->left_out, 0);
	read = check_reading(snapshot);
	snapshot_destroy(snapshot);
	for (i = 0; i < PROGRAMS; i++) {
		struct ring_totals totals;

		assert_int_equal(ring_index_copy(&programs[i]->producer.reader, index), 0);
		assert_int_equal(ring_totals(&programs[i]->producer.reader, index, &totals), 0);
		gone += totals.overwritten;
		dropped -= totals.dropped;
		begun -= totals.dropped;
		tracing_destroy(programs[i]);
	}
	assert_int_equal(dropped, 0);
	assert_int_equal(read + gone, begun);
	g_free(index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_merge_is_in_order_of_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cleared_and_unknown_events_are_counted_not_shown,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_end_of_a_span_has_its_duration, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_uncommitted_record_is_left_out,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_newest_chunks_of_all_producers_are_taken,
						set_up, tear_down),
		cmocka_unit_test(test_budget_leaves_memory_for_other_users),
		cmocka_unit_test_setup_teardown(test_corrupt_producer_takes_no_more_than_its_share,
						set_up, tear_down),
		cmocka_unit_test(test_memory_is_divided_fairly),
		cmocka_unit_test(test_root_gets_its_part_of_memory),
		cmocka_unit_test_setup_teardown(test_cancelled_snapshot_is_interrupted,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unreadable_pool_is_passed_over,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_every_event_is_read_or_counted_under_load,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
