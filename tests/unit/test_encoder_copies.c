/* SPDX-License-Identifier: MIT */
/* prof/encoder: samples with copied stacks and registers become the right records. */
#include "tests/unit/encoder_fixture.h"

/* ---- copied stacks --------------------------------------------------------------------------- */

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

/* The kernel's frames reach the limit: no frame of the program is added. */
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

/* Cut to each possible length, the record is taken whole or refused. So are wrong sizes in it. */
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

/* The largest sample of the kernel fits into an empty run, and a full run takes no part of it. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copied_stacks_are_encoded),
		cmocka_unit_test(test_no_stack_is_copied_at_full_depth),
		cmocka_unit_test(test_registers_are_in_dwarf_order),
		cmocka_unit_test(test_damaged_copies_are_whole_or_refused),
		cmocka_unit_test(test_largest_copy_fits_an_empty_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
