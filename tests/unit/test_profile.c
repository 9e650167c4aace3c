/* SPDX-License-Identifier: MIT */
/*
 * capture/profile: stacks, threads, weights and files of samples follow the rules of the records.
 */
#include "tests/unit/profile_fixture.h"

#define KTEXT 0xffffffff81000000ull

/* ---- stacks ---------------------------------------------------------------------------------- */

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

/* ---- events, threads, weights ---------------------------------------------------------------- */

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
	sample(&gen, 1, 5, 10, 0); /* for CPU 1 only */
	sample(&gen, 1, 5, 10, 1);
	sample(&gen, 1, 6, 10, 1); /* and decoding continues */
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
	gen_event(&gen, 1, 999, 1, "freq");    /* 1 until a PERIOD record */
	gen_event(&gen, 2, 5000, 0, "period"); /* the requested period */
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
	sample(&gen, 9, 5, 10, 4); /* an event without an EVENT record */
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
	gen_comm(&gen, 1, 12, 13, "kprofs"); /* a thread's name is not that of the process */
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

/* If a capture records its writer's pid, names are not used to find it. */
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

/* ---- several captures in one file ------------------------------------------------------------ */

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

/* ---- files ----------------------------------------------------------------------------------- */

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

/* ---- damage ---------------------------------------------------------------------------------- */

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
 * Bounds: 5,000 samples of four frames that no other sample has are 20,000 places and nodes, which take
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
	assert_non_null(strstr(err.text, "need more than"));
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

/* Of each stack only the innermost frame. A marker in front of it is not a place. */
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

/*
 * On a machine without a counter of cycles `default` is cpu-clock: runs with either are one event, which is
 * found by both names, and of which it is known that it stands for another, whichever run was the later one.
 */
static void test_default_and_what_it_stands_for_are_one_event(void **state)
{
	const char *texts[] = { "default", "cpu-clock" };
	const uint64_t frames[] = { 0x1000 };
	int first;

	for (first = 0; first < 2; first++) {
		const struct profile_event *event;
		struct profile *profile;
		struct gen gen;

		gen_init(&gen, false);
		gen_event(&gen, 1, 999, KPROF_EVENT_FREQ | (first ? 0 : KPROF_EVENT_FALLBACK), texts[first]);
		gen_event(&gen, 2, 999, KPROF_EVENT_FREQ | (first ? KPROF_EVENT_FALLBACK : 0), texts[!first]);
		gen_trace(&gen, 2, 1, 10, 10, 0, 1, frames);
		gen_trace(&gen, 2, 2, 10, 10, 0, 1, frames);
		profile = load(&gen);
		assert_int_equal(profile->events->len, 1);
		event = profile_event(profile, 0);
		assert_int_equal(event->all.samples, 2);
		assert_true(profile_event_is(event, "default"));
		assert_true(profile_event_is(event, "cpu-clock"));
		assert_true(event->flags & KPROF_EVENT_FALLBACK);
		profile_destroy(profile);
		gen_fini(&gen);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
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
		cmocka_unit_test(test_default_and_what_it_stands_for_are_one_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
