/* SPDX-License-Identifier: MIT */
/*
 * bpf/rings, with memory of this program in place of the kernel's, where records are written as record.h
 * says that programs write them, also half, and in the middle of a copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf/map.h"
#include "bpf/rings.h"

#define RING_BYTES (64u << 10)
#define RECORD_BYTES 80u /* a chunk has 102 of them, and 32 bytes of the next one */
#define FIRST_TIME 1000u /* of record 0; each is 1 later */

static struct kernel_ring_head *head; /* of CPU 0 */
static unsigned int sleeps;
static void (*at_sleep)(void);  /* what the program does while the reader waits, */
static void (*at_malloc)(void); /* and between its look at the position and its copy */

int __wrap_map_create(const struct map_spec *spec, int *map, struct err *err);
int __wrap_map_mmap(int map, size_t bytes, int writable, void **memory);
int __wrap_map_possible_cpus(void);
int __wrap_usleep(useconds_t us);
void *__wrap_malloc(size_t bytes);
void *__real_malloc(size_t bytes);

int __wrap_map_create(const struct map_spec *spec, int *map, struct err *err)
{
	(void)spec, (void)err;
	*map = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

int __wrap_map_mmap(int map, size_t bytes, int writable, void **memory)
{
	(void)map, (void)writable;
	*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	head = *memory;
	return 0;
}

int __wrap_map_possible_cpus(void)
{
	return 1;
}

int __wrap_usleep(useconds_t us)
{
	(void)us;
	sleeps++;
	if (at_sleep)
		at_sleep();
	return 0;
}

void *__wrap_malloc(size_t bytes)
{
	void (*call)(void) = at_malloc;

	at_malloc = NULL;
	if (call)
		call();
	return __real_malloc(bytes);
}

/* ---- a program that writes ---------------------------------------------------------------------- */

static struct rings *rings;

static int set_up(void **state)
{
	struct err err = { "" };

	(void)state;
	sleeps = 0;
	at_sleep = at_malloc = NULL;
	assert_int_equal(rings_create(RING_BYTES >> 10, &rings, &err), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rings_destroy(rings);
	return 0;
}

static struct kernel_record *record_at(uint64_t pos)
{
	return (struct kernel_record *)(void *)((char *)head + rings_head_bytes(RING_BYTES) +
		pos % RING_BYTES);
}

/* Takes the next number and place. */
static uint64_t reserve(uint32_t *seq)
{
	const uint64_t pos = head->pos, end = pos + RECORD_BYTES;

	*seq = (uint32_t)head->count++;
	head->pos = end;
	if (pos / KERNEL_CHUNK_BYTES != end / KERNEL_CHUNK_BYTES)
		head->chunks[end / KERNEL_CHUNK_BYTES % (RING_BYTES / KERNEL_CHUNK_BYTES)] =
			(struct kernel_chunk){ .pos = end, .seq = head->count };
	return pos;
}

static uint64_t good_word(uint64_t pos)
{
	return KERNEL_HEAD(KERNEL_TAG(pos), RECORD_BYTES / 8, 0, 39);
}

static void fill(uint64_t pos, uint32_t seq)
{
	*record_at(pos) = (struct kernel_record){ .time_ns = FIRST_TIME + seq, .seq = seq,
		.comm = "program" };
	record_at(pos)->head = good_word(pos);
}

static void write_records(unsigned int count)
{
	uint32_t seq;

	while (count--) {
		uint64_t pos = reserve(&seq);

		fill(pos, seq);
	}
}

/* A record of which nothing but its place is there. Returns the place. */
static uint64_t begin_record(void)
{
	uint32_t seq;
	uint64_t pos = reserve(&seq);

	memset(record_at(pos), 0xff, RECORD_BYTES);
	record_at(pos)->head = 0;
	return pos;
}

/* ---- a reader ----------------------------------------------------------------------------------- */

/* Copies from a position and goes through the copy: its numbers are `first` to `end`, but those of a gap. */
static void assert_shown(
	uint64_t from, bool skip, uint32_t first, uint32_t end, uint32_t gap, uint32_t gap_end)
{
	const struct kernel_record *record;
	struct rings_copy copy;
	uint32_t expected = first;
	uint64_t at;

	assert_int_equal(rings_copy(rings, 0, from, skip, &copy), 0);
	at = copy.begin;
	while ((record = rings_next(&copy, &at))) {
		if (expected == gap)
			expected = gap_end;
		assert_int_equal(record->seq, expected);
		assert_int_equal(record->time_ns, FIRST_TIME + expected);
		assert_string_equal(record->comm, "program");
		expected++;
	}
	assert_int_equal(expected, end);
	rings_copy_clear(&copy);
}

static void assert_totals(uint64_t recorded, uint64_t overwritten, uint64_t torn)
{
	struct rings_totals totals;

	rings_total(rings, &totals);
	assert_int_equal(totals.recorded, recorded);
	assert_int_equal(totals.overwritten, overwritten);
	assert_int_equal(totals.torn, torn);
	assert_int_equal(totals.missed, 0);
}

/* The number of the first record that begins at or behind a position, of records that are all as long. */
static uint32_t number_from(uint64_t pos)
{
	return (uint32_t)((pos + RECORD_BYTES - 1) / RECORD_BYTES);
}

/* The first one of the chunk behind that of this record. */
static uint32_t next_chunk(uint32_t number)
{
	const uint64_t chunk = (uint64_t)number * RECORD_BYTES / KERNEL_CHUNK_BYTES;

	return number_from((chunk + 1) * KERNEL_CHUNK_BYTES);
}

static void test_finished_records_are_shown(void **state)
{
	(void)state;
	assert_shown(0, true, 0, 0, 1, 1);
	write_records(300);
	assert_shown(0, true, 0, 300, 301, 301);
	assert_shown(200 * RECORD_BYTES, true, 200, 300, 301, 301);
	assert_totals(300, 0, 0);
	assert_int_equal(sleeps, 0);
}

/* The oldest bytes are in the middle of a chunk, whose records can't be found: the next chunk's can. */
static void test_overwritten_records_are_counted(void **state)
{
	const uint32_t count = 5000;
	const uint32_t first = next_chunk((count * RECORD_BYTES - RING_BYTES) / RECORD_BYTES);

	(void)state;
	write_records(count);
	assert_int_equal(number_from(first * RECORD_BYTES / KERNEL_CHUNK_BYTES * KERNEL_CHUNK_BYTES), first);
	assert_shown(0, true, first, count, count, count);
	assert_totals(count, first, 0);
	assert_int_equal(rings_held(rings, 0), count - first);
}

/* Words that a record has which was not finished, or was damaged. */
static void test_torn_records_are_counted_and_not_shown(void **state)
{
	const uint64_t pos = 150 * RECORD_BYTES;
	const struct {
		int line;
		uint64_t word;
	} rows[] = {
		{ __LINE__, 0 },
		/* a lap before */
		{ __LINE__, KERNEL_HEAD(KERNEL_TAG(pos - RING_BYTES), RECORD_BYTES / 8, 0, 39) },
		{ __LINE__, KERNEL_HEAD(KERNEL_TAG(pos) + 1, RECORD_BYTES / 8, 0, 39) },
		{ __LINE__, KERNEL_HEAD(0, RECORD_BYTES / 8, 0, 39) }, /* the upper half is written, */
		{ __LINE__, KERNEL_HEAD(KERNEL_TAG(pos), 0, 0, 0) },   /* or the lower one */
		{ __LINE__, KERNEL_HEAD(KERNEL_TAG(pos), 5, 0, 39) },  /* shorter than any record, */
		{ __LINE__, KERNEL_HEAD(KERNEL_TAG(pos), KERNEL_RECORD_MAX / 8 + 1, 0, 39) }, /* or longer */
		{ __LINE__, UINT64_MAX },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("the word of line %d\n", rows[i].line);
		tear_down(state);
		set_up(state);
		write_records(150);
		assert_int_equal(begin_record(), pos);
		record_at(pos)->head = rows[i].word;
		write_records(150);
		/* 151 to 204 are in its chunk, behind it */
		assert_int_equal(next_chunk(150), 205);
		assert_shown(0, true, 0, 301, 150, 205);
		assert_totals(301, 0, 55);
		assert_true(sleeps > 0);
		/* readers count it once, wherever they begin; one that does not skip ends there */
		assert_shown(0, true, 0, 301, 150, 205);
		assert_shown(100 * RECORD_BYTES, true, 100, 301, 150, 205);
		assert_shown(0, false, 0, 150, 301, 301);
		assert_totals(301, 0, 55);
	}
}

/* From then on they are not in the ring as the others that were overwritten, and count as torn only. */
static void test_torn_records_are_overwritten_later(void **state)
{
	const uint32_t first = next_chunk(1901 - RING_BYTES / RECORD_BYTES - 1);

	(void)state;
	write_records(150);
	begin_record();
	write_records(150);
	assert_shown(0, true, 0, 301, 150, 205);
	write_records(600);
	/* 901 * 80 - 65536 is in 81 */
	assert_int_equal(next_chunk(81), 103);
	assert_totals(901, 103, 55);
	write_records(1000);
	assert_totals(1901, first - 55, 55);
	assert_shown(0, true, first, 1901, 1901, 1901);
}

static void test_a_size_behind_the_end_is_not_shown(void **state)
{
	const uint64_t pos = 299 * RECORD_BYTES;

	(void)state;
	write_records(300);
	record_at(pos)->head = KERNEL_HEAD(KERNEL_TAG(pos), RECORD_BYTES / 8 + 1, 0, 39);
	assert_shown(0, true, 0, 299, 301, 301);
}

/* Each of them costs the rest of its chunk; the second one is the first record of a chunk. */
static void test_several_torn_records(void **state)
{
	const struct kernel_record *record;
	struct rings_copy copy;
	uint32_t shown = 0;
	uint64_t at;

	(void)state;
	write_records(50);
	begin_record();
	write_records(256); /* up to 306 */
	assert_int_equal(next_chunk(50), 103);
	assert_int_equal(next_chunk(205), 308);
	write_records(1);
	begin_record(); /* 308 */
	write_records(191);
	assert_int_equal(next_chunk(308), 410);
	assert_int_equal(rings_copy(rings, 0, 0, true, &copy), 0);
	at = copy.begin;
	while ((record = rings_next(&copy, &at))) {
		assert_true(record->seq < 50 || (record->seq >= 103 && record->seq < 308) ||
			record->seq >= 410);
		assert_int_equal(record->time_ns, FIRST_TIME + record->seq);
		shown++;
	}
	rings_copy_clear(&copy);
	assert_int_equal(shown, 50 + 205 + 90);
	assert_totals(500, 0, 53 + 102);
	/* one reader has passed the first, and stands before the second */
	assert_shown(308 * RECORD_BYTES, true, 410, 500, 501, 501);
	assert_totals(500, 0, 53 + 102);
}

/* A reader that follows has read what is before it, so that its copy does not tell the number. */
static void test_a_follower_counts_as_many(void **state)
{
	(void)state;
	write_records(150);
	begin_record();
	write_records(150);
	assert_shown(150 * RECORD_BYTES, true, 205, 301, 301, 301);
	assert_totals(301, 0, 55);
}

/* The numbers of records have 32 bits. */
static void test_numbers_that_begin_again(void **state)
{
	const uint64_t begin = (1ull << 32) + 10;

	(void)state;
	head->count = begin;
	head->chunks[0].seq = begin;
	write_records(150);
	begin_record();
	write_records(150);
	assert_shown(0, true, 10, 311, 160, 215);
	assert_totals(begin + 301, 0, 55);
}

/* An event that interrupts another one has the earlier place and the later number. */
static void test_interrupted_records(void **state)
{
	uint32_t seq, seq2;
	uint64_t pos, pos2;

	(void)state;
	write_records(148);
	seq = (uint32_t)head->count++;
	pos2 = reserve(&seq2);
	fill(pos2, seq2);
	pos = reserve(&seq2);
	head->count--; /* its number was taken before */
	fill(pos, seq);
	assert_int_equal(record_at(pos2)->seq, 149);
	assert_int_equal(record_at(pos)->seq, 148);
	begin_record(); /* 150 */
	write_records(150);
	for (int i = 0; i < 2; i++) {
		struct rings_copy copy;

		assert_int_equal(rings_copy(rings, 0, i ? 150 * RECORD_BYTES : 0, true, &copy), 0);
		rings_copy_clear(&copy);
		assert_totals(301, 0, 55);
	}
}

/* Nothing is behind it: it may be finished yet. */
static void test_a_record_at_the_end_is_waited_for(void **state)
{
	uint64_t pos;

	(void)state;
	write_records(150);
	pos = begin_record();
	write_records(20);
	assert_shown(0, true, 0, 150, 301, 301);
	assert_totals(171, 0, 0);
	fill(pos, 150);
	assert_shown(150 * RECORD_BYTES, true, 150, 171, 301, 301);
	assert_totals(171, 0, 0);
}

static void finish_at_third(void)
{
	if (sleeps == 3)
		fill(150 * RECORD_BYTES, 150);
}

static void test_a_record_that_is_finished_meanwhile_is_shown(void **state)
{
	(void)state;
	write_records(150);
	begin_record();
	write_records(150);
	at_sleep = finish_at_third;
	assert_shown(0, true, 0, 301, 302, 302);
	assert_int_equal(sleeps, 3);
	assert_totals(301, 0, 0);
}

static void write_half_a_lap(void)
{
	write_records(410);
}

/* A reader that was stopped before its copy: what it finds in place of the old records is not torn. */
static void test_records_overwritten_before_the_copy_are_not_torn(void **state)
{
	const uint32_t first = next_chunk((1000 + 410) - RING_BYTES / RECORD_BYTES);

	(void)state;
	write_records(1000);
	at_malloc = write_half_a_lap;
	assert_shown(0, true, first, 1000, 1000, 1000);
	assert_int_equal(sleeps, 0);
	assert_totals(1410, first, 0);
}

/* The number of a chunk is stored before its position, and an interrupt may come between them. */
static void test_the_number_of_a_chunk_that_is_begun(void **state)
{
	const uint32_t chunks = RING_BYTES / KERNEL_CHUNK_BYTES;
	uint64_t number = 0, end;
	struct kernel_chunk *chunk;
	uint32_t first;

	(void)state;
	/* up to the record that ends in chunk 9, which is written over chunk 1 */
	while (head->pos / KERNEL_CHUNK_BYTES < 9)
		write_records(1);
	end = head->pos;
	chunk = &head->chunks[9 % chunks];
	assert_int_equal(chunk->pos, end);
	number = chunk->seq;
	first = number_from(KERNEL_CHUNK_BYTES);
	chunk->pos = first * RECORD_BYTES; /* that of chunk 1 */
	assert_true(chunk->pos >= end - RING_BYTES);
	assert_totals(number, next_chunk(first), 0);
	chunk->pos = end;
	assert_totals(number, next_chunk(first), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_finished_records_are_shown),
		TEST(test_overwritten_records_are_counted),
		TEST(test_torn_records_are_counted_and_not_shown),
		TEST(test_torn_records_are_overwritten_later),
		TEST(test_a_size_behind_the_end_is_not_shown),
		TEST(test_several_torn_records),
		TEST(test_a_follower_counts_as_many),
		TEST(test_numbers_that_begin_again),
		TEST(test_interrupted_records),
		TEST(test_a_record_at_the_end_is_waited_for),
		TEST(test_a_record_that_is_finished_meanwhile_is_shown),
		TEST(test_records_overwritten_before_the_copy_are_not_torn),
		TEST(test_the_number_of_a_chunk_that_is_begun),
	};

	return cmocka_run_group_tests_name("rings", tests, NULL, NULL);
}
