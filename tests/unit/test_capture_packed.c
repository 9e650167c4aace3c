/* SPDX-License-Identifier: MIT */
/*
 * prof/capture with packed blocks: it holds at least four times as many records in the same memory, and its
 * readers get the bytes that those of a capture without packed blocks get.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_streams.h"

/* As in a sample that the kernel takes in a program: 12 frames of each side. */
#define FRAMES 12
#define RUN_SAMPLES 35

/* One run of a CPU with TASK; the stacks are among 40 of the kernel and 60 of programs. */
static void append_run(struct capture *c, unsigned int *seed)
{
	const uint16_t cpu = (uint16_t)(rand_r(seed) % 64);
	uint64_t kernel[FRAMES], user[FRAMES];
	struct record_buf buf;
	int i, j;

	record_buf_init(&buf);
	record_task(&buf, cpu, 42, 43);
	for (i = 0; i < RUN_SAMPLES; i++) {
		const struct kprof_rec_trace head = {
			.info = 1, .time_ns = next_id++ * 1001001, .pid = 42, .cpu = cpu
		};
		const uint64_t k = (uint64_t)(rand_r(seed) % 40), u = (uint64_t)(rand_r(seed) % 60);

		for (j = 0; j < FRAMES; j++) {
			kernel[j] = 0xffffffff81000000 + k * 0x1230 + (uint64_t)j * 0x45678;
			user[j] = 0x555555550000 + u * 0x120 + (uint64_t)j * 0x3210;
		}
		record_trace(&buf, KPROF_REC_KERN_TRACE, &head, kernel, FRAMES, user, FRAMES);
	}
	capture_append(c, buf.data, buf.used, NULL, 0);
	record_buf_fini(&buf);
}

static struct capture *create_packing(uint64_t limit, bool overwrite)
{
	struct capture *c = create(limit);

	capture_set_packing(c, true);
	capture_set_overwrite(c, overwrite);
	return c;
}

static void test_four_times_as_many_records_are_held(void **state)
{
	const uint64_t limit = 4 * MIB;
	int overwrite;

	(void)state;
	for (overwrite = 0; overwrite < 2; overwrite++) {
		struct capture *c = create_packing(limit, overwrite);
		const uint32_t reason = overwrite ? KPROF_LOST_OVERWRITE : KPROF_LOST_QUEUE;
		unsigned int seed = 1, i;

		while (!book(c, reason)) {
			append_run(c, &seed);
			assert_true(capture_memory_bytes(c) <= limit);
		}
		assert_true(capture_held_bytes(c) > 4 * limit);
		/* and it goes on so: a few blocks are overwritten at a time */
		for (i = 0; i < 6000; i++) {
			append_run(c, &seed);
			assert_true(capture_memory_bytes(c) <= limit);
			assert_true(capture_held_bytes(c) > 4 * limit);
		}
		assert_int_equal(book(c, CAPTURE_RECEIVED), capture_runs(c) * RUN_SAMPLES +
			book(c, KPROF_LOST_QUEUE));
		capture_destroy(c);
	}
}

/* What was read in turns by readers of two captures: they must be the same. */
static void check_same(struct capture *packed, struct capture *plain, size_t want)
{
	struct capture_pos a, b;
	struct bytes from_packed = { 0 }, from_plain = { 0 };
	size_t n;

	capture_attach(packed, &a);
	capture_attach(plain, &b);
	a.fills = b.fills = want % 2;
	do {
		n = read_some(packed, &a, want, true, true, &from_packed);
		assert_int_equal(read_some(plain, &b, want, true, true, &from_plain), n);
		assert_memory_equal(from_packed.data, from_plain.data, n);
		from_packed.used = from_plain.used = 0;
	} while (n);
	capture_detach(packed, &a);
	capture_detach(plain, &b);
	free_bytes(&from_packed);
	free_bytes(&from_plain);
}

static void test_reads_of_any_size_give_the_same_bytes(void **state)
{
	static const size_t wants[] = { 7, 100, 4097, 131072, 1000001, 1u << 20 };
	/* the first one holds all of it only packed */
	struct capture *packed = create_packing(1 * MIB, false), *plain = create(64 * MIB);
	unsigned int seed = 5, same = 5;
	uint64_t first;
	size_t i;
	int run;

	(void)state;
	for (run = 0; run < 300; run++) {
		first = next_id;
		append_run(packed, &seed);
		next_id = first;
		append_run(plain, &same);
		if (run % 20 == 0) {
			capture_lost(packed, 3, 1, KPROF_LOST_RING, 5);
			capture_lost(plain, 3, 1, KPROF_LOST_RING, 5);
		}
	}
	assert_true(capture_held_bytes(packed) > 2 * MIB);
	assert_int_equal(capture_held_bytes(packed), capture_held_bytes(plain));
	for (i = 0; i < sizeof(wants) / sizeof(wants[0]); i++)
		check_same(packed, plain, wants[i]);
	capture_destroy(packed);
	capture_destroy(plain);
}

/* The other one: what it holds is packed records of another capture, and behind them its own. */
static void test_a_copy_goes_on_beside_packed_records(void **state)
{
	struct capture *c = create_packing(1 * MIB, true), *copy;
	struct bytes before = { 0 }, after = { 0 };
	struct capture_pos pos;
	unsigned int seed = 9;
	int i;

	(void)state;
	for (i = 0; i < 2000; i++)
		append_run(c, &seed);
	copy = capture_copy(c);
	capture_attach(c, &pos);
	take_missed(c, &pos);
	read_all(c, &pos, &before);
	capture_detach(c, &pos);
	for (i = 0; i < 300; i++) {
		append_run(c, &seed);
		append_run(copy, &seed); /* in mode discard: it is full soon */
	}
	capture_attach(copy, &pos);
	take_missed(copy, &pos);
	read_all(copy, &pos, &after);
	assert_true(after.used >= before.used);
	assert_memory_equal(after.data, before.data, before.used);
	capture_detach(copy, &pos);
	capture_destroy(c);
	capture_destroy(copy);
	free_bytes(&before);
	free_bytes(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_four_times_as_many_records_are_held),
		cmocka_unit_test(test_reads_of_any_size_give_the_same_bytes),
		cmocka_unit_test(test_a_copy_goes_on_beside_packed_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
