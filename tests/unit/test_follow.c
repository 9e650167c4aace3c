/* SPDX-License-Identifier: MIT */
/* trace/follow: a follower shows each written event or counts it as lost. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../race/fixture.h"
#include "sys/clock.h"
#include "producers/catalog.h"
#include "trace/follow.h"
#include "trace/trace_records.h"
#include "producers/producers.h"
#include "trace/reading.h"
#include "trace/snapshot.h"
#include "trace/trace.h"

#define POOL 65536u
#define INT 2u
#define CHUNKS 7u
#define EVENTS_A_CHUNK 254u /* (8192 - 56) / 32 */

static struct {
	struct trace *trace;
	struct catalog *catalog;
	struct producers *producers;
	struct readings *readings;
} world;

static int set_up(void **state)
{
	struct producers_limits limits;

	producers_limits_init(&limits, 1024, (uint64_t)4 << 30);
	world.catalog = catalog_create(NULL);
	world.producers = producers_create(world.catalog, &limits);
	world.readings = NULL;
	if (trace_create(TRACE_RING_BYTES_DEFAULT, &world.trace))
		return -1;
	world.readings = readings_create(world.trace, world.producers, NULL, SNAPSHOT_BYTES_DEFAULT, 0);
	return 0;
}

static int tear_down(void **state)
{
	int leak = snapshot_budget_used(readings_budget(world.readings)) != 0;

	readings_destroy(world.readings);
	producers_destroy(world.producers);
	catalog_destroy(world.catalog);
	trace_destroy(world.trace);
	return leak;
}

/* ---- programs -------------------------------------------------------------------------------- */

struct program {
	struct fixture pool;
	struct producer *producer;
};

static void define(struct program *program)
{
	struct err err = { "" };

	assert_int_equal(producer_define(program->producer, INT, KPROF_KIND_EVENT, "net:packet",
		"thread %d n %d", &err), 0);
}

/* Attaches the program under this pid. May be repeated. */
static void attach(struct program *program, pid_t pid)
{
	char name[KPROF_PROGRAM_MAX] = "prog";
	const struct producer_identity identity = { pid, 0, name };
	struct err err = { "" };

	if (producers_attach(world.producers, &identity, dup(program->pool.fd), &program->producer, &err))
		fail_msg("%s", err.text);
}

static struct program *create(pid_t pid, uint32_t mode)
{
	struct program *program = g_new0(struct program, 1);

	fixture_open(&program->pool, POOL, mode);
	attach(program, pid);
	define(program);
	return program;
}

static void destroy(struct program *program)
{
	producer_end(program->producer, false);
	producer_put(program->producer);
	fixture_close(&program->pool);
	g_free(program);
}

static void write_event(struct program *program, struct ring_writer *writer, uint64_t thread, uint64_t n)
{
	const uint64_t words[2] = { thread, n };

	fixture_write(&program->pool, writer, INT, words, 2);
}

/* ---- what is shown --------------------------------------------------------------------------- */

struct shown {
	uint64_t events, lost, messages;
	uint64_t next[16]; /* of each thread: above the last number */
	char last_time[40];
	GString *text; /* the last gathering's */
};

static void look_at_line(struct shown *shown, const char *line)
{
	const char *at = strstr(line, "net:packet: thread "), *end = strchr(line, ']');
	char time[40] = "";
	uint64_t thread, n;

	assert_non_null(end);
	snprintf(time, sizeof(time), "%20.*s", (int)(end - line - 1), line + 1);
	assert_true(strcmp(time, shown->last_time) >= 0);
	memcpy(shown->last_time, time, sizeof(time));
	if (at) {
		assert_int_equal(sscanf(at, "net:packet: thread %lu n %lu", &thread, &n), 2);
		assert_in_range(thread, 0, 15);
		assert_true(n >= shown->next[thread]);
		shown->next[thread] = n + 1;
		shown->events++;
	} else if (strstr(line, "events lost")) {
		assert_int_equal(sscanf(strchr(end, ' '), " %lu events lost", &n), 1);
		shown->lost += n;
	} else {
		shown->messages++;
	}
}

/* One gathering, all of it. */
static void gather(struct follow *follow, struct shown *shown)
{
	char *line, *end;

	if (!shown->text)
		shown->text = g_string_new(NULL);
	g_string_truncate(shown->text, 0);
	follow_gather(follow);
	while (follow_next(follow, shown->text))
		;
	for (line = shown->text->str; *line; line = end + 1) {
		end = strchr(line, '\n');
		assert_non_null(end);
		*end = '\0';
		look_at_line(shown, line);
		*end = '\n';
	}
}

static void finish(struct follow *follow, struct shown *shown)
{
	follow_destroy(follow);
	if (shown->text)
		g_string_free(shown->text, TRUE);
}

static struct follow *begin_with(const struct trace_records_cpu *cpu)
{
	struct follow *follow;

	assert_int_equal(follow_create(world.readings, 0, cpu, NULL, &follow), 0);
	return follow;
}

static struct follow *begin(void)
{
	const struct trace_records_cpu all = {.cpu = TRACE_RECORDS_TEXT};

	return begin_with(&all);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/*
 * The follower begins at the open, in the middle of a chunk, and has the thread. Messages stand
 * between.
 */
static void test_follower_begins_at_the_open(void **state)
{
	struct program *program = create(100, KPROF_MODE_OVERWRITE);
	struct ring_writer *writer = ring_writer_begin(&program->pool.pool);
	struct shown shown = { .events = 0 };
	struct follow *follow;
	char want[64];

	write_event(program, writer, 0, 1);
	assert_int_equal(trace_append(world.trace, "old", 3), 0);
	follow = begin();
	gather(follow, &shown);
	assert_int_equal(shown.events + shown.lost + shown.messages, 0);
	write_event(program, writer, 0, 2);
	assert_int_equal(trace_append(world.trace, "new", 3), 0);
	write_event(program, writer, 0, 3);
	gather(follow, &shown);
	assert_int_equal(shown.events, 2);
	assert_int_equal(shown.messages, 1);
	assert_int_equal(shown.lost, 0);
	assert_int_equal(shown.next[0], 4);
	snprintf(want, sizeof(want), " prog[100/%d] net:packet: thread 0 n 2\n", (int)gettid());
	assert_non_null(strstr(shown.text->str, want));
	gather(follow, &shown);
	assert_int_equal(shown.text->len, 0);
	finish(follow, &shown);
	destroy(program);
}

/* An uncommitted record is waited for, twice. The other threads are not held up. */
static void test_uncommitted_record_holds_back_its_thread_only(void **state)
{
	struct program *program = create(100, KPROF_MODE_OVERWRITE);
	struct ring_writer *first = ring_writer_begin(&program->pool.pool);
	struct ring_writer *second = ring_writer_begin(&program->pool.pool);
	struct shown shown = { .events = 0 };
	struct follow *follow = begin();
	struct ring_room room = { .words = NULL };

	write_event(program, first, 1, 0);
	assert_true(ring_reserve(first, 4, &room));
	write_event(program, first, 1, 2);
	write_event(program, second, 2, 0);
	gather(follow, &shown);
	assert_int_equal(shown.events, 2);
	room.words[2] = 1;
	room.words[3] = 1;
	ring_commit(first, &room, 0, INT, 0);
	memset(shown.last_time, 0, sizeof(shown.last_time)); /* the others went ahead */
	gather(follow, &shown);
	assert_int_equal(shown.events, 4);
	assert_int_equal(shown.next[1], 3);
	/* and one that is never finished: lost after that */
	assert_true(ring_reserve(first, 4, &room));
	memset(shown.last_time, 0, sizeof(shown.last_time));
	write_event(program, first, 1, 4);
	gather(follow, &shown);
	gather(follow, &shown);
	assert_int_equal(shown.events, 4);
	assert_int_equal(shown.lost, 0);
	gather(follow, &shown);
	assert_int_equal(shown.events, 5);
	assert_int_equal(shown.next[1], 5);
	assert_int_equal(shown.lost, 1);
	gather(follow, &shown);
	assert_int_equal(shown.lost, 1);
	finish(follow, &shown);
	destroy(program);
}

/*
 * A record with a stamp after the moment of the gathering is left for the next one: neither shown
 * nor lost.
 */
static void test_records_after_the_gathering_are_shown_later(void **state)
{
	struct program *program = create(100, KPROF_MODE_OVERWRITE);
	struct ring_writer *writer = ring_writer_begin(&program->pool.pool);
	struct shown shown = { .events = 0 };
	struct follow *follow = begin();
	struct ring_room room = { .words = NULL };
	int i;

	write_event(program, writer, 0, 0);
	assert_true(ring_reserve(writer, 4, &room));
	room.stamp += 3600000000000; /* in an hour */
	room.words[2] = 0;
	room.words[3] = 1;
	ring_commit(writer, &room, 0, INT, 0);
	for (i = 0; i < 5; i++)
		gather(follow, &shown);
	assert_int_equal(shown.events, 1);
	assert_int_equal(shown.lost, 0);
	finish(follow, &shown);
	destroy(program);
}

/* An event that is defined after it was written. */
static void test_event_defined_late_is_shown(void **state)
{
	struct program *program = g_new0(struct program, 1);
	struct shown shown = { .events = 0 };
	struct follow *follow = begin();
	struct ring_writer *writer;

	fixture_open(&program->pool, POOL, KPROF_MODE_OVERWRITE);
	attach(program, 100);
	writer = ring_writer_begin(&program->pool.pool);
	write_event(program, writer, 0, 0);
	gather(follow, &shown);
	assert_int_equal(shown.events + shown.lost, 0);
	define(program);
	gather(follow, &shown);
	assert_int_equal(shown.events, 1);
	assert_int_equal(shown.lost, 0);
	finish(follow, &shown);
	destroy(program);
}

/*
 * Twice round the pool between two looks. By hand: 20 chunks of 254 events are begun; the seven
 * newest chunks are there, the last of them full.
 */
static void test_overwritten_events_are_counted_as_lost(void **state)
{
	struct program *program = create(100, KPROF_MODE_OVERWRITE);
	struct ring_writer *writer = ring_writer_begin(&program->pool.pool);
	struct shown shown = { .events = 0 };
	struct follow *follow = begin();
	uint64_t n = 0;

	for (; n < 20 * EVENTS_A_CHUNK; n++)
		write_event(program, writer, 0, n);
	gather(follow, &shown);
	assert_int_equal(shown.events, CHUNKS * EVENTS_A_CHUNK);
	assert_int_equal(shown.lost, 13 * EVENTS_A_CHUNK);
	assert_int_equal(shown.next[0], 20 * EVENTS_A_CHUNK);
	/* once more, from the middle */
	write_event(program, writer, 0, n++);
	gather(follow, &shown);
	for (; n < 40 * EVENTS_A_CHUNK; n++)
		write_event(program, writer, 0, n);
	gather(follow, &shown);
	assert_int_equal(shown.events + shown.lost, 40 * EVENTS_A_CHUNK);
	finish(follow, &shown);
	destroy(program);
}

/* A pool that keeps the oldest events: what does not fit is lost, though nothing follows it. */
static void test_discarded_events_are_counted_as_lost(void **state)
{
	struct program *program = create(100, KPROF_MODE_DISCARD);
	struct ring_writer *writer = ring_writer_begin(&program->pool.pool);
	struct shown shown = { .events = 0 };
	struct follow *follow = begin();
	uint64_t n;

	for (n = 0; n < 10 * EVENTS_A_CHUNK; n++)
		write_event(program, writer, 0, n);
	gather(follow, &shown);
	assert_int_equal(shown.events, CHUNKS * EVENTS_A_CHUNK);
	assert_int_equal(shown.lost, 3 * EVENTS_A_CHUNK);
	write_event(program, writer, 0, n);
	gather(follow, &shown);
	assert_int_equal(shown.lost, 3 * EVENTS_A_CHUNK + 1);
	finish(follow, &shown);
	destroy(program);
}

/*
 * Of programs that attach later, events older than the follower are not shown. One that attaches
 * again continues.
 */
static void test_producer_that_comes_later_is_followed(void **state)
{
	struct program *program = g_new0(struct program, 1);
	struct shown shown = { .events = 0 };
	struct ring_writer *writer;
	struct follow *follow;
	struct producer *before;
	uint64_t n;

	fixture_open(&program->pool, POOL, KPROF_MODE_OVERWRITE);
	writer = ring_writer_begin(&program->pool.pool);
	for (n = 0; n < 20 * EVENTS_A_CHUNK; n++)
		write_event(program, writer, 0, n);
	follow = begin();
	write_event(program, writer, 0, n++);
	attach(program, 100);
	define(program);
	gather(follow, &shown);
	assert_int_equal(shown.events, 1);
	assert_int_equal(shown.lost, 0);
	assert_int_equal(shown.next[0], n);
	write_event(program, writer, 0, n++);
	before = program->producer;
	producer_end(before, false);
	attach(program, 100);
	define(program);
	producer_put(before);
	write_event(program, writer, 0, n++);
	gather(follow, &shown);
	assert_int_equal(shown.events, 3);
	assert_int_equal(shown.lost, 0);
	finish(follow, &shown);
	destroy(program);
}

/* ---- stress ---------------------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS 200000u

struct work {
	struct program *program;
	uint64_t thread;
};

static void *write_numbers(void *arg)
{
	struct work *work = arg;
	struct ring_writer *writer = ring_writer_begin(&work->program->pool.pool);
	uint64_t n;

	for (n = 0; n < ROUNDS; n++)
		write_event(work->program, writer, work->thread, n);
	ring_writer_end(&work->program->pool.pool, writer);
	return NULL;
}

static void test_every_event_is_shown_or_lost_under_load(void **state)
{
	struct program *program[2] = { create(100, KPROF_MODE_OVERWRITE), create(200, KPROF_MODE_OVERWRITE) };
	struct shown shown = { .events = 0 };
	struct follow *follow = begin();
	pthread_t threads[THREADS];
	struct work works[THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		works[i] = (struct work){ program[i % 2], (uint64_t)i };
		assert_int_equal(pthread_create(&threads[i], NULL, write_numbers, &works[i]), 0);
	}
	for (i = 0; i < 100; i++) {
		/* a thread that was stopped between stamp and reservation may be late */
		memset(shown.last_time, 0, sizeof(shown.last_time));
		gather(follow, &shown);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	memset(shown.last_time, 0, sizeof(shown.last_time));
	gather(follow, &shown);
	assert_int_equal(shown.events + shown.lost, THREADS * ROUNDS);
	gather(follow, &shown);
	assert_int_equal(shown.text->len, 0);
	finish(follow, &shown);
	for (i = 0; i < 2; i++)
		destroy(program[i]);
}

/* One call reads a limited number of events, although most may be of other CPUs. */
static void test_work_of_one_call_is_bounded(void **state)
{
	const struct trace_records_cpu other = {.cpu = 1, .first = 0, .count = 2};
	struct program *program = g_new0(struct program, 1);
	GString *text = g_string_new(NULL);
	struct ring_writer *writer;
	struct follow *follow;
	size_t beginning;
	uint32_t pieces;

	fixture_open(&program->pool, 1u << 20, KPROF_MODE_OVERWRITE);
	attach(program, 100);
	define(program);
	writer = ring_writer_begin(&program->pool.pool);
	follow = begin_with(&other);
	for (uint64_t n = 0; n < 10000; n++) {
		const uint64_t words[2] = { 0, n };
		struct ring_room room;

		while (!ring_reserve(writer, 4, &room))
			assert_true(ring_writer_switch(&program->pool.pool, writer, 4));
		memcpy(room.words + 2, words, sizeof(words));
		ring_commit(writer, &room, 0, INT, 0);
	}
	assert_false(follow_has_more(follow));
	assert_true(follow_gather(follow));
	assert_true(follow_next(follow, text));
	beginning = text->len;
	for (pieces = 1; follow_has_more(follow); pieces++)
		assert_true(follow_next(follow, text));
	/* 4096, as many again, and the rest */
	assert_int_equal(pieces, 3);
	assert_int_equal(text->len, beginning);
	assert_false(follow_next(follow, text));
	g_string_free(text, TRUE);
	follow_destroy(follow);
	destroy(program);
}

/* ---- readings -------------------------------------------------------------------------------- */

struct patience {
	uint32_t asked, until;
};

static bool is_out_of_patience(void *arg)
{
	struct patience *patience = arg;

	return ++patience->asked >= patience->until;
}

/* An open can be cancelled at any event of those that it measures. Lines may be long. */
static void test_reading_is_cancelled(void **state)
{
	const struct trace_records_cpu all = {.cpu = TRACE_RECORDS_TEXT};
	struct program *program = create(100, KPROF_MODE_OVERWRITE);
	struct ring_writer *writer = ring_writer_begin(&program->pool.pool);
	struct patience patience = { 0, 6 };
	const struct cancel cancel = { is_out_of_patience, &patience, -1 };
	struct reading *reading = NULL;

	for (uint64_t i = 0; i < 10; i++)
		write_event(program, writer, 0, i);
	assert_int_equal(reading_create(world.readings, 0, &all, &cancel,
				 &reading), -EINTR);
	assert_null(reading);
	assert_int_equal(patience.asked, 6);
	patience = (struct patience){ 0, UINT32_MAX };
	assert_int_equal(reading_create(world.readings, 0, &all, &cancel,
				 &reading), 0);
	reading_destroy(reading);
	destroy(program);
}

/* The reader may be gone before all programs were searched. */
static void test_beginning_is_cancelled(void **state)
{
	struct program *program[2] = { create(100, KPROF_MODE_OVERWRITE), create(200, KPROF_MODE_OVERWRITE) };
	const struct trace_records_cpu all = {.cpu = TRACE_RECORDS_TEXT};
	struct follow *follow = NULL;
	struct patience patience = { 0, 2 };
	const struct cancel cancel = { is_out_of_patience, &patience, -1 };

	assert_int_equal(follow_create(world.readings, 0, &all, &cancel, &follow),
		-EINTR);
	assert_null(follow);
	assert_int_equal(patience.asked, 2);
	destroy(program[0]);
	destroy(program[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_follower_begins_at_the_open,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_uncommitted_record_holds_back_its_thread_only,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_records_after_the_gathering_are_shown_later,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_event_defined_late_is_shown,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_overwritten_events_are_counted_as_lost,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_discarded_events_are_counted_as_lost,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_producer_that_comes_later_is_followed,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_every_event_is_shown_or_lost_under_load,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_work_of_one_call_is_bounded,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reading_is_cancelled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_beginning_is_cancelled, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
