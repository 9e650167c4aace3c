/* SPDX-License-Identifier: MIT */
/*
 * producers/admission: connections are accepted and evicted by the rules of admission.h, and a user
 * with many connections leaves room for other users.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "producers/admission.h"

#define PLACES 64u

static const struct admission_limits limits = {.all = PLACES, .user = 48, .process = 4};

struct world {
	struct admission *places;
	struct admission_entry place[PLACES];
	unsigned int count;
};

static void begin(struct world *world)
{
	*world = (struct world){.places = admission_create(&limits)};
}

static void finish(struct world *world)
{
	for (unsigned int i = 0; i < world->count; i++)
		admission_remove(world->places, &world->place[i]);
	assert_null(admission_oldest_pending(world->places));
	admission_destroy(world->places);
}

/* NULL if it is connected, and has sent HELLO if it does so. */
static const char *come(struct world *world, pid_t pid, uid_t uid, bool sends_hello)
{
	const struct ucred who = {.pid = pid, .uid = uid};
	struct admission_entry *late, *place = &world->place[world->count];
	const char *reason = admission_check(world->places, &who, &late);

	assert_null(late);
	if (reason)
		return reason;
	admission_add(world->places, place, &who);
	if (sends_hello)
		admission_hello(world->places, place);
	world->count++;
	return NULL;
}

/* Connects processes of the user until one is refused. */
static unsigned int crowd(struct world *world, pid_t first, uid_t uid)
{
	unsigned int count = 0;

	while (!come(world, first + (pid_t)count, uid, true))
		count++;
	return count;
}

/*
 * Of 64 connections 4 are root's, a sixteenth. Of the others a user gets three fourths of what other
 * users leave. Root gets what is left.
 */
static void test_users_who_take_all_leave_a_share_for_others(void **state)
{
	static const unsigned int expected[] = {45, 12, 3, 0};
	struct world world;

	begin(&world);
	for (size_t i = 0; i < G_N_ELEMENTS(expected); i++)
		assert_int_equal(crowd(&world, 100 * (pid_t)i + 1, (uid_t)i + 1), expected[i]);
	assert_string_equal(come(&world, 999, 99, true), "the connection limit is reached");
	assert_int_equal(crowd(&world, 1000, 0), 4);
	assert_string_equal(come(&world, 1999, 0, true), "the connection limit is reached");
	for (int i = 0; i < 4; i++)
		admission_remove(world.places, &world.place[--world.count]);
	/*
	 * a user with more connections than that keeps them, and gets no more until they are fewer
	 */
	admission_remove(world.places, &world.place[0]);
	world.place[0] = world.place[--world.count];
	assert_string_equal(
		come(&world, 2000, 1, true), "the connection limit of this user is reached");
	finish(&world);
}

static void test_process_attaches_a_limited_number_of_times(void **state)
{
	struct world world;

	begin(&world);
	for (unsigned int i = 0; i < limits.process; i++)
		assert_null(come(&world, 7, 1, true));
	assert_string_equal(come(&world, 7, 1, true), "the connection limit of this process is reached");
	assert_null(come(&world, 8, 1, true));
	for (unsigned int i = 0; i < 2 * limits.process; i++) /* pid 0: processes that are not known */
		assert_null(come(&world, 0, 1, true));
	finish(&world);
}

static void check_way(
	struct world *world, int line, pid_t pid, uid_t uid, const struct admission_entry *expected)
{
	const struct ucred who = {.pid = pid, .uid = uid};
	struct admission_entry *late;
	const char *reason = admission_check(world->places, &who, &late);

	if (reason || late != expected)
		fail_msg("line %d: %s", line, reason ? reason : late ? "another one" : "none");
}

/*
 * A connection without HELLO is evicted: first one of the process, then of the user, then of any
 * user; the oldest first.
 */
static void test_oldest_connection_without_hello_is_evicted_first(void **state)
{
	struct world world;

	begin(&world);
	assert_null(come(&world, 500, 5, false));
	for (unsigned int i = 0; i < limits.process; i++)
		assert_null(come(&world, 7, 1, i % 2 == 0));
	check_way(&world, __LINE__, 7, 1, &world.place[2]);
	assert_ptr_equal(admission_oldest_pending(world.places), &world.place[0]);
	admission_hello(world.places, &world.place[2]);
	admission_hello(world.places, &world.place[4]);
	assert_int_equal(crowd(&world, 1000, 1), 45 - 4);
	check_way(&world, __LINE__, 500, 5, NULL);
	for (int i = 0; i < 12; i++) /* three fourths of 15, with HELLO or without */
		assert_null(come(&world, 600 + i, 6, false));
	check_way(&world, __LINE__, 700, 6, &world.place[46]);
	while (world.count < PLACES)
		assert_null(come(&world, 900 + (pid_t)world.count, 9, false));
	check_way(&world, __LINE__, 500, 5, &world.place[0]);
	check_way(&world, __LINE__, 800, 8, &world.place[0]);
	finish(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_users_who_take_all_leave_a_share_for_others),
		cmocka_unit_test(test_process_attaches_a_limited_number_of_times),
		cmocka_unit_test(test_oldest_connection_without_hello_is_evicted_first),
	};

	return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
