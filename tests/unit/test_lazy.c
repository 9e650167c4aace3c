/* SPDX-License-Identifier: MIT */
/*
 * fs/lazy: any sequence of reads returns the right bytes of a text that is formatted as it is read.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fs/lazy.h"

/* The byte at an offset is a hash of it; pieces are of uneven length. */
#define SIZE ((uint64_t)20000003)

static char byte_at(uint64_t offset)
{
	return (char)((offset * 0x9e3779b97f4a7c15ull) >> 56);
}

struct numbers {
	uint64_t at, end;
	unsigned int restarts, pieces;
	bool *destroyed;
};

static bool next(void *maker, GString *out)
{
	struct numbers *numbers = maker;
	uint64_t bytes = 1 + numbers->at % 50000;

	bytes = MIN(bytes, numbers->end - numbers->at);
	numbers->pieces++;
	for (; bytes; bytes--)
		g_string_append_c(out, byte_at(numbers->at++));
	return numbers->at < numbers->end;
}

static void restart(void *maker)
{
	struct numbers *numbers = maker;

	numbers->at = 0;
	numbers->restarts++;
}

static void destroy(void *maker)
{
	*((struct numbers *)maker)->destroyed = true;
}

static const struct lazy_maker maker = { next, restart, destroy };

static bool is_never(void *arg)
{
	return false;
}

static const struct cancel never = { is_never, NULL, -1 };

static bool after_some(void *arg)
{
	return (*(int *)arg)-- == 0;
}

static void check_read(struct lazy *lazy, uint64_t offset, size_t size)
{
	GString *out = g_string_new("x");
	size_t want = offset >= SIZE ? 0 : (size_t)MIN(size, SIZE - offset), i;

	assert_int_equal(lazy_read(lazy, offset, size, out, &never), 0);
	assert_int_equal(out->len, 1 + want);
	for (i = 0; i < want; i++)
		if (out->str[1 + i] != byte_at(offset + i))
			fail_msg("byte %llu of a read at %llu", (unsigned long long)i,
				(unsigned long long)offset);
	g_string_free(out, TRUE);
}

static void test_sequential_reads_give_the_whole_text(void **state)
{
	static const size_t sizes[] = { 131072, 1048576, 777 };
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(sizes); i++) {
		bool destroyed = false;
		struct numbers numbers = { .end = SIZE, .destroyed = &destroyed };
		struct lazy *lazy = lazy_create(&maker, &numbers, SIZE);
		uint64_t offset;

		for (offset = 0; offset < SIZE + 2 * sizes[i]; offset += sizes[i])
			check_read(lazy, offset, sizes[i]);
		assert_int_equal(numbers.restarts, 0);
		lazy_destroy(lazy);
		assert_true(destroyed);
	}
}

/* As the kernel reads ahead: neighbours change places; nothing is made twice. */
static void test_swapped_reads_make_nothing_twice(void **state)
{
	bool destroyed;
	struct numbers numbers = { .end = SIZE, .destroyed = &destroyed };
	struct lazy *lazy = lazy_create(&maker, &numbers, SIZE);
	uint64_t offset;

	for (offset = 0; offset < SIZE; offset += 4 * 131072) {
		check_read(lazy, offset + 3 * 131072, 131072);
		check_read(lazy, offset + 131072, 131072);
		check_read(lazy, offset, 131072);
		check_read(lazy, offset + 2 * 131072, 131072);
	}
	assert_int_equal(numbers.restarts, 0);
	lazy_destroy(lazy);
}

static void test_random_offsets_are_read(void **state)
{
	bool destroyed;
	struct numbers numbers = { .end = SIZE, .destroyed = &destroyed };
	struct lazy *lazy = lazy_create(&maker, &numbers, SIZE);
	uint64_t random = 1;
	int i;

	for (i = 0; i < 20; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		check_read(lazy, (random >> 20) % (SIZE + 1000), (size_t)(random >> 50));
	}
	check_read(lazy, 0, 10);
	check_read(lazy, SIZE - 1, 10);
	check_read(lazy, SIZE, 10);
	check_read(lazy, UINT64_MAX, 10);
	assert_in_range(numbers.restarts, 1, 21);
	lazy_destroy(lazy);
}

/* Cancelled in the middle: a later read gets everything. */
static void test_cancelled_read_loses_nothing(void **state)
{
	bool destroyed;
	struct numbers numbers = { .end = SIZE, .destroyed = &destroyed };
	struct lazy *lazy = lazy_create(&maker, &numbers, SIZE);
	GString *out = g_string_new(NULL);
	int pieces = 5;
	const struct cancel cancel = { after_some, &pieces, -1 };

	assert_int_equal(lazy_read(lazy, 10000000, 4096, out, &cancel), -EINTR);
	assert_int_equal(out->len, 0);
	assert_int_equal(numbers.pieces, 6); /* and the one at the sixth look */
	check_read(lazy, 0, 1000);
	check_read(lazy, 10000000, 4096);
	g_string_free(out, TRUE);
	lazy_destroy(lazy);
}

static bool is_always(void *arg)
{
	return true;
}

static const struct cancel always = { is_always, NULL, -1 };

/* A text that is cancelled at each check, also before its beginning, ends. */
static void test_read_that_is_always_cancelled_still_ends(void **state)
{
	bool destroyed;
	struct numbers numbers = { .end = SIZE, .destroyed = &destroyed };
	struct lazy *lazy = lazy_create(&maker, &numbers, SIZE);
	GString *out = g_string_new(NULL);
	unsigned int tries = 0, pieces;

	check_read(lazy, SIZE - 10, 10);
	pieces = numbers.pieces;
	while (lazy_read(lazy, SIZE / 2, 4096, out, &always))
		assert_true(++tries < pieces);
	assert_int_equal(out->len, 4096);
	assert_int_equal(numbers.restarts, 1);
	g_string_free(out, TRUE);
	lazy_destroy(lazy);
}

/*
 * A reader seeks backwards and is interrupted while other readers continue at the end: its bytes
 * are stored when they are made, and it restarts the text once.
 */
static void test_cancelled_reader_behind_others_restarts_once(void **state)
{
	bool destroyed;
	struct numbers numbers = { .end = SIZE, .destroyed = &destroyed };
	struct lazy *lazy = lazy_create(&maker, &numbers, SIZE);
	const uint64_t offset = SIZE / 2;
	GString *out = g_string_new(NULL);
	int pieces = 3;
	const struct cancel cancel = { after_some, &pieces, -1 };

	check_read(lazy, SIZE - 10, 10);
	assert_int_equal(lazy_read(lazy, offset, 131072, out, &cancel), -EINTR);
	check_read(lazy, SIZE - 10, 10);
	/* part of it at first, as the kernel may ask, and then all */
	assert_int_equal(lazy_read(lazy, offset + 4096, 4096, out, &always), 0);
	assert_int_equal(lazy_read(lazy, offset, 131072, out, &always), 0);
	assert_int_equal(numbers.restarts, 1);
	assert_int_equal(out->len, 4096 + 131072);
	for (size_t i = 0; i < 131072; i++)
		assert_true(out->str[4096 + i] == byte_at(offset + i));
	for (size_t i = 0; i < 4096; i++)
		assert_true(out->str[i] == byte_at(offset + 4096 + i));
	/* more of them than are stored: the oldest ones begin anew */
	for (uint64_t i = 0; i < 2 * LAZY_OWED_MAX; i++)
		assert_int_equal(lazy_read(lazy, offset + i * 262144, 4096, out, &always), -EINTR);
	check_read(lazy, SIZE - 10, 10);
	for (uint64_t i = 0; i < 2 * LAZY_OWED_MAX; i++)
		check_read(lazy, offset + i * 262144, 4096);
	g_string_free(out, TRUE);
	lazy_destroy(lazy);
}

/* A maker that ends before the announced size. */
static void test_short_maker_is_an_error(void **state)
{
	bool destroyed;
	struct numbers numbers = { .end = 1000, .destroyed = &destroyed };
	struct lazy *lazy = lazy_create(&maker, &numbers, 2000);
	GString *out = g_string_new(NULL);

	assert_int_equal(lazy_read(lazy, 0, 1000, out, &never), 0);
	assert_int_equal(lazy_read(lazy, 0, 2000, out, &never), -EIO);
	assert_int_equal(out->len, 1000);
	g_string_free(out, TRUE);
	lazy_destroy(lazy);
}

static void *read_it_all(void *arg)
{
	uint64_t offset;

	for (offset = 0; offset < SIZE; offset += 131072)
		check_read(arg, offset, 131072);
	return NULL;
}

static void test_two_readers_get_the_whole_text(void **state)
{
	bool destroyed;
	struct numbers numbers = { .end = SIZE, .destroyed = &destroyed };
	struct lazy *lazy = lazy_create(&maker, &numbers, SIZE);
	pthread_t threads[2];
	size_t i;

	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_it_all, lazy), 0);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	lazy_destroy(lazy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequential_reads_give_the_whole_text),
		cmocka_unit_test(test_swapped_reads_make_nothing_twice),
		cmocka_unit_test(test_random_offsets_are_read),
		cmocka_unit_test(test_cancelled_read_loses_nothing),
		cmocka_unit_test(test_read_that_is_always_cancelled_still_ends),
		cmocka_unit_test(test_cancelled_reader_behind_others_restarts_once),
		cmocka_unit_test(test_short_maker_is_an_error),
		cmocka_unit_test(test_two_readers_get_the_whole_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
