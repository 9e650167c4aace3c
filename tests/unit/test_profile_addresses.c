/* SPDX-License-Identifier: MIT */
/* capture/processes: an address has the right file and a process the right name at each time. */
#include "tests/unit/profile_fixture.h"

/* A sample of one user frame, and what is expected of it. */
struct row {
	int line;
	uint64_t time;
	uint32_t pid;
	uint64_t address;
	const char *name;  /* of the process; NULL for any */
	const char *stack; /* see print_stack() */
};

static void add_samples(struct gen *gen, const struct row *rows, size_t count)
{
	uint16_t i;

	for (i = 0; i < count; i++)
		gen_trace(gen, 2, 1, rows[i].time, rows[i].pid, i, 1, &rows[i].address);
}

static void check_rows(const struct profile *profile, const struct row *rows, size_t count)
{
	uint16_t i;

	assert_int_equal(profile->damaged, 0);
	assert_int_equal(profile->samples, count);
	for (i = 0; i < count; i++) {
		const struct profile_cell *cell = cell_of_cpu(profile, i);
		g_autofree char *stack = print_stack(profile, cell->node);

		if (strcmp(stack, rows[i].stack) != 0)
			fail_msg("row of line %d: %s", rows[i].line, stack);
		if (rows[i].name && strcmp(cell->name, rows[i].name) != 0)
			fail_msg("row of line %d: %s", rows[i].line, cell->name);
	}
}

/* Records before the samples and behind them give the same result. */
static void check_both_orders(
	void (*announce)(struct gen *gen), const struct row *rows, size_t count)
{
	int samples_first;

	for (samples_first = 0; samples_first < 2; samples_first++) {
		struct profile *profile;
		struct gen gen;

		gen_init(&gen, false);
		gen_clock(&gen, 1, 2);
		if (samples_first)
			add_samples(&gen, rows, count);
		announce(&gen);
		if (!samples_first)
			add_samples(&gen, rows, count);
		profile = load(&gen);
		check_rows(profile, rows, count);
		profile_destroy(profile);
		gen_fini(&gen);
	}
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void announce_mappings(struct gen *gen)
{
	gen_new_process(gen, 100, 10, "/bin/a");
	gen_mmap(gen, 100, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_mmap(gen, 300, 10, 0x5800, 0x1000, 0, "/lib/3");
	gen_mmap(gen, 100, 10, 0x5000, 0x1000, 0x1000, "/lib/1");
	gen_mmap(gen, 200, 10, 0x5000, 0x1000, 0, "/lib/2");
	gen_mmap(gen, 100, 11, 0x1000, 0x1000, 0, "/bin/other");
	gen_mmap(gen, 100, 10, 0xfffffffffffff000, 0x2000, 0, "/wraps");
	gen_mmap(gen, 100, 10, 0x7000, 0, 0, "/empty");
	/* of one time, the later one of the stream counts */
	gen_mmap(gen, 400, 10, 0x8000, 0x1000, 0, "/lib/first");
	gen_mmap(gen, 400, 10, 0x8000, 0x1000, 0, "/lib/second");
	/* announced again: the same file, later */
	gen_mmap(gen, 500, 10, 0x1000, 0x1000, 0, "/bin/a");
}

static const struct row mapping_rows[] = {
	{__LINE__, 150, 10, 0x1010, "a", "/bin/a+0x10"},
	{__LINE__, 150, 10, 0x1000, "a", "/bin/a+0x0"},
	{__LINE__, 150, 10, 0x1fff, "a", "/bin/a+0xfff"},
	{__LINE__, 150, 10, 0x2000, "a", "*+0x2000"},
	{__LINE__, 150, 10, 0xfff, "a", "*+0xfff"},
	{__LINE__, 600, 10, 0x1010, "a", "/bin/a+0x10"},
	{__LINE__, 150, 11, 0x1010, "pid 11", "/bin/other+0x10"},
	{__LINE__, 150, 12, 0x1010, "pid 12", "*+0x1010"},
	/* the latest that was there by then */
	{__LINE__, 150, 10, 0x5010, "a", "/lib/1+0x1010"},
	{__LINE__, 199, 10, 0x5010, "a", "/lib/1+0x1010"},
	{__LINE__, 200, 10, 0x5010, "a", "/lib/2+0x10"},
	{__LINE__, 299, 10, 0x5900, "a", "/lib/2+0x900"},
	{__LINE__, 300, 10, 0x5900, "a", "/lib/3+0x100"},
	{__LINE__, 300, 10, 0x5700, "a", "/lib/2+0x700"},
	{__LINE__, 300, 10, 0x6400, "a", "/lib/3+0xc00"},
	{__LINE__, 900, 10, 0x8010, "a", "/lib/second+0x10"},
	/* nothing was announced by then: the earliest */
	{__LINE__, 50, 10, 0x5900, "a", "/lib/1+0x1900"},
	{__LINE__, 150, 10, 0x6400, "a", "/lib/3+0xc00"},
	{__LINE__, 50, 10, 0x8010, "a", "/lib/first+0x10"},
	/* a mapping of no size, one beyond the end of everything */
	{__LINE__, 150, 10, 0x7000, "a", "*+0x7000"},
	{__LINE__, 150, 10, 0xfffffffffffff010, "a", "/wraps+0x10"},
	{__LINE__, 150, 10, 0x0, "a", "*+0x0"},
};

static void test_addresses_are_found_in_mappings(void **state)
{
	check_both_orders(announce_mappings, mapping_rows, G_N_ELEMENTS(mapping_rows));
}

static void announce_exec(struct gen *gen)
{
	gen_new_process(gen, 100, 10, "/bin/sh");
	gen_comm(gen, 100, 10, 10, "sh");
	gen_mmap(gen, 100, 10, 0x1000, 0x1000, 0, "/bin/sh");
	gen_mmap(gen, 100, 10, 0x8000, 0x1000, 0, "/lib/of-sh");
	gen_mmap(gen, 100, 10, 0x9000, 0x1000, 0, "/lib/c");
	gen_new_process(gen, 500, 10, "/bin/ls");
	gen_comm(gen, 500, 10, 10, "ls");
	gen_mmap(gen, 500, 10, 0x9000, 0x1000, 0x1000, "/lib/c");
	gen_mmap(gen, 510, 10, 0x1000, 0x1000, 0, "/bin/ls");
	/* before its first NEW_PROCESS a pid has no other life: Akaros announces mappings first */
	gen_mmap(gen, 90, 20, 0x1000, 0x1000, 0, "/bin/b");
	gen_new_process(gen, 100, 20, "/bin/b");
}

static const struct row exec_rows[] = {
	{__LINE__, 499, 10, 0x1010, "sh", "/bin/sh+0x10"},
	{__LINE__, 500, 10, 0x1010, "ls", "/bin/ls+0x10"},
	{__LINE__, 520, 10, 0x1010, "ls", "/bin/ls+0x10"},
	{__LINE__, 499, 10, 0x9010, "sh", "/lib/c+0x10"},
	{__LINE__, 500, 10, 0x9010, "ls", "/lib/c+0x1010"},
	{__LINE__, 499, 10, 0x8010, "sh", "/lib/of-sh+0x10"},
	{__LINE__, 600, 10, 0x8010, "ls", "*+0x8010"},
	{__LINE__, 50, 10, 0x1010, "sh", "/bin/sh+0x10"},
	{__LINE__, 95, 20, 0x1010, "b", "/bin/b+0x10"},
	{__LINE__, 200, 20, 0x1010, "b", "/bin/b+0x10"},
};

static void test_exec_replaces_mappings(void **state)
{
	check_both_orders(announce_exec, exec_rows, G_N_ELEMENTS(exec_rows));
}

static void announce_forks(struct gen *gen)
{
	gen_new_process(gen, 100, 10, "/bin/a");
	gen_comm(gen, 100, 10, 10, "a");
	gen_mmap(gen, 100, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_mmap(gen, 100, 10, 0x5000, 0x1000, 0, "/lib/old");
	gen_fork(gen, 200, 11, 11, 10, 10);
	gen_mmap(gen, 300, 10, 0x5000, 0x1000, 0, "/lib/new");
	gen_comm(gen, 310, 10, 10, "renamed");
	/* the child forks, and a thread of it begins, which is no process */
	gen_fork(gen, 320, 11, 12, 11, 11);
	gen_fork(gen, 400, 13, 13, 11, 12);
	gen_mmap(gen, 450, 13, 0x7000, 0x1000, 0, "/lib/own");
	/* a child that is announced as a program at the very time of its fork */
	gen_fork(gen, 250, 14, 14, 10, 10);
	gen_new_process(gen, 250, 14, "/bin/a");
	/* and one that executes another program later */
	gen_fork(gen, 250, 15, 15, 10, 10);
	gen_new_process(gen, 260, 15, "/bin/c");
	gen_mmap(gen, 260, 15, 0x2000, 0x1000, 0, "/bin/c");
	/* the parent is announced only after the fork */
	gen_fork(gen, 200, 31, 31, 30, 30);
	gen_new_process(gen, 500, 30, "/bin/late");
	gen_mmap(gen, 500, 30, 0x1000, 0x1000, 0, "/bin/late");
	/* a process without a parent record */
	gen_fork(gen, 200, 41, 41, 40, 40);
}

static const struct row fork_rows[] = {
	{__LINE__, 210, 11, 0x1010, "a", "/bin/a+0x10"},
	{__LINE__, 350, 10, 0x5010, "renamed", "/lib/new+0x10"},
	{__LINE__, 350, 11, 0x5010, "a", "/lib/old+0x10"},
	{__LINE__, 460, 13, 0x5010, "a", "/lib/old+0x10"},
	{__LINE__, 460, 13, 0x7010, "a", "/lib/own+0x10"},
	{__LINE__, 460, 11, 0x7010, "a", "*+0x7010"},
	{__LINE__, 350, 14, 0x5010, "a", "/lib/old+0x10"},
	{__LINE__, 255, 15, 0x1010, "a", "/bin/a+0x10"},
	{__LINE__, 270, 15, 0x1010, "c", "*+0x1010"},
	{__LINE__, 270, 15, 0x2010, "c", "/bin/c+0x10"},
	{__LINE__, 300, 31, 0x1010, "late", "/bin/late+0x10"},
	{__LINE__, 300, 41, 0x1010, "pid 41", "*+0x1010"},
};

static void test_forked_process_inherits_mappings(void **state)
{
	check_both_orders(announce_forks, fork_rows, G_N_ELEMENTS(fork_rows));
}

/* A process descends from itself and from those above it, also after it has executed another program. */
static void test_processes_descend_from_others(void **state)
{
	static const struct {
		int line;
		uint64_t time;
		uint32_t pid, from;
		bool expected;
	} rows[] = {
		{__LINE__, 350, 10, 10, true},
		{__LINE__, 350, 10, 11, false},
		{__LINE__, 350, 11, 10, true},
		{__LINE__, 460, 13, 11, true},
		{__LINE__, 460, 13, 10, true},
		{__LINE__, 460, 13, 14, false},
		{__LINE__, 255, 15, 10, true},
		{__LINE__, 270, 15, 10, true},
		{__LINE__, 270, 15, 14, false},
		{__LINE__, 600, 30, 31, false},
		{__LINE__, 300, 41, 40, true},
	};
	struct profile *profile;
	struct gen gen;
	size_t i;

	(void)state;
	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	announce_forks(&gen);
	profile = load(&gen);
	for (i = 0; i < G_N_ELEMENTS(rows); i++) {
		const uint32_t life =
			processes_find_life(profile->processes, 0, rows[i].pid, rows[i].time);

		if (processes_descends_from(profile->processes, life, rows[i].from) != rows[i].expected)
			fail_msg("row of line %d", rows[i].line);
	}
	profile_destroy(profile);
	gen_fini(&gen);
}

static void announce_reuse(struct gen *gen)
{
	gen_new_process(gen, 100, 10, "/bin/first");
	gen_mmap(gen, 100, 10, 0x1000, 0x1000, 0, "/bin/first");
	gen_exit(gen, 400, 10, 10, 1, 1);
	gen_new_process(gen, 100, 20, "/bin/parent");
	gen_mmap(gen, 100, 20, 0x2000, 0x1000, 0, "/bin/parent");
	gen_fork(gen, 500, 10, 10, 20, 20);
	gen_exit(gen, 600, 10, 10, 20, 20);
	gen_new_process(gen, 700, 10, "/bin/third");
	gen_mmap(gen, 700, 10, 0x3000, 0x1000, 0, "/bin/third");
}

static const struct row reuse_rows[] = {
	{__LINE__, 200, 10, 0x1010, "first", "/bin/first+0x10"},
	/* a thread that lives on after the first one has gone */
	{__LINE__, 450, 10, 0x1010, "first", "/bin/first+0x10"},
	{__LINE__, 550, 10, 0x1010, "parent", "*+0x1010"},
	{__LINE__, 550, 10, 0x2010, "parent", "/bin/parent+0x10"},
	{__LINE__, 750, 10, 0x2010, "third", "*+0x2010"},
	{__LINE__, 750, 10, 0x3010, "third", "/bin/third+0x10"},
};

static void test_reused_pid_has_its_own_mappings(void **state)
{
	check_both_orders(announce_reuse, reuse_rows, G_N_ELEMENTS(reuse_rows));
}

/* An answer holds from one change to the next: of the mappings, and of the life. */
static void test_answer_holds_from_one_change_to_the_next(void **state)
{
	struct kprof_rec_new_process program = { .time_ns = 100, .pid = 10 };
	struct kprof_rec_mmap mmap = { .time_ns = 120, .addr = 0x1000, .size = 0x1000, .pid = 10 };
	struct processes *processes = processes_create();
	struct processes_hit hit;
	uint32_t life;

	processes_add_program(processes, 0, &program, "/bin/a");
	processes_add_mapping(processes, 0, &mmap, "/bin/a");
	program.time_ns = 500;
	processes_add_program(processes, 0, &program, "/bin/b");
	processes_finish(processes);
	life = processes_find_life(processes, 0, 10, 200);
	processes_find_user(processes, life, 0x1010, 200, &hit);
	assert_int_equal(hit.offset, 0x10);
	assert_int_equal(hit.from, 120);
	assert_int_equal(hit.to, 500);
	processes_find_user(processes, life, 0x9010, 200, &hit);
	assert_int_equal(hit.file, PROCESSES_NONE);
	assert_int_equal(hit.from, 0);
	assert_int_equal(hit.to, 500);
	life = processes_find_life(processes, 0, 10, 500);
	processes_find_user(processes, life, 0x1010, 500, &hit);
	assert_int_equal(hit.file, PROCESSES_NONE);
	assert_int_equal(hit.from, 500);
	assert_int_equal(hit.to, UINT64_MAX);
	processes_destroy(processes);
}

/* Two processes that are each other's parent, at one time: it ends. */
static void announce_circle(struct gen *gen)
{
	gen_fork(gen, 100, 10, 10, 11, 11);
	gen_fork(gen, 100, 11, 11, 10, 10);
}

static const struct row circle_rows[] = {
	{__LINE__, 200, 10, 0x1010, "pid 10", "*+0x1010"},
};

static void test_circular_forks_end(void **state)
{
	check_both_orders(announce_circle, circle_rows, G_N_ELEMENTS(circle_rows));
}

/* ---- names ----------------------------------------------------------------------------------- */

static void announce_names(struct gen *gen)
{
	gen_comm(gen, 100, 10, 10, "one");
	gen_comm(gen, 200, 10, 10, "two");
	gen_comm(gen, 210, 10, 12, "thread");
	gen_new_process(gen, 100, 20, "/usr/bin/no name");
	gen_new_process(gen, 100, 30, "");
	gen_comm(gen, 50, 40, 40, "before");
	gen_new_process(gen, 100, 40, "/bin/x");
	gen_new_process(gen, 300, 40, "/bin/y");
}

static const struct row name_rows[] = {
	{__LINE__, 50, 10, 0x1, "one", "*+0x1"},
	{__LINE__, 100, 10, 0x1, "one", "*+0x1"},
	{__LINE__, 199, 10, 0x1, "one", "*+0x1"},
	{__LINE__, 200, 10, 0x1, "two", "*+0x1"},
	{__LINE__, 220, 10, 0x1, "two", "*+0x1"},
	/* again, so that no answer kept from before is given */
	{__LINE__, 60, 10, 0x1, "one", "*+0x1"},
	{__LINE__, 150, 20, 0x1, "no name", "*+0x1"},
	{__LINE__, 150, 30, 0x1, "pid 30", "*+0x1"},
	{__LINE__, 150, 40, 0x1, "before", "*+0x1"},
	{__LINE__, 350, 40, 0x1, "y", "*+0x1"},
	{__LINE__, 350, 0xfffffffe, 0x1, "[gone]", "*+0x1"},
};

static void test_process_names_hold_from_their_time(void **state)
{
	check_both_orders(announce_names, name_rows, G_N_ELEMENTS(name_rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_are_found_in_mappings),
		cmocka_unit_test(test_exec_replaces_mappings),
		cmocka_unit_test(test_forked_process_inherits_mappings),
		cmocka_unit_test(test_processes_descend_from_others),
		cmocka_unit_test(test_reused_pid_has_its_own_mappings),
		cmocka_unit_test(test_answer_holds_from_one_change_to_the_next),
		cmocka_unit_test(test_circular_forks_end),
		cmocka_unit_test(test_process_names_hold_from_their_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
