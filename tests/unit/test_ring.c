/* SPDX-License-Identifier: MIT */
/* ring: layout, writer, reader and sums are correct in one process. tests/race has the races. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>

#include "../race/fixture.h"
#include "ring/args.h"

#define ID 7u
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- layout ---------------------------------------------------------------------------------- */

/* By hand: a page, then 192 bytes a chunk for slot and head, rounded to a page, then the chunks. */
static void test_layout_is_computed(void **state)
{
	static const struct {
		int line;
		uint64_t bytes;
		uint32_t pool, chunk, chunks, data;
	} rows[] = {
		/* 65536 - 4096 = 61440; 7 chunks of 8192 take 57344, slots and heads 1344 -> 4096 */
		{__LINE__, 65536, 65536, 8192, 7, 8192},
		{__LINE__, 65537, 65536, 8192, 7, 8192},
		/* 125 chunks: slots and heads 24000 -> 24576, data at 28672, + 125 * 8192 = 1052672,
		 * too much; 124: 23808 -> 24576, + 124 * 8192 = 1044480 */
		{__LINE__, 1 << 20, 1 << 20, 8192, 124, 28672},
		/* 128 chunks of 32768 are the whole of it: 127, 24384 -> 24576 */
		{__LINE__, 4 << 20, 4 << 20, 32768, 127, 28672},
		/* chunks are at most 64 KiB: 1024 would be all; 1020 * 192 = 195840 -> 196608 */
		{__LINE__, 64 << 20, 64 << 20, 65536, 1020, 200704},
		{__LINE__, 1ull << 40, 64 << 20, 65536, 1020, 200704},
	};
	struct kprof_pool pool;

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *why = "";

		assert_int_equal(layout_make(rows[i].bytes, &pool), 0);
		if (pool.pool_bytes != rows[i].pool || pool.chunk_bytes != rows[i].chunk ||
			pool.chunk_count != rows[i].chunks || pool.data_offset != rows[i].data)
			fail_msg("line %d: %u bytes, %u chunks of %u from %u", rows[i].line,
				pool.pool_bytes, pool.chunk_count, pool.chunk_bytes,
				pool.data_offset);
		pool.clock = KPROF_CLOCK_MONOTONIC;
		assert_int_equal(layout_check(&pool, pool.pool_bytes, &why), 0);
	}
	assert_int_equal(layout_make(65535, &pool), -EINVAL);
}

static void test_wrong_layouts_are_refused(void **state)
{
#define FIELD(f, v) __LINE__, offsetof(struct kprof_pool, f), sizeof(((struct kprof_pool *)0)->f), v
	static const struct {
		int line;
		size_t offset, bytes;
		uint64_t value;
	} rows[] = {
		{FIELD(magic, 1)},
		{FIELD(version, 2)},
		{FIELD(pool_bytes, 8192)},
		{FIELD(pool_bytes, 0xffffffff)},
		{FIELD(slot_offset, 127)},
		{FIELD(slot_offset, 0)},
		{FIELD(slot_offset, 0xfffffff8)},
		{FIELD(slot_count, 0)},
		{FIELD(slot_count, 1025)},
		{FIELD(slot_count, 1024)},
		{FIELD(head_offset, 4096)},
		{FIELD(head_offset, 0xfffffff8)},
		{FIELD(chunk_count, 0)},
		{FIELD(chunk_count, 125)},
		{FIELD(chunk_count, 0xffffffff)},
		{FIELD(data_offset, 8192)},
		{FIELD(data_offset, 0xfffffff8)},
		{FIELD(data_offset, 28673)},
		{FIELD(chunk_bytes, 0)},
		{FIELD(chunk_bytes, 4096)},
		{FIELD(chunk_bytes, 12288)},
		{FIELD(chunk_bytes, 16384)},
		{FIELD(chunk_bytes, 131072)},
		{FIELD(clock, 0)},
		{FIELD(clock, 3)},
	};
	struct kprof_pool good;
	const char *why;

	assert_int_equal(layout_make(1 << 20, &good), 0);
	good.clock = KPROF_CLOCK_COUNTER;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct kprof_pool bad = good;

		memcpy((char *)&bad + rows[i].offset, &rows[i].value, rows[i].bytes);
		why = NULL;
		if (layout_check(&bad, 1 << 20, &why) != -EINVAL || !why)
			fail_msg("line %d: taken", rows[i].line);
	}
	assert_int_equal(layout_check(&good, 1 << 20, &why), 0);
	assert_int_equal(layout_check(&good, (1 << 20) - 4096, &why), -EINVAL);
	assert_int_equal(layout_check(&good, 1ull << 40, &why), -EINVAL);
}

/* ---- what a reader takes --------------------------------------------------------------------- */

static int sealed(uint64_t bytes, int seals, unsigned flags)
{
	int fd = memfd_create("bad", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void test_wrong_files_are_refused(void **state)
{
	static const struct {
		int line;
		uint64_t bytes;
		int seals;
	} rows[] = {
		{__LINE__, 1 << 20, 0},
		{__LINE__, 1 << 20, F_SEAL_SHRINK},
		{__LINE__, 1 << 20, F_SEAL_SEAL},
		{__LINE__, 1 << 20, F_SEAL_SHRINK | F_SEAL_SEAL}, /* no header */
		{__LINE__, 0, F_SEAL_SHRINK | F_SEAL_SEAL},
		{__LINE__, 1ull << 40, F_SEAL_SHRINK | F_SEAL_SEAL},
	};
	struct ring_reader reader;
	const char *why;
	int fds[2];

	for (size_t i = 0; i < COUNT(rows); i++) {
		int fd = sealed(rows[i].bytes, rows[i].seals, 0);

		why = NULL;
		if (ring_reader_open(fd, &reader, &why) != -EINVAL || !why)
			fail_msg("line %d: taken", rows[i].line);
		close(fd);
	}
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(ring_reader_open(fds[0], &reader, &why), -EINVAL);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(ring_reader_open(-1, &reader, &why), -EINVAL);
}

static void test_open_refuses_huge_pages(void **state)
{
	int fd = memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
	struct ring_reader reader;
	const char *why = NULL;

	if (fd < 0)
		skip();
	assert_int_equal(ftruncate(fd, 2 << 20), 0);
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) < 0) {
		close(fd);
		skip();
	}
	assert_int_equal(ring_reader_open(fd, &reader, &why), -EINVAL);
	assert_string_equal(why, "not in ordinary memory");
	close(fd);
}

/* ---- writing and reading --------------------------------------------------------------------- */

/* What a pool holds of one thread: the numbers it has, in order, and what the first word was. */
struct seen {
	uint64_t events, gaps, runs;
	uint64_t first, last;	     /* numbers */
	uint64_t first_word, last_word;
	uint64_t last_stamp;
	bool in_order;
	uint32_t tid;
};

static int by_ticket(const void *a, const void *b)
{
	const struct ring_extent *x = a, *y = b;

	return (x->head.ticket > y->head.ticket) - (x->head.ticket < y->head.ticket);
}

/* serial 0 for all threads */
static struct seen look(const struct ring_reader *reader, uint64_t serial)
{
	struct ring_index *index = calloc(1, sizeof(*index));
	struct ring_extent *extents = calloc(KPROF_CHUNKS_MAX, sizeof(*extents));
	char *buffer = malloc(2 * (size_t)reader->layout.chunk_bytes);
	struct seen seen = {.in_order = true};
	uint32_t count = 0;

	assert_int_equal(ring_index_copy(reader, index), 0);
	for (uint32_t i = 0; i < reader->layout.chunk_count; i++)
		count += ring_extent_find(reader, index, i, &extents[count]);
	qsort(extents, count, sizeof(*extents), by_ticket);
	for (uint32_t i = 0; i < count; i++) {
		struct ring_record record;
		struct ring_walk walk;
		enum ring_item item;

		assert_int_equal(ring_extent_copy(reader, &extents[i], 0, buffer), 0);
		ring_walk_begin(&walk, &extents[i], buffer, 0);
		while ((item = ring_walk_next(&walk, &record)) != RING_END) {
			uint64_t word = 0;

			if (serial && walk.run.serial != serial)
				continue;
			seen.gaps += item == RING_GAP;
			seen.runs += item == RING_RUN;
			if (item != RING_EVENT)
				continue;
			if (record.args_bytes >= 8)
				memcpy(&word, record.args, 8);
			if (seen.events++ == 0) {
				seen.first = record.number;
				seen.first_word = word;
			} else {
				seen.in_order &= record.number > seen.last &&
					record.stamp >= seen.last_stamp;
			}
			seen.last = record.number;
			seen.last_word = word;
			seen.last_stamp = record.stamp;
			seen.tid = walk.run.tid;
		}
	}
	free(buffer);
	free(extents);
	free(index);
	return seen;
}

static struct ring_totals totals(const struct ring_reader *reader)
{
	struct ring_index *index = calloc(1, sizeof(*index));
	struct ring_totals sums;

	assert_int_equal(ring_index_copy(reader, index), 0);
	assert_int_equal(ring_totals(reader, index, &sums), 0);
	free(index);
	return sums;
}

static void write_numbers(struct fixture *f, struct ring_writer *writer, uint64_t from, uint64_t n)
{
	for (uint64_t i = from; i < from + n; i++)
		assert_true(fixture_write(f, writer, ID, &i, 1));
}

static void test_written_events_are_read(void **state)
{
	uint64_t words[3] = {1, 2, 3};
	struct ring_writer *writer;
	struct ring_totals sums;
	struct fixture f;
	struct seen seen;

	fixture_open(&f, 1 << 16, KPROF_MODE_OVERWRITE);
	seen = look(&f.reader, 0);
	assert_int_equal(seen.events + seen.runs + seen.gaps, 0);
	writer = ring_writer_begin(&f.pool);
	assert_non_null(writer);
	assert_true(fixture_write(&f, writer, ID, words, 3));
	assert_true(fixture_write(&f, writer, ID, words, 0));
	words[0] = 42;
	assert_true(fixture_write(&f, writer, KPROF_ID_LIMIT - 1, words, 1));
	seen = look(&f.reader, 0);
	assert_int_equal(seen.events, 3);
	assert_int_equal(seen.runs, 1);
	assert_int_equal(seen.gaps, 0);
	assert_int_equal(seen.first_word, 1);
	assert_int_equal(seen.last_word, 42);
	assert_int_equal(seen.first, 0);
	assert_int_equal(seen.last, 2);
	assert_true(seen.in_order);
	assert_int_equal(seen.tid, gettid());
	sums = totals(&f.reader);
	assert_int_equal(sums.reserved, 3);
	assert_int_equal(sums.held, 3);
	assert_int_equal(sums.threads, 1);
	ring_writer_end(&f.pool, writer);
	assert_int_equal(totals(&f.reader).threads, 0);
	fixture_close(&f);
}

/*
 * A chunk of 8192 bytes has a RUN record of 56 and then 339 events of 24 bytes: 56 + 339 * 24 = 8192.
 * With 7 chunks, the one being written included, at least 6 full ones are held.
 */
#define PER_CHUNK 339u

static void test_flight_recorder_keeps_the_newest(void **state)
{
	static const uint64_t rows[] = {1, PER_CHUNK, PER_CHUNK + 1, 7 * PER_CHUNK,
		7 * PER_CHUNK + 1, 8 * PER_CHUNK + 5, 100000};

	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t n = rows[i], chunks = (n + PER_CHUNK - 1) / PER_CHUNK;
		uint64_t gone = chunks <= 7 ? 0 : (chunks - 7) * PER_CHUNK;
		struct ring_writer *writer;
		struct ring_totals sums;
		struct fixture f;
		struct seen seen;

		fixture_open(&f, 1 << 16, KPROF_MODE_OVERWRITE);
		writer = ring_writer_begin(&f.pool);
		write_numbers(&f, writer, 0, n);
		seen = look(&f.reader, 0);
		assert_int_equal(seen.events, n - gone);
		assert_int_equal(seen.first, gone);
		assert_int_equal(seen.first_word, gone);
		assert_int_equal(seen.last, n - 1);
		assert_int_equal(seen.last_word, n - 1);
		assert_true(seen.in_order);
		sums = totals(&f.reader);
		assert_int_equal(sums.reserved, n);
		assert_int_equal(sums.overwritten, gone);
		assert_int_equal(sums.dropped, 0);
		fixture_close(&f);
	}
}

static void test_discard_keeps_the_oldest_until_cleared(void **state)
{
	struct ring_writer *writer;
	struct ring_totals sums;
	struct fixture f;
	uint64_t taken = 0;

	fixture_open(&f, 1 << 16, KPROF_MODE_DISCARD);
	writer = ring_writer_begin(&f.pool);
	for (uint64_t i = 0; i < 5000; i++)
		taken += fixture_write(&f, writer, ID, &i, 1);
	assert_int_equal(taken, 7 * PER_CHUNK);
	sums = totals(&f.reader);
	assert_int_equal(sums.reserved, 7 * PER_CHUNK);
	assert_int_equal(sums.dropped, 5000 - 7 * PER_CHUNK);
	assert_int_equal(sums.overwritten, 0);
	assert_int_equal(look(&f.reader, 0).last_word, 7 * PER_CHUNK - 1);

	atomic_write_relaxed(&f.pool.clear_ticket, 7); /* single thread */
	for (uint64_t i = 5000; i < 5010; i++)
		assert_true(fixture_write(&f, writer, ID, &i, 1));
	assert_int_equal(look(&f.reader, 0).last_word, 5009);
	assert_int_equal(look(&f.reader, 0).last, 7 * PER_CHUNK + 9);
	fixture_close(&f);
}

/*
 * Two threads' events: the chunk that was given back first is overwritten first, whichever thread
 * wrote it.
 */
static void test_oldest_chunk_is_overwritten_first(void **state)
{
	struct ring_writer *slow, *busy;
	struct fixture f;
	struct seen seen;

	fixture_open(&f, 1 << 16, KPROF_MODE_OVERWRITE);
	slow = ring_writer_begin(&f.pool);
	write_numbers(&f, slow, 0, PER_CHUNK + 10); /* one full, one begun */
	busy = ring_writer_begin(&f.pool);
	write_numbers(&f, busy, 0, 5 * PER_CHUNK); /* the five chunks that are left */
	assert_int_equal(look(&f.reader, slow->slot->serial).events, PER_CHUNK + 10);
	write_numbers(&f, busy, 5 * PER_CHUNK, 1); /* needs one: slow's full chunk is the oldest */
	seen = look(&f.reader, slow->slot->serial);
	assert_int_equal(seen.events, 10);
	assert_int_equal(seen.first, PER_CHUNK);
	write_numbers(&f, busy, 5 * PER_CHUNK + 1, 50000);
	/* a chunk that a thread is still writing is never taken from it */
	assert_int_equal(look(&f.reader, slow->slot->serial).events, 10);
	assert_int_equal(look(&f.reader, busy->slot->serial).last_word, 5 * PER_CHUNK + 50000);
	fixture_close(&f);
}

static void *write_three(void *data)
{
	struct fixture *f = data;
	struct ring_writer *writer = ring_writer_begin(&f->pool);
	uint64_t i = 1;

	if (!writer)
		return NULL;
	for (i = 1; i <= 3; i++)
		if (!fixture_write(f, writer, ID, &i, 1))
			return NULL;
	ring_writer_end(&f->pool, writer);
	return f;
}

/*
 * A thread's stretch is 56 + 3 * 24 = 128 bytes. A chunk passes on while a quarter of it is left:
 * after 48 threads 6144 bytes are used, which still leaves a quarter; after 49 it does not.
 */
static void test_short_threads_share_chunks(void **state)
{
	struct ring_index *index = calloc(1, sizeof(*index));
	struct fixture f;
	struct seen seen;

	fixture_open(&f, 1 << 16, KPROF_MODE_OVERWRITE);
	for (int i = 0; i < 100; i++) {
		pthread_t thread;
		void *result;

		assert_int_equal(pthread_create(&thread, NULL, write_three, &f), 0);
		assert_int_equal(pthread_join(thread, &result), 0);
		assert_non_null(result);
	}
	assert_int_equal(ring_index_copy(&f.reader, index), 0);
	assert_int_equal(KPROF_CHUNK_END(index->heads[0].word), 49 * 16);
	assert_int_equal(KPROF_CHUNK_END(index->heads[1].word), 49 * 16);
	assert_int_equal(KPROF_CHUNK_END(index->heads[2].word), 2 * 16);
	assert_int_equal(index->heads[3].ticket, 0);
	seen = look(&f.reader, 0);
	assert_int_equal(seen.events, 300);
	assert_int_equal(seen.runs, 100);
	/* slots: 7; the thread after the seventh begins where the first ended */
	assert_int_equal(totals(&f.reader).reserved, 300);
	assert_int_equal(look(&f.reader, 8).first, 3);
	assert_int_equal(look(&f.reader, 8).events, 3);
	fixture_close(&f);
	free(index);
}

static void test_events_of_threads_without_a_slot_are_counted(void **state)
{
	struct ring_writer *writers[7];
	struct fixture f;
	uint64_t one = 1;

	fixture_open(&f, 1 << 16, KPROF_MODE_OVERWRITE);
	for (int i = 0; i < 7; i++) {
		writers[i] = ring_writer_begin(&f.pool);
		assert_non_null(writers[i]);
		assert_true(fixture_write(&f, writers[i], ID, &one, 1));
	}
	assert_null(ring_writer_begin(&f.pool));
	ring_pool_starved(&f.pool);
	assert_int_equal(totals(&f.reader).dropped, 1);
	/* all chunks are held: each thread wraps around in its own one */
	write_numbers(&f, writers[0], 0, 3 * PER_CHUNK);
	assert_int_equal(look(&f.reader, writers[0]->slot->serial).last_word, 3 * PER_CHUNK - 1);
	assert_int_equal(look(&f.reader, writers[1]->slot->serial).events, 1);
	assert_int_equal(totals(&f.reader).reserved, 7 + 3 * PER_CHUNK);
	assert_int_equal(totals(&f.reader).dropped, 1);
	assert_int_equal(ring_pool_reap(&f.pool), 0); /* all are this thread's, which lives */
	ring_writer_end(&f.pool, writers[3]);
	assert_non_null(ring_writer_begin(&f.pool));
	fixture_close(&f);
}

static void *begin_and_leave(void *data)
{
	struct fixture *f = data;
	struct ring_writer *writer = ring_writer_begin(&f->pool);
	uint64_t one = 1;

	if (writer)
		fixture_write(f, writer, ID, &one, 1);
	return writer;
}

/* The slot of a thread that ended without releasing it is used again, and its event stays. */
static void test_slot_of_an_ended_thread_comes_back(void **state)
{
	struct fixture f;
	pthread_t thread;
	void *writer;

	fixture_open(&f, 1 << 16, KPROF_MODE_OVERWRITE);
	assert_int_equal(pthread_create(&thread, NULL, begin_and_leave, &f), 0);
	assert_int_equal(pthread_join(thread, &writer), 0);
	assert_non_null(writer);
	assert_int_equal(totals(&f.reader).threads, 1);
	/* joined, but the kernel may list the thread for some time */
	for (int i = 0; i < 10000 && totals(&f.reader).threads; i++) {
		ring_pool_reap(&f.pool);
		usleep(1000);
	}
	assert_int_equal(totals(&f.reader).threads, 0);
	assert_int_equal(look(&f.reader, 0).events, 1);
	fixture_close(&f);
}

/* The largest records: 2 * (4096) > 8192 - 56, so one a chunk. */
static void test_largest_records_fill_a_chunk_each(void **state)
{
	uint64_t words[KPROF_RECORD_MAX / 8 - 2] = {9};
	struct ring_writer *writer;
	struct fixture f;

	fixture_open(&f, 1 << 16, KPROF_MODE_OVERWRITE);
	writer = ring_writer_begin(&f.pool);
	for (int i = 0; i < 20; i++)
		assert_true(fixture_write(&f, writer, ID, words, COUNT(words)));
	assert_int_equal(look(&f.reader, 0).events, 7);
	assert_int_equal(look(&f.reader, 0).last, 19);
	fixture_close(&f);
}

/* A follower continues at its position. */
static void test_reading_begins_at_an_offset(void **state)
{
	struct ring_index *index = calloc(1, sizeof(*index));
	struct ring_extent extent;
	struct ring_record record;
	struct ring_walk walk;
	struct fixture f;
	struct ring_writer *writer;
	char *buffer;
	uint32_t from;

	fixture_open(&f, 1 << 16, KPROF_MODE_OVERWRITE);
	buffer = malloc(2 * (size_t)f.reader.layout.chunk_bytes);
	writer = ring_writer_begin(&f.pool);
	write_numbers(&f, writer, 0, 10);
	assert_int_equal(ring_index_copy(&f.reader, index), 0);
	assert_true(ring_extent_find(&f.reader, index, 0, &extent));
	from = extent.end;
	assert_int_equal(from, 56 + 10 * 24);
	write_numbers(&f, writer, 10, 2);
	assert_int_equal(ring_index_copy(&f.reader, index), 0);
	assert_true(ring_extent_find(&f.reader, index, 0, &extent));
	assert_int_equal(ring_extent_copy(&f.reader, &extent, from, buffer), 0);
	ring_walk_begin(&walk, &extent, buffer, from);
	assert_int_equal(ring_walk_next(&walk, &record), RING_EVENT);
	assert_int_equal(*(const uint64_t *)(const void *)record.args, 10);
	assert_int_equal(ring_walk_next(&walk, &record), RING_EVENT);
	assert_int_equal(ring_walk_next(&walk, &record), RING_END);
	free(buffer);
	free(index);
	fixture_close(&f);
}

/* ---- formats --------------------------------------------------------------------------------- */

static void test_formats_become_argument_plans(void **state)
{
	static const struct {
		int line;
		const char *format;
		const char *kinds; /* i d s p, or NULL for -EINVAL */
	} rows[] = {
		{__LINE__, "", ""},
		{__LINE__, "plain 100%%", ""},
		{__LINE__, "%d %i %o %u %x %X %c", "iiiiiii"},
		{__LINE__, "%hhd %hd %ld %lld %qd %jd %zd %td", "iiiiiiii"},
		{__LINE__, "%f %F %e %E %g %G %a %A %Lf %lf", "dddddddddd"},
		{__LINE__, "%s %10s %-10s %.3s %p", "ssssp"},
		{__LINE__, "%*d %.*f %*.*s", "iiidiis"},
		{__LINE__, "%+-# 05d", "i"},
		{__LINE__, "%4096d %.4096f", "id"},
		{__LINE__, "%4097d", NULL},
		{__LINE__, "%.4097f", NULL},
		{__LINE__, "%99999999999999999999d", NULL},
		{__LINE__, "%n", NULL},
		{__LINE__, "%hhn", NULL},
		{__LINE__, "%m", NULL},
		{__LINE__, "%ls", NULL},
		{__LINE__, "%lc", NULL},
		{__LINE__, "%S", NULL},
		{__LINE__, "%C", NULL},
		{__LINE__, "%1$d", NULL},
		{__LINE__, "%'d", NULL},
		{__LINE__, "%Id", NULL},
		{__LINE__, "%hf", NULL},
		{__LINE__, "%llf", NULL},
		{__LINE__, "%Ld", NULL},
		{__LINE__, "%hs", NULL},
		{__LINE__, "%", NULL},
		{__LINE__, "%5", NULL},
		{__LINE__, "%l", NULL},
		{__LINE__, "%.", NULL},
		{__LINE__, "%k", NULL},
		{__LINE__, "%-5.2%", NULL},
	};
	static const char letters[] = " idsp"; /* by enum args_kind */

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct args_plan plan[KPROF_ARGS_MAX];
		char kinds[KPROF_ARGS_MAX + 1] = "";
		int n = args_plan(rows[i].format, (uint32_t)strlen(rows[i].format), plan);

		for (int k = 0; k < n; k++)
			kinds[k] = letters[plan[k].kind];
		if (rows[i].kinds ? n < 0 || strcmp(kinds, rows[i].kinds) != 0 : n != -EINVAL)
			fail_msg("line %d: '%s' gives %d '%s'", rows[i].line, rows[i].format, n,
				kinds);
	}
}

static void test_argument_plans_are_bounded(void **state)
{
	struct args_plan plan[KPROF_ARGS_MAX];
	char format[3 * 17 + 1] = "";

	for (int i = 0; i < 16; i++)
		strcat(format, "%d ");
	assert_int_equal(args_plan(format, (uint32_t)strlen(format), plan), 16);
	strcat(format, "%d ");
	assert_int_equal(args_plan(format, (uint32_t)strlen(format), plan), -E2BIG);

	assert_int_equal(args_plan("%.7s %.*s %s", 12, plan), 4);
	assert_int_equal(plan[0].limited, 1);
	assert_int_equal(plan[0].limit, 7);
	assert_int_equal(plan[2].limit, ARGS_LIMIT_STAR);
	assert_int_equal(plan[3].limited, 0);
	assert_int_equal(args_plan("%hhx %hd %ld", 12, plan), 3);
	assert_int_equal(plan[0].bytes, 1);
	assert_int_equal(plan[0].is_signed, 0);
	assert_int_equal(plan[1].bytes, 2);
	assert_int_equal(plan[1].is_signed, 1);
	assert_int_equal(plan[2].bytes, 8);
	/* no byte behind the length is looked at */
	assert_int_equal(args_plan("%d%", 2, plan), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout_is_computed),
		cmocka_unit_test(test_wrong_layouts_are_refused),
		cmocka_unit_test(test_wrong_files_are_refused),
		cmocka_unit_test(test_open_refuses_huge_pages),
		cmocka_unit_test(test_written_events_are_read),
		cmocka_unit_test(test_flight_recorder_keeps_the_newest),
		cmocka_unit_test(test_discard_keeps_the_oldest_until_cleared),
		cmocka_unit_test(test_oldest_chunk_is_overwritten_first),
		cmocka_unit_test(test_short_threads_share_chunks),
		cmocka_unit_test(test_events_of_threads_without_a_slot_are_counted),
		cmocka_unit_test(test_slot_of_an_ended_thread_comes_back),
		cmocka_unit_test(test_largest_records_fill_a_chunk_each),
		cmocka_unit_test(test_reading_begins_at_an_offset),
		cmocka_unit_test(test_formats_become_argument_plans),
		cmocka_unit_test(test_argument_plans_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
