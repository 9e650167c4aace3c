/* SPDX-License-Identifier: MIT */
/*
 * prof/tasks: ended tasks are kept as long as samples need them, and the next run repeats the right
 * records.
 */
#include "tests/unit/tasks_fixture.h"

/* ---- how long it is kept ------------------------------------------------------------------------- */

/*
 * A process that ended is needed until the rings have been drained from where they stood after its
 * end, and then as long as the block that the last of that drain went into is held.
 */
static void test_ended_tasks_are_kept_as_long_as_needed(void **state)
{
	struct tasks *t = tasks_create();
	const char *all = "comm 100 10/10 a\nnew 100 10 /bin/a\nmmap 100 10 1000+1000 /bin/a\n"
			  "exit 200 10/10 of 1/1\n";

	(void)state;
	tasks_add_process(t, 100, 10, 0, "/bin/a");
	tasks_add_thread(t, 100, 10, 10, "a");
	map(t, 100, 10, 1, 1, "/bin/a");
	drain(t, 5, 1);
	tasks_exit(t, 200, 10, 10, 1, 1);
	/* its last sample came after the rings were looked at, so the next drain takes it: block 7 */
	drain(t, 6, 1);
	drain(t, 7, 1);
	assert_true(tasks_bytes(t) > 0);
	drain(t, 9, 6);
	check_whole_stream(t, __LINE__, all);
	drain(t, 9, 7);
	check_whole_stream(t, __LINE__, all);
	drain(t, 9, 8);
	check_whole_stream(t, __LINE__, "");
	assert_int_equal(tasks_bytes(t), 0);
	tasks_destroy(t);
}

/* The memory kept for ended tasks is counted exactly: the limit of the queue depends on it. */
static void test_bytes_of_ended_tasks_are_counted(void **state)
{
	struct tasks *t = tasks_create();
	uint64_t before;
	int i;

	(void)state;
	tasks_add_process(t, 100, 10, 0, "/bin/a");
	tasks_add_thread(t, 100, 10, 10, "a");
	for (i = 0; i <= 1000; i++)
		map(t, 200 + (uint64_t)i, 10, 1, 1, i % 2 ? "/lib/x" : "/lib/y");
	/* times, stamp, place, path and build-id of each at the least */
	assert_in_range(tasks_bytes(t), 1000 * 80, 1000 * 400);
	before = tasks_bytes(t);
	for (i = 0; i < 1000; i++)
		tasks_fork(t, 2000 + (uint64_t)i, 10, 100 + (uint32_t)i, 10, 10);
	assert_int_equal(tasks_bytes(t), before);
	for (i = 0; i < 1000; i++)
		tasks_exit(t, 4000 + (uint64_t)i, 10, 100 + (uint32_t)i, 10, 10);
	assert_in_range(tasks_bytes(t) - before, 1000 * 120, 1000 * 400);
	tasks_destroy(t);
}

/*
 * Tasks that no stored sample can refer to are not kept: a full capture in mode discard stores
 * nothing more.
 */
static void test_events_without_stored_samples_are_not_kept(void **state)
{
	struct tasks *t = tasks_create();
	uint32_t i;

	(void)state;
	tasks_add_process(t, 1, 1, 0, "/sbin/init");
	tasks_add_thread(t, 1, 1, 1, "init");
	map(t, 1, 1, 1, 1, "/sbin/init");
	runs = 10;
	tasks_settle(t, 3, runs, 1);
	for (i = 0; i < 100000; i++) {
		tasks_fork(t, 10 + i, 100 + i % 1000, 100 + i % 1000, 1, 1);
		tasks_comm(t, 10 + i, 100 + i % 1000, 100 + i % 1000, "x", true);
		map(t, 10 + i, 100 + i % 1000, 1, 1, "/bin/x");
		tasks_exit(t, 10 + i, 100 + i % 1000, 100 + i % 1000, 1, 1);
		/* and init's threads, programs and mappings that come and go */
		tasks_fork(t, 10 + i, 1, 2000 + i % 50, 1, 1);
		tasks_exit(t, 10 + i, 1, 2000 + i % 50, 1, 1);
		map(t, 10 + i, 1, 9, 1, i % 2 ? "/lib/x" : "/lib/y");
		if (i % 100 == 0)
			tasks_comm(t, 10 + i, 1, 1, "init", true);
		if (i % 10 == 0)
			tasks_settle(t, 3, runs, 1);
		assert_true(tasks_bytes(t) < 100000);
	}
	tasks_settle(t, 3, runs, 1);
	tasks_settle(t, 3, runs, 1);
	tasks_settle(t, 3, runs, 1);
	assert_true(tasks_bytes(t) < 2000); /* the program and mapping that init began with */
	tasks_destroy(t);
}

/*
 * Short-lived processes while samples are stored and blocks are freed: as much is kept as the held
 * blocks can refer to.
 */
static void test_short_lives_are_kept_as_long_as_their_blocks(void **state)
{
	struct tasks *t = tasks_create();
	struct task_stream stream;
	uint64_t seq = 5;
	uint32_t i;

	(void)state;
	tasks_add_process(t, 1, 1, 0, "/sbin/init");
	map(t, 1, 1, 1, 1, "/sbin/init");
	for (i = 0; i < 100000; i++) {
		const uint32_t pid = 100 + i % 30000;

		tasks_fork(t, 10 + i, pid, pid, 1, 1);
		tasks_exit(t, 10 + i, pid, pid, 1, 1);
		if (i % 10 == 0)
			drain(t, seq, seq - 4); /* 4 blocks of 100 processes */
		if (i % 100 == 0)
			seq++;
		assert_true(tasks_bytes(t) < 600 * 2000);
	}
	drain_past(t, seq + 10);
	assert_int_equal(tasks_bytes(t), 0);
	task_stream_init(&stream);
	task_stream_read(&stream, t);
	assert_int_equal(stream.rows->len, 2);
	task_stream_fini(&stream);
	tasks_destroy(t);
}

/* A process starts and ends thousands of threads: each event takes as long as the first. */
static void test_many_threads_take_constant_time_each(void **state)
{
	struct tasks *t = tasks_create();
	struct task_stream reader;
	uint32_t i;

	(void)state;
	task_stream_init(&reader);
	tasks_add_process(t, 1, 1, 0, "/bin/server");
	tasks_add_thread(t, 1, 1, 1, "server");
	for (i = 0; i < 200000; i++) {
		tasks_fork(t, 10 + i, 1, 100 + i, 1, 1);
		tasks_exit(t, 10 + i, 1, 100 + i, 1, 1);
		if (i % 100 == 0) {
			drain(t, 5, 1);
			g_array_set_size(reader.rows, 0);
			task_stream_read(&reader, t);
			assert_true(reader.rows->len <= 100 * 3 + 3);
		}
	}
	drain_past(t, 9);
	assert_int_equal(tasks_bytes(t), 0);
	task_stream_fini(&reader);
	tasks_destroy(t);
}

#define SECOND 1000000000ull

static void add_file(struct tasks *t, uint64_t time_ns, uint32_t pid, uint64_t addr, const char *path)
{
	const struct tasks_mapping mapping = { .addr = addr, .size = 0x1000, .path = path };

	tasks_add_mapping(t, time_ns, pid, &mapping);
}

/* Process 10 of a run's walk: as it is, with its library at `addr`. */
static void walk_ten(struct tasks *t, uint64_t time_ns, uint64_t start_ns, const char *path,
	uint64_t addr)
{
	tasks_begin_walk(t);
	tasks_add_process(t, time_ns, 10, start_ns, path);
	tasks_add_thread(t, time_ns, 10, 10, "a");
	add_file(t, time_ns, 10, 0x1000, path);
	add_file(t, time_ns, 10, addr, "/lib/c");
}

/* Unchanged processes are not recorded again by a second walk, and take no memory. */
static void test_unchanged_tasks_are_told_once_for_two_runs(void **state)
{
	struct tasks *t = tasks_create();
	uint64_t time_ns = 100;
	struct task_stream reader;
	int run;

	(void)state;
	task_stream_init(&reader);
	walk_ten(t, time_ns, 5 * SECOND, "/bin/a", 0x8000);
	tasks_end_walk(t, time_ns);
	drain(t, 5, 1);
	check_stream(t, __LINE__, &reader,
		"comm 100 10/10 a\nnew 100 10 /bin/a\n"
		"mmap 100 10 1000+1000 /bin/a\nmmap 100 10 8000+1000 /lib/c\n");
	for (run = 0; run < 50; run++) {
		time_ns += 100;
		/* a clock that counts in ticks, and another one beside it */
		walk_ten(t, time_ns, 5 * SECOND + (run % 20) * 1000000ull, "/bin/a", 0x8000);
		tasks_end_walk(t, time_ns);
		drain(t, 5, 2);
		check_stream(t, __LINE__, &reader, "");
		assert_int_equal(tasks_bytes(t), 0);
	}
	task_stream_fini(&reader);
	tasks_destroy(t);
}

/*
 * Changes between two runs: a mapping, the program, the process itself; and processes that are
 * gone.
 */
static void test_changes_between_two_runs_are_told(void **state)
{
	struct tasks *t = tasks_create();
	struct task_stream reader;

	(void)state;
	task_stream_init(&reader);
	walk_ten(t, 100, 5 * SECOND, "/bin/a", 0x8000);
	tasks_add_thread(t, 100, 10, 11, "second");
	tasks_add_process(t, 100, 20, 5 * SECOND, "/bin/b");
	tasks_end_walk(t, 100);
	drain(t, 5, 1);
	check_stream(t, __LINE__, &reader,
		"comm 100 10/10 a\ncomm 100 10/11 second\nnew 100 10 /bin/a\n"
		"mmap 100 10 1000+1000 /bin/a\nmmap 100 10 8000+1000 /lib/c\n"
		"new 100 20 /bin/b\n");
	/* another place of its library, a thread less, and the other process is gone */
	walk_ten(t, 200, 5 * SECOND, "/bin/a", 0x9000);
	tasks_end_walk(t, 201);
	check_stream(t, __LINE__, &reader,
		"comm 100 10/11 second\nmmap 200 10 9000+1000 /lib/c\nexit 201 10/11 of 0/0\n");
	drain_past(t, 9);
	check_whole_stream(t, __LINE__,
		"comm 100 10/10 a\nnew 100 10 /bin/a\n"
		"mmap 100 10 1000+1000 /bin/a\nmmap 200 10 9000+1000 /lib/c\n");
	/* an exec */
	walk_ten(t, 300, 5 * SECOND, "/bin/x", 0x9000);
	tasks_end_walk(t, 300);
	check_stream(t, __LINE__, &reader,
		"new 300 10 /bin/x\nmmap 300 10 1000+1000 /bin/x\nmmap 300 10 9000+1000 /lib/c\n");
	/* the pid was reused, by the same program at the same places */
	walk_ten(t, 400, 7 * SECOND, "/bin/x", 0x9000);
	tasks_end_walk(t, 400);
	check_stream(t, __LINE__, &reader,
		"comm 400 10/10 a\nnew 400 10 /bin/x\n"
		"mmap 400 10 1000+1000 /bin/x\nmmap 400 10 9000+1000 /lib/c\n");
	/* and if it is unknown whether it is the same */
	walk_ten(t, 500, 0, "/bin/x", 0x9000);
	tasks_end_walk(t, 500);
	check_stream(t, __LINE__, &reader,
		"comm 500 10/10 a\nnew 500 10 /bin/x\n"
		"mmap 500 10 1000+1000 /bin/x\nmmap 500 10 9000+1000 /lib/c\n");
	task_stream_fini(&reader);
	tasks_destroy(t);
}

/* A process known from perf is the one that a later walk meets. Another one with its pid is not. */
static void test_forked_process_is_the_one_walked_later(void **state)
{
	struct tasks *t = tasks_create();

	(void)state;
	tasks_begin_walk(t);
	tasks_add_process(t, 1, 1, 1, "/sbin/init");
	tasks_end_walk(t, 1);
	tasks_fork(t, 9 * SECOND + 4000000, 30, 30, 1, 1);
	drain(t, 5, 1);
	tasks_begin_walk(t);
	tasks_add_process(t, 20 * SECOND, 1, 1, "/sbin/init");
	tasks_add_process(t, 20 * SECOND, 30, 9 * SECOND, "/sbin/init");
	tasks_add_thread(t, 20 * SECOND, 30, 30, "init");
	tasks_end_walk(t, 20 * SECOND);
	assert_int_equal(tasks_bytes(t), 0);
	tasks_begin_walk(t);
	tasks_add_process(t, 30 * SECOND, 1, 1, "/sbin/init");
	tasks_add_process(t, 30 * SECOND, 30, 25 * SECOND, "/sbin/init");
	tasks_end_walk(t, 30 * SECOND);
	assert_true(tasks_bytes(t) > 0);
	tasks_destroy(t);
}

static void test_clear_keeps_living_processes_only(void **state)
{
	struct tasks *t = tasks_create();
	struct task_stream reader;

	(void)state;
	task_stream_init(&reader);
	tasks_add_process(t, 100, 10, 0, "/bin/a");
	tasks_add_thread(t, 100, 10, 10, "a");
	drain(t, 5, 1);
	tasks_exit(t, 300, 10, 10, 1, 1);
	tasks_clear(t);
	check_whole_stream(t, __LINE__, "");
	assert_int_equal(tasks_bytes(t), 0);
	drain_past(t, 12);
	tasks_add_process(t, 400, 10, 0, "/bin/c");
	g_array_set_size(reader.rows, 0);
	check_stream(t, __LINE__, &reader, "new 400 10 /bin/c\n");
	task_stream_fini(&reader);
	tasks_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ended_tasks_are_kept_as_long_as_needed),
		cmocka_unit_test(test_bytes_of_ended_tasks_are_counted),
		cmocka_unit_test(test_events_without_stored_samples_are_not_kept),
		cmocka_unit_test(test_short_lives_are_kept_as_long_as_their_blocks),
		cmocka_unit_test(test_many_threads_take_constant_time_each),
		cmocka_unit_test(test_unchanged_tasks_are_told_once_for_two_runs),
		cmocka_unit_test(test_changes_between_two_runs_are_told),
		cmocka_unit_test(test_forked_process_is_the_one_walked_later),
		cmocka_unit_test(test_clear_keeps_living_processes_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
