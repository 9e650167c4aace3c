/* SPDX-License-Identifier: MIT */
/*
 * symbolizer/symbols and symbolizer/cache: known places are not requested again, and the cache is
 * limited.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <glib.h>

#include "symbolizer/cache.h"
#include "symbolizer/proto.h"
#include "symbolizer/symbols.h"

/* A source that has names for even offsets, and counts its requests. */
struct fake {
	size_t questions, offsets;
	unsigned int flags; /* of the last request */
	unsigned int able;  /* what it can do */
	int error;
};

static int resolve(void *self, const struct symbols_file *file, const uint64_t *offsets,
	size_t count, const struct symbols_how *how, struct symbols_arena *arena,
	struct symbols_place *places)
{
	struct fake *fake = self;
	size_t i;

	fake->questions++;
	fake->offsets += count;
	fake->flags = how->flags;
	if (fake->error)
		return fake->error;
	for (i = 0; i < count; i++) {
		g_autofree char *name = g_strdup_printf("f%llu", (unsigned long long)offsets[i]);
		struct symbols_frame frames[2] = { { "inlined", "a.c", 3 }, { name, "b.c", 4 } };
		struct symbols_place place = { frames, 2, offsets[i] & ~0xfull, 16 };

		if (!(how->flags & fake->able)) {
			frames[1].source = NULL;
			frames[1].line = 0;
			place.frames = frames + 1;
			place.count = 1;
		}
		if (offsets[i] % 2 == 0)
			symbols_arena_place(arena, &place, &places[i]);
	}
	return (int)(how->flags & fake->able);
}

static const struct symbols_source source = { .resolve = resolve };

static const uint8_t id_a[] = "aaaaaaaaaaaaaaaaaaa", id_b[] = "bbbbbbbbbbbbbbbbbbb";
static const struct symbols_how names = { .cancel_fd = -1 };
static const struct symbols_how lines = { .flags = SYMBOLS_LINES, .cancel_fd = -1 };

static void ask(struct symbols *symbols, const struct symbols_file *file, uint64_t offset,
	const struct symbols_how *how, const char *expected, uint32_t count)
{
	struct symbols_arena *arena = symbols_arena_create();
	struct symbols_place place;

	assert_int_equal(symbols_resolve(symbols, file, &offset, 1, how, arena, &place), 0);
	assert_int_equal(place.count, count);
	if (count) {
		assert_string_equal(place.frames[count - 1].function, expected);
		assert_int_equal(place.start, offset & ~0xfull);
		assert_int_equal(place.size, 16);
	}
	symbols_arena_destroy(arena);
}

static void test_answers_are_kept_for_each_file(void **state)
{
	struct fake fake = { .able = SYMBOLS_LINES };
	struct symbols *symbols = symbols_create(&source, &fake, 1 << 20);
	struct symbols_file a = { SYMBOLS_ELF, "/a", id_a, 20, NULL, NULL, 0 };
	struct symbols_file b = { SYMBOLS_ELF, "/a", id_b, 20, NULL, NULL, 0 };
	struct symbols_file c = { SYMBOLS_ELF, "/c", id_a, 20, NULL, NULL, 0 };
	struct symbols_file none = { SYMBOLS_ELF, "/a", NULL, 0, NULL, NULL, 0 };

	(void)state;
	ask(symbols, &a, 2, &names, "f2", 1);
	ask(symbols, &a, 2, &names, "f2", 1);
	assert_int_equal(fake.questions, 1);
	/* the missing name is cached too */
	ask(symbols, &a, 3, &names, NULL, 0);
	ask(symbols, &a, 3, &names, NULL, 0);
	assert_int_equal(fake.questions, 2);
	/* a name is not enough where lines are requested; lines are more than enough for a name */
	ask(symbols, &a, 2, &lines, "f2", 2);
	assert_int_equal(fake.questions, 3);
	ask(symbols, &a, 2, &names, "f2", 1);
	ask(symbols, &a, 2, &lines, "f2", 2);
	assert_int_equal(fake.questions, 3);
	/* another file is another file */
	ask(symbols, &b, 2, &names, "f2", 1);
	ask(symbols, &c, 2, &names, "f2", 1);
	assert_int_equal(fake.questions, 5);
	/* without a build-id it may have changed meanwhile */
	ask(symbols, &none, 2, &names, "f2", 1);
	ask(symbols, &none, 2, &names, "f2", 1);
	assert_int_equal(fake.questions, 7);
	symbols_destroy(symbols);
}

static void test_kernel_at_another_address_is_another_file(void **state)
{
	struct fake fake = { .able = 0 };
	struct symbols *symbols = symbols_create(&source, &fake, 1 << 20);
	struct symbols_kernel this = { id_a, 20, 0x1000 }, moved = { id_a, 20, 0x2000 };
	struct symbols_mapping here = { 0, 0x100, 0x200 }, there = { 0, 0x300, 0x400 };
	struct symbols_file k = { SYMBOLS_KERNEL, "[kernel.kallsyms]", NULL, 0, &this, NULL, 0 };
	struct symbols_file m = { SYMBOLS_KERNEL, "[m]", NULL, 0, &this, &here, 1 };
	struct symbols_file j = { SYMBOLS_JIT, "//anon", NULL, 0, &this, &here, 1 };

	(void)state;
	ask(symbols, &k, 2, &names, "f2", 1);
	ask(symbols, &k, 2, &names, "f2", 1);
	assert_int_equal(fake.questions, 1);
	k.kernel = &moved; /* another boot */
	ask(symbols, &k, 2, &names, "f2", 1);
	assert_int_equal(fake.questions, 2);
	ask(symbols, &m, 2, &names, "f2", 1);
	ask(symbols, &m, 2, &names, "f2", 1);
	m.mappings = &there; /* loaded again */
	ask(symbols, &m, 2, &names, "f2", 1);
	assert_int_equal(fake.questions, 4);
	ask(symbols, &j, 2, &names, "f2", 1);
	ask(symbols, &j, 2, &names, "f2", 1);
	assert_int_equal(fake.questions, 6); /* its map grows */
	symbols_destroy(symbols);
}

/* Only what is missing is requested, and each answer belongs to its request. */
static void test_only_missing_offsets_are_asked(void **state)
{
	struct fake fake = { .able = 0 };
	struct symbols *symbols = symbols_create(&source, &fake, 1 << 20);
	struct symbols_file a = { SYMBOLS_ELF, "/a", id_a, 20, NULL, NULL, 0 };
	struct symbols_arena *arena = symbols_arena_create();
	uint64_t offsets[] = { 8, 2, 5, 2, 6 };
	struct symbols_place places[5];
	size_t i;

	(void)state;
	ask(symbols, &a, 2, &names, "f2", 1);
	assert_int_equal(symbols_resolve(symbols, &a, offsets, 5, &names, arena, places), 0);
	assert_int_equal(fake.offsets, 1 + 3);
	for (i = 0; i < 5; i++) {
		g_autofree char *name = g_strdup_printf("f%d", (int)offsets[i]);

		if (offsets[i] % 2)
			assert_int_equal(places[i].count, 0);
		else
			assert_string_equal(places[i].frames[0].function, name);
	}
	/* equal texts are one */
	assert_ptr_equal(places[1].frames[0].function, places[3].frames[0].function);
	symbols_arena_destroy(arena);
	symbols_destroy(symbols);
}

static void test_errors_are_not_kept(void **state)
{
	struct fake fake = { .error = -ENOENT };
	struct symbols *symbols = symbols_create(&source, &fake, 1 << 20);
	struct symbols_file a = { SYMBOLS_ELF, "/a", id_a, 20, NULL, NULL, 0 };
	struct symbols_arena *arena = symbols_arena_create();
	struct symbols_place place;
	uint64_t offset = 2;

	(void)state;
	ask(symbols, &a, 2, &names, NULL, 0);
	fake.error = -ECANCELED;
	assert_int_equal(symbols_resolve(symbols, &a, &offset, 1, &names, arena, &place),
		-ECANCELED);
	assert_int_equal(place.count, 0);
	/* no part of it is kept */
	fake.error = 0;
	ask(symbols, &a, 2, &names, "f2", 1);
	symbols_arena_destroy(arena);
	symbols_destroy(symbols);
}

/* A debug file may be installed later: a missing one is cached for a minute. */
static void test_missing_names_are_asked_again_after_a_minute(void **state)
{
	struct cache *cache = cache_create(1 << 20);
	struct symbols_file a = { SYMBOLS_ELF, "/a", id_a, 20, NULL, NULL, 0 };
	struct symbols_frame frame = { "f", NULL, 0 };
	struct symbols_place place = { &frame, 1, 0, 0 }, empty = { NULL, 0, 0, 0 }, got;
	struct cache_file *file = cache_find_file(cache, &a);

	(void)state;
	cache_add(cache, file, 1, SYMBOLS_LINES, 0, 1000, &place);
	cache_add(cache, file, 2, SYMBOLS_LINES, SYMBOLS_LINES, 1000, &empty);
	cache_add(cache, file, 3, SYMBOLS_LINES, SYMBOLS_LINES, 1000, &place);
	assert_true(cache_find(file, 1, SYMBOLS_LINES, 1000 + CACHE_RETRY_NS - 1, &got));
	assert_false(cache_find(file, 1, SYMBOLS_LINES, 1000 + CACHE_RETRY_NS, &got));
	assert_true(cache_find(file, 1, 0, 1000 + CACHE_RETRY_NS, &got));
	assert_true(cache_find(file, 2, 0, 1000 + CACHE_RETRY_NS - 1, &got));
	assert_false(cache_find(file, 2, 0, 1000 + CACHE_RETRY_NS, &got));
	assert_true(cache_find(file, 3, SYMBOLS_LINES, UINT64_MAX - 1, &got));
	assert_false(cache_find(file, 4, 0, 1000, &got));
	cache_destroy(cache);
}

/* The cache stays below its bound. The file that was used last stays longest. */
static void test_cache_stays_below_its_bound(void **state)
{
	const size_t bound = 256 << 10;
	struct cache *cache = cache_create(bound);
	struct symbols_file a = { SYMBOLS_ELF, "/a", id_a, 20, NULL, NULL, 0 };
	struct symbols_file b = { SYMBOLS_ELF, "/b", id_b, 20, NULL, NULL, 0 };
	struct symbols_frame frame = { "f", NULL, 0 };
	struct symbols_place place = { &frame, 1, 0, 0 }, got;
	uint64_t i;

	(void)state;
	cache_add(cache, cache_find_file(cache, &a), 0, 0, 0, 0, &place);
	cache_add(cache, cache_find_file(cache, &b), 0, 0, 0, 0, &place);
	for (i = 0; i < 100; i++) {
		g_autofree char *path = g_strdup_printf("/file%d", (int)i);
		struct symbols_file file = { SYMBOLS_ELF, path, id_a, 20, NULL, NULL, 0 };

		assert_true(cache_find(cache_find_file(cache, &a), 0, 0, 0, &got));
		cache_add(cache, cache_find_file(cache, &file), 0, 0, 0, 0, &place);
		cache_trim(cache);
		assert_true(cache_bytes(cache) <= bound);
	}
	assert_true(cache_find(cache_find_file(cache, &a), 0, 0, 0, &got));
	assert_false(cache_find(cache_find_file(cache, &b), 0, 0, 0, &got));
	/* one file alone may be too much: it is bounded too */
	for (i = 0; i < 10000; i++) {
		g_autofree char *name = g_strdup_printf("function%d", (int)i);

		frame.function = name;
		cache_add(cache, cache_find_file(cache, &a), i, 0, 0, 0, &place);
		cache_trim(cache);
		assert_true(cache_bytes(cache) <= bound);
	}
	cache_destroy(cache);
	cache = cache_create(0);
	assert_null(cache_find_file(cache, &a));
	cache_destroy(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_are_kept_for_each_file),
		cmocka_unit_test(test_kernel_at_another_address_is_another_file),
		cmocka_unit_test(test_only_missing_offsets_are_asked),
		cmocka_unit_test(test_errors_are_not_kept),
		cmocka_unit_test(test_missing_names_are_asked_again_after_a_minute),
		cmocka_unit_test(test_cache_stays_below_its_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
