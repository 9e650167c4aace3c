/* SPDX-License-Identifier: MIT */
/* prof/encoder: samples that the programs of offcpu write become the right records. */
#include "tests/unit/encoder_fixture.h"

#include "prof/offcpu_code.h"

#define LEFT 1000
#define BACK 4500
#define OWN_PID 42
#define OTHER_PID 77 /* whose context perf saw, if it was not the task's own */

struct row {
	int line;
	bool stack_kernel, stack_user;
	uint32_t flags;
	uint64_t user_ip;
	unsigned int kernel; /* frames: 91, 92, ... */
	int type;
	uint32_t pid;
	uint64_t trace[6];
	size_t num;
};

#define OWN OFFCPU_OWN
#define USER OFFCPU_USER

/* With stack_user perf's chain has 11, 12 and 13; DEPTH is 5. */
static const struct row rows[] = {
	{ __LINE__, true, true, OWN | USER, 11, 2, 1, OWN_PID, { 91, 92, USER_MARK, 11, 12, 13 }, 6 },
	/* DEPTH counts both sides */
	{ __LINE__, true, true, OWN | USER, 11, 4, 1, OWN_PID, { 91, 92, 93, 94, USER_MARK, 11 }, 6 },
	{ __LINE__, true, true, OWN | USER, 11, 7, 1, OWN_PID, { 91, 92, 93, 94, 95 }, 5 },
	/* it left elsewhere: only the instruction is known */
	{ __LINE__, true, true, OWN, 21, 1, 1, OWN_PID, { 91, USER_MARK, 21 }, 3 },
	/* a thread of the kernel, and one whose CPU already had another: perf's chain is that of the other */
	{ __LINE__, true, true, 0, 0, 1, 1, 50, { 91 }, 1 },
	{ __LINE__, true, true, 0, 21, 1, 1, 50, { 91, USER_MARK, 21 }, 3 },
	{ __LINE__, false, true, OWN | USER, 11, 2, 2, OWN_PID, { 11, 12, 13 }, 3 },
	{ __LINE__, false, true, 0, 0, 2, 1, 50, { 91 }, 1 },
	{ __LINE__, true, false, 0, 21, 2, 1, 50, { 91, 92 }, 2 },
	{ __LINE__, false, false, 0, 21, 2, 2, 50, { 21 }, 1 },
	{ __LINE__, false, false, 0, 0, 2, 1, 50, { 91 }, 1 },
	{ __LINE__, false, false, 0, 0, 0, 2, 50, { 0 }, 0 },
};

static void put_head(struct kernel_record *k, const struct row *row, size_t wake_bytes)
{
	struct offcpu_sample head = {
		.raw_bytes = (uint32_t)(sizeof(head) + wake_bytes + row->kernel * 8 - 4),
		.flags = row->flags | (wake_bytes ? OFFCPU_WAKER : 0),
		.left_ns = LEFT, .back_ns = BACK, .state = 2, .tgid = 50, .tid = 51,
		.user_ip = row->user_ip, .kernel_bytes = row->kernel * 8,
	};

	memcpy(&k->words[k->used], &head, sizeof(head));
	k->used += sizeof(head) / 8;
}

static void make_sample(struct kernel_record *k, const struct row *row, const struct offcpu_wake *wake)
{
	const uint32_t pid = row->flags & OWN ? OWN_PID : OTHER_PID;
	unsigned int i;

	begin_sample(k, PERF_RECORD_MISC_KERNEL, 5, pid, pid, 5000);
	if (row->stack_user) {
		put(k, 4);
		put(k, USER_MARK);
		for (i = 11; i <= 13; i++)
			put(k, i);
	}
	put_head(k, row, wake ? sizeof(*wake) : 0);
	if (wake) {
		memcpy(&k->words[k->used], wake, sizeof(*wake));
		k->used += sizeof(*wake) / 8;
	}
	for (i = 0; i < row->kernel; i++)
		k->words[k->used++] = 91 + i;
	k->header.size = (uint16_t)(k->used * 8);
}

/* Event 1 is of offcpu; the programs know no function of the scheduler. */
static struct encoder *create(struct rings_config *config, const struct row *row)
{
	make_config(config, false);
	config->stack_kernel = row->stack_kernel;
	config->stack_user = row->stack_user;
	config->events.events[1] = (struct event){ .away.source = EVENT_OFFCPU, .attr.sample_period = 1 };
	return encoder_create(config, CPU, false, false);
}

static void check_trace(const struct row *row, const struct decoded *r)
{
	size_t i;

	if ((int)r->type != row->type || decode_u16(r, 22) != row->num || decode_u32(r, 16) != row->pid)
		fail_msg("line %d: type %d of pid %u with %d words", row->line, (int)r->type,
			decode_u32(r, 16), decode_u16(r, 22));
	assert_int_equal(decode_u64(r, 0), 9);
	assert_int_equal(decode_u64(r, 8), 5000);
	for (i = 0; i < row->num; i++)
		if (decode_u64(r, 24 + 8 * i) != row->trace[i])
			fail_msg("line %d: word %zu is %llx", row->line, i,
				(unsigned long long)decode_u64(r, 24 + 8 * i));
}

static void check_away(const struct decoded *r, uint32_t pid)
{
	assert_int_equal(r->type, 78);
	assert_int_equal(decode_u64(r, 0), 5000);
	assert_int_equal(decode_u32(r, 8), pid);
	assert_int_equal(decode_u16(r, 12), CPU);
	assert_int_equal(decode_u64(r, 16), LEFT);
	assert_int_equal(decode_u64(r, 24), BACK);
	assert_int_equal(decode_u32(r, 32), 2);
}

static void check_row(const struct row *row)
{
	static struct kernel_record k;
	struct rings_config config;
	struct encoder *e = create(&config, row);
	const uint8_t *run;
	struct decoded r;
	size_t len, at = 0;

	make_sample(&k, row, NULL);
	assert_int_equal(encoder_sample(e, 1, &k.header), 0);
	run = encoder_run(e, &len);
	assert_true(decode_next(run, len, &at, &r));
	if (r.type == 65) /* a thread that is not the first of its process */
		assert_true(decode_next(run, len, &at, &r));
	assert_int_equal(r.type, 73);
	assert_int_equal(decode_u32(&r, 4), 9);
	assert_int_equal(decode_u64(&r, 8), BACK - LEFT);
	assert_true(decode_next(run, len, &at, &r));
	check_away(&r, row->pid);
	assert_int_equal(decode_u16(&r, 14), 0);
	assert_int_equal(decode_u32(&r, 36), 0xfffffffe); /* no waker */
	assert_int_equal(decode_u64(&r, 44), 0);
	assert_int_equal(r.payload[52], 0);
	assert_true(decode_next(run, len, &at, &r));
	check_trace(row, &r);
	assert_false(decode_next(run, len, &at, &r));
	encoder_destroy(e);
}

static void test_samples_are_encoded(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
}

static void test_waker_is_encoded(void **state)
{
	static struct kernel_record k;
	const struct offcpu_wake wake = {
		.woken_ns = 4000, .tgid = 60, .tid = 61, .comm = "sixteen letters", .kernel_bytes = 16,
		.user_bytes = 8, .kernel = { 31, 32 }, .user = { 33 },
	};
	struct rings_config config;
	struct encoder *e = create(&config, &rows[0]);
	const uint8_t *run;
	struct decoded r;
	size_t len, at = 0;

	(void)state;
	make_sample(&k, &rows[0], &wake);
	assert_int_equal(encoder_sample(e, 1, &k.header), 0);
	run = encoder_run(e, &len);
	assert_true(decode_next(run, len, &at, &r));
	assert_true(decode_next(run, len, &at, &r));
	check_away(&r, OWN_PID);
	assert_int_equal(decode_u32(&r, 36), 60);
	assert_int_equal(decode_u32(&r, 40), 61);
	assert_int_equal(decode_u64(&r, 44), 4000);
	assert_string_equal((const char *)r.payload + 52, "sixteen letters");
	assert_int_equal(decode_u16(&r, 14), 4);
	assert_int_equal(decode_u64(&r, 68), 31);
	assert_int_equal(decode_u64(&r, 76), 32);
	assert_true(decode_u64(&r, 84) == USER_MARK);
	assert_int_equal(decode_u64(&r, 92), 33);
	assert_true(decode_next(run, len, &at, &r));
	check_trace(&rows[0], &r);
	encoder_destroy(e);
}

/* The sides of a wall have one number: a period holds for the next sample of either. */
static void test_periods_of_both_sides_alternate(void **state)
{
	static const uint64_t periods[] = { BACK - LEFT, 1000, BACK - LEFT };
	static struct kernel_record k;
	struct rings_config config;
	struct encoder *e = create(&config, &rows[10]);
	size_t len, at = 0, n = 0, i;
	const uint8_t *run;
	struct decoded r;

	(void)state;
	encoder_destroy(e);
	config.events.events[1].away.source = EVENT_WALL_OFFCPU;
	config.numbers[1] = config.numbers[0];
	e = encoder_create(&config, CPU, false, false);
	for (i = 0; i < 4; i++) {
		if (i == 1 || i == 2)
			make_plain(&k, OWN_PID, OWN_PID, 5000);
		else
			make_sample(&k, &rows[10], NULL);
		assert_int_equal(encoder_sample(e, i == 1 || i == 2 ? 0 : 1, &k.header), 0);
	}
	run = encoder_run(e, &len);
	while (decode_next(run, len, &at, &r)) {
		if (r.type != 73)
			continue;
		assert_true(n < 3);
		assert_int_equal(decode_u32(&r, 4), 7);
		assert_int_equal(decode_u64(&r, 8), periods[n++]);
	}
	assert_int_equal(n, 3);
	encoder_destroy(e);
}

/* Sizes that contradict each other, at each of its words. */
static void test_damaged_samples_are_refused(void **state)
{
	static struct kernel_record k;
	struct rings_config config;
	struct encoder *e = create(&config, &rows[4]);
	struct offcpu_sample *head;
	size_t len;

	(void)state;
	make_sample(&k, &rows[4], NULL);
	head = (struct offcpu_sample *)(void *)&k.words[k.used - 1 - sizeof(*head) / 8];
	assert_int_equal(head->left_ns, LEFT);
	head->kernel_bytes = 16;
	assert_int_equal(encoder_sample(e, 1, &k.header), -EBADMSG);
	head->kernel_bytes = 7;
	assert_int_equal(encoder_sample(e, 1, &k.header), -EBADMSG);
	head->kernel_bytes = 8;
	head->flags = OFFCPU_WAKER;
	assert_int_equal(encoder_sample(e, 1, &k.header), -EBADMSG);
	head->flags = 0;
	head->raw_bytes += 8;
	assert_int_equal(encoder_sample(e, 1, &k.header), -EBADMSG);
	head->raw_bytes = 4;
	assert_int_equal(encoder_sample(e, 1, &k.header), -EBADMSG);
	encoder_run(e, &len);
	assert_int_equal(len, 0);
	encoder_destroy(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples_are_encoded),
		cmocka_unit_test(test_waker_is_encoded),
		cmocka_unit_test(test_periods_of_both_sides_alternate),
		cmocka_unit_test(test_damaged_samples_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
