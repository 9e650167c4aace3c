/* SPDX-License-Identifier: MIT */
/*
 * capture/mapindex: each answer equals that of a search through all mappings, over random address
 * spaces (from a fixed seed): dense, sparse, and full of overlaps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <glib.h>

#include "capture/mapindex.h"

#define MAPPINGS_MAX 40

static uint64_t draw(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (*state >> 33) % below;
}

static int compare_times(const void *a, const void *b)
{
	const struct mapindex_mapping *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->file < y->file ? -1 : 1;
}

static const struct mapindex_mapping *search(const struct mapindex_mapping *mappings, uint32_t count,
	uint64_t address, uint64_t time)
{
	const struct mapindex_mapping *best = NULL;
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (mappings[i].start <= address && address < mappings[i].end &&
			mappings[i].time_ns <= time)
			best = &mappings[i];
	}
	return best;
}

static void check_space(uint64_t *state, uint64_t width, uint64_t longest, uint64_t times)
{
	struct mapindex_mapping mappings[MAPPINGS_MAX];
	uint32_t count = (uint32_t)draw(state, MAPPINGS_MAX + 1), i;
	struct mapindex *index;
	uint64_t address, time;

	for (i = 0; i < count; i++) {
		mappings[i] = (struct mapindex_mapping){ .file = i };
		mappings[i].time_ns = draw(state, times);
		mappings[i].start = draw(state, width);
		mappings[i].end = mappings[i].start + draw(state, longest);
	}
	qsort(mappings, count, sizeof(mappings[0]), compare_times);
	index = mapindex_create(mappings, count);
	for (address = 0; address < width + longest + 1; address++) {
		const struct mapindex_mapping *first = NULL;

		for (i = 0; i < count && !first; i++) {
			if (mappings[i].start <= address && address < mappings[i].end)
				first = &mappings[i];
		}
		assert_ptr_equal(mapindex_find_earliest(index, address), first);
		for (time = 0; time < times + 1; time++) {
			const struct mapindex_mapping *m = search(mappings, count, address, time);
			uint64_t from, to, t;

			assert_ptr_equal(mapindex_find(index, address, time, &from, &to), m);
			assert_true(from <= time && time < to);
			for (t = from; t < to && t < times + 1; t++)
				assert_ptr_equal(search(mappings, count, address, t), m);
		}
	}
	mapindex_destroy(index);
}

static void test_random_mappings_match_a_plain_search(void **state)
{
	uint64_t seed = 1;
	int i;

	for (i = 0; i < 60; i++) {
		check_space(&seed, 30, 8, 10);
		check_space(&seed, 100, 5, 3);
		check_space(&seed, 10, 40, 20);
		check_space(&seed, 2, 2, 20);
	}
}

static void test_empty_index_and_extreme_addresses_are_found(void **state)
{
	struct mapindex_mapping all = { .time_ns = 5, .start = 0, .end = UINT64_MAX };
	struct mapindex *index = mapindex_create(NULL, 0);
	uint64_t from, to;

	assert_null(mapindex_find(index, 0, 0, &from, &to));
	assert_int_equal(from, 0);
	assert_int_equal(to, UINT64_MAX);
	mapindex_destroy(index);
	index = mapindex_create(&all, 1);
	assert_null(mapindex_find(index, 77, 4, &from, &to));
	assert_int_equal(to, 5);
	assert_ptr_equal(mapindex_find(index, 0, 5, &from, &to), &all);
	assert_int_equal(from, 5);
	assert_ptr_equal(mapindex_find(index, UINT64_MAX - 1, UINT64_MAX, &from, &to), &all);
	mapindex_destroy(index);
	mapindex_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_mappings_match_a_plain_search),
		cmocka_unit_test(test_empty_index_and_extreme_addresses_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
