/* SPDX-License-Identifier: MIT */
/*
 * capture/process_filter: the records of a process and its descendants are selected from captures that
 * were made by hand.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fixtures/gen.h"
#include "capture/dump.h"
#include "capture/process_filter.h"

#define ROOT 100

/* The wanted records as kprof dump shows them, without their offsets, times and what follows. */
static char *wanted_by(
	struct process_filter *subset, const struct gen *gen, struct process_filter_counts *counts)
{
	GString *all = g_string_new(NULL), *line = g_string_new(NULL);
	struct decode_record record;
	struct decoder decoder;

	decode_init_memory(&decoder, gen->bytes->data, gen->bytes->len);
	while (decode_next(&decoder, &record, NULL) > 0)
		process_filter_learn(subset, &record);
	assert_int_equal(decode_rewind(&decoder), 0);
	while (decode_next(&decoder, &record, NULL) > 0) {
		if (!process_filter_matches(subset, &record))
			continue;
		g_string_truncate(line, 0);
		dump_record(&record, line);
		g_string_append(all, strchr(line->str, ' ') + 1);
	}
	*counts = *process_filter_counts(subset);
	decode_fini(&decoder);
	g_string_free(line, TRUE);
	process_filter_destroy(subset);
	return g_string_free(all, FALSE);
}

static char *wanted(
	const struct gen *gen, uint32_t root, uint64_t begin, struct process_filter_counts *counts)
{
	return wanted_by(process_filter_create(root, begin), gen, counts);
}

static void sample(struct gen *gen, uint64_t time, uint32_t pid)
{
	const uint64_t frame = 0x1000;

	gen_trace(gen, 2, 1, time, pid, 0, 1, &frame);
}

static bool has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

/* Children and their children, recorded in any order; not threads, not other processes. */
static void test_descendants_are_kept_and_other_processes_are_not(void **state)
{
	struct process_filter_counts counts;
	struct gen gen;
	char *text;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_event(&gen, 1, 1000, 0, "e");
	gen_fork(&gen, 30, 102, 102, 101, 101); /* before its parent's */
	gen_fork(&gen, 20, 101, 101, ROOT, ROOT);
	gen_fork(&gen, 25, 101, 111, 101, 101); /* a thread */
	gen_fork(&gen, 26, 201, 201, 200, 200); /* somebody else's */
	sample(&gen, 50, ROOT);
	sample(&gen, 51, 101);
	sample(&gen, 52, 102);
	sample(&gen, 53, 201);
	sample(&gen, 54, 200);
	sample(&gen, 55, GEN_IDLE);
	sample(&gen, 56, 0xfffffffe);
	text = wanted(&gen, ROOT, 0, &counts);
	assert_int_equal(counts.samples, 3);
	assert_int_equal(counts.others, 3);
	assert_int_equal(counts.gone, 1);
	assert_int_equal(counts.processes, 3);
	assert_true(has(text, "user_trace time=50 event=1 pid=100 "));
	assert_true(has(text, "user_trace time=51 event=1 pid=101 "));
	assert_true(has(text, "user_trace time=52 event=1 pid=102 "));
	assert_true(has(text, "fork time=25 pid=101 tid=111 "));
	assert_false(has(text, "pid=200"));
	assert_false(has(text, "pid=201"));
	assert_false(has(text, "idle"));
	g_free(text);
	gen_fini(&gen);
}

static void put_stack(struct gen *gen, uint64_t time, uint32_t pid)
{
	gen_begin(gen);
	gen_u64(gen, time);
	gen_u32(gen, pid);
	gen_u16(gen, 0); /* CPU */
	gen_u16(gen, 62);
	gen_u16(gen, 127);
	gen_u16(gen, 0); /* registers */
	gen_u32(gen, 0); /* bytes */
	gen_end(gen, 74);
}

/* A copied stack is kept or left out with its sample: it is memory of the same program. */
static void test_copied_stack_follows_its_sample(void **state)
{
	struct process_filter_counts counts;
	struct gen gen;
	char *text;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_event(&gen, 1, 1000, 0, "e");
	put_stack(&gen, 50, ROOT);
	sample(&gen, 50, ROOT);
	put_stack(&gen, 51, 200);
	sample(&gen, 51, 200);
	put_stack(&gen, 52, 0xfffffffe);
	sample(&gen, 52, 0xfffffffe);
	text = wanted(&gen, ROOT, 0, &counts);
	assert_true(has(text, "user_stack time=50 "));
	assert_false(has(text, "user_stack time=51 "));
	assert_false(has(text, "user_stack time=52 "));
	g_free(text);
	gen_fini(&gen);
}

/*
 * A pid means the process that was forked last. Its samples are wanted only while it is a
 * descendant.
 */
static void test_reused_pid_is_the_last_forked_process(void **state)
{
	struct process_filter_counts counts;
	struct gen gen;
	char *text;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_event(&gen, 1, 1000, 0, "e");
	gen_fork(&gen, 10, 101, 101, 200, 200);
	gen_fork(&gen, 20, 101, 101, ROOT, ROOT);
	gen_fork(&gen, 30, 101, 101, 200, 200);
	gen_fork(&gen, 35, 102, 102, 101, 101); /* of the process that is not a descendant */
	sample(&gen, 5, 101);
	sample(&gen, 15, 101);
	sample(&gen, 20, 101);
	sample(&gen, 29, 101);
	sample(&gen, 30, 101);
	sample(&gen, 40, 102);
	text = wanted(&gen, ROOT, 0, &counts);
	assert_int_equal(counts.samples, 2);
	assert_int_equal(counts.others, 4);
	assert_int_equal(counts.processes, 2);
	assert_true(has(text, "user_trace time=20 "));
	assert_true(has(text, "user_trace time=29 "));
	g_free(text);
	gen_fini(&gen);
}

/*
 * Records that the samples need stay, those of other processes go. Losses belong to no process and
 * stay.
 */
static void check_state(bool before_75)
{
	struct process_filter_counts counts;
	struct gen gen;
	char *text;

	gen_init(&gen, false);
	gen.before_75 = before_75;
	gen_clock(&gen, 1, 2);
	gen_event(&gen, 1, 1000, 0, "e");
	gen_kernel_mmap(&gen, 3, 0xffffffff81000000, 0x1000, "[kernel.kallsyms]");
	gen_mmap(&gen, 3, ROOT, 0x1000, 0x1000, 0, "/bin/ours");
	gen_mmap(&gen, 3, 200, 0x1000, 0x1000, 0, "/bin/theirs");
	gen_build_id(&gen, 3, ROOT, 0x1000, "12345678901234567890", 20);
	gen_build_id(&gen, 3, 200, 0x1000, "12345678901234567890", 20);
	gen_new_process(&gen, 3, ROOT, "/bin/ours");
	gen_new_process(&gen, 3, 200, "/bin/theirs");
	gen_comm(&gen, 3, ROOT, ROOT, "ours");
	gen_comm(&gen, 3, 200, 200, "theirs");
	gen_exit(&gen, 9, ROOT, ROOT, 1, 1);
	gen_exit(&gen, 9, 200, 200, 1, 1);
	gen_task(&gen, 0, 200, 201);
	gen_period(&gen, 0, 1, 500);
	gen_throttle(&gen, 4, 0, 1, 1);
	sample(&gen, 5, ROOT);
	gen_lost(&gen, 0, 1, 1, 5);
	gen_lost(&gen, 1, 1, 2, 7);
	gen_lost(&gen, 1, 1, 99, 1);
	text = wanted(&gen, ROOT, 0, &counts);
	assert_false(has(text, "theirs"));
	assert_false(has(text, "build_id time=3 pid=200"));
	assert_false(has(text, "exit time=9 pid=200"));
	assert_true(has(text, "build_id time=3 pid=100"));
	assert_true(has(text, "new_process time=3 pid=100"));
	assert_true(has(text, "comm time=3 pid=100"));
	assert_true(has(text, "exit time=9 pid=100"));
	assert_true(has(text, "kernel.kallsyms"));
	assert_true(has(text, "task cpu=0 pid=200 tid=201"));
	assert_true(has(text, "period cpu=0 event=1 period=500"));
	assert_true(has(text, "throttle "));
	assert_int_equal(counts.lost[1], 5);
	assert_int_equal(counts.lost[2], 7);
	assert_int_equal(counts.lost[0], 1);
	g_free(text);
	/* for the whole machine all records */
	text = wanted(&gen, 0xffffffff, 0, &counts);
	assert_true(has(text, "exit time=9 pid=200"));
	assert_int_equal(counts.samples, 1);
	g_free(text);
	gen_fini(&gen);
}

static void test_state_of_cpus_and_events_is_kept(void **state)
{
	check_state(false);
}

/* A capture of the time when the kernel's mappings were of type 3. */
static void test_state_is_kept_with_old_kernel_mappings(void **state)
{
	check_state(true);
}

/*
 * Of an earlier run in front, records of processes and of the events used later are kept, its
 * samples are not.
 */
static void test_earlier_run_keeps_its_processes_without_samples(void **state)
{
	struct process_filter_counts counts;
	struct gen gen;
	uint64_t begin;
	char *text;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_event(&gen, 1, 1000, 0, "used");
	gen_event(&gen, 2, 1000, 0, "unused");
	gen_comm(&gen, 3, ROOT, ROOT, "ours");
	gen_task(&gen, 0, ROOT, 101);
	sample(&gen, 5, ROOT);
	gen_lost(&gen, 0, 2, 1, 5);
	begin = gen.bytes->len;
	gen_event(&gen, 1, 1000, 0, "used"); /* recorded again */
	gen_event(&gen, 2, 1000, 0, "unused");
	gen_event(&gen, 3, 1000, 0, "new");
	sample(&gen, 9, ROOT);
	text = wanted(&gen, ROOT, begin, &counts);
	assert_int_equal(counts.samples, 1);
	assert_int_equal(counts.lost[1], 0);
	assert_false(has(text, "user_trace time=5"));
	assert_false(has(text, "task"));
	assert_false(has(text, "lost"));
	assert_false(has(text, "unused"));
	assert_true(has(text, "\"used\""));
	assert_true(has(text, "\"new\""));
	assert_true(has(text, "comm time=3 pid=100"));
	g_free(text);
	gen_fini(&gen);
}

/* Two processes with their children, and not the third. */
static void test_several_processes_are_kept(void **state)
{
	struct process_filter *filter = process_filter_create(PROCESS_FILTER_NO_ROOT, 0);
	struct process_filter_counts counts;
	struct gen gen;
	char *text;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_event(&gen, 1, 1000, 0, "event");
	gen_fork(&gen, 10, 301, 301, 300, 300);
	sample(&gen, 11, 200);
	sample(&gen, 12, 300);
	sample(&gen, 13, 301);
	sample(&gen, 14, 400);
	process_filter_add_process(filter, 200);
	process_filter_add_process(filter, 300);
	process_filter_begin_at(filter, 12);
	text = wanted_by(filter, &gen, &counts);
	assert_int_equal(counts.samples, 2);
	assert_int_equal(counts.others, 1);
	assert_int_equal(counts.early, 1);
	assert_true(has(text, "pid=300"));
	assert_true(has(text, "user_trace time=13 event=1 pid=301"));
	assert_false(has(text, "time=11"));
	assert_false(has(text, "time=14"));
	g_free(text);
	gen_fini(&gen);
}

/*
 * A thread is known by the last TASK of the sample's CPU; without one it is the first thread. The names
 * and mappings of its process are kept.
 */
static void test_threads_are_kept_without_their_process(void **state)
{
	struct process_filter *filter = process_filter_create(PROCESS_FILTER_NO_ROOT, 0);
	struct process_filter_counts counts;
	struct gen gen;
	char *text;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_event(&gen, 1, 1000, 0, "event");
	gen_comm(&gen, 3, 200, 200, "ours");
	gen_comm(&gen, 3, 500, 500, "single");
	gen_mmap(&gen, 3, 500, 0x1000, 0x1000, 0, "/bin/single");
	gen_comm(&gen, 3, 600, 600, "theirs");
	sample(&gen, 11, 200);
	gen_task(&gen, 0, 200, 202);
	sample(&gen, 12, 200);
	gen_task(&gen, 0, 200, 203);
	sample(&gen, 13, 200);
	sample(&gen, 14, 500);
	sample(&gen, 15, 600);
	process_filter_add_thread(filter, 202);
	process_filter_add_thread(filter, 500);
	text = wanted_by(filter, &gen, &counts);
	assert_int_equal(counts.samples, 2);
	assert_int_equal(counts.others, 3);
	assert_int_equal(counts.processes, 2);
	assert_true(has(text, "user_trace time=12"));
	assert_true(has(text, "user_trace time=14"));
	assert_true(has(text, "\"ours\""));
	assert_true(has(text, "\"single\""));
	assert_true(has(text, "/bin/single"));
	assert_false(has(text, "theirs"));
	g_free(text);
	gen_fini(&gen);
}

/* What is known of a process that woke a member is kept, with its parent's; not of one that woke another. */
static void test_wakers_are_kept_without_their_samples(void **state)
{
	const uint64_t frame = 0x1000;
	const struct gen_waker waker = { 300, "w", 1, &frame }, other = { 400, "o", 1, &frame };
	struct process_filter_counts counts;
	struct gen gen;
	char *text;

	gen_init(&gen, false);
	gen_event(&gen, 1, 1000, 0, "e");
	gen_mmap(&gen, 5, 200, 0x1000, 0x1000, 0, "/bin/parent");
	gen_mmap(&gen, 5, 300, 0x1000, 0x1000, 0, "/bin/waker");
	gen_mmap(&gen, 5, 400, 0x1000, 0x1000, 0, "/bin/other");
	gen_fork(&gen, 20, 300, 300, 200, 200);
	gen_woken(&gen, 50, ROOT, 0, 10, &waker);
	sample(&gen, 50, ROOT);
	gen_woken(&gen, 51, 500, 0, 10, &other);
	sample(&gen, 51, 500);
	sample(&gen, 52, 300);
	text = wanted(&gen, ROOT, 0, &counts);
	assert_true(has(text, "/bin/parent"));
	assert_true(has(text, "/bin/waker"));
	assert_false(has(text, "/bin/other"));
	assert_int_equal(counts.samples, 1);
	assert_int_equal(counts.others, 2);
	assert_int_equal(counts.processes, 1);
	g_free(text);
	gen_fini(&gen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descendants_are_kept_and_other_processes_are_not),
		cmocka_unit_test(test_copied_stack_follows_its_sample),
		cmocka_unit_test(test_reused_pid_is_the_last_forked_process),
		cmocka_unit_test(test_state_of_cpus_and_events_is_kept),
		cmocka_unit_test(test_state_is_kept_with_old_kernel_mappings),
		cmocka_unit_test(test_earlier_run_keeps_its_processes_without_samples),
		cmocka_unit_test(test_several_processes_are_kept),
		cmocka_unit_test(test_threads_are_kept_without_their_process),
		cmocka_unit_test(test_wakers_are_kept_without_their_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
