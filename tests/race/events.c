/* SPDX-License-Identifier: MIT */
/* What events libkprof announces, and what it stores of them. */
#include "rig.h"

#include <stdio.h>
#include <string.h>

static const char *const plugin_events[] = {"templated", "inlined", "method", "lambda",
	"plugin %d"};

static bool all_are(const struct peer_program *program, bool gone)
{
	for (size_t i = 0; i < sizeof(plugin_events) / sizeof(plugin_events[0]); i++) {
		int id = peer_find(program, plugin_events[i]);

		if (id < 0 || program->events[id].gone != gone)
			return false;
	}
	return true;
}

static bool all_are_gone(struct peer *p, void *program)
{
	return all_are(program, true);
}

static void test_dlopen(void **state)
{
	struct child child = start("dlopen", plugin);
	struct peer_program *program;

	hear_it(&child, 'r');
	program = await_event(&child, "lambda");
	assert_true(all_are(program, false));
	let(&child);
	hear_it(&child, 'g');
	assert_true(peer_wait(peer, all_are_gone, program));
	let(&child);
	assert_int_equal(finish(&child), 0);
	assert_true(peer_wait_ended(peer, 1));
	assert_true(totals_of(program).reserved > 0);
}

static const struct peer_event *event_named(const struct peer_program *program, const char *name,
	const char *format)
{
	for (int i = 0; i < PEER_EVENTS; i++)
		if (program->events[i].known && strcmp(program->events[i].name, name) == 0 &&
			(!format || strcmp(program->events[i].format, format) == 0))
			return &program->events[i];
	return NULL;
}

static void test_refused(void **state)
{
	struct child child = start("refused", NULL);
	struct peer_program *program;
	unsigned twice = 0;

	assert_int_equal(finish(&child), 0);
	assert_true(peer_wait_ended(peer, 1));
	program = peer->programs[0];
	assert_non_null(event_named(program, "bad name!", NULL));
	assert_non_null(event_named(program, "wide", NULL));
	assert_int_equal(event_named(program, "bad name!", NULL)->refusal, KPROF_REFUSED_NAME);
	assert_int_equal(event_named(program, "wide", NULL)->refusal, KPROF_REFUSED_FORMAT);
	/* one event for the two places that agree, another for the third; the server decides */
	for (int i = 0; i < PEER_EVENTS; i++)
		twice += program->events[i].known &&
			strcmp(program->events[i].name, "twice") == 0;
	assert_int_equal(twice, 2);
	assert_non_null(event_named(program, "twice", "%d"));
	assert_non_null(event_named(program, "twice", "%x"));
}

static void test_text(void **state)
{
	struct child child = start("text", NULL);
	struct peer_program *program;
	struct tally tally = {.id = KPROF_ID_TEXT};
	double value;

	hear_it(&child, 'r');
	program = await_event(&child, "strings");
	let(&child);
	assert_int_equal(finish(&child), 0);
	peer_read(&program->reader, count, &tally);
	assert_int_equal(tally.of_id, 2);
	/* "%Lf" and a double: 2 + 3 bytes in one word, then the value */
	assert_memory_equal(tally.args, "\3\0%Lf\0\0\0", 8);
	memcpy(&value, tally.args + 8, 8);
	assert_true(value == 2.5);
	assert_int_equal(tally.by_event[KPROF_ID_TEXTX], 2);
	tally = tally_of(program, "strings");
	/* abcd | precision 2 | ab | no string */
	assert_memory_equal(tally.args, "\4\0abcd\0\0", 8);
	assert_int_equal(word_at(&tally, 1), 2);
	assert_memory_equal(tally.args + 16, "\2\0ab\0\0\0\0", 8);
	assert_memory_equal(tally.args + 24, "\377\377\0\0\0\0\0\0", 8);
}

/* of "string" */
#define STRING "\6\0string"
#define LONGER "\44\0" "0123456789abcdefghijklmnopqrstuvwxyz" "\0\0"
#define MINUS "\377\377\377\377\377\377\377\377"
#define TWO "\2\0\0\0\0\0\0\0"
#define THREE "\3\0\0\0\0\0\0\0"
#define ST "\2\0st\0\0\0\0"
#define ROW(name, args) {__LINE__, name, args, sizeof(args) - 1}

static const struct {
	int line;
	const char *name, *args;
	size_t bytes;
} shapes[] = {
	ROW("no", ""), ROW("d", MINUS), ROW("s", STRING), ROW("longer", LONGER),
	ROW("none", "\377\377\0\0\0\0\0\0"), ROW("cut", ST), ROW("dd", MINUS TWO),
	ROW("ds", MINUS STRING), ROW("sd", STRING MINUS), ROW("ss", STRING "\0\0\0\0\0\0\0\0"),
	ROW("star", TWO ST), ROW("sl", STRING LONGER), ROW("ddd", MINUS TWO THREE),
	ROW("sds", STRING TWO STRING),
};

static void test_shapes(void **state)
{
	struct child child = start("shapes", "string");
	struct peer_program *program;
	struct tally huge;

	hear_it(&child, 'r');
	program = await_event(&child, "sds");
	let(&child);
	assert_int_equal(finish(&child), 0);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct tally tally = tally_of(program, shapes[i].name);

		if (tally.of_id != 1 + (strcmp(shapes[i].name, "no") == 0) ||
			tally.args_bytes != shapes[i].bytes ||
			memcmp(tally.args, shapes[i].args, shapes[i].bytes) != 0)
			fail_msg("row of line %d: %llu events, of %u bytes", shapes[i].line,
				(unsigned long long)tally.of_id, tally.args_bytes);
	}
	huge = tally_of(program, "huge");
	assert_int_equal(huge.args_bytes, 8 + (2 + 2000 + 6)); /* a whole number of words */
	assert_memory_equal(huge.args, MINUS "\320\7hhh", 13);
}

static void test_stack(void **state)
{
	struct child child = start("stack", NULL);
	struct peer_program *program;
	struct tally tally;
	uint64_t inner, outer;

	hear_it(&child, 'r');
	program = await_event(&child, "from %s");
	let(&child);
	assert_int_equal(finish(&child), 0);
	tally = tally_of(program, "inner %p outer %p");
	inner = word_at(&tally, 0);
	outer = word_at(&tally, 1);
	tally = tally_of(program, "from %s");
	assert_true(tally.flags & KPROF_RECORD_STACK);
	assert_memory_equal(tally.args, "\5\0inner\0", 8);
	assert_true(word_at(&tally, 1) >= 3 && word_at(&tally, 1) <= 32);
	/* return addresses into the two functions, which are not large */
	assert_in_range(word_at(&tally, 2), inner, inner + 300);
	assert_in_range(word_at(&tally, 3), outer, outer + 300);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_dlopen),
		TEST(test_refused),
		TEST(test_text),
		TEST(test_shapes),
		TEST(test_stack),
	};

	take_arguments(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
