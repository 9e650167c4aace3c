/* SPDX-License-Identifier: MIT */
/*
 * capture/functions: lines are resolved on request, files whose names are late get functions without
 * lines, and a cancelled request requests no other file.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "tests/fixtures/gen.h"
#include "capture/functions.h"

/* A source that notes each request, and may time out with lines, or be cancelled. */
struct asked {
	unsigned int with_lines, without;
	bool late, given_up;
};

static int resolve(void *self, const struct symbols_file *file, const uint64_t *offsets,
	size_t count, const struct symbols_how *how, struct symbols_arena *arena,
	struct symbols_place *places)
{
	struct asked *asked = self;
	struct symbols_frame frames[] = {{"inlined", "a.h", 1}, {"function", "a.c", 2}};
	struct symbols_place place = {frames, 2, 0, 0};
	size_t i;

	if (!(how->flags & SYMBOLS_LINES)) {
		asked->without++;
		place = (struct symbols_place){&frames[1], 1, 0, 0};
	} else {
		asked->with_lines++;
		if (asked->late)
			return -ETIMEDOUT;
	}
	if (asked->given_up)
		return -ECANCELED;
	for (i = 0; i < count; i++)
		symbols_arena_place(arena, &place, &places[i]);
	return (int)how->flags;
}

static const struct symbols_source source = {.resolve = resolve};

/*
 * One place in each of two files. `frames`: how many frames each must get; with none it has no
 * name.
 */
static void check_source(const struct symbols_source *answers, void *self,
	const struct symbols_how *how, uint32_t frames)
{
	struct symbols *symbols = symbols_create(answers, self, 0);
	uint64_t ips[] = {0x1010, 0x9010};
	struct profile *profile;
	struct decoder decoder;
	struct functions *names;
	struct gen gen;
	uint32_t i;

	gen_init(&gen, false);
	gen_new_process(&gen, 5, 10, "/bin/a");
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_mmap(&gen, 5, 10, 0x9000, 0x1000, 0, "/bin/b");
	gen_trace(&gen, 2, 1, 100, 10, 0, 2, ips);
	decode_init_memory(&decoder, gen.bytes->data, gen.bytes->len);
	assert_int_equal(profile_load(&decoder, &profile, NULL), 0);
	decode_fini(&decoder);
	names = functions_create(profile, symbols, how);
	assert_int_equal(profile->places->len, 2);
	for (i = 0; i < 2; i++) {
		assert_int_equal(names->places[i].count, frames);
		assert_int_equal(
			functions_function(names, names->of_place[i])->resolved, frames > 0);
		if (frames)
			assert_string_equal(
				functions_function(names, names->of_place[i])->name, "function");
	}
	functions_destroy(names);
	profile_destroy(profile);
	symbols_destroy(symbols);
	gen_fini(&gen);
}

static void check(struct asked *asked, const struct symbols_how *how, uint32_t frames)
{
	check_source(&source, asked, how, frames);
}

static void test_lines_are_resolved_on_request(void **state)
{
	struct symbols_how how = {.flags = SYMBOLS_LINES, .cancel_fd = -1};
	struct asked asked = {0};

	check(&asked, &how, 2);
	assert_int_equal(asked.with_lines, 2);
	assert_int_equal(asked.without, 0);
	check(&asked, NULL, 1);
	assert_int_equal(asked.with_lines, 2);
	assert_int_equal(asked.without, 2);
}

/* The first file takes all the time. Both have their functions nevertheless. */
static void test_late_files_get_functions_without_lines(void **state)
{
	struct symbols_how how = {.flags = SYMBOLS_LINES, .cancel_fd = -1};
	struct asked asked = {.late = true};

	how.deadline_ns = UINT64_MAX;
	check(&asked, &how, 1);
	assert_int_equal(asked.with_lines, 2);
	assert_int_equal(asked.without, 2);
	asked = (struct asked){.late = true};
	how.deadline_ns = 1; /* long ago */
	check(&asked, &how, 1);
	assert_int_equal(asked.with_lines, 0);
	assert_int_equal(asked.without, 2);
}

/* Nothing is requested for the other file. */
static void test_cancelled_request_asks_no_other_file(void **state)
{
	struct symbols_how how = {.flags = SYMBOLS_LINES, .cancel_fd = -1};
	struct asked asked = {.given_up = true};

	check(&asked, &how, 0);
	assert_int_equal(asked.with_lines, 1);
	assert_int_equal(asked.without, 0);
}

/* ---- side by side ---------------------------------------------------------------------------- */

/* How long a request waits for the other one before the test takes it that there is none. */
#define PATIENCE_SECONDS 20

struct pair {
	pthread_mutex_t lock;
	pthread_cond_t came;
	unsigned int asked, answered; /* (lock) */
	unsigned int wanted;          /* answers wait until there are so many requests */
};

/* Replies when as many requests as are expected have begun, and counts those that began before. */
static int resolve_pair(void *self, const struct symbols_file *file, const uint64_t *offsets,
	size_t count, const struct symbols_how *how, struct symbols_arena *arena,
	struct symbols_place *places)
{
	const struct timespec until = {.tv_sec = time(NULL) + PATIENCE_SECONDS};
	struct pair *pair = self;
	struct asked asked = {0};

	pthread_mutex_lock(&pair->lock);
	assert_true(pair->wanted > 1 || pair->asked == pair->answered);
	pair->asked++;
	pthread_cond_broadcast(&pair->came);
	while (pair->asked < pair->wanted)
		if (pthread_cond_timedwait(&pair->came, &pair->lock, &until))
			fail_msg("no request for the other file");
	pair->answered++;
	pthread_mutex_unlock(&pair->lock);
	return resolve(&asked, file, offsets, count, how, arena, places);
}

/* Requests for two files run at once where the source can do that, else one after the other. */
static void test_two_files_are_asked_at_once_if_possible(void **state)
{
	const struct symbols_source one = {.resolve = resolve_pair};
	const struct symbols_source two = {.resolve = resolve_pair, .lanes = 2};
	struct pair pair = {.wanted = 1};

	check_source(&one, &pair, NULL, 1);
	assert_int_equal(pair.answered, 2);
	pair = (struct pair){.wanted = 2};
	check_source(&two, &pair, NULL, 1);
	assert_int_equal(pair.answered, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_are_resolved_on_request),
		cmocka_unit_test(test_late_files_get_functions_without_lines),
		cmocka_unit_test(test_cancelled_request_asks_no_other_file),
		cmocka_unit_test(test_two_files_are_asked_at_once_if_possible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
