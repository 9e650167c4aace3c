/* SPDX-License-Identifier: MIT */
/*
 * prof/packer and prof/packed: packed records have the bytes of the form, unpacked ones those that were
 * packed, and packed bytes that were changed harm nothing.
 */
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
#include "prof/packed.h"
#include "prof/record.h"

/* A byte behind the room of a buffer, which must stay as it is. */
#define CANARY 0xa5

static uint8_t *allocate(size_t size)
{
	uint8_t *memory = malloc(size + 1);

	assert_non_null(memory);
	memory[size] = CANARY;
	return memory;
}

static void check_free(uint8_t *memory, size_t size)
{
	assert_int_equal(memory[size], CANARY);
	free(memory);
}

/* Packs, unpacks and compares. Returns the bytes needed. */
static size_t check_round(struct packer *packer, const uint8_t *records, size_t len)
{
	/* one byte for each more than 8 of a number is the worst case, and then the items */
	const size_t room = 2 * len + 1024;
	uint8_t *packed = allocate(room), *unpacked = allocate(len), *exact;
	const size_t size = packer_pack(packer, records, len, packed, room);

	assert_in_range(size, 1, room);
	exact = malloc(size); /* so that a tool sees each byte that is read behind it */
	assert_non_null(exact);
	memcpy(exact, packed, size);
	assert_true(packed_unpack(exact, size, unpacked, len));
	if (len)
		assert_memory_equal(unpacked, records, len);
	check_free(packed, room);
	check_free(unpacked, len);
	free(exact);
	return size;
}

/* ---- the form ------------------------------------------------------------------------------------ */

static void test_packed_records_have_the_bytes_of_the_form(void **state)
{
	static const uint8_t expected[] = {
		/* RECORDS: a TASK of 14 bytes, as it is */
		0x00, 14, 65, 12, 3, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0,
		/* kernel, source, pid, two new parts; CPU 3, info 1, pid 7, +1000 */
		0x01 | 0x04 | 0x08 | 0x20 | 0x40 | 0x80, 3, 1, 7, 0xd0, 0x0f,
		2, 1, 0, 0x12, 0x00, 0x02, 0x10, 0, 0x02, 0x00, 0x01,
		/* user, the part of number 1; -1 */
		0x02, 0x01, 1,
		/* kernel, a new part: the outer word is the same, the other one by 3 more */
		0x01 | 0x20, 0x00, 2, 1, 0x01, 6,
		/* the end */
		0, 0, 0, 0, 0, 0, 0, 0,
	};
	const uint64_t kernel[] = { 264, 256 }, other[] = { 267, 256 }, user[] = { 128 };
	struct kprof_rec_trace head = { .info = 1, .time_ns = 1000, .pid = 7, .cpu = 3 };
	struct packer *packer = packer_create();
	struct record_buf buf;
	uint8_t packed[200];
	size_t size;

	(void)state;
	record_buf_init(&buf);
	record_task(&buf, 3, 7, 8);
	record_trace(&buf, KPROF_REC_KERN_TRACE, &head, kernel, 2, user, 1);
	head.time_ns--;
	record_trace(&buf, KPROF_REC_USER_TRACE, &head, NULL, 0, user, 1);
	record_trace(&buf, KPROF_REC_KERN_TRACE, &head, other, 2, NULL, 0);
	size = packer_pack(packer, buf.data, buf.used, packed, sizeof(packed));
	assert_int_equal(size, sizeof(expected));
	assert_memory_equal(packed, expected, sizeof(expected));
	check_round(packer, buf.data, buf.used);
	record_buf_fini(&buf);
	packer_destroy(packer);
}

/* 25 frames, as the kernel and a program have: at most 8 bytes for each stack that is there already. */
static void test_repeated_stacks_need_few_bytes(void **state)
{
	struct kprof_rec_trace head = { .info = 1, .time_ns = 77, .pid = 1234567, .cpu = 63 };
	struct packer *packer = packer_create();
	uint64_t words[5][25];
	struct record_buf buf;
	size_t i, j, count;

	(void)state;
	record_buf_init(&buf);
	for (i = 0; i < 5; i++)
		for (j = 0; j < 25; j++)
			words[i][j] = 0xffffffff81000000 + i * 0x1000 + j * 0x10000;
	for (count = 0; buf.used < 100000; count++) {
		head.time_ns += 1001001;
		record_trace(&buf, KPROF_REC_KERN_TRACE, &head, words[count % 5], 12, words[count % 3], 12);
	}
	assert_in_range(check_round(packer, buf.data, buf.used), count, count * 8);
	record_buf_fini(&buf);
	packer_destroy(packer);
}

/* ---- any records --------------------------------------------------------------------------------- */

static uint64_t random_word(unsigned int *seed)
{
	switch (rand_r(seed) % 8) {
	case 0:
		return (uint64_t)rand_r(seed) << 40 ^ (uint64_t)rand_r(seed) << 20 ^ (uint64_t)rand_r(seed);
	case 1:
		return KPROF_CONTEXT_USER;
	case 2:
		return UINT64_MAX - (uint64_t)(rand_r(seed) % 3);
	default:
		return 0xffffffff81000000 + (uint64_t)(rand_r(seed) % 100);
	}
}

/* Stacks that are one of few, and now and then one with some other words. */
static size_t random_stack(unsigned int *seed, uint64_t *words)
{
	unsigned int chosen = 1 + (unsigned int)(rand_r(seed) % 20), kept = 77;
	const size_t count = (size_t)rand_r(&chosen) % (rand_r(seed) % 50 ? 30 : 600);
	size_t i;

	for (i = 0; i < count; i++)
		words[i] = random_word(&kept);
	if (count && rand_r(seed) % 3 == 0)
		words[(size_t)rand_r(seed) % count] = random_word(seed);
	return count;
}

static void add_sample(struct record_buf *buf, unsigned int *seed)
{
	static const uint32_t pids[] = { 1, 2, 300, KPROF_PID_KERNEL, KPROF_PID_GONE };
	const struct kprof_rec_trace head = {
		.info = rand_r(seed) % 20 ? 1 : random_word(seed),
		.time_ns = rand_r(seed) % 20 ? (uint64_t)rand_r(seed) : random_word(seed),
		.pid = pids[rand_r(seed) % 5],
		.cpu = (uint16_t)(rand_r(seed) % 10 ? 3 : rand_r(seed)),
	};
	const struct kprof_rec_away away = { .time_ns = head.time_ns, .pid = head.pid, .woken_ns = 5 };
	uint64_t kernel[600], user[600];
	const size_t kernels = random_stack(seed, kernel), users = random_stack(seed, user);

	if (rand_r(seed) % 8 == 0)
		record_away(buf, &away, rand_r(seed) % 2 ? "waker" : "", kernel, kernels, user, users);
	if (rand_r(seed) % 2)
		record_trace(buf, KPROF_REC_KERN_TRACE, &head, kernel, kernels, user, users);
	else
		record_trace(buf, KPROF_REC_USER_TRACE, &head, NULL, 0, user, users);
}

/* A record that the server does not write: any type, sizes that do not fit, varints longer than needed. */
static void add_strange(struct record_buf *buf, unsigned int *seed)
{
	static const uint8_t types[] = { 1, 2, 4, 66, 78, 79, 127 };
	const size_t size = (size_t)rand_r(seed) % 127;
	uint8_t bytes[4 + 127];
	size_t n = 0, i;

	bytes[n++] = types[(size_t)rand_r(seed) % sizeof(types)];
	if (rand_r(seed) % 4 == 0) {
		bytes[0] |= 0x80;
		bytes[n++] = 0;
	}
	bytes[n++] = (uint8_t)(size | 0x80);
	bytes[n++] = 0;
	if (rand_r(seed) % 2) {
		bytes[n - 2] &= 0x7f;
		n--;
	}
	for (i = 0; i < size; i++)
		bytes[n++] = rand_r(seed) % 2 ? 0 : (uint8_t)rand_r(seed);
	if (size >= 24 && rand_r(seed) % 2) { /* as many words as a sample of this size has */
		bytes[n - size + 22] = (uint8_t)((size - 24) / 8);
		bytes[n - size + 23] = 0;
	}
	record_append(buf, bytes, n);
}

static void add_others(struct record_buf *buf, unsigned int *seed)
{
	const struct kprof_rec_user_stack stack = { .num_regs = 3, .size = 100 };
	const uint64_t regs[3] = { 1, 2, 3 };
	uint8_t copied[100];

	memset(copied, rand_r(seed), sizeof(copied));
	record_task(buf, 1, 2, (uint32_t)rand_r(seed));
	record_period(buf, 1, 2, 1000003);
	record_lost(buf, 1, 2, KPROF_LOST_RING, 9);
	record_user_stack(buf, &stack, regs, copied);
}

static void random_records(struct record_buf *buf, unsigned int seed, size_t bytes)
{
	record_buf_init(buf);
	while (buf->used < bytes) {
		const int kind = rand_r(&seed) % 40;

		if (kind == 0)
			add_others(buf, &seed);
		else if (kind == 1)
			add_strange(buf, &seed);
		else
			add_sample(buf, &seed);
	}
}

static void test_unpacked_records_are_those_that_were_packed(void **state)
{
	struct packer *packer = packer_create();
	struct record_buf buf;
	unsigned int seed;

	(void)state;
	for (seed = 0; seed < 300; seed++) {
		random_records(&buf, seed, seed * 390); /* up to 117,000 bytes and one record */
		check_round(packer, buf.data, buf.used);
		record_buf_fini(&buf);
	}
	packer_destroy(packer);
}

/* More stacks than get numbers, and so many things packed that marks of old ones could be taken for new. */
static void test_bounds_of_the_packer(void **state)
{
	struct kprof_rec_trace head = { .info = 1, .pid = 7 };
	struct packer *packer = packer_create();
	struct record_buf buf;
	uint64_t i, kernel, user;

	(void)state;
	record_buf_init(&buf);
	for (i = 0; buf.used + 60 < PACKED_RECORDS_MAX; i++) {
		kernel = i % 2600;
		user = 1000000 + i;
		record_trace(&buf, KPROF_REC_KERN_TRACE, &head, &kernel, 1, &user, 1);
	}
	assert_true(i > 2500); /* two parts each */
	check_round(packer, buf.data, buf.used);
	for (i = 0; i < 70000; i++) {
		uint8_t packed[128];
		const size_t size = packer_pack(packer, buf.data, record_length(buf.data), packed,
			sizeof(packed));

		/* always new: kind and source, no CPU but info, pid, time, two lengths, two parts, the end */
		assert_int_equal(size, 1 + 2 + 1 + 1 + 2 + 2 + 5 + 8);
	}
	assert_int_equal(packer_pack(packer, buf.data, PACKED_RECORDS_MAX + 1, buf.data, 1 << 20), 0);
	record_buf_fini(&buf);
	packer_destroy(packer);
}

static void test_too_little_room_is_refused(void **state)
{
	struct packer *packer = packer_create();
	struct record_buf buf;
	size_t room;

	(void)state;
	random_records(&buf, 5, 3000);
	for (room = 0; room < buf.used + 200; room++) {
		uint8_t *packed = allocate(room);
		const size_t size = packer_pack(packer, buf.data, buf.used, packed, room);

		assert_true(size <= room);
		check_free(packed, room);
	}
	record_buf_fini(&buf);
	packer_destroy(packer);
}

/* ---- changed bytes ------------------------------------------------------------------------------- */

static void change(uint8_t *packed, size_t *size, unsigned int *seed)
{
	int i, n = 1 + rand_r(seed) % 4;

	for (i = 0; i < n; i++)
		packed[(size_t)rand_r(seed) % *size] = (uint8_t)(rand_r(seed) % 2 ? rand_r(seed) : 0xff);
	if (rand_r(seed) % 4 == 0)
		*size = (size_t)rand_r(seed) % *size + 1;
	/* in most the end is whole, so that what is before it is read */
	if (rand_r(seed) % 4 && *size >= 8)
		memset(packed + *size - 8, 0, 8);
}

static void test_changed_bytes_harm_nothing(void **state)
{
	struct packer *packer = packer_create();
	unsigned int seed = 1;
	int i, refused = 0;

	(void)state;
	for (i = 0; i < 4000; i++) {
		struct record_buf buf;
		uint8_t *packed, *exact, *unpacked;
		size_t room, size;

		random_records(&buf, (unsigned int)i, 500 + (size_t)(i % 7) * 500);
		room = 2 * buf.used + 1024;
		packed = allocate(room);
		size = packer_pack(packer, buf.data, buf.used, packed, room);
		change(packed, &size, &seed);
		exact = malloc(size);
		assert_non_null(exact);
		memcpy(exact, packed, size);
		unpacked = allocate(buf.used);
		refused += !packed_unpack(exact, size, unpacked, buf.used);
		check_free(unpacked, buf.used);
		check_free(packed, room);
		free(exact);
		record_buf_fini(&buf);
	}
	assert_in_range(refused, 1000, 4000);
	packer_destroy(packer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packed_records_have_the_bytes_of_the_form),
		cmocka_unit_test(test_repeated_stacks_need_few_bytes),
		cmocka_unit_test(test_unpacked_records_are_those_that_were_packed),
		cmocka_unit_test(test_bounds_of_the_packer),
		cmocka_unit_test(test_too_little_room_is_refused),
		cmocka_unit_test(test_changed_bytes_harm_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
