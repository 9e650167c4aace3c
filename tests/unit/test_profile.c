/* SPDX-License-Identifier: MIT */
/*
 * capture/profile and capture/processes: what a sample's addresses, names and weights are, by the
 * rules of the records. Each sample is taken on a CPU of its own, so that its cell can be found
 * again.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fixtures/gen.h"
#include "capture/profile.h"

#define KTEXT 0xffffffff81000000ull

/* A sample of one user frame, and what is expected of it. */
struct unwind_row {
	int line;
	uint64_t time;
	uint32_t pid;
	uint64_t address;
	const char *name;  /* of the process; NULL: any */
	const char *stack; /* see print_stack() */
};

static struct profile *load(const struct gen *gen)
{
	struct profile *profile;
	struct decoder decoder;
	struct err err;

	decode_init_memory(&decoder, gen->bytes->data, gen->bytes->len);
	if (profile_load(&decoder, &profile, &err) != 0)
		fail_msg("%s", err.text);
	decode_fini(&decoder);
	return profile;
}

static const struct profile_cell *cell_of_cpu(const struct profile *profile, uint16_t cpu)
{
	const struct profile_cell *found = NULL;
	guint i;

	for (i = 0; i < profile->cells->len; i++) {
		if (profile_cell(profile, i)->cpu != cpu)
			continue;
		assert_null(found);
		found = profile_cell(profile, i);
	}
	assert_non_null(found);
	return found;
}

/* "FILE+0xOFFSET FILE+0xOFFSET": innermost first; * for a file when there is none. */
static char *print_stack(const struct profile *profile, uint32_t node)
{
	GString *text = g_string_new(NULL);

	for (; node != STACKS_ROOT; node = stacks_node(&profile->stacks, node)->caller) {
		const struct profile_place *place =
			profile_place(profile, stacks_node(&profile->stacks, node)->place);
		const char *path = "*";

		if (place->file != PROCESSES_NONE)
			path = processes_file(profile->processes, place->file)->path;
		g_string_append_printf(text, "%s%s+0x%" G_GINT64_MODIFIER "x", text->len ? " " : "",
			path, place->offset);
	}
	return g_string_free(text, FALSE);
}

static void add_samples(struct gen *gen, const struct unwind_row *rows, size_t count)
{
	uint16_t i;

	for (i = 0; i < count; i++)
		gen_trace(gen, 2, 1, rows[i].time, rows[i].pid, i, 1, &rows[i].address);
}

static void check_rows(const struct profile *profile, const struct unwind_row *rows, size_t count)
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

/* What is announced before the samples or behind them is the same. */
static void check_both_orders(
	void (*announce)(struct gen *gen), const struct unwind_row *rows, size_t count)
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

/*
 * ---- addresses --------------------------------------------------------------------------------
 */

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

static const struct unwind_row mapping_rows[] = {
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

static const struct unwind_row exec_rows[] = {
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
	/* nobody's child */
	gen_fork(gen, 200, 41, 41, 40, 40);
}

static const struct unwind_row fork_rows[] = {
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

static const struct unwind_row reuse_rows[] = {
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

static const struct unwind_row circle_rows[] = {
	{__LINE__, 200, 10, 0x1010, "pid 10", "*+0x1010"},
};

static void test_circular_forks_end(void **state)
{
	check_both_orders(announce_circle, circle_rows, G_N_ELEMENTS(circle_rows));
}

/*
 * ---- names ------------------------------------------------------------------------------------
 */

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

static const struct unwind_row name_rows[] = {
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

/*
 * ---- stacks -----------------------------------------------------------------------------------
 */

static void check_stack(const struct profile *profile, uint16_t cpu, const char *expected)
{
	g_autofree char *stack = print_stack(profile, cell_of_cpu(profile, cpu)->node);

	assert_string_equal(stack, expected);
}

/* Return addresses are one less; the first of each side is not one. The marker is no frame. */
static void check_sides(bool before_75)
{
	uint64_t both[] = { KTEXT + 0x10, KTEXT + 0x20, GEN_USER, 0x1010, 0x2000 };
	uint64_t user[] = { 0x1000, 0x1001, 0x0, 0x1001 };
	uint64_t module[] = { 0xffffffffc0000010, 0xffffffff90000010, GEN_USER };
	struct profile *profile;
	struct gen gen;

	gen_init(&gen, false);
	gen.before_75 = before_75;
	gen_clock(&gen, 1, 2);
	gen_kernel_mmap(&gen, 5, KTEXT, 0x1000000, "[kernel.kallsyms]");
	gen_build_id(&gen, 5, GEN_IDLE, KTEXT, "\1\2\3", 3);
	gen_kernel_mmap(&gen, 5, 0xffffffffc0000000, 0x1000, "[ext4]");
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0x4000, "/bin/a");
	gen_trace(&gen, 1, 1, 10, 10, 0, 5, both);
	gen_trace(&gen, 2, 1, 10, 10, 1, 4, user);
	gen_trace(&gen, 1, 1, 10, 10, 2, 3, module);
	gen_trace(&gen, 1, 1, 10, 10, 3, 0, NULL);
	/* of a process that was gone, the kernel's frames still say something */
	gen_trace(&gen, 1, 1, 10, 0xfffffffe, 4, 1, both);
	/* user addresses that look like the kernel's are not */
	gen_trace(&gen, 2, 1, 10, 10, 5, 1, both);
	profile = load(&gen);
	check_stack(profile, 0,
		"[kernel.kallsyms]+0xffffffff81000010 [kernel.kallsyms]+0xffffffff8100001f "
		"/bin/a+0x4010 /bin/a+0x4fff");
	check_stack(profile, 1, "/bin/a+0x4000 /bin/a+0x4000");
	check_stack(profile, 2, "[ext4]+0xffffffffc0000010 *+0xffffffff9000000f");
	check_stack(profile, 3, "");
	check_stack(profile, 4, "[kernel.kallsyms]+0xffffffff81000010");
	check_stack(profile, 5, "*+0xffffffff81000010");
	profile_destroy(profile);
	gen_fini(&gen);
}

static void test_kernel_and_user_frames_are_separated(void **state)
{
	check_sides(false);
}

/* A capture of the time when the kernel's mappings were of type 3. */
struct cut_row {
	int line;
	uint32_t pid;
	uint64_t frames[5]; /* as they were sampled; 1: no more */
	const char *stack;
	bool cut;
};

/*
 * Process 10 has a file at 0x1000 and a JIT's memory at 0x9000, its child 11 what it has; of 12 no
 * mapping is known.
 */
static const struct cut_row cut_rows[] = {
	{ __LINE__, 10, { 0x1000, 0x1011, 0x1021, 1 }, "/bin/a+0x4000 /bin/a+0x4010 /bin/a+0x4020", false },
	/* what a program without frame pointers has in that register, and what seems to call it */
	{ __LINE__, 10, { 0x1000, 0x50, 0x1021, 1 }, "/bin/a+0x4000", true },
	{ __LINE__, 10, { 0x1000, 0x1011, 0x7ffc00001000, 0x1021, 1 }, "/bin/a+0x4000 /bin/a+0x4010", true },
	{ __LINE__, 10, { 0x1000, 0x2001, 0x1021, 1 }, "/bin/a+0x4000", true }, /* just behind it */
	{ __LINE__, 10, { 0x1000, 0x2000, 1 }, "/bin/a+0x4000 /bin/a+0x4fff", false }, /* its last byte */
	{ __LINE__, 10, { 0x1000, 0, 0x1021, 1 }, "/bin/a+0x4000", false }, /* the end, and said so */
	{ __LINE__, 10, { 0x50, 0x1011, 1 }, "*+0x50 /bin/a+0x4010", false }, /* there it was, code or not */
	{ __LINE__, 10, { 0x1000, 0x9011, 0x1021, 1 }, "/bin/a+0x4000 //anon+0x9010 /bin/a+0x4020", false },
	{ __LINE__, 11, { 0x1000, 0x9011, 0x51, 1 }, "/bin/a+0x4000 //anon+0x9010", true },
	{ __LINE__, 12, { 0x1000, 0x51, 0x1021, 1 }, "*+0x1000 *+0x50 *+0x1020", false },
	/* the kernel's code need not be in a mapping that is known */
	{ __LINE__, 10, { KTEXT + 0x10, 0xffffffffa0000001, GEN_USER, 0x1000, 0x51 },
		"[kernel.kallsyms]+0xffffffff81000010 *+0xffffffffa0000000 /bin/a+0x4000", true },
};

static void test_addresses_without_a_mapping_are_places_too(void **state)
{
	struct profile *profile;
	uint64_t cut = 0;
	struct gen gen;
	uint16_t i, n;

	(void)state;
	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_kernel_mmap(&gen, 5, KTEXT, 0x1000000, "[kernel.kallsyms]");
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0x4000, "/bin/a");
	gen_mmap(&gen, 5, 10, 0x9000, 0x1000, 0, "//anon");
	gen_fork(&gen, 6, 11, 11, 10, 10);
	for (i = 0; i < G_N_ELEMENTS(cut_rows); i++) {
		const struct cut_row *row = &cut_rows[i];

		for (n = 0; n < G_N_ELEMENTS(row->frames) && row->frames[n] != 1; n++)
			;
		gen_trace(&gen, row->frames[0] >= KTEXT ? 1 : 2, 1, 10, row->pid, i, n, row->frames);
		cut += row->cut;
	}
	profile = load(&gen);
	for (i = 0; i < G_N_ELEMENTS(cut_rows); i++) {
		g_autofree char *stack = print_stack(profile, cell_of_cpu(profile, i)->node);

		if (strcmp(stack, cut_rows[i].stack) != 0)
			fail_msg("row of line %d: %s", cut_rows[i].line, stack);
	}
	assert_int_equal(profile_event(profile, 0)->cut_stacks, cut);
	profile_destroy(profile);
	gen_fini(&gen);
}

static void test_old_kernel_mappings_separate_the_sides_too(void **state)
{
	check_sides(true);
}

/* Stacks that are equal are one cell, and share nodes with those that begin alike. */
static void test_equal_stacks_are_one_cell(void **state)
{
	uint64_t a[] = { 0x1010, 0x1020, 0x1030 }, b[] = { 0x1011, 0x1020, 0x1030 };
	struct profile *profile;
	struct gen gen;
	int i;

	gen_init(&gen, false);
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	for (i = 0; i < 1000; i++) {
		gen_trace(&gen, 2, 1, 10, 10, 0, 3, a);
		gen_trace(&gen, 2, 1, 11, 10, 0, 3, b);
	}
	profile = load(&gen);
	assert_int_equal(profile->samples, 2000);
	assert_int_equal(profile->cells->len, 2);
	assert_int_equal(profile_cell(profile, 0)->count.samples, 1000);
	assert_int_equal(profile_cell(profile, 1)->count.samples, 1000);
	assert_int_equal(profile->places->len, 4);
	assert_int_equal(profile->stacks.nodes->len, 1 + 4);
	profile_destroy(profile);
	gen_fini(&gen);
}

/*
 * ---- events, threads, weights -----------------------------------------------------------------
 */

static void sample(struct gen *gen, uint64_t event, uint64_t time, uint32_t pid, uint16_t cpu)
{
	uint64_t frame = 0x1010;

	gen_trace(gen, 2, event, time, pid, cpu, 1, &frame);
}

static void check_cell(const struct profile *profile, uint16_t cpu, uint32_t tid, uint64_t samples,
	uint64_t weight)
{
	const struct profile_cell *cell = cell_of_cpu(profile, cpu);

	assert_int_equal(cell->tid, tid);
	assert_int_equal(cell->count.samples, samples);
	assert_int_equal(cell->count.weight, weight);
}

static void test_threads_are_told_by_task_records(void **state)
{
	struct profile *profile;
	struct gen gen;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_task(&gen, 1, 10, 11);
	sample(&gen, 1, 5, 10, 0); /* said of CPU 1 only */
	sample(&gen, 1, 5, 10, 1);
	sample(&gen, 1, 6, 10, 1); /* and it goes on */
	sample(&gen, 1, 5, 20, 2); /* another process */
	gen_task(&gen, 3, 10, 12);
	gen_task(&gen, 3, 20, 21);
	gen_task(&gen, 3, 10, 10);
	sample(&gen, 1, 5, 10, 3);
	gen_task(&gen, 4, 20, 21);
	gen_clock(&gen, 1, 2); /* another capture */
	sample(&gen, 1, 5, 20, 4);
	profile = load(&gen);
	check_cell(profile, 0, 10, 1, 1);
	check_cell(profile, 1, 11, 2, 2);
	check_cell(profile, 2, 20, 1, 1);
	check_cell(profile, 3, 10, 1, 1);
	check_cell(profile, 4, 20, 1, 1);
	profile_destroy(profile);
	gen_fini(&gen);
}

static void test_samples_weigh_their_period(void **state)
{
	struct profile *profile;
	struct gen gen;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_event(&gen, 1, 999, 1, "freq");    /* 1 until a period is said */
	gen_event(&gen, 2, 5000, 0, "period"); /* what it was asked for */
	sample(&gen, 1, 5, 10, 0);
	gen_period(&gen, 1, 1, 700);
	gen_period(&gen, 1, 2, 11);
	sample(&gen, 1, 5, 10, 1);
	gen_period(&gen, 1, 1, 300);
	sample(&gen, 1, 6, 10, 1);
	sample(&gen, 2, 5, 10, 2);
	gen_period(&gen, 3, 2, UINT64_MAX - 1);
	sample(&gen, 2, 5, 10, 3);
	sample(&gen, 2, 6, 10, 3);
	sample(&gen, 9, 5, 10, 4); /* an event that nobody announced */
	profile = load(&gen);
	check_cell(profile, 0, 10, 1, 1);
	check_cell(profile, 1, 10, 2, 1000);
	check_cell(profile, 2, 10, 1, 5000);
	check_cell(profile, 3, 10, 2, UINT64_MAX);
	check_cell(profile, 4, 10, 1, 1);
	assert_int_equal(profile->events->len, 3);
	assert_string_equal(profile_event(profile, 0)->text, "freq");
	assert_int_equal(profile_event(profile, 0)->all.samples, 3);
	assert_int_equal(profile_event(profile, 0)->all.weight, 1001);
	assert_int_equal(profile_event(profile, 1)->all.weight, UINT64_MAX);
	assert_string_equal(profile_event(profile, 2)->text, "event 9");
	assert_int_equal(profile->cpus, 5);
	assert_int_equal(profile->duration_ns, 1);
	profile_destroy(profile);
	gen_fini(&gen);
}

/* What is not counted as work: idle, the server; and what is missing. */
static void test_idle_and_own_samples_are_set_aside(void **state)
{
	const struct profile_event *event;
	struct profile *profile;
	struct gen gen;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_event(&gen, 1, 10, 0, "e");
	gen_comm(&gen, 1, 10, 10, "kprofs");
	gen_comm(&gen, 1, 11, 11, "prog");
	gen_comm(&gen, 1, 12, 13, "kprofs"); /* a thread's name says nothing */
	sample(&gen, 1, 100, GEN_IDLE, 0);
	sample(&gen, 1, 100, 10, 1);
	sample(&gen, 1, 100, 11, 2);
	sample(&gen, 1, 100, 12, 3);
	gen_lost(&gen, 0, 1, 1, 5);
	gen_lost(&gen, 1, 1, 1, 6);
	gen_lost(&gen, 1, 1, 3, 7);
	gen_lost(&gen, 1, 1, 55, 8);
	gen_throttle(&gen, 110, 0, 1, 1);
	gen_throttle(&gen, 150, 0, 1, 0);
	gen_throttle(&gen, 160, 0, 1, 0); /* it was not */
	gen_throttle(&gen, 190, 1, 1, 1); /* and stays so until the last sample */
	gen_throttle(&gen, 180, 2, 1, 1);
	gen_throttle(&gen, 170, 2, 1, 0); /* resumed before it began: no time */
	sample(&gen, 1, 200, 11, 4);
	profile = load(&gen);
	event = profile_event(profile, 0);
	assert_int_equal(event->all.samples, 5);
	assert_int_equal(event->all.weight, 50);
	assert_int_equal(event->idle.samples, 1);
	assert_int_equal(event->idle.weight, 10);
	assert_int_equal(event->own.samples, 1);
	assert_int_equal(event->own.weight, 10);
	assert_int_equal(cell_of_cpu(profile, 0)->flags, PROFILE_IDLE);
	assert_int_equal(cell_of_cpu(profile, 1)->flags, PROFILE_OWN);
	assert_int_equal(cell_of_cpu(profile, 2)->flags, 0);
	assert_int_equal(cell_of_cpu(profile, 3)->flags, 0);
	assert_int_equal(event->lost[0], 8);
	assert_int_equal(event->lost[KPROF_LOST_RING], 11);
	assert_int_equal(event->lost[KPROF_LOST_OVERWRITE], 7);
	assert_int_equal(event->throttles, 3);
	assert_int_equal(event->throttled_ns, 40 + 10);
	profile_destroy(profile);
	gen_fini(&gen);
}

/* A capture that tells its writer's pid is not judged by names. */
static void test_writer_is_told_by_its_pid(void **state)
{
	struct profile *profile;
	struct gen gen;

	gen_init(&gen, false);
	gen_begin(&gen);
	gen_u64(&gen, 1);
	gen_u64(&gen, 2);
	gen_u32(&gen, 1);
	gen_text(&gen, "CLOCK_MONOTONIC");
	gen_u32(&gen, 77);
	gen_end(&gen, 71);
	gen_comm(&gen, 1, 10, 10, "kprofs");
	sample(&gen, 1, 100, 10, 0);
	sample(&gen, 1, 100, 77, 1);
	profile = load(&gen);
	assert_int_equal(cell_of_cpu(profile, 0)->flags, 0);
	assert_int_equal(cell_of_cpu(profile, 1)->flags, PROFILE_OWN);
	profile_destroy(profile);
	gen_fini(&gen);
}

/*
 * ---- several captures in one file -------------------------------------------------------------
 */

static void test_sections_have_their_own_events_and_processes(void **state)
{
	struct profile *profile;
	struct gen gen;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_event(&gen, 1, 10, 0, "x");
	gen_event(&gen, 2, 10, 0, "y");
	gen_new_process(&gen, 10, 10, "/bin/a");
	gen_mmap(&gen, 10, 10, 0x1000, 0x1000, 0, "/bin/a");
	sample(&gen, 1, 1000, 10, 0);
	sample(&gen, 1, 1500, 10, 1);
	gen_clock(&gen, 1, 2);
	gen_event(&gen, 1, 10, 0, "y");
	gen_new_process(&gen, 5, 10, "/bin/b");
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0, "/bin/b");
	sample(&gen, 1, 20, 10, 2);
	sample(&gen, 1, 120, 10, 3);
	sample(&gen, 2, 120, 10, 4); /* a number of the former capture means nothing here */
	profile = load(&gen);
	check_stack(profile, 0, "/bin/a+0x10");
	check_stack(profile, 2, "/bin/b+0x10");
	assert_int_equal(profile->duration_ns, 500 + 100);
	assert_int_equal(profile->events->len, 3);
	assert_string_equal(profile_event(profile, 2)->text, "event 2");
	assert_int_equal(cell_of_cpu(profile, 4)->event, 2);
	assert_int_equal(cell_of_cpu(profile, 0)->event, 0);
	assert_int_equal(cell_of_cpu(profile, 2)->event, 1);
	profile_destroy(profile);
	gen_fini(&gen);
}

/*
 * ---- files ------------------------------------------------------------------------------------
 */

static void check_id(const struct profile *profile, uint16_t cpu, const char *id)
{
	uint32_t node = cell_of_cpu(profile, cpu)->node;
	uint32_t place = stacks_node(&profile->stacks, node)->place;
	const struct processes_file *file =
		processes_file(profile->processes, profile_place(profile, place)->file);

	assert_int_equal(file->build_id_length, strlen(id));
	assert_memory_equal(file->build_id, id, strlen(id));
}

static void test_build_ids_belong_to_their_files(void **state)
{
	const struct processes_kernel *kernel;
	const struct processes_file *file;
	uint64_t frame = KTEXT + 0x10;
	struct profile *profile;
	struct gen gen;
	uint32_t place;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_mmap(&gen, 5, 11, 0x1000, 0x1000, 0, "/bin/a");
	gen_build_id(&gen, 5, 11, 0x1000, "other", 5);
	gen_build_id(&gen, 5, 10, 0x1000, "one", 3);
	gen_build_id(&gen, 5, 12, 0x1000, "first", 5); /* in front of its mapping */
	gen_mmap(&gen, 5, 12, 0x1000, 0x1000, 0, "/bin/a");
	gen_mmap(&gen, 5, 13, 0x1000, 0x1000, 0, "/bin/a");
	gen_build_id(&gen, 6, 13, 0x1000, "old", 3);
	gen_mmap(&gen, 50, 13, 0x1000, 0x1000, 0, "/bin/a"); /* replaced meanwhile */
	gen_build_id(&gen, 50, 13, 0x1000, "one", 3);
	sample(&gen, 1, 20, 10, 0);
	sample(&gen, 1, 20, 11, 1);
	sample(&gen, 1, 20, 12, 2);
	sample(&gen, 1, 20, 13, 3);
	sample(&gen, 1, 60, 13, 4);
	gen_kernel_mmap(&gen, 5, KTEXT, 0x1000, "[kernel.kallsyms]");
	gen_build_id(&gen, 5, GEN_IDLE, KTEXT, "kernel", 6);
	gen_trace(&gen, 1, 1, 60, 10, 5, 1, &frame);
	profile = load(&gen);
	check_id(profile, 0, "one");
	check_id(profile, 1, "other");
	check_id(profile, 2, "first");
	check_id(profile, 3, "old");
	check_id(profile, 4, "one");
	/* /bin/a four times, and the kernel */
	assert_int_equal(processes_file_count(profile->processes), 5);
	place = stacks_node(&profile->stacks, cell_of_cpu(profile, 5)->node)->place;
	file = processes_file(profile->processes, profile_place(profile, place)->file);
	kernel = processes_kernel(profile->processes, file->kernel);
	assert_int_equal(kernel->start, KTEXT);
	assert_int_equal(kernel->build_id_length, 6);
	assert_memory_equal(kernel->build_id, "kernel", 6);
	profile_destroy(profile);
	gen_fini(&gen);
}

/*
 * ---- damage -----------------------------------------------------------------------------------
 */

static void test_damage_is_counted_and_skipped(void **state)
{
	struct profile *profile;
	struct gen gen;
	guint bad, i;
	char text[64];

	gen_init(&gen, false);
	sample(&gen, 1, 5, 10, 0);
	bad = gen.bytes->len;
	for (i = 0; i < 20; i++) {
		gen_begin(&gen);
		gen_u32(&gen, 1);
		gen_end(&gen, 65); /* a TASK of 4 bytes */
	}
	sample(&gen, 1, 5, 10, 1);
	gen_varint(&gen, 99); /* and a record that is cut */
	profile = load(&gen);
	assert_int_equal(profile->samples, 2);
	assert_int_equal(profile->damaged, 21);
	assert_int_equal(profile->damage->len, 16);
	g_snprintf(text, sizeof(text), "offset %u: type 65 with too few bytes for its fields", bad);
	assert_string_equal(profile->damage->pdata[0], text);
	profile_destroy(profile);
	gen_fini(&gen);
}

static void test_empty_capture_is_an_empty_profile(void **state)
{
	struct profile *profile;
	struct gen gen;

	gen_init(&gen, false);
	profile = load(&gen);
	assert_int_equal(profile->samples, 0);
	assert_int_equal(profile->damaged, 0);
	assert_int_equal(profile->events->len, 0);
	profile_destroy(profile);
	gen_fini(&gen);
}

/*
 * Bounds: 5,000 samples of four frames that nobody else has are 20,000 places and nodes, which take
 * 24 bytes each at the very least: 940 KB. They fit into 16 MiB and not into half a MiB.
 */
static void test_memory_of_the_profile_is_bounded(void **state)
{
	struct profile_options options = { .moments = true };
	struct profile *profile = NULL;
	uint64_t frames[4], address = 0;
	struct decoder decoder;
	struct err err = { "" };
	struct gen gen;
	int i, f;

	gen_init(&gen, false);
	for (i = 0; i < 5000; i++) {
		for (f = 0; f < 4; f++)
			frames[f] = address += 16;
		gen_trace(&gen, 2, 1, (uint64_t)i, 10, 0, 4, frames);
	}
	decode_init_memory(&decoder, gen.bytes->data, gen.bytes->len);
	options.bytes_max = 512 * 1024;
	assert_int_equal(profile_load_with(&decoder, &options, &profile, &err), -EFBIG);
	assert_null(profile);
	assert_non_null(strstr(err.text, "too varied"));
	assert_int_equal(decode_rewind(&decoder), 0);
	options.bytes_max = 16 * 1024 * 1024;
	assert_int_equal(profile_load_with(&decoder, &options, &profile, &err), 0);
	assert_int_equal(profile->samples, 5000);
	assert_int_equal(profile->moments->len, 5000);
	for (i = 0; i < 5000; i++)
		assert_int_equal(profile_moment(profile, (uint32_t)i)->time_ns, i);
	profile_destroy(profile);
	/* without stacks it is one cell */
	assert_int_equal(decode_rewind(&decoder), 0);
	options = (struct profile_options){ .no_stacks = true, .bytes_max = 512 * 1024 };
	assert_int_equal(profile_load_with(&decoder, &options, &profile, &err), 0);
	assert_int_equal(profile->cells->len, 1);
	assert_int_equal(profile_cell(profile, 0)->count.samples, 5000);
	assert_null(profile->moments);
	profile_destroy(profile);
	decode_fini(&decoder);
	gen_fini(&gen);
}

/* Of the stacks only where the CPU was; a mark in front of it is no place. */
static void test_leaves_keep_the_innermost_frame_only(void **state)
{
	static const struct profile_options options = { .leaves = true };
	uint64_t both[] = { 0xffffffff81000010, 0xffffffff81000020, GEN_USER, 0x1030 };
	uint64_t marked[] = { GEN_USER, 0x1040, 0x1050 };
	static const char *const stacks[] = {
		"[kernel.kallsyms]+0xffffffff81000010", "/bin/a+0x40", "",
	};
	struct profile *profile;
	struct decoder decoder;
	struct gen gen;
	uint16_t cpu;

	gen_init(&gen, false);
	gen_kernel_mmap(&gen, 5, 0xffffffff81000000, 0x1000, "[kernel.kallsyms]");
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_trace(&gen, 1, 1, 100, 10, 0, 4, both);
	gen_trace(&gen, 1, 1, 100, 10, 1, 3, marked);
	gen_trace(&gen, 2, 1, 100, 10, 2, 0, NULL);
	decode_init_memory(&decoder, gen.bytes->data, gen.bytes->len);
	assert_int_equal(profile_load_with(&decoder, &options, &profile, NULL), 0);
	for (cpu = 0; cpu < 3; cpu++) {
		g_autofree char *stack = print_stack(profile, cell_of_cpu(profile, cpu)->node);

		assert_string_equal(stack, stacks[cpu]);
	}
	profile_destroy(profile);
	decode_fini(&decoder);
	gen_fini(&gen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_are_found_in_mappings),
		cmocka_unit_test(test_exec_replaces_mappings),
		cmocka_unit_test(test_forked_process_inherits_mappings),
		cmocka_unit_test(test_reused_pid_has_its_own_mappings),
		cmocka_unit_test(test_answer_holds_from_one_change_to_the_next),
		cmocka_unit_test(test_circular_forks_end),
		cmocka_unit_test(test_process_names_hold_from_their_time),
		cmocka_unit_test(test_kernel_and_user_frames_are_separated),
		cmocka_unit_test(test_old_kernel_mappings_separate_the_sides_too),
		cmocka_unit_test(test_addresses_without_a_mapping_are_places_too),
		cmocka_unit_test(test_equal_stacks_are_one_cell),
		cmocka_unit_test(test_threads_are_told_by_task_records),
		cmocka_unit_test(test_samples_weigh_their_period),
		cmocka_unit_test(test_idle_and_own_samples_are_set_aside),
		cmocka_unit_test(test_writer_is_told_by_its_pid),
		cmocka_unit_test(test_sections_have_their_own_events_and_processes),
		cmocka_unit_test(test_build_ids_belong_to_their_files),
		cmocka_unit_test(test_damage_is_counted_and_skipped),
		cmocka_unit_test(test_empty_capture_is_an_empty_profile),
		cmocka_unit_test(test_memory_of_the_profile_is_bounded),
		cmocka_unit_test(test_leaves_keep_the_innermost_frame_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
