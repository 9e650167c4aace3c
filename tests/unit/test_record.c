/* SPDX-License-Identifier: MIT */
/*
 * prof/record: each type of record has the bytes that were written by hand from the description of
 * Akaros's format (types 1 to 4) and from include/kprof/records.h. Encoded records can be walked.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decode.h"
#include "prof/record.h"
#include "prof/tally.h"

static void check_bytes(int line, const struct record_buf *buf, const uint8_t *expected, size_t len)
{
	size_t i;

	if (buf->used != len)
		fail_msg("line %d: %zu bytes, expected %zu", line, buf->used, len);
	for (i = 0; i < len; i++)
		if (buf->data[i] != expected[i])
			fail_msg("line %d: byte %zu is %02x, expected %02x", line, i, buf->data[i],
				expected[i]);
}

#define CHECK_BYTES(buf, ...) \
	do { \
		static const uint8_t expected_[] = { __VA_ARGS__ }; \
		check_bytes(__LINE__, (buf), expected_, sizeof(expected_)); \
		record_buf_fini(buf); \
		record_buf_init(buf); \
	} while (0)

/* ---- the worked examples of Akaros's format ------------------------------------------------------ */

static void test_kernel_sample_has_the_bytes_of_akaros(void **state)
{
	const struct kprof_rec_trace head = {
		.info = 0x00005571c0de1000, .time_ns = 1234567890123, .pid = 0xffffffff, .cpu = 3
	};
	const uint64_t pcs[] = { 0xffffffffc2001234, 0xffffffffc2005678 };
	struct record_buf buf;

	(void)state;
	record_buf_init(&buf);
	assert_int_equal(record_trace(&buf, KPROF_REC_KERN_TRACE, &head, pcs, 2, NULL, 0), 0);
	CHECK_BYTES(&buf, 0x01, 0x28, 0x00, 0x10, 0xde, 0xc0, 0x71, 0x55, 0x00, 0x00, 0xcb, 0x04, 0xfb,
		0x71, 0x1f, 0x01, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x03, 0x00, 0x02, 0x00, 0x34, 0x12,
		0x00, 0xc2, 0xff, 0xff, 0xff, 0xff, 0x78, 0x56, 0x00, 0xc2, 0xff, 0xff, 0xff, 0xff);
	record_buf_fini(&buf);
}

static void test_user_sample_has_the_bytes_of_akaros(void **state)
{
	const struct kprof_rec_trace head = {
		.info = 0x00005571c0de1000, .time_ns = 1234567890456, .pid = 42, .cpu = 1
	};
	const uint64_t pcs[] = { 0x400b20 };
	struct record_buf buf;

	(void)state;
	record_buf_init(&buf);
	assert_int_equal(record_trace(&buf, KPROF_REC_USER_TRACE, &head, NULL, 0, pcs, 1), 0);
	CHECK_BYTES(&buf, 0x02, 0x20, 0x00, 0x10, 0xde, 0xc0, 0x71, 0x55, 0x00, 0x00, 0x18, 0x06, 0xfb,
		0x71, 0x1f, 0x01, 0x00, 0x00, 0x2a, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x20, 0x0b,
		0x40, 0x00, 0x00, 0x00, 0x00, 0x00);
	record_buf_fini(&buf);
}

static void test_deep_sample_has_a_long_size(void **state)
{
	const struct kprof_rec_trace head = { .pid = 42 };
	const uint64_t pcs[16] = { 0 };
	struct record_buf buf;

	(void)state;
	record_buf_init(&buf);
	assert_int_equal(record_trace(&buf, KPROF_REC_USER_TRACE, &head, NULL, 0, pcs, 16), 0);
	assert_int_equal(buf.used, 155);
	assert_memory_equal(buf.data, "\x02\x98\x01", 3);
	record_buf_fini(&buf);
}

static void test_mmap_has_the_bytes_of_akaros(void **state)
{
	const struct kprof_rec_mmap head = {
		.time_ns = 1234567890789, .addr = 0x400000, .size = 0x3000, .pid = 42
	};
	struct record_buf buf;

	(void)state;
	record_buf_init(&buf);
	assert_int_equal(record_mmap(&buf, &head, "/bin/hello"), 0);
	CHECK_BYTES(&buf, 0x03, 0x2f, 0x65, 0x07, 0xfb, 0x71, 0x1f, 0x01, 0x00, 0x00, 0x00, 0x00, 0x40,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x30, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2a, 0x00, 0x00, 0x00, 0x2f, 0x62, 0x69, 0x6e, 0x2f,
		0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x00);
	record_buf_fini(&buf);
}

static void test_kernel_mmap_has_its_own_type(void **state)
{
	struct record_buf buf;

	(void)state;
	record_buf_init(&buf);
	assert_int_equal(record_kernel_mmap(&buf, 0xffffffff81000000, 0x1000000, "[k]"), 0);
	CHECK_BYTES(&buf, 0x4b, 0x28, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x00, 0x00, 0x81, 0xff, 0xff, 0xff,
		0xff, 0x00, 0x00, 0x00, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
		'[', 'k', ']', 0);
	record_buf_fini(&buf);
}

static void test_new_process_has_the_bytes_of_akaros(void **state)
{
	struct record_buf buf;

	(void)state;
	record_buf_init(&buf);
	assert_int_equal(record_new_process(&buf, 1234567890999, 42, "/bin/hello"), 0);
	CHECK_BYTES(&buf, 0x04, 0x17, 0x37, 0x08, 0xfb, 0x71, 0x1f, 0x01, 0x00, 0x00, 0x2a, 0x00, 0x00,
		0x00, 0x2f, 0x62, 0x69, 0x6e, 0x2f, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x00);
	record_buf_fini(&buf);
}

/* ---- our own types ------------------------------------------------------------------------------- */

/* 0x0807060504030201 and the like show order and width of each field */
#define TIME 0x0807060504030201
#define TIME_BYTES 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08

static void test_event_has_the_documented_bytes(void **state)
{
	const struct kprof_rec_event head = {
		.number = 0x11121314,
		.perf_type = 0x21222324,
		.config = 0x3132333435363738,
		.rate = 0x4142434445464748,
		.flags = 0x51525354,
	};
	const struct kprof_rec_event_configs configs = { 0x6162636465666768, 0x7172737475767778 };
	struct record_buf buf;

	(void)state;
	record_buf_init(&buf);
	assert_int_equal(record_event(&buf, &head, "ev", &configs), 0);
	CHECK_BYTES(&buf, 64, 47, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21, 0x38, 0x37, 0x36, 0x35,
		0x34, 0x33, 0x32, 0x31, 0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41, 0x54, 0x53, 0x52,
		0x51, 'e', 'v', 0, 0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61, 0x78, 0x77, 0x76, 0x75,
		0x74, 0x73, 0x72, 0x71);
	record_buf_fini(&buf);
}

static void test_task_lost_and_period_have_the_documented_bytes(void **state)
{
	struct record_buf buf;

	(void)state;
	record_buf_init(&buf);
	assert_int_equal(record_task(&buf, 0x11121314, 0x21222324, 0x31323334), 0);
	CHECK_BYTES(&buf, 65, 12, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21, 0x34, 0x33, 0x32,
		0x31);
	assert_int_equal(record_lost(&buf, 0x11121314, 0x21222324, KPROF_LOST_OVERWRITE, TIME), 0);
	CHECK_BYTES(&buf, 66, 20, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21, 3, 0, 0, 0,
		TIME_BYTES);
	assert_int_equal(record_period(&buf, 0x11121314, 0x21222324, TIME), 0);
	CHECK_BYTES(&buf, 73, 16, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21, TIME_BYTES);
	record_buf_fini(&buf);
}

static void test_reasons_of_losses_keep_their_numbers(void **state)
{
	(void)state;
	assert_int_equal(KPROF_LOST_RING, 1);
	assert_int_equal(KPROF_LOST_QUEUE, 2);
	assert_int_equal(KPROF_LOST_OVERWRITE, 3);
	assert_int_equal(KPROF_LOST_INVALID, 4);
	assert_int_equal(KPROF_LOST_RING_RECORDS, 5);
}

static void test_comm_fork_and_exit_have_the_documented_bytes(void **state)
{
	const struct kprof_rec_fork fork = {
		.time_ns = TIME,
		.pid = 0x11121314,
		.tid = 0x21222324,
		.parent_pid = 0x31323334,
		.parent_tid = 0x41424344,
	};
	struct record_buf buf;

	(void)state;
	record_buf_init(&buf);
	assert_int_equal(record_comm(&buf, TIME, 0x11121314, 0x21222324, "sh"), 0);
	CHECK_BYTES(&buf, 67, 19, TIME_BYTES, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21, 's', 'h',
		0);
	assert_int_equal(record_fork(&buf, KPROF_REC_FORK, &fork), 0);
	CHECK_BYTES(&buf, 68, 24, TIME_BYTES, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21, 0x34, 0x33,
		0x32, 0x31, 0x44, 0x43, 0x42, 0x41);
	assert_int_equal(record_fork(&buf, KPROF_REC_EXIT, &fork), 0);
	CHECK_BYTES(&buf, 69, 24, TIME_BYTES, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21, 0x34, 0x33,
		0x32, 0x31, 0x44, 0x43, 0x42, 0x41);
	record_buf_fini(&buf);
}

static void test_build_id_clock_and_throttle_have_the_documented_bytes(void **state)
{
	static const uint8_t id[3] = { 0xaa, 0xbb, 0xcc };
	struct record_buf buf;

	(void)state;
	record_buf_init(&buf);
	assert_int_equal(record_build_id(&buf, TIME, 0x11121314, 0x3132333435363738, id, 3), 0);
	CHECK_BYTES(&buf, 70, 24, TIME_BYTES, 0x14, 0x13, 0x12, 0x11, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33,
		0x32, 0x31, 3, 0xaa, 0xbb, 0xcc);
	assert_int_equal(record_clock(&buf, TIME, 0x3132333435363738, 0x11121314), 0);
	CHECK_BYTES(&buf, 71, 40, TIME_BYTES, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, 1, 0, 0, 0,
		'C', 'L', 'O', 'C', 'K', '_', 'M', 'O', 'N', 'O', 'T', 'O', 'N', 'I', 'C', 0, 0x14,
		0x13, 0x12, 0x11);
	assert_int_equal(record_throttle(&buf, TIME, 0x11121314, 0x21222324, true), 0);
	CHECK_BYTES(&buf, 72, 20, TIME_BYTES, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21, 1, 0, 0,
		0);
	assert_int_equal(record_throttle(&buf, TIME, 1, 2, false), 0);
	CHECK_BYTES(&buf, 72, 20, TIME_BYTES, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0);
	record_buf_fini(&buf);
}

static void test_file_id_has_the_documented_bytes(void **state)
{
	static const struct kprof_rec_file_id head = {
		.time_ns = TIME,
		.addr = 0x3132333435363738,
		.inode = 0x41,
		.dev_major = 8,
		.dev_minor = 1,
		.pid = 0x11121314,
	};
	static const uint64_t details[3] = { 0x51, 0x52, 0x53 };
	struct record_buf buf;

	(void)state;
	record_buf_init(&buf);
	assert_int_equal(record_file_id(&buf, &head, details), 0);
	CHECK_BYTES(&buf, 76, 60, TIME_BYTES, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, 0x41, 0, 0,
		0, 0, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0x14, 0x13, 0x12, 0x11, 0x51, 0, 0, 0, 0, 0, 0,
		0, 0x52, 0, 0, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 0, 0, 0, 0);
	record_buf_fini(&buf);
}

static void test_cpu_times_have_the_documented_bytes(void **state)
{
	static const struct kprof_rec_cpu_times times = {
		.time_ns = TIME,
		.since_ns = 0x3132333435363738,
		.cpu = 0x11121314,
		.irq_ns = 0x41,
		.kern_ns = 0x42,
		.user_ns = 0x43,
		.idle_ns = 0x44,
		.steal_ns = 0x45,
	};
	struct record_buf buf;

	(void)state;
	record_buf_init(&buf);
	assert_int_equal(record_cpu_times(&buf, &times), 0);
	CHECK_BYTES(&buf, 77, 60, TIME_BYTES, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, 0x14, 0x13,
		0x12, 0x11, 0x41, 0, 0, 0, 0, 0, 0, 0, 0x42, 0, 0, 0, 0, 0, 0, 0, 0x43, 0, 0, 0, 0, 0,
		0, 0, 0x44, 0, 0, 0, 0, 0, 0, 0, 0x45, 0, 0, 0, 0, 0, 0, 0);
	record_buf_fini(&buf);
}

/* Kernel frames, the marker, user frames; the marker only where both are there. */
static void test_marker_stands_between_kernel_and_user_frames(void **state)
{
	const struct kprof_rec_trace head = { .info = 1, .time_ns = 2, .pid = 3, .cpu = 4 };
	const uint64_t kernel[] = { 0xffffffff81000001 }, user[] = { 0x401000, 0x402000 };
	struct record_buf buf;
	struct decoded r;
	size_t at = 0;

	(void)state;
	record_buf_init(&buf);
	assert_int_equal(record_trace(&buf, KPROF_REC_KERN_TRACE, &head, kernel, 1, user, 2), 0);
	assert_true(decode_next(buf.data, buf.used, &at, &r));
	assert_int_equal(r.size, 24 + 4 * 8);
	assert_int_equal(decode_u16(&r, 22), 4);
	assert_true(decode_u64(&r, 24) == 0xffffffff81000001);
	assert_true(decode_u64(&r, 32) == 0xfffffffffffffe00);
	assert_true(decode_u64(&r, 40) == 0x401000);
	assert_true(decode_u64(&r, 48) == 0x402000);
	assert_int_equal(at, buf.used);
	record_buf_fini(&buf);
}

/* ---- sizes as varints ---------------------------------------------------------------------------- */

struct varint_row {
	int line;
	size_t payload; /* of a NEW_PROCESS: 12 + text + NUL */
	const char *size; /* the varint, by hand */
	size_t size_bytes;
};

static const struct varint_row varint_rows[] = {
	{ __LINE__, 13, "\x0d", 1 },
	{ __LINE__, 127, "\x7f", 1 },
	{ __LINE__, 128, "\x80\x01", 2 },
	{ __LINE__, 152, "\x98\x01", 2 },
	{ __LINE__, 300, "\xac\x02", 2 },
	{ __LINE__, 16383, "\xff\x7f", 2 },
	{ __LINE__, 16384, "\x80\x80\x01", 3 },
	{ __LINE__, 2097151, "\xff\xff\x7f", 3 },
	{ __LINE__, 2097152, "\x80\x80\x80\x01", 4 },
	{ __LINE__, 33554432, "\x80\x80\x80\x10", 4 }, /* the most that a payload may have */
};

static void test_sizes_are_varints(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(varint_rows) / sizeof(varint_rows[0]); i++) {
		const struct varint_row *row = &varint_rows[i];
		char *text = malloc(row->payload - 12);
		struct record_buf buf;

		assert_non_null(text);
		memset(text, 'x', row->payload - 13);
		text[row->payload - 13] = 0;
		record_buf_init(&buf);
		if (record_new_process(&buf, 1, 2, text))
			fail_msg("line %d: no record", row->line);
		if (buf.used != 1 + row->size_bytes + row->payload ||
			memcmp(buf.data + 1, row->size, row->size_bytes))
			fail_msg("line %d: %zu bytes begin %02x %02x %02x", row->line, buf.used,
				buf.data[1], buf.data[2], buf.data[3]);
		if (record_length(buf.data) != buf.used)
			fail_msg("line %d: length %zu", row->line, record_length(buf.data));
		record_buf_fini(&buf);
		free(text);
	}
}

/* ---- memory -------------------------------------------------------------------------------------- */

static void test_fixed_memory_takes_a_record_whole_or_not(void **state)
{
	uint8_t memory[64];
	struct record_buf buf;
	size_t size;

	(void)state;
	/* every size up to that of a TASK: it fits or nothing changes */
	for (size = 0; size <= sizeof(memory); size++) {
		memset(memory, 0xee, sizeof(memory));
		record_buf_fixed(&buf, memory, size);
		if (record_task(&buf, 1, 2, 3)) {
			size_t i;

			assert_true(size < 14 + 3); /* the envelope may be counted generously */
			assert_int_equal(buf.used, 0);
			for (i = 0; i < sizeof(memory); i++)
				assert_int_equal(memory[i], 0xee);
			assert_int_equal(record_task(&buf, 1, 2, 3), -ENOSPC);
		} else {
			assert_int_equal(buf.used, 14);
			assert_true(size >= 14);
			assert_int_equal(memory[14], 0xee);
		}
	}
	record_buf_fixed(&buf, memory, 4);
	assert_int_equal(record_append(&buf, (const uint8_t *)"abcde", 5), -ENOSPC);
	assert_int_equal(record_append(&buf, (const uint8_t *)"abcd", 4), 0);
	assert_int_equal(record_append(&buf, NULL, 0), 0);
	assert_int_equal(buf.used, 4);
	assert_memory_equal(memory, "abcd", 4);
	record_buf_fini(&buf);
}

static void test_growing_memory_takes_many_records(void **state)
{
	struct record_buf buf;
	struct decoded r;
	uint32_t i = 0;
	size_t at = 0;

	(void)state;
	record_buf_init(&buf);
	for (i = 0; i < 20000; i++)
		assert_int_equal(record_task(&buf, i, i + 1, i + 2), 0);
	assert_int_equal(buf.used, 20000 * 14);
	for (i = 0; decode_next(buf.data, buf.used, &at, &r); i++) {
		assert_int_equal(r.type, 65);
		assert_int_equal(decode_u32(&r, 0), i);
		assert_int_equal(decode_u32(&r, 8), i + 2);
	}
	assert_int_equal(i, 20000);
	record_buf_fini(&buf);
}

/* What the encoder reserves is enough: chains of every length that a perf record can hold. */
static void test_reserved_bytes_are_enough_for_every_chain(void **state)
{
	const struct kprof_rec_trace head = { .info = 1 };
	static uint64_t words[8192];
	struct record_buf buf;
	size_t n;

	(void)state;
	for (n = 0; n <= 8192; n++) {
		record_buf_init(&buf);
		assert_int_equal(record_trace(&buf, KPROF_REC_USER_TRACE, &head, NULL, 0, words, n), 0);
		assert_true(buf.used <= record_trace_bytes(n));
		record_buf_fini(&buf);
	}
}

/* ---- walking ------------------------------------------------------------------------------------- */

/* Every `want` against a walk that the test does itself. */
static void test_records_that_fit_are_found(void **state)
{
	struct record_buf buf;
	size_t want, len, first;
	struct decoded r;

	(void)state;
	record_buf_init(&buf);
	record_task(&buf, 1, 2, 3);
	record_new_process(&buf, 1, 2, "/usr/bin/a-name-of-some-length");
	record_lost(&buf, 1, 2, KPROF_LOST_RING, 3);
	{
		const struct kprof_rec_trace head = { .info = 1 };
		const uint64_t words[16] = { 0 };

		record_trace(&buf, KPROF_REC_USER_TRACE, &head, NULL, 0, words, 16);
	}
	record_period(&buf, 1, 2, 3);
	for (want = 0; want <= buf.used + 3; want++) {
		size_t expected = 0;

		while (expected < buf.used && decode_whole(buf.data, buf.used, expected, &r) &&
			expected + r.bytes <= want)
			expected += r.bytes;
		len = record_fit(buf.data, buf.used, want, &first);
		if (len != expected || first != 14)
			fail_msg("want %zu: %zu bytes, expected %zu; first %zu", want, len, expected,
				first);
	}
	assert_int_equal(record_fit(buf.data, 0, 100, &first), 0);
	assert_int_equal(first, 0);
	record_buf_fini(&buf);
}

static void add_sample(struct record_buf *buf, uint32_t event, uint16_t cpu)
{
	const struct kprof_rec_trace head = { .info = event, .cpu = cpu, .pid = 7 };
	const uint64_t pc = 0x400000;

	if (event % 2)
		record_trace(buf, KPROF_REC_KERN_TRACE, &head, &pc, 1, NULL, 0);
	else
		record_trace(buf, KPROF_REC_USER_TRACE, &head, NULL, 0, &pc, 1);
}

static void test_samples_in_a_run_are_tallied(void **state)
{
	struct record_buf buf;
	struct tally tally;
	int i;

	(void)state;
	record_buf_init(&buf);
	tally_init(&tally);
	record_tally(buf.data, 0, KPROF_LOST_QUEUE, &tally);
	assert_true(tally_empty(&tally));

	for (i = 0; i < 3; i++)
		add_sample(&buf, 1, 0);
	record_task(&buf, 0, 7, 8);
	add_sample(&buf, 1, 0); /* 4 in all of event 1 on CPU 0 */
	add_sample(&buf, 2, 0);
	add_sample(&buf, 2, 5);
	add_sample(&buf, 2, 5);
	record_lost(&buf, 5, 2, KPROF_LOST_RING, 100);
	record_lost(&buf, 5, 2, KPROF_LOST_QUEUE, 1000);
	record_throttle(&buf, 1, 5, 2, true);
	add_sample(&buf, 1, 0); /* the 5th */
	record_tally(buf.data, buf.used, KPROF_LOST_QUEUE, &tally);

	assert_int_equal(tally_get(&tally, 0, 1, KPROF_LOST_QUEUE), 5);
	assert_int_equal(tally_get(&tally, 0, 2, KPROF_LOST_QUEUE), 1);
	assert_int_equal(tally_get(&tally, 5, 2, KPROF_LOST_QUEUE), 2 + 1000);
	assert_int_equal(tally_get(&tally, 5, 2, KPROF_LOST_RING), 100);
	assert_int_equal(tally_sum(&tally, KPROF_LOST_QUEUE), 1008);
	assert_int_equal(tally.count, 4);
	tally_fini(&tally);
	record_buf_fini(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_sample_has_the_bytes_of_akaros),
		cmocka_unit_test(test_user_sample_has_the_bytes_of_akaros),
		cmocka_unit_test(test_deep_sample_has_a_long_size),
		cmocka_unit_test(test_mmap_has_the_bytes_of_akaros),
		cmocka_unit_test(test_new_process_has_the_bytes_of_akaros),
		cmocka_unit_test(test_kernel_mmap_has_its_own_type),
		cmocka_unit_test(test_event_has_the_documented_bytes),
		cmocka_unit_test(test_task_lost_and_period_have_the_documented_bytes),
		cmocka_unit_test(test_reasons_of_losses_keep_their_numbers),
		cmocka_unit_test(test_comm_fork_and_exit_have_the_documented_bytes),
		cmocka_unit_test(test_build_id_clock_and_throttle_have_the_documented_bytes),
		cmocka_unit_test(test_file_id_has_the_documented_bytes),
		cmocka_unit_test(test_cpu_times_have_the_documented_bytes),
		cmocka_unit_test(test_marker_stands_between_kernel_and_user_frames),
		cmocka_unit_test(test_sizes_are_varints),
		cmocka_unit_test(test_fixed_memory_takes_a_record_whole_or_not),
		cmocka_unit_test(test_growing_memory_takes_many_records),
		cmocka_unit_test(test_reserved_bytes_are_enough_for_every_chain),
		cmocka_unit_test(test_records_that_fit_are_found),
		cmocka_unit_test(test_samples_in_a_run_are_tallied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
