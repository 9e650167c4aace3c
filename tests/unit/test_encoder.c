/* SPDX-License-Identifier: MIT */
/* prof/encoder: samples in the kernel's layout, written by hand, become the right records. */
#include "tests/unit/encoder_fixture.h"

#define KERNEL_IP 0xffffffff81000000

/* The kernel's context markers in a chain, from its documentation: -512 and so on. */
#define MARK_HV (-32)
#define MARK_USER (-512)
#define MARK_GUEST (-2048)
#define MARK_GUEST_KERNEL (-2176)
#define MARK_GUEST_USER (-2560)

/* ---- records of the kernel ------------------------------------------------------------------- */

static void make_chain(struct kernel_record *k, uint16_t misc, uint64_t ip, const uint64_t *chain,
	size_t count)
{
	size_t i;

	begin_sample(k, misc, ip, 42, 42, 5000);
	put(k, count);
	for (i = 0; i < count; i++)
		put(k, chain[i]);
}

/* ---- chains ---------------------------------------------------------------------------------- */

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
	/* words before any marker belong to no side */
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

/* ---- tasks of samples ------------------------------------------------------------------------ */

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

/* ---- records that do not fit or are wrong ---------------------------------------------------- */

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
	for (; size < 8 + 7 * 8; size++) { /* n is 2 */
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
	k.words[5] = 333; /* now its PERIOD record */
	put(&k, 0);
	assert_int_equal(encoder_sample(e, 1, &k.header), 0);
	encoder_destroy(e);
}

/* A run counts its samples of each event, and may be written to another place. */
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
		cmocka_unit_test(test_task_names_are_announced_once),
		cmocka_unit_test(test_wrong_sizes_are_refused),
		cmocka_unit_test(test_run_is_written_to_a_given_place),
		cmocka_unit_test(test_record_that_does_not_fit_changes_nothing),
		cmocka_unit_test(test_run_is_filled_to_the_last_byte),
		cmocka_unit_test(test_throttle_is_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
