/* SPDX-License-Identifier: MIT */
/*
 * prof/encoder: samples written by hand in the kernel's layout, and the records that must come of
 * them; above all, that a reader who begins at any run and misses any other still knows the thread
 * and the period of every sample.
 */
#include <errno.h>
#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decode.h"
#include "prof/capture.h"
#include "prof/encoder.h"
#include "sys/perf.h"

#define CPU 3
#define KERNEL_IP 0xffffffff81000000
#define USER_IP 0x401000

/* The kernel's marks in a chain, from its documentation: -512 and so on. */
#define MARK_HV (-32)
#define MARK_KERNEL (-128)
#define MARK_USER (-512)
#define MARK_GUEST (-2048)
#define MARK_GUEST_KERNEL (-2176)
#define MARK_GUEST_USER (-2560)

/* event 0: a fixed period of 1000, number 7; event 1: a frequency, number 9 */
static void make_config(struct rings_config *config, bool chain)
{
	*config = (struct rings_config){ .stack_kernel = chain, .stack_user = chain, .depth = 5 };
	config->events.count = 2;
	config->events.events[0].attr.sample_period = 1000;
	config->events.events[1].attr.freq = 1;
	config->events.events[1].attr.sample_freq = 999;
	config->numbers[0] = 7;
	config->numbers[1] = 9;
}

/*
 * ---- records of the kernel
 * -----------------------------------------------------------------------
 */

struct kernel_record {
	union {
		struct perf_event_header header;
		uint64_t words[8192];
	};
	size_t used; /* words */
};

static void put(struct kernel_record *k, uint64_t word)
{
	k->words[k->used++] = word;
	k->header.size = (uint16_t)(k->used * 8);
}

static void begin_sample(struct kernel_record *k, uint16_t misc, uint64_t ip, uint32_t pid,
	uint32_t tid, uint64_t time_ns)
{
	k->used = 1;
	k->header = (struct perf_event_header){ .type = PERF_RECORD_SAMPLE, .misc = misc };
	put(k, 4711); /* id */
	put(k, ip);
	put(k, (uint64_t)tid << 32 | pid); /* u32 pid, tid on a little-endian machine */
	put(k, time_ns);
}

/* A sample of event 0 without frames, as `stack none` has it. */
static void make_plain(struct kernel_record *k, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	begin_sample(k, PERF_RECORD_MISC_USER, USER_IP, pid, tid, time_ns);
}

static void make_chain(struct kernel_record *k, uint16_t misc, uint64_t ip, const uint64_t *chain,
	size_t count)
{
	size_t i;

	begin_sample(k, misc, ip, 42, 42, 5000);
	put(k, count);
	for (i = 0; i < count; i++)
		put(k, chain[i]);
}

/*
 * ---- chains
 * --------------------------------------------------------------------------------------
 */

struct chain_row {
	int line;
	uint16_t misc;
	uint64_t ip;
	uint64_t chain[8];
	size_t count;
	int type;
	uint64_t trace[8];
	size_t num;
};

#define K PERF_RECORD_MISC_KERNEL
#define U PERF_RECORD_MISC_USER
#define M(mark) ((uint64_t)(int64_t)(mark))
#define USER_MARK 0xfffffffffffffe00

static const struct chain_row chain_rows[] = {
	{ __LINE__, K, 9, { M(MARK_KERNEL), 9, 8, M(MARK_USER), 7, 6 }, 6, 1,
		{ 9, 8, USER_MARK, 7, 6 }, 5 },
	{ __LINE__, U, 7, { M(MARK_USER), 7, 6 }, 3, 2, { 7, 6 }, 2 },
	{ __LINE__, K, 9, { M(MARK_KERNEL), 9, 8 }, 3, 1, { 9, 8 }, 2 },
	/* nothing but a mark, or nothing at all: the place itself */
	{ __LINE__, K, 9, { M(MARK_KERNEL) }, 1, 1, { 9 }, 1 },
	{ __LINE__, U, 7, { M(MARK_USER) }, 1, 2, { 7 }, 1 },
	{ __LINE__, K, 9, { 0 }, 0, 1, { 9 }, 1 },
	{ __LINE__, U, 7, { 0 }, 0, 2, { 7 }, 1 },
	/*
	 * taken in the kernel, of which no frames came (`stack user`): the place where the CPU was
	 */
	{ __LINE__, K, 9, { M(MARK_KERNEL), M(MARK_USER), 7 }, 3, 1, { 9, USER_MARK, 7 }, 3 },
	{ __LINE__, K, 9, { M(MARK_USER), 7, 6 }, 3, 1, { 9, USER_MARK, 7, 6 }, 4 },
	{ __LINE__, K, 9, { M(MARK_KERNEL), 9, M(MARK_USER) }, 3, 1, { 9 }, 1 },
	{ __LINE__, K, 9, { M(MARK_HV), 9, M(MARK_USER), 7 }, 4, 1, { 9, USER_MARK, 7 }, 3 },
	/* words before any mark are of no side */
	{ __LINE__, U, 7, { 1, 2, M(MARK_USER), 7 }, 4, 2, { 7 }, 1 },
	/* a guest's frames count as a program's; a second stretch of one side ends it */
	{ __LINE__, U, 7, { M(MARK_GUEST), M(MARK_GUEST_USER), 7 }, 3, 2, { 7 }, 1 },
	{ __LINE__, U, 7, { M(MARK_USER), 7, M(MARK_USER), 6 }, 4, 2, { 7 }, 1 },
	{ __LINE__, K, 9, { M(MARK_KERNEL), 9, M(MARK_USER), 7, M(MARK_GUEST_KERNEL), 5 }, 6, 1,
		{ 9, USER_MARK, 7 }, 3 },
	/* the lowest mark there can be, and the highest address below it */
	{ __LINE__, U, 5, { M(-4095), 7 }, 2, 2, { 7 }, 1 },
	{ __LINE__, U, 7, { M(MARK_USER), M(-4096) }, 2, 2, { M(-4096) }, 1 },
};

static void check_chain(const struct chain_row *row)
{
	static struct kernel_record k;
	struct rings_config config;
	struct encoder *e;
	const uint8_t *run;
	struct decoded r;
	size_t len, at = 0, i;

	make_config(&config, true);
	e = encoder_create(&config, CPU, false, false);
	make_chain(&k, row->misc, row->ip, row->chain, row->count);
	assert_int_equal(encoder_sample(e, 0, &k.header), 0);
	run = encoder_run(e, &len);
	assert_true(decode_next(run, len, &at, &r));
	assert_int_equal(r.type, 73); /* PERIOD stands before */
	assert_true(decode_next(run, len, &at, &r));
	if ((int)r.type != row->type || decode_u16(&r, 22) != row->num ||
		r.size != 24 + 8 * row->num)
		fail_msg("line %d: type %d with %d words in %zu bytes", row->line, (int)r.type,
			decode_u16(&r, 22), r.size);
	for (i = 0; i < row->num; i++)
		if (decode_u64(&r, 24 + 8 * i) != row->trace[i])
			fail_msg("line %d: word %zu is %llx", row->line, i,
				(unsigned long long)decode_u64(&r, 24 + 8 * i));
	assert_true(decode_u64(&r, 0) == 7);
	assert_true(decode_u64(&r, 8) == 5000);
	assert_int_equal(decode_u32(&r, 16), 42);
	assert_int_equal(decode_u16(&r, 20), CPU);
	assert_false(decode_next(run, len, &at, &r));
	encoder_destroy(e);
}

static void test_callchains_are_encoded(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(chain_rows) / sizeof(chain_rows[0]); i++)
		check_chain(&chain_rows[i]);
}

static void test_stack_none_keeps_one_address(void **state)
{
	static struct kernel_record k;
	struct rings_config config;
	struct encoder *e;
	const uint8_t *run;
	struct decoded r;
	size_t len, at = 0;

	(void)state;
	make_config(&config, false);
	e = encoder_create(&config, CPU, false, false);
	begin_sample(&k, K, KERNEL_IP, 42, 42, 1);
	assert_int_equal(encoder_sample(e, 0, &k.header), 0);
	begin_sample(&k, U, USER_IP, 42, 42, 2);
	assert_int_equal(encoder_sample(e, 0, &k.header), 0);
	run = encoder_run(e, &len);
	decode_next(run, len, &at, &r);
	decode_next(run, len, &at, &r);
	assert_int_equal(r.type, 1);
	assert_true(decode_u64(&r, 24) == KERNEL_IP);
	decode_next(run, len, &at, &r);
	assert_int_equal(r.type, 2);
	assert_true(decode_u64(&r, 24) == USER_IP);
	assert_int_equal(encoder_get_counts(e)->stacks, 0);
	encoder_destroy(e);
}

static void test_samples_of_each_side_are_counted(void **state)
{
	const uint64_t chain[] = { M(MARK_KERNEL), 9, 8, M(MARK_USER), 7, 6, 5 };
	const uint64_t short_of_it[] = { M(MARK_USER), 7, 6, 5, 4 };
	static struct kernel_record k;
	struct rings_config config;
	struct encoder *e;
	size_t count;

	(void)state;
	make_config(&config, true); /* depth 5 */
	e = encoder_create(&config, CPU, false, false);
	for (count = 0; count <= 7; count++) {
		make_chain(&k, K, 9, chain, count);
		assert_int_equal(encoder_sample(e, 0, &k.header), 0);
	}
	assert_int_equal(encoder_get_counts(e)->stacks, 8);
	assert_int_equal(encoder_get_counts(e)->stacks_cut, 1); /* 2 + 3 frames */
	make_chain(&k, K, 9, short_of_it, 5); /* 4 frames, and the place in the kernel */
	assert_int_equal(encoder_sample(e, 0, &k.header), 0);
	assert_int_equal(encoder_get_counts(e)->stacks_cut, 1);
	encoder_clear_counts(e);
	assert_int_equal(encoder_get_counts(e)->stacks, 0);
	encoder_destroy(e);
}

/*
 * ---- copied stacks
 * -------------------------------------------------------------------------------
 */

#define ABI_NONE 0
#define ABI_32 1
#define ABI_64 2

struct copied_row {
	int line;
	uint16_t misc;
	uint64_t abi;
	bool kernel_frames;
	uint64_t size, filled;
	int type; /* of the sample */
	uint64_t trace[4];
	size_t num;
	bool stack; /* USER_STACK stands before */
};

#define PC 0x402000 /* in user space */

static const struct copied_row copied_rows[] = {
	{ __LINE__, U, ABI_64, false, 64, 40, 2, { PC }, 1, true },
	{ __LINE__, K, ABI_64, true, 64, 64, 1, { 9, 8, USER_MARK, PC }, 4, true },
	/* no memory where the stack pointer points */
	{ __LINE__, U, ABI_64, false, 64, 0, 2, { PC }, 1, true },
	{ __LINE__, U, ABI_64, false, 0, 0, 2, { PC }, 1, true },
	/* a thread of the kernel, and a 32-bit program */
	{ __LINE__, K, ABI_NONE, true, 0, 0, 1, { 9, 8 }, 2, false },
	{ __LINE__, U, ABI_32, false, 64, 64, 2, { USER_IP }, 1, false },
	{ __LINE__, K, ABI_32, true, 64, 64, 1, { 9, 8 }, 2, false },
};

/* Register i of what perf gives is 1000 + i, the program counter PC; byte i of the stack is i. */
static void make_copied(struct kernel_record *k, const struct copied_row *row)
{
	const struct perf_user_regs *regs = perf_user_regs();
	uint64_t word;
	size_t i;

	begin_sample(k, row->misc, row->misc == K ? 9 : USER_IP, 42, 42, 5000);
	put(k, row->kernel_frames ? 3 : 0);
	if (row->kernel_frames) {
		put(k, M(MARK_KERNEL));
		put(k, 9);
		put(k, 8);
	}
	put(k, row->abi);
	for (i = 0; row->abi != ABI_NONE && i < regs->count; i++)
		put(k, i == regs->order[regs->count - 1] ? PC : 1000 + i);
	put(k, row->size);
	for (i = 0; i < row->size; i += 8) {
		word = (i + 7) << 56 | (i + 6) << 48 | (i + 5) << 40 | (i + 4) << 32 |
		       (i + 3) << 24 | (i + 2) << 16 | (i + 1) << 8 | i;
		put(k, word);
	}
	if (row->size)
		put(k, row->filled);
}

static void check_user_stack(const struct copied_row *row, const struct decoded *r)
{
	const struct perf_user_regs *regs = perf_user_regs();
	size_t i, at = 24 + 8 * (size_t)regs->count;

	if (r->type != 74 || r->size != at + row->filled)
		fail_msg("line %d: type %d of %zu bytes", row->line, (int)r->type, r->size);
	assert_true(decode_u64(r, 0) == 5000);
	assert_int_equal(decode_u32(r, 8), 42);
	assert_int_equal(decode_u16(r, 12), CPU);
	assert_int_equal(decode_u16(r, 14), regs->machine);
	assert_int_equal(decode_u16(r, 16), 5);
	assert_int_equal(decode_u16(r, 18), regs->count);
	assert_int_equal(decode_u32(r, 20), row->filled);
	for (i = 0; i + 1 < regs->count; i++)
		assert_int_equal(decode_u64(r, 24 + 8 * i), 1000 + regs->order[i]);
	assert_int_equal(decode_u64(r, 24 + 8 * i), PC);
	for (i = 0; i < row->filled; i++)
		assert_int_equal(r->payload[at + i], i);
}

static struct encoder *create_copying(struct rings_config *config)
{
	make_config(config, true);
	config->stack_user = false;
	config->stack_copied = 64;
	return encoder_create(config, CPU, false, false);
}

static void check_copied(const struct copied_row *row)
{
	static struct kernel_record k;
	struct rings_config config;
	struct encoder *e = create_copying(&config);
	const uint8_t *run;
	struct decoded r;
	size_t len, at = 0, i;

	make_copied(&k, row);
	assert_int_equal(encoder_sample(e, 0, &k.header), 0);
	run = encoder_run(e, &len);
	assert_true(decode_next(run, len, &at, &r));
	assert_int_equal(r.type, 73);
	assert_true(decode_next(run, len, &at, &r));
	if (row->stack) {
		check_user_stack(row, &r);
		assert_true(decode_next(run, len, &at, &r));
	}
	if ((int)r.type != row->type || decode_u16(&r, 22) != row->num)
		fail_msg("line %d: type %d with %d words", row->line, (int)r.type,
			decode_u16(&r, 22));
	for (i = 0; i < row->num; i++)
		if (decode_u64(&r, 24 + 8 * i) != row->trace[i])
			fail_msg("line %d: word %zu is %llx", row->line, i,
				(unsigned long long)decode_u64(&r, 24 + 8 * i));
	assert_false(decode_next(run, len, &at, &r));
	encoder_destroy(e);
}

static void test_copied_stacks_are_encoded(void **state)
{
	size_t i;

	(void)state;
	if (!perf_user_regs())
		skip();
	for (i = 0; i < sizeof(copied_rows) / sizeof(copied_rows[0]); i++)
		check_copied(&copied_rows[i]);
}

/*
 * The kernel's frames are as many as there may be: nothing of the program, which would be one more.
 */
static void test_no_stack_is_copied_at_full_depth(void **state)
{
	static struct kernel_record k;
	struct rings_config config;
	const uint8_t *run;
	struct encoder *e;
	struct decoded r;
	size_t len, at = 0;

	(void)state;
	if (!perf_user_regs())
		skip();
	e = create_copying(&config);
	config.depth = 2;
	make_copied(&k, &copied_rows[1]);
	assert_int_equal(encoder_sample(e, 0, &k.header), 0);
	run = encoder_run(e, &len);
	assert_true(decode_next(run, len, &at, &r));
	assert_true(decode_next(run, len, &at, &r));
	assert_int_equal(r.type, 1);
	assert_int_equal(decode_u16(&r, 22), 2);
	assert_false(decode_next(run, len, &at, &r));
	encoder_destroy(e);
}

/*
 * DWARF's numbers by the psABI: 3 is rbx and 7 is rsp, which perf gives as its second and eighth.
 */
static void test_registers_are_in_dwarf_order(void **state)
{
	const struct perf_user_regs *regs = perf_user_regs();

	(void)state;
	if (!regs || regs->machine != 62)
		skip();
	assert_int_equal(regs->count, 17);
	assert_int_equal(regs->order[3], 1);
	assert_int_equal(regs->order[7], 7);
	assert_int_equal(regs->order[8], 9); /* r8 */
	assert_int_equal(regs->order[16], 8);
}

/*
 * Of each length that a record can be cut to, it is whole or refused; and so is a lie about sizes.
 */
static void test_damaged_copies_are_whole_or_refused(void **state)
{
	static struct kernel_record k;
	struct rings_config config;
	struct encoder *e;
	size_t len, words;

	(void)state;
	if (!perf_user_regs())
		skip();
	e = create_copying(&config);
	make_copied(&k, &copied_rows[1]);
	words = k.used;
	for (; words > 1; words--) {
		k.header.size = (uint16_t)(8 * (words - 1));
		assert_int_equal(encoder_sample(e, 0, &k.header), -EBADMSG);
	}
	encoder_run(e, &len);
	assert_int_equal(len, 0);

	make_copied(&k, &copied_rows[0]);
	k.words[k.used - 1] = 65; /* more was filled than there is */
	assert_int_equal(encoder_sample(e, 0, &k.header), -EBADMSG);
	make_copied(&k, &copied_rows[0]);
	k.words[k.used - 1 - 8 - 1] = UINT64_MAX - 7;
	assert_int_equal(encoder_sample(e, 0, &k.header), -EBADMSG);
	k.words[k.used - 1 - 8 - 1] = 63;
	assert_int_equal(encoder_sample(e, 0, &k.header), -EBADMSG);
	encoder_destroy(e);
}

/* The largest that the kernel can send fits an empty run, and a full run takes nothing of it. */
static void test_largest_copy_fits_an_empty_run(void **state)
{
	static const struct copied_row largest = { 0, K, ABI_64, true, 65000, 65000 };
	static struct kernel_record k;
	struct rings_config config;
	struct encoder *e;
	size_t len, before;

	(void)state;
	if (!perf_user_regs())
		skip();
	e = create_copying(&config);
	make_copied(&k, &largest);
	assert_int_equal(encoder_sample(e, 0, &k.header), 0);
	encoder_run(e, &before);
	assert_int_equal(encoder_sample(e, 0, &k.header), -ENOSPC);
	encoder_run(e, &len);
	assert_int_equal(len, before);
	encoder_next_run(e);
	assert_int_equal(encoder_sample(e, 0, &k.header), 0);
	encoder_destroy(e);
}

/*
 * ---- whose sample it is
 * --------------------------------------------------------------------------
 */

struct name_row {
	int line;
	bool foreign;
	uint32_t pid, tid;
	uint32_t sample_pid;
	bool task; /* TASK stands before */
	uint32_t task_tid;
};

static const struct name_row name_rows[] = {
	{ __LINE__, false, 0, 0, 0xffffffff, false, 0 },
	{ __LINE__, true, 0, 0, 0xfffffffe, false, 0 },
	{ __LINE__, false, 0xffffffff, 0xffffffff, 0xfffffffe, false, 0 },
	{ __LINE__, true, 0xffffffff, 0xffffffff, 0xfffffffe, false, 0 },
	{ __LINE__, false, 0xffffffff, 17, 0xfffffffe, false, 0 },
	{ __LINE__, false, 17, 17, 17, false, 0 },
	{ __LINE__, false, 17, 18, 17, true, 18 },
	/* a thread that was gone already when its process was not */
	{ __LINE__, false, 17, 0xffffffff, 17, true, 0xfffffffe },
	{ __LINE__, false, 17, 0, 17, true, 0xfffffffe },
};

static void test_task_names_are_announced_once(void **state)
{
	static struct kernel_record k;
	struct rings_config config;
	size_t i;

	(void)state;
	make_config(&config, false);
	for (i = 0; i < sizeof(name_rows) / sizeof(name_rows[0]); i++) {
		const struct name_row *row = &name_rows[i];
		struct encoder *e = encoder_create(&config, CPU, row->foreign, false);
		const uint8_t *run;
		bool task = false;
		struct decoded r;
		size_t len, at = 0;

		make_plain(&k, row->pid, row->tid, 1);
		assert_int_equal(encoder_sample(e, 0, &k.header), 0);
		run = encoder_run(e, &len);
		while (decode_next(run, len, &at, &r)) {
			if (r.type == 65) {
				task = true;
				if (decode_u32(&r, 0) != CPU || decode_u32(&r, 4) != row->pid ||
					decode_u32(&r, 8) != row->task_tid)
					fail_msg("line %d: TASK tells of %x", row->line,
						decode_u32(&r, 8));
			} else if (r.type == 2 && decode_u32(&r, 16) != row->sample_pid) {
				fail_msg("line %d: pid %x", row->line, decode_u32(&r, 16));
			}
		}
		if (task != row->task)
			fail_msg("line %d: %s TASK", row->line, task ? "a" : "no");
		encoder_destroy(e);
	}
}

/*
 * ---- runs that stand alone
 * -----------------------------------------------------------------------
 */

#define RUNS 60
#define RUN_SAMPLES 20

struct truth {
	uint32_t pid, tid;
	uint64_t period;
	unsigned int index;
};

struct capture_of_runs {
	struct {
		uint8_t *data;
		size_t len;
	} runs[2 * RUNS];
	size_t count;
	struct truth *truth; /* by the samples' time */
	uint64_t samples;
};

static void hand_on(struct capture_of_runs *all, struct encoder *e)
{
	const uint8_t *run;
	size_t len;

	run = encoder_run(e, &len);
	all->runs[all->count].data = g_memdup2(run, len);
	all->runs[all->count++].len = len;
	encoder_next_run(e);
}

/* What a reader knows; pids are small numbers here. */
struct knowledge {
	uint32_t tids[16384]; /* of each process on this CPU; 0: the process itself */
	uint64_t periods[16]; /* by event; 0: not told */
};

static void read_run(struct knowledge *know, const struct capture_of_runs *all, size_t run)
{
	struct decoded r;
	size_t at = 0;

	while (decode_next(all->runs[run].data, all->runs[run].len, &at, &r)) {
		const struct truth *truth;
		uint32_t pid, tid;

		if (r.type == 65) {
			know->tids[decode_u32(&r, 4)] = decode_u32(&r, 8);
			continue;
		}
		if (r.type == 73) {
			know->periods[decode_u32(&r, 4)] = decode_u64(&r, 8);
			continue;
		}
		truth = &all->truth[decode_u64(&r, 8)];
		pid = decode_u32(&r, 16);
		tid = know->tids[pid] ? know->tids[pid] : pid;
		assert_int_equal(pid, truth->pid);
		if (tid != truth->tid)
			fail_msg("run %zu: thread %u of %u is taken for %u", run, truth->tid, pid, tid);
		assert_int_equal(decode_u64(&r, 0), truth->index ? 9 : 7);
		if (know->periods[decode_u64(&r, 0)] != truth->period)
			fail_msg("run %zu: a period of %llu is taken for %llu", run,
				(unsigned long long)truth->period,
				(unsigned long long)know->periods[decode_u64(&r, 0)]);
	}
}

static void add_truth(struct capture_of_runs *all, struct encoder *e, struct truth truth)
{
	static struct kernel_record k;

	make_plain(&k, truth.pid, truth.tid, all->samples);
	if (truth.index)
		put(&k, truth.period);
	all->truth[all->samples++] = truth;
	assert_int_equal(encoder_sample(e, truth.index, &k.header), 0);
}

/* Every start, then any selection of runs: always the truth. */
static void read_any_runs(const struct capture_of_runs *all, unsigned int *seed)
{
	static struct knowledge know;
	size_t start, i;
	int tries;

	for (start = 0; start < all->count; start++) {
		memset(&know, 0, sizeof(know));
		for (i = start; i < all->count; i++)
			read_run(&know, all, i);
	}
	for (tries = 0; tries < 300; tries++) {
		memset(&know, 0, sizeof(know));
		for (i = 0; i < all->count; i++)
			if (rand_r(seed) % 3 == 0)
				read_run(&know, all, i);
	}
}

static void free_runs(struct capture_of_runs *all)
{
	size_t i;

	for (i = 0; i < all->count; i++)
		g_free(all->runs[i].data);
	free(all->truth);
}

/*
 * Processes of one thread and of several, pids that come again with other threads, and a second
 * encoder for the same CPU, as after stop and start: its runs follow the first one's.
 */
static void test_each_run_decodes_alone(void **state)
{
	struct capture_of_runs all = { 0 };
	struct rings_config config;
	unsigned int seed = 20160719;
	struct encoder *e;
	int round, run, i;

	(void)state;
	make_config(&config, false);
	all.truth = calloc(2 * RUNS * RUN_SAMPLES, sizeof(*all.truth));
	assert_non_null(all.truth);
	for (round = 0; round < 2; round++) {
		e = encoder_create(&config, CPU, false, round > 0);
		for (run = 0; run < RUNS; run++) {
			for (i = 0; i < RUN_SAMPLES; i++) {
				struct truth t = { .pid = 10 + rand_r(&seed) % 6 * 10 };

				/* the first encoder meets threads that the second one never sees */
				t.tid = t.pid;
				if (round == 0 || t.pid < 30)
					t.tid += rand_r(&seed) % (t.pid / 10);
				t.index = rand_r(&seed) % 2;
				t.period = t.index ? 1 + rand_r(&seed) % 3 : 1000;
				add_truth(&all, e, t);
			}
			hand_on(&all, e);
		}
		encoder_destroy(e);
	}
	read_any_runs(&all, &seed);
	free_runs(&all);
}

/* More processes with threads than are remembered. */
static void test_more_threaded_processes_than_remembered_decode(void **state)
{
	struct capture_of_runs all = { 0 };
	static struct knowledge know;
	struct rings_config config;
	struct encoder *e;
	uint32_t pid;
	size_t i;

	(void)state;
	make_config(&config, false);
	all.truth = calloc(65536, sizeof(*all.truth));
	assert_non_null(all.truth);
	e = encoder_create(&config, CPU, false, false);
	for (pid = 1; pid <= 9000; pid++) {
		add_truth(&all, e, (struct truth){ .pid = pid, .tid = 10000, .period = 1000 });
		if (pid % 500 == 0)
			hand_on(&all, e);
	}
	for (pid = 1; pid <= 9000; pid += 7) {
		add_truth(&all, e, (struct truth){ .pid = pid, .tid = pid, .period = 1000 });
		if (pid % 500 == 0)
			hand_on(&all, e);
	}
	hand_on(&all, e);
	for (i = 0; i < all.count; i++)
		read_run(&know, &all, i);
	encoder_destroy(e);
	free_runs(&all);
}

static size_t count_type(const struct encoder *e, uint64_t type)
{
	struct decoded r;
	const uint8_t *run;
	size_t len, at = 0, n = 0;

	run = encoder_run(e, &len);
	while (decode_next(run, len, &at, &r))
		n += r.type == type;
	return n;
}

/* Nothing is said that is not needed. */
static void test_known_tasks_are_not_repeated(void **state)
{
	static struct kernel_record k;
	struct rings_config config;
	struct encoder *e;
	uint32_t i;

	(void)state;
	make_config(&config, false);
	e = encoder_create(&config, CPU, false, false);
	for (i = 1; i <= 100; i++) { /* processes of one thread */
		make_plain(&k, i, i, i);
		encoder_sample(e, 0, &k.header);
	}
	assert_int_equal(count_type(e, 65), 0);
	assert_int_equal(count_type(e, 73), 1);
	for (i = 0; i < 50; i++) { /* one thread for long, with another process between */
		make_plain(&k, 200, 201, i);
		encoder_sample(e, 0, &k.header);
		make_plain(&k, 300, 300, i);
		encoder_sample(e, 0, &k.header);
	}
	assert_int_equal(count_type(e, 65), 1);
	make_plain(&k, 200, 200, i); /* back to the first thread: must be said */
	encoder_sample(e, 0, &k.header);
	assert_int_equal(count_type(e, 65), 2);
	encoder_sample(e, 0, &k.header);
	assert_int_equal(count_type(e, 65), 2);
	encoder_next_run(e);
	assert_int_equal(count_type(e, 73), 0);
	encoder_sample(e, 0, &k.header);
	assert_int_equal(count_type(e, 65), 1); /* and in the next run again */
	assert_int_equal(count_type(e, 73), 1);
	encoder_destroy(e);
}

/*
 * ---- what does not fit or makes no sense
 * ---------------------------------------------------------
 */

static void expect_refused(struct encoder *e, unsigned int index, const struct kernel_record *k,
	int line)
{
	size_t before, after;

	encoder_run(e, &before);
	if (encoder_sample(e, index, &k->header) != -EBADMSG)
		fail_msg("line %d: a record of %u bytes is taken", line, k->header.size);
	encoder_run(e, &after);
	if (before != after)
		fail_msg("line %d: the run grew", line);
}

static void test_wrong_sizes_are_refused(void **state)
{
	const uint64_t counts[] = { 3, 4, 1000, UINT32_MAX, UINT64_MAX, UINT64_MAX / 8, 1ull << 61 };
	const uint64_t chain[] = { M(MARK_USER), 7 };
	static struct kernel_record k;
	struct rings_config config;
	struct encoder *e;
	uint16_t size;
	size_t i;

	(void)state;
	make_config(&config, true);
	e = encoder_create(&config, CPU, false, false);
	make_chain(&k, U, 7, chain, 2);
	for (size = 0; size < 8 + 5 * 8; size++) { /* id, ip, pid, time, n */
		k.header.size = size;
		expect_refused(e, 0, &k, __LINE__);
	}
	for (; size < 8 + 7 * 8; size++) { /* n says 2 */
		k.header.size = size;
		expect_refused(e, 0, &k, __LINE__);
	}
	k.header.size = size;
	assert_int_equal(encoder_sample(e, 0, &k.header), 0);
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		k.words[5] = counts[i];
		expect_refused(e, 0, &k, __LINE__);
	}
	/* event 1 has a period before the chain */
	make_chain(&k, U, 7, NULL, 0);
	expect_refused(e, 1, &k, __LINE__);
	k.words[5] = 333; /* now its period */
	put(&k, 0);
	assert_int_equal(encoder_sample(e, 1, &k.header), 0);
	encoder_destroy(e);
}

/* A run says how many samples of each event it holds, and may be written elsewhere. */
static void test_run_is_written_to_a_given_place(void **state)
{
	static struct kernel_record k;
	struct rings_config config;
	uint8_t place[400];
	struct encoder *e;
	int taken = 0, i;
	size_t len;

	(void)state;
	make_config(&config, false);
	e = encoder_create(&config, CPU, false, false);
	encoder_place_run(e, place, sizeof(place));
	begin_sample(&k, U, USER_IP, 42, 42, 1);
	while (encoder_sample(e, 0, &k.header) == 0)
		taken++;
	assert_true(taken > 2);
	assert_ptr_equal(encoder_run(e, &len), place);
	assert_true(len <= sizeof(place));
	assert_int_equal(encoder_run_samples(e, 0), taken);
	assert_int_equal(encoder_run_samples(e, 1), 0);
	encoder_next_run(e);
	assert_int_equal(encoder_run_samples(e, 0), 0);
	assert_ptr_not_equal(encoder_run(e, &len), place);
	for (i = 0; i < 100; i++)
		assert_int_equal(encoder_sample(e, 0, &k.header), 0);
	put(&k, 1); /* a period */
	assert_int_equal(encoder_sample(e, 1, &k.header), 0);
	assert_int_equal(encoder_run_samples(e, 0), 100);
	assert_int_equal(encoder_run_samples(e, 1), 1);
	k.header.size = 8;
	assert_int_equal(encoder_sample(e, 1, &k.header), -EBADMSG);
	assert_int_equal(encoder_run_samples(e, 1), 1);
	encoder_destroy(e);
}

/* A record of the kernel's largest fits an empty run; one that doesn't fit changes nothing. */
static void test_record_that_does_not_fit_changes_nothing(void **state)
{
	static struct kernel_record k;
	struct rings_config config;
	struct encoder *e;
	size_t len, before, i;
	int ret, taken = 0;

	(void)state;
	make_config(&config, true);
	e = encoder_create(&config, CPU, false, true);
	begin_sample(&k, K, KERNEL_IP, 42, 43, 1);
	put(&k, 8191 - 6);
	put(&k, M(MARK_KERNEL));
	while (k.used < 8191)
		put(&k, k.used == 4000 ? M(MARK_USER) : k.used);
	assert_int_equal(k.header.size, 65528);
	assert_int_equal(encoder_sample(e, 0, &k.header), 0);
	encoder_run(e, &len);
	assert_true(len <= CAPTURE_RUN_MAX);
	assert_int_equal(encoder_sample(e, 0, &k.header), -ENOSPC);
	encoder_run(e, &before);
	assert_int_equal(before, len);
	encoder_next_run(e);
	encoder_run(e, &len);
	assert_int_equal(len, 0);

	begin_sample(&k, U, USER_IP, 42, 43, 1);
	put(&k, 1);
	put(&k, 1);
	while ((ret = encoder_sample(e, 0, &k.header)) == 0)
		taken++;
	assert_int_equal(ret, -ENOSPC);
	assert_int_equal(count_type(e, 2), taken);
	encoder_run(e, &before);
	for (i = 0; i < 10; i++)
		assert_int_equal(encoder_sample(e, 0, &k.header), -ENOSPC);
	encoder_run(e, &len);
	assert_int_equal(before, len);
	assert_true(len <= CAPTURE_RUN_MAX);
	encoder_destroy(e);
}

/* Where a sample fits and TASK and PERIOD before it do not, it does not fit. */
static void test_run_is_filled_to_the_last_byte(void **state)
{
	static struct kernel_record k;
	struct rings_config config;
	size_t frames, before, after;
	struct encoder *e;

	(void)state;
	make_config(&config, true);
	for (frames = 0; frames < 40; frames++) {
		size_t samples, said;

		e = encoder_create(&config, CPU, false, false);
		begin_sample(&k, U, USER_IP, 42, 42, 1);
		put(&k, frames);
		while (k.used < 6 + frames)
			put(&k, k.used == 6 ? M(MARK_USER) : 7);
		while (!encoder_sample(e, 0, &k.header))
			;
		/* a smaller one of another thread, after another period */
		begin_sample(&k, U, USER_IP, 42, 43, 1);
		put(&k, 0);
		config.events.events[0].attr.sample_period = 1000 + frames;
		while (encoder_throttle(e, 0, 1, true) == 0) {
			samples = count_type(e, 2);
			said = count_type(e, 65) + count_type(e, 73);
			encoder_run(e, &before);
			k.words[3] += 1ull << 32; /* the next thread */
			config.events.events[0].attr.sample_period++;
			if (!encoder_sample(e, 0, &k.header)) {
				samples++;
				said += 2;
				encoder_run(e, &before);
			}
			encoder_run(e, &after);
			assert_int_equal(before, after);
			assert_int_equal(count_type(e, 2), samples);
			assert_int_equal(count_type(e, 65) + count_type(e, 73), said);
		}
		config.events.events[0].attr.sample_period = 1000;
		encoder_destroy(e);
	}
}

static void test_throttle_is_encoded(void **state)
{
	struct rings_config config;
	struct encoder *e;
	const uint8_t *run;
	struct decoded r;
	size_t len, at = 0;
	int i;

	(void)state;
	make_config(&config, false);
	e = encoder_create(&config, CPU, false, false);
	assert_int_equal(encoder_throttle(e, 1, 123, true), 0);
	run = encoder_run(e, &len);
	assert_true(decode_next(run, len, &at, &r));
	assert_int_equal(r.type, 72);
	assert_int_equal(decode_u64(&r, 0), 123);
	assert_int_equal(decode_u32(&r, 8), CPU);
	assert_int_equal(decode_u32(&r, 12), 9);
	assert_int_equal(decode_u32(&r, 16), 1);
	for (i = 0; encoder_throttle(e, 0, 1, false) == 0; i++)
		;
	assert_int_equal(encoder_throttle(e, 0, 1, false), -ENOSPC);
	assert_int_equal(count_type(e, 72), i + 1);
	encoder_destroy(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_callchains_are_encoded),
		cmocka_unit_test(test_stack_none_keeps_one_address),
		cmocka_unit_test(test_samples_of_each_side_are_counted),
		cmocka_unit_test(test_copied_stacks_are_encoded),
		cmocka_unit_test(test_no_stack_is_copied_at_full_depth),
		cmocka_unit_test(test_registers_are_in_dwarf_order),
		cmocka_unit_test(test_damaged_copies_are_whole_or_refused),
		cmocka_unit_test(test_largest_copy_fits_an_empty_run),
		cmocka_unit_test(test_task_names_are_announced_once),
		cmocka_unit_test(test_each_run_decodes_alone),
		cmocka_unit_test(test_more_threaded_processes_than_remembered_decode),
		cmocka_unit_test(test_known_tasks_are_not_repeated),
		cmocka_unit_test(test_wrong_sizes_are_refused),
		cmocka_unit_test(test_run_is_written_to_a_given_place),
		cmocka_unit_test(test_record_that_does_not_fit_changes_nothing),
		cmocka_unit_test(test_run_is_filled_to_the_last_byte),
		cmocka_unit_test(test_throttle_is_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
