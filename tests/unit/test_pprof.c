/* SPDX-License-Identifier: MIT */
/*
 * formats/pprof: profiles are read with the field numbers of profile.proto and have the content that
 * was written by hand.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "tests/fixtures/gen.h"
#include "tests/fixtures/viewing.h"
#include "formats/pprof.h"

#define KERNEL 0xffffffff81000000ull

/* ---- a reader of profiles -------------------------------------------------------------------- */

struct message {
	const uint8_t *at, *end;
};

struct field {
	unsigned int number;
	uint64_t value; /* of a number */
	struct message bytes;
};

static uint64_t take_varint(struct message *m)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	do {
		assert_true(m->at < m->end && shift < 64);
		value |= (uint64_t)(*m->at & 0x7f) << shift;
		shift += 7;
	} while (*m->at++ & 0x80);
	return value;
}

static bool next_field(struct message *m, struct field *field)
{
	uint64_t key, size;

	if (m->at == m->end)
		return false;
	key = take_varint(m);
	field->number = (unsigned int)(key >> 3);
	if ((key & 7) == 0) {
		field->value = take_varint(m);
		return true;
	}
	assert_int_equal(key & 7, 2);
	size = take_varint(m);
	assert_true(size <= (uint64_t)(m->end - m->at));
	field->bytes.at = m->at;
	field->bytes.end = m->at += size;
	return true;
}

static GByteArray *unpack(const uint8_t *data, size_t size)
{
	GByteArray *out = g_byte_array_new();
	uint8_t piece[4096];
	z_stream z = { .next_in = (Bytef *)data, .avail_in = (uInt)size };
	int ret;

	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK); /* gzip, with its checksum */
	do {
		z.next_out = piece;
		z.avail_out = sizeof(piece);
		ret = inflate(&z, Z_NO_FLUSH);
		assert_true(ret == Z_OK || ret == Z_STREAM_END);
		g_byte_array_append(out, piece, (guint)(sizeof(piece) - z.avail_out));
	} while (ret != Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	inflateEnd(&z);
	return out;
}

static GPtrArray *read_strings(const GByteArray *profile)
{
	GPtrArray *strings = g_ptr_array_new_with_free_func(g_free);
	struct message m = { profile->data, profile->data + profile->len };
	struct field f;

	while (next_field(&m, &f)) {
		if (f.number == 6)
			g_ptr_array_add(strings, g_strndup((const char *)f.bytes.at,
				(gsize)(f.bytes.end - f.bytes.at)));
	}
	assert_string_equal(strings->pdata[0], "");
	return strings;
}

/*
 * What a field is: a digit a field of a message, from 1 on: n number, x number in hex, s index of a
 * string, p packed numbers, m message; then, in order, what is in its messages.
 */
struct shape {
	const char *name;
	const char *fields;
	const struct shape *nested[16];
};

static const struct shape value_type = { "type", "ss", { NULL } };
static const struct shape label = { "label", "ssns", { NULL } };
static const struct shape line = { "line", "nn", { NULL } };
static const struct shape sample = { "sample", "ppm", { [3] = &label } };
static const struct shape mapping = { "mapping", "nxxxssnnnn", { NULL } };
static const struct shape location = { "location", "nnxmn", { [4] = &line } };
static const struct shape function = { "function", "nsssn", { NULL } };
static const struct shape profile_shape = { "profile", "mmmmm.ssnnmnss",
	{ [1] = &value_type, [2] = &sample, [3] = &mapping, [4] = &location, [5] = &function,
		[11] = &value_type } };

static void append_message(GString *out, struct message m, const struct shape *shape,
	const GPtrArray *strings)
{
	struct field f;
	const char *sep = "";

	while (next_field(&m, &f)) {
		assert_in_range(f.number, 1, strlen(shape->fields));
		if (shape->fields[f.number - 1] == '.')
			continue;
		g_string_append_printf(out, "%s%u:", sep, f.number);
		sep = shape == &profile_shape ? "\n" : " ";
		switch (shape->fields[f.number - 1]) {
		case 'n':
			g_string_append_printf(out, "%" G_GUINT64_FORMAT, f.value);
			break;
		case 'x':
			g_string_append_printf(out, "%" G_GINT64_MODIFIER "x", f.value);
			break;
		case 's':
			assert_true(f.value < strings->len);
			g_string_append_printf(out, "'%s'", (char *)strings->pdata[f.value]);
			break;
		case 'p':
			g_string_append_c(out, '[');
			while (f.bytes.at < f.bytes.end)
				g_string_append_printf(out, "%" G_GUINT64_FORMAT ",",
					take_varint(&f.bytes));
			g_string_append_c(out, ']');
			break;
		default:
			g_string_append_c(out, '(');
			append_message(out, f.bytes, shape->nested[f.number], strings);
			g_string_append_c(out, ')');
		}
	}
}

static char *write_profile(const struct gen *gen)
{
	GString *out = g_string_new(NULL);
	struct viewing viewing;
	GByteArray *profile;
	GPtrArray *strings;
	uint8_t *data;
	size_t size;
	struct err err;

	viewing_init(&viewing, gen->bytes->data, gen->bytes->len);
	assert_int_equal(viewing_write(&viewing, "pprof", &data, &size, &err), 0);
	viewing_fini(&viewing);
	profile = unpack(data, size);
	strings = read_strings(profile);
	append_message(out, (struct message){ profile->data, profile->data + profile->len },
		&profile_shape, strings);
	g_ptr_array_free(strings, TRUE);
	g_byte_array_free(profile, TRUE);
	free(data);
	return g_string_free(out, FALSE);
}

static int write_status(const struct gen *gen, bool (*cancelled)(void *arg))
{
	struct viewing viewing;
	struct err err;
	uint8_t *data;
	size_t size;
	int ret;

	viewing_init(&viewing, gen->bytes->data, gen->bytes->len);
	viewing.input.cancel.cancelled = cancelled;
	ret = viewing_write(&viewing, "pprof", &data, &size, &err);
	assert_int_equal(ret == 0, err.text[0] == '\0');
	viewing_fini(&viewing);
	free(data);
	return ret;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* types and configs are the kernel's: software 1, in it the CPU's clock 0, page faults 2 */
static void add_event(struct gen *gen, uint32_t number, uint32_t type, uint64_t config, uint64_t rate,
	uint32_t flags, const char *text)
{
	gen_begin(gen);
	gen_u32(gen, number);
	gen_u32(gen, type);
	gen_u64(gen, config);
	gen_u64(gen, rate);
	gen_u32(gen, flags);
	gen_text(gen, text);
	gen_end(gen, 64);
}

/*
 * One event. Process 10 has three samples of work called by call_a, of which the return address is
 * the byte behind the call, and one in the kernel called from there; idle and the server have one
 * each.
 */
static void test_profile_has_samples_locations_and_functions(void **state)
{
	uint64_t user[] = { 0x1310, 0x1101 }, both[] = { KERNEL + 0x110, GEN_USER, 0x1310 };
	struct gen gen;
	char *text;
	int i;

	gen_init(&gen, false);
	gen_clock(&gen, 5, 1700000000000000000);
	add_event(&gen, 1, 1, 0, 1000, 1, "cpu-clock:freq=1000");
	gen_period(&gen, 0, 1, 1000000);
	gen_period(&gen, 2, 1, 3000000);
	gen_kernel_mmap(&gen, 0, KERNEL, 0x1000000, "[kernel.kallsyms]");
	gen_new_process(&gen, 5, 10, "/bin/prog");
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_build_id(&gen, 5, 10, 0x1000, "\x01\x02\xfe", 3);
	gen_mmap(&gen, 5, 10, 0x9000, 0x1000, 0, "/bin/unused");
	gen_new_process(&gen, 5, 12, "/usr/sbin/kprofs");
	gen_task(&gen, 2, 10, 11);
	for (i = 0; i < 3; i++)
		gen_trace(&gen, 2, 1, 100, 10, 0, 2, user);
	gen_trace(&gen, 1, 1, 200, 10, 2, 3, both);
	gen_trace(&gen, 1, 1, 300, GEN_IDLE, 0, 1, both);
	gen_trace(&gen, 2, 1, 300, 12, 0, 1, user);
	gen_trace(&gen, 2, 1, 1100, 0xfffffffe, 0, 0, NULL);
	gen_lost(&gen, 0, 1, 2, 5);
	text = write_profile(&gen);
	/* places and functions are numbered as they are met in the capture */
	assert_string_equal(text,
		"1:(1:'samples' 2:'count')\n"
		"1:(1:'cpu-clock:freq=1000' 2:'nanoseconds')\n"
		"14:'cpu-clock:freq=1000'\n"
		"11:(1:'cpu-clock:freq=1000' 2:'nanoseconds')\n"
		"12:1000000\n"
		"9:1700000000000000000\n"
		"10:1000\n"
		"13:'7 samples of 1 event in 0.000 s on 2 CPUs'\n"
		"13:'cpu-clock:freq=1000: 7 samples, 1 of them idle, 1 in kprofs itself (left out), "
		"5 lost (41.67%: 5 in a full queue)'\n"
		"3:(1:2 3:1000 5:'/bin/a' 6:'0102fe' 7:1 8:1 9:1 10:1)\n"
		"3:(1:1 2:ffffffff81000000 3:ffffffff81001000 5:'[kernel.kallsyms]' 7:1 8:1 9:1 10:1)\n"
		"5:(1:1 2:'work' 3:'work')\n"
		"4:(1:1 2:2 3:310 4:(1:1))\n"
		"5:(1:2 2:'call_a' 3:'call_a')\n"
		"4:(1:2 2:2 3:100 4:(1:2))\n"
		"2:(1:[1,2,] 2:[3,3000000,] 3:(1:'process' 2:'prog') 3:(1:'pid' 3:10) "
		"3:(1:'thread' 3:10) 3:(1:'cpu' 2:'0'))\n"
		"5:(1:3 2:'handler' 3:'handler')\n"
		"4:(1:3 2:1 3:ffffffff81000110 4:(1:3))\n"
		"2:(1:[3,1,] 2:[1,3000000,] 3:(1:'process' 2:'prog') 3:(1:'pid' 3:10) "
		"3:(1:'thread' 3:11) 3:(1:'cpu' 2:'2'))\n"
		"2:(1:[] 2:[1,1000000,] 3:(1:'process' 2:'[gone]') 3:(1:'cpu' 2:'0'))");
	g_free(text);
	gen_fini(&gen);
}

/* The first mapping, which pprof calls the profile's file, is the program with most samples. */
static void test_main_file_is_the_program_with_most_samples(void **state)
{
	uint64_t kernel = KERNEL + 0x110, library[] = { 0x5010, 0x1310 }, ip = 0x1310;
	const char *first, *program;
	struct gen gen;
	char *text;
	int i;

	gen_init(&gen, false);
	add_event(&gen, 1, 1, 0, 1000, 1, "cpu-clock:freq=1000");
	gen_kernel_mmap(&gen, 0, KERNEL, 0x1000000, "[kernel.kallsyms]");
	gen_new_process(&gen, 5, 10, "/bin/less");
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0, "/bin/less");
	gen_new_process(&gen, 5, 11, "/bin/most");
	gen_mmap(&gen, 5, 11, 0x5000, 0x1000, 0, "/lib/library");
	gen_mmap(&gen, 5, 11, 0x1000, 0x1000, 0, "/bin/most");
	gen_fork(&gen, 6, 12, 12, 11, 11);
	gen_trace(&gen, 1, 1, 100, 10, 0, 1, &kernel);
	for (i = 0; i < 2; i++) {
		gen_trace(&gen, 2, 1, 200, 10, 0, 1, &ip);
		gen_trace(&gen, 2, 1, 300, 11, 0, 2, library);
		gen_trace(&gen, 2, 1, 400, 12, 0, 2, library); /* the same program */
		gen_trace(&gen, 1, 1, 500, GEN_IDLE, 0, 1, &kernel);
	}
	text = write_profile(&gen);
	first = strstr(text, "\n3:(");
	assert_non_null(first);
	program = strstr(first, " 5:'");
	assert_non_null(program);
	assert_true(g_str_has_prefix(program, " 5:'/bin/most'"));
	g_free(text);
	gen_fini(&gen);
}

/* A function with another one inlined: two lines of one place, the inlined one first. */
static void test_inlined_function_is_the_first_line(void **state)
{
	uint64_t ip = 0x1390;
	struct gen gen;
	char *text;

	gen_init(&gen, false);
	add_event(&gen, 1, 1, 2, 7, 0, "faults:period=7");
	gen_new_process(&gen, 5, 10, "/bin/a");
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &ip);
	text = write_profile(&gen);
	assert_non_null(strstr(text,
		"5:(1:1 2:'tiny' 3:'tiny' 4:'/src/tiny.h')\n"
		"5:(1:2 2:'work' 3:'work' 4:'/src/a.c')\n"
		"4:(1:1 2:1 3:390 4:(1:1 2:7) 4:(1:2 2:30))\n"
		"2:(1:[1,] 2:[1,7,] "));
	g_free(text);
	gen_fini(&gen);
}

/* Several events: two values each, and names that tell them apart. */
static void test_each_event_has_two_values(void **state)
{
	uint64_t ip = 0x1010;
	struct gen gen;
	char *text;

	gen_init(&gen, false);
	add_event(&gen, 1, 1, 2, 7, 0, "faults:period=7");
	/* the number is another event from here on */
	add_event(&gen, 1, 1, 0, 1000, 1, "cpu-clock:freq=1000");
	add_event(&gen, 2, 1, 2, 7, 0, "faults:period=7");
	gen_new_process(&gen, 5, 10, "/bin/\xff\\prog");
	gen_mmap(&gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_trace(&gen, 2, 2, 100, 10, 0, 1, &ip);
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &ip);
	gen_period(&gen, 0, 2, UINT64_MAX);
	gen_trace(&gen, 2, 2, 100, 10, 0, 1, &ip);
	text = write_profile(&gen);
	assert_true(g_str_has_prefix(text,
		"1:(1:'faults:period=7 samples' 2:'count')\n"
		"1:(1:'faults:period=7' 2:'count')\n"
		"1:(1:'cpu-clock:freq=1000 samples' 2:'count')\n"
		"1:(1:'cpu-clock:freq=1000' 2:'nanoseconds')\n"
		"14:'faults:period=7'\n"
		"11:(1:'faults:period=7' 2:'count')\n"
		"12:7\n"
		"13:"));
	/* a weight that does not fit is as large as it can be */
	assert_non_null(strstr(text, "2:(1:[1,] 2:[2,9223372036854775807,0,0,] 3:("));
	assert_non_null(strstr(text, "2:(1:[1,] 2:[0,0,1,1,] 3:("));
	assert_non_null(strstr(text, "3:(1:'process' 2:'\\xff\\x5cprog')"));
	g_free(text);
	gen_fini(&gen);
}

static bool always(void *arg)
{
	return true;
}

static void test_empty_and_cancelled_captures_are_refused(void **state)
{
	uint64_t ip = 0x1010;
	struct gen gen;
	uint32_t i;

	gen_init(&gen, false);
	gen_lost(&gen, 0, 0, 1, 5);
	assert_int_equal(write_status(&gen, NULL), -ENODATA);
	for (i = 0; i < PPROF_EVENTS_MAX; i++)
		gen_trace(&gen, 2, i, 100, 10, 0, 1, &ip);
	assert_int_equal(write_status(&gen, NULL), 0);
	assert_int_equal(write_status(&gen, always), -EINTR);
	gen_trace(&gen, 2, i, 100, 10, 0, 1, &ip);
	assert_int_equal(write_status(&gen, NULL), -EFBIG);
	gen_fini(&gen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profile_has_samples_locations_and_functions),
		cmocka_unit_test(test_inlined_function_is_the_first_line),
		cmocka_unit_test(test_main_file_is_the_program_with_most_samples),
		cmocka_unit_test(test_each_event_has_two_values),
		cmocka_unit_test(test_empty_and_cancelled_captures_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
