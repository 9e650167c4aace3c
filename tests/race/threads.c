/* SPDX-License-Identifier: MIT */
/* libkprof in programs with many threads and signal handlers, killed and read while they write. */
#include "rig.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Of each thread, by its own name: which of its numbers are there. */
struct per_thread {
	int id;
	uint64_t events;
	struct {
		uint64_t events, first, last;
		bool suffix; /* without a hole */
	} of[4096];
	unsigned holes;
	bool broken;
};

static void count_threads(void *data, const struct ring_record *record, const struct kprof_run *run)
{
	struct per_thread *threads = data;
	uint64_t words[2];

	if (record->id != threads->id)
		return;
	memcpy(words, record->args, sizeof(words));
	if (words[0] >= 4096) {
		threads->broken = true;
		return;
	}
	threads->events++;
	if (threads->of[words[0]].events++ == 0) {
		threads->of[words[0]].first = words[1];
		threads->of[words[0]].suffix = true;
	} else if (words[1] != threads->of[words[0]].last + 1) {
		/* whole stretches only */
		threads->broken |= record->number != run->base;
		threads->holes++;
		threads->of[words[0]].suffix = false;
	}
	threads->of[words[0]].last = words[1];
}

static void run_threads(const char *arg, unsigned threads, uint64_t each, unsigned rounds)
{
	struct per_thread *found = calloc(1, sizeof(*found));
	struct child child = start("threads", arg);
	struct ring_totals totals;

	hear_it(&child, 'r');
	await_event(&child, "counted");
	let(&child);
	assert_int_equal(finish(&child), 0);
	found->id = peer_find(peer->programs[0], "counted");
	assert_int_equal(peer_read(&peer->programs[0]->reader, count_threads, found).gaps, 0);
	totals = totals_of(peer->programs[0]);
	assert_false(found->broken);
	/* and the one of before_main */
	assert_int_equal(totals.reserved + totals.dropped, rounds * threads * each + 1);
	assert_int_equal(totals.dropped, 0);
	assert_true(totals.held - found->events <= 1);
	for (unsigned i = 0; i < threads * rounds; i++)
		if (found->of[i].events) { /* what is left of a thread is its end */
			assert_true(found->of[i].suffix);
			assert_int_equal(found->of[i].last, each - 1);
		}
	free(found);
}

static void test_threads(void **state)
{
	run_threads("64 5000 1", 64, 5000, 1);
}

static void test_short_threads(void **state)
{
	run_threads("16 3 100", 16, 3, 100);
}

static void test_more_threads_than_chunks(void **state)
{
	struct child child;
	struct ring_totals totals;

	setenv("KPROF_BUFFER_KB", "64", 1); /* 7 chunks */
	child = start("threads", "32 2000 2");
	hear_it(&child, 'r');
	await_event(&child, "counted");
	let(&child);
	assert_int_equal(finish(&child), 0);
	totals = totals_of(peer->programs[0]);
	assert_int_equal(peer->programs[0]->reader.layout.pool_bytes, 65536);
	assert_int_equal(totals.reserved + totals.dropped, 2 * 32 * 2000 + 1);
}

static void test_discard(void **state)
{
	struct child child;
	struct ring_totals totals;
	struct tally tally;

	setenv("KPROF_BUFFER_KB", "64", 1);
	setenv("KPROF_BUFFER_MODE", "discard", 1);
	child = start("numbers", "10000");
	hear_it(&child, 'r');
	await_event(&child, "number");
	let(&child);
	hear_it(&child, 'd');
	tally = tally_of(peer->programs[0], "number");
	totals = totals_of(peer->programs[0]);
	assert_int_equal(tally.first, 0);
	assert_int_equal(tally.gaps_in_words, 0);
	assert_int_equal(tally.of_id + totals.dropped, 10000);
	assert_int_equal(totals.overwritten, 0);
	let(&child);
	hear_it(&child, 'e');
	let(&child);
	assert_int_equal(finish(&child), 0);
}

/* kill -9 in the middle of writing: all that is left is whole, and the counts balance. */
static void test_killed(void **state)
{
	for (int i = 0; i < 40; i++) {
		struct per_thread *found = calloc(1, sizeof(*found));
		struct child child = start("forever", NULL);
		struct peer_program *program;
		struct peer_sums sums;
		struct ring_totals totals, before;
		int64_t until = peer_now_ms() + 10000;

		hear_it(&child, 'r');
		program = await_event(&child, "counted");
		let(&child);
		do { /* another number of events each time */
			peer_poll(peer, 0);
			before = totals_of(program);
			assert_true(peer_now_ms() < until);
		} while (before.reserved < (uint64_t)(1000 << i % 10) + (uint64_t)i * 37);
		kill(child.pid, SIGKILL);
		assert_int_equal(finish(&child), 256 + SIGKILL);
		found->id = peer_find(program, "counted");
		sums = peer_read(&program->reader, count_threads, found);
		totals = totals_of(program);
		assert_int_equal(sums.stale, 0);
		assert_false(found->broken);
		/* what is held was read, or was torn by the death: one a thread at most */
		assert_true(totals.held - sums.events <= 3);
		assert_true(sums.gaps <= totals.held - sums.events);
		assert_int_equal(totals.reserved, totals.held + totals.overwritten);
		/* each thread's end; and for each thread the old chunk that it had just chosen */
		assert_true(found->holes <= 3);
		free(found);
	}
}

/* A reader at full speed beside writers that overwrite: what it gets is whole. */
static void test_reading_while_written(void **state)
{
	struct per_thread *found = calloc(1, sizeof(*found));
	struct peer_program *program;
	struct child child;
	uint64_t events = 0;

	setenv("KPROF_BUFFER_KB", "64", 1);
	child = start("forever", NULL);
	hear_it(&child, 'r');
	program = await_event(&child, "counted");
	let(&child);
	for (int i = 0; i < 20000 && events < 2000000; i++) {
		memset(found, 0, sizeof(*found));
		found->id = peer_find(program, "counted");
		peer_read(&program->reader, count_threads, found);
		assert_false(found->broken);
		events += found->events;
	}
	assert_true(events > 0);
	kill(child.pid, SIGKILL);
	finish(&child);
	free(found);
}

static void test_signals(void **state)
{
	struct child child;
	struct peer_program *program;
	struct tally tally;
	struct ring_totals totals;
	uint64_t written, handled;

	setenv("KPROF_BUFFER_KB", "65536", 1);
	child = start("signals", NULL);
	hear_it(&child, 'r');
	program = await_event(&child, "number");
	let(&child);
	assert_int_equal(finish(&child), 0);
	tally = tally_of(program, "written %lu handled %d");
	written = word_at(&tally, 0);
	handled = word_at(&tally, 1);
	assert_true(handled >= 2000);
	totals = totals_of(program);
	assert_int_equal(totals.reserved + totals.dropped, written + handled + 2);
	assert_int_equal(totals.dropped, 0);
	tally = tally_of(program, "number");
	assert_int_equal(tally.last, written - 1);
	assert_int_equal(tally.gaps_in_words, 0);
	assert_false(tally.broken);
	if (totals.overwritten == 0)
		assert_int_equal(tally.by_event[peer_find(program, "handled")], handled);
}

struct batons {
	int id;
	uint64_t n;
	struct {
		uint64_t stamp, number;
	} of[4000];
};

static void count_batons(void *data, const struct ring_record *record, const struct kprof_run *run)
{
	struct batons *batons = data;
	uint64_t words[2];

	if (record->id != batons->id)
		return;
	memcpy(words, record->args, sizeof(words));
	assert_true(words[1] < 4000);
	batons->of[words[1]].stamp = record->stamp;
	batons->n++;
}

static void test_baton(void **state)
{
	struct batons *batons = calloc(1, sizeof(*batons));
	struct child child = start("baton", NULL);

	hear_it(&child, 'r');
	await_event(&child, "counted");
	let(&child);
	assert_int_equal(finish(&child), 0);
	batons->id = peer_find(peer->programs[0], "counted");
	peer_read(&peer->programs[0]->reader, count_batons, batons);
	assert_int_equal(batons->n, 4000);
	for (int i = 1; i < 4000; i++)
		assert_true(batons->of[i].stamp > batons->of[i - 1].stamp);
	free(batons);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_threads),
		TEST(test_short_threads),
		TEST(test_more_threads_than_chunks),
		TEST(test_discard),
		TEST(test_killed),
		TEST(test_reading_while_written),
		TEST(test_signals),
		TEST(test_baton),
	};

	take_arguments(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
