/* SPDX-License-Identifier: MIT */
/*
 * trace/ctf: the bytes of the trace as CTF are those of the specification of CTF 1.8 and of the
 * structs that the metadata declares. tests/fs/view_ctf.sh reads the trace with babeltrace2.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/clock.h"
#include "tests/unit/tracing.h"
#include "trace/ctf/ctf.h"
#include "trace/ctf/ctf_class.h"
#include "trace/snapshot.h"
#include "trace/clock_map.h"
#include "trace/trace.h"

#define POOL (1u << 16)
#define STREAMS 2
#define PID 1001 /* of the first program of tracing.h, which is called prog1 */

static const unsigned char uuid[CTF_UUID_BYTES] = { 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x46, 0x17,
	0x98, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f };

struct fixed {
	struct program *program;
	struct ring_writer *writer;
	struct trace *trace;
	struct snapshot_budget *budget;
	struct clock_map *stamps;
	uint64_t metadata_max;
	uint64_t base_ns;	 /* no chunk was begun later */
	int fds[1 + STREAMS];	 /* metadata first */
	GString *files[1 + STREAMS]; /* their bytes, when written */
};

/* 1 s on the monotonic clock is 1,000,000,003.5 s on the wall's. */
static bool read_clocks(void *arg, struct clock_map_anchor *anchor)
{
	*anchor = (struct clock_map_anchor){0, 1000000000, 1000000003500000000};
	return true;
}

static int set_up(void **state)
{
	const struct clock_map_source clocks = {read_clocks, NULL};
	struct fixed *f = g_new0(struct fixed, 1);
	int i;

	f->program = tracing_create(1, POOL, KPROF_MODE_OVERWRITE);
	f->writer = ring_writer_begin(&f->program->pool.pool);
	f->budget = snapshot_budget_create(SNAPSHOT_BYTES_DEFAULT, 0);
	f->stamps = clock_map_create_from(&clocks);
	f->metadata_max = UINT64_MAX;
	f->base_ns = clock_monotonic_ns() + 1000000000000;
	if (trace_create(TRACE_RING_BYTES_DEFAULT, &f->trace))
		return 1;
	for (i = 0; i <= STREAMS; i++) {
		f->fds[i] = memfd_create("file", MFD_CLOEXEC);
		f->files[i] = g_string_new(NULL);
	}
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixed *f = *state;
	int i;

	for (i = 0; i <= STREAMS; i++) {
		close(f->fds[i]);
		g_string_free(f->files[i], TRUE);
	}
	trace_destroy(f->trace);
	clock_map_destroy(f->stamps);
	snapshot_budget_destroy(f->budget);
	tracing_destroy(f->program);
	g_free(f);
	return 0;
}

/* CPUs 0 and 2 have streams. */
static int write_limited(struct fixed *f, uint64_t lost, uint64_t bytes_max,
	bool (*cancelled)(void *arg), struct err *err)
{
	static const uint32_t cpus[STREAMS] = { 0, 2 };
	struct snapshot *snapshot = snapshot_create(f->budget, 0, tracing_list(&f->program, 1), NULL, 0);
	struct ctf_output output = { .metadata = f->fds[0], .streams = f->fds + 1, .cpus = cpus,
		.count = STREAMS, .bytes_max = bytes_max,
		.metadata_max = f->metadata_max };
	const struct cancel cancel = { cancelled, NULL, -1 };
	int i, ret;

	memcpy(output.uuid, uuid, sizeof(uuid));
	assert_int_equal(snapshot_take(snapshot, f->stamps, f->trace, NULL), 0);
	snapshot->overwritten = lost;
	ret = ctf_write(snapshot, &output, &cancel, err);
	snapshot_destroy(snapshot);
	for (i = 0; i <= STREAMS; i++) {
		struct stat st;

		assert_int_equal(fstat(f->fds[i], &st), 0);
		g_string_set_size(f->files[i], (gsize)st.st_size);
		assert_int_equal(pread(f->fds[i], f->files[i]->str, f->files[i]->len, 0), st.st_size);
	}
	return ret;
}

static void write_all(struct fixed *f, uint64_t lost)
{
	struct err err = { "" };

	assert_int_equal(write_limited(f, lost, UINT64_MAX, NULL, &err), 0);
}

static void tell(struct fixed *f, uint32_t id, uint32_t cpu, uint32_t flags, uint64_t after_ns,
	const uint64_t *words, uint32_t count)
{
	assert_true(tracing_write_at(f->program, f->writer, id, cpu, flags, f->base_ns + after_ns,
		words, count));
}

/* ---- expected bytes -------------------------------------------------------------------------- */

static void u8(GString *out, unsigned int value)
{
	g_string_append_c(out, (char)value);
}

static void u16(GString *out, uint16_t value)
{
	g_string_append_len(out, (const char *)&value, sizeof(value));
}

static void u32(GString *out, uint32_t value)
{
	g_string_append_len(out, (const char *)&value, sizeof(value));
}

static void u64(GString *out, uint64_t value)
{
	g_string_append_len(out, (const char *)&value, sizeof(value));
}

static void string(GString *out, const char *text)
{
	g_string_append_len(out, text, (gssize)strlen(text) + 1);
}

/* The head of a packet: 4 + 16 + 4 + 5 * 8 + 4 = 68 bytes. */
static void head(GString *out, uint64_t begin_ns, uint64_t end_ns, uint64_t bytes, uint64_t discarded,
	uint32_t cpu)
{
	u32(out, 0xc1fc1fc1);
	g_string_append_len(out, (const char *)uuid, sizeof(uuid));
	u32(out, 0);
	u64(out, begin_ns);
	u64(out, end_ns);
	u64(out, bytes * 8);
	u64(out, bytes * 8);
	u64(out, discarded);
	u32(out, cpu);
}

static void event(GString *out, uint32_t id, uint64_t time_ns)
{
	u32(out, id);
	u64(out, time_ns);
}

static void context(GString *out)
{
	u32(out, PID);
	u32(out, (uint32_t)gettid());
	string(out, "prog1");
}

static void same(const GString *expected, const GString *found)
{
	assert_int_equal(found->len, expected->len);
	assert_memory_equal(found->str, expected->str, expected->len);
}

static void has(const GString *text, const char *part)
{
	if (!strstr(text->str, part))
		fail_msg("no '%s' in:\n%s", part, text->str);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* An event in each stream, and two lines written through kptrace; ids in the order of time. */
static void test_streams_have_the_bytes_of_the_specification(void **state)
{
	struct fixed *f = *state;
	const uint64_t minus = (uint64_t)-5, t = f->base_ns;
	uint64_t text[3] = { 0 };
	g_autoptr(GString) first = g_string_new(NULL), second = g_string_new(NULL);

	memcpy(text, "\x09\0a\x01\xc3\xa9\xff\"\\\n\x7f", 11);
	tell(f, TRACING_INT, 2, 0, 10, &minus, 1);
	tell(f, TRACING_WIDE, 2, 0, 20, text, 2);
	assert_int_equal(trace_append_at(f->trace, t + 15, 0, "x: y\nz\n", 7), 0);
	write_all(f, 0);

	/* each begins with a packet without events, at the trace's beginning */
	head(first, t + 10, t + 10, 68, 0, 0);
	head(first, t + 15, t + 15, 68 + 12 + 5 + 12 + 2, 0, 0);
	event(first, 0, t + 15);
	string(first, "x: y");
	event(first, 0, t + 15);
	string(first, "z");
	same(first, f->files[1]);

	head(second, t + 10, t + 10, 68, 0, 2);
	/*
	 * header 12, context 14, then 4, or a string of 1 + 4 + 2 + 4 + 1 + 1 + 1 + 4 and its NUL
	 */
	head(second, t + 10, t + 20, 68 + 2 * 26 + 4 + 19, 0, 2);
	event(second, 1, t + 10);
	context(second);
	u32(second, (uint32_t)-5);
	event(second, 2, t + 20);
	context(second);
	string(second, "a\\x01\xc3\xa9\\xff\"\\\n\\x7f");
	same(second, f->files[2]);

	has(f->files[0], "/* CTF 1.8 */\n");
	has(f->files[0], "uuid = \"10111213-1415-4617-9819-1a1b1c1d1e1f\";");
	has(f->files[0], "offset_s = 1000000002;\n\toffset = 500000000;");
	has(f->files[0], "\tname = \"net:packet\";\n\tid = 1;\n");
	has(f->files[0], "\t/* \"n %d\" */\n\tfields := struct {\n\t\tint32_t _n;\n\t};\n");
	has(f->files[0], "\tname = \"net:wide\";\n\tid = 2;\n");
	has(f->files[0], "\t\tstring _arg1;\n");
}

/* Bytes that are not UTF-8, and where strings are cut. */
static void test_strings_are_valid_utf8_and_cut(void **state)
{
	static const struct {
		int line;
		size_t bytes;
		const char *text, *expected;
	} rows[] = {
		{ __LINE__, 0, "", "" },
		{ __LINE__, 4, "a\tb\n", "a\tb\n" },
		{ __LINE__, 3, "a\0b", "a\\x00b" },
		{ __LINE__, 1, "\0", "\\x00" },
		{ __LINE__, 2, "\xc2\xa0", "\xc2\xa0" },
		{ __LINE__, 3, "\xe2\x82\xac", "\xe2\x82\xac" },
		{ __LINE__, 2, "\xe2\x82\xac", "\\xe2\\x82" },	      /* cut off */
		{ __LINE__, 2, "\xc0\x80", "\\xc0\\x80" },	      /* overlong */
		{ __LINE__, 3, "\xed\xa0\x80", "\\xed\\xa0\\x80" },   /* a surrogate */
		{ __LINE__, 4, "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" }, /* beyond U+10FFFF */
		{ __LINE__, 3, "\xc3" "ab", "\\xc3" "ab" },
	};
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(GString) out = g_string_new(NULL);

		ctf_append_string(out, rows[i].text, rows[i].bytes);
		if (out->len != strlen(rows[i].expected) + 1 || strcmp(out->str, rows[i].expected))
			fail_msg("line %d: '%s'", rows[i].line, out->str);
	}
}

/* Formats, and the fields that they make. */
static void test_formats_become_typed_fields(void **state)
{
	static const struct {
		int line;
		const char *format, *fields, *label; /* NULL: "a:b" */
	} rows[] = {
		{ __LINE__, "size=%u", "uint32_t _size;" },
		{ __LINE__, "name=\"%s\" = %d (%.1f us)", "string _name; int32_t _arg2; double_t _arg3;" },
		/* the formats of kernel/calltext.c */
		{ __LINE__, "name=\"%s\"... mode=%#lo = %ld (%.1f us)",
			"string _name; ouint64_t _mode; int64_t _result; double_t _duration_us;",
			"syscall:x" },
		{ __LINE__, "fd=%ld = -1 %s (%s) (%.1f us)",
			"int64_t _fd; string _error; string _error_text; double_t _duration_us;",
			"syscall:x" },
		{ __LINE__, "= %#lx (%.1f us)", "xuint64_t _result; double_t _duration_us;", "syscall:x" },
		{ __LINE__, "%d%u", "int32_t _arg1; uint32_t _arg2;" },
		{ __LINE__, "a=%hhd b=%hu c: %lx d %llo", "int8_t _a; uint16_t _b; xuint64_t _c; "
			"ouint64_t _d;" },
		{ __LINE__, "at %p in %s took %.3f", "xuint64_t _at; string _in; double_t _took;" },
		{ __LINE__, "c %c", "char_t _c;" },
		{ __LINE__, "n %d n %d", "int32_t _n; int32_t _arg2;" },	     /* unique */
		{ __LINE__, "%d arg1=%d", "int32_t _arg1; int32_t _arg2;" },     /* in both ways */
		{ __LINE__, "cut %d stack %d", "int32_t _arg1; int32_t _arg2;" }, /* ours */
		{ __LINE__, "struct %d event=%d", "int32_t _struct; int32_t _event;" }, /* TSDL's */
		{ __LINE__, "9a=%d a-b=%d [%d", "int32_t _arg1; int32_t _b; int32_t _arg3;" },
		{ __LINE__, "\xc3\xa9=%d", "int32_t _arg1;" },
		{ __LINE__, "w %*.*f%%", "int32_t _arg1; int32_t _arg2; double_t _w;" },
		{ __LINE__, "none", "" },
	};
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct ctf_classes *classes = ctf_classes_create();
		const struct ctf_info nothing = { .lost = 0 };
		g_autoptr(GString) text = g_string_new(NULL), found = g_string_new(NULL);
		const char *at;

		ctf_classes_find(classes, rows[i].label ? rows[i].label : "a:b", rows[i].format, 0);
		ctf_classes_print(classes, &nothing, text);
		at = strrchr(text->str, '{') + 1;
		for (; *at != '}'; at++)
			if (*at != '\n' && *at != '\t')
				g_string_append_c(found, *at);
			else if (*at == '\t' && found->len && found->str[found->len - 1] == ';')
				g_string_append_c(found, ' ');
		while (found->len && found->str[found->len - 1] == ' ')
			g_string_truncate(found, found->len - 1);
		if (strcmp(found->str, rows[i].fields))
			fail_msg("line %d: '%s'", rows[i].line, found->str);
		ctf_classes_destroy(classes);
	}
}

/* Characters that would end a comment or a name in the metadata do not. */
static void test_hostile_names_do_not_break_the_metadata(void **state)
{
	struct ctf_classes *classes = ctf_classes_create();
	const struct ctf_info nothing = { .lost = 0 };
	g_autoptr(GString) text = g_string_new(NULL);

	ctf_classes_find(classes, "a:b\"; }", "*/ x **/ \" \n", 0);
	ctf_classes_print(classes, &nothing, text);
	has(text, "\tname = \"a:b____\";\n");
	has(text, "\t/* \"+/ x *+/ \\\" \\n\" */\n");
	ctf_classes_destroy(classes);
}

/* One class for each name, format and shape. */
static void test_each_name_format_and_shape_is_one_class(void **state)
{
	struct ctf_classes *classes = ctf_classes_create();

	assert_int_equal(ctf_classes_message(classes), 0);
	assert_int_equal(ctf_classes_find(classes, "a:b", "%d", 0)->id, 1);
	assert_int_equal(ctf_classes_find(classes, "a:b", "%u", 0)->id, 2);
	assert_int_equal(ctf_classes_find(classes, "a:b", "%d", CTF_STACK)->id, 3);
	assert_int_equal(ctf_classes_find(classes, "a:b", "%d", CTF_TEXT)->id, 4);
	assert_int_equal(ctf_classes_find(classes, "a:c", "%d", 0)->id, 5);
	assert_int_equal(ctf_classes_find(classes, "a:b", "%d", 0)->id, 1);
	assert_int_equal(ctf_classes_find(classes, "a:b", "%u", CTF_TEXT)->id, 4);
	ctf_classes_destroy(classes);
}

/* A stack, a cut string, a null pointer; arguments that are not there; a printf. */
static void test_stacks_cut_strings_and_missing_arguments_are_written(void **state)
{
	struct fixed *f = *state;
	const uint64_t t = f->base_ns, stack[4] = { 7, 2, 0xa1, 0xa2 }, lies[2] = { 7, 99 };
	uint64_t null = 0xffff, text[2] = { 0 };
	g_autoptr(GString) expected = g_string_new(NULL);

	memcpy(text, "\x02\0hi", 4);
	tell(f, TRACING_INT, 0, KPROF_RECORD_STACK, 0, stack, 4);
	tell(f, TRACING_INT, 0, KPROF_RECORD_STACK, 1, lies, 2); /* 99 addresses, and none is there */
	tell(f, TRACING_WIDE, 0, KPROF_RECORD_CUT, 2, &null, 1);
	tell(f, TRACING_INT, 0, 0, 3, NULL, 0);
	tell(f, TRACING_TEXT, 0, 0, 4, text, 1);
	write_all(f, 0);

	head(expected, t, t, 68, 0, 0);
	head(expected, t, t + 4, 68 + 5 * 26 + 22 + 6 + 8 + 12 + 8, 0, 0);
	event(expected, 1, t);
	context(expected);
	u32(expected, 7);
	u16(expected, 2);
	u64(expected, 0xa1);
	u64(expected, 0xa2);
	event(expected, 1, t + 1);
	context(expected);
	u32(expected, 7);
	u16(expected, 0);
	event(expected, 2, t + 2);
	context(expected);
	string(expected, "(null)");
	u8(expected, 1);
	event(expected, 4, t + 3); /* 3 would be the event with its argument */
	context(expected);
	string(expected, "n (missing)");
	event(expected, 5, t + 4);
	context(expected);
	string(expected, "text hi");
	same(expected, f->files[1]);
	has(f->files[0], "\t\tint32_t _n;\n\t\tuint16_t _stack_length;\n"
		"\t\txuint64_t _stack[_stack_length];\n\t};\n");
	has(f->files[0], "\t\tstring _arg1;\n\t\tuint8_t _cut;\n\t};\n");
	has(f->files[0], "\tname = \"kprof_printf\";\n\tid = 5;\n");
}

/* kprof_backtrace: its message is the text, its stack a field. */
static void test_backtrace_is_a_text_with_a_stack(void **state)
{
	struct fixed *f = *state;
	const uint64_t t = f->base_ns, nothing[2] = { 0, 0 };
	uint64_t text[4] = { 0, 2, 0xa1, 0xa2 };
	g_autoptr(GString) expected = g_string_new(NULL);

	memcpy(text, "\x02\0hi", 4);
	tell(f, TRACING_TEXT, 0, KPROF_RECORD_STACK, 0, text, 4);
	tell(f, TRACING_TEXT, 0, KPROF_RECORD_STACK | KPROF_RECORD_CUT, 1, text, 4);
	tell(f, TRACING_TEXT, 0, KPROF_RECORD_STACK, 2, NULL, 0);
	tell(f, TRACING_TEXT, 0, KPROF_RECORD_STACK, 3, nothing, 2);
	write_all(f, 0);

	head(expected, t, t, 68, 0, 0);
	head(expected, t, t + 3, 68 + 4 * 26 + 26 + 27 + 15 + 8, 0, 0);
	event(expected, 1, t);
	context(expected);
	string(expected, "text hi");
	u16(expected, 2);
	u64(expected, 0xa1);
	u64(expected, 0xa2);
	event(expected, 2, t + 1);
	context(expected);
	string(expected, "text hi");
	u16(expected, 2);
	u64(expected, 0xa1);
	u64(expected, 0xa2);
	u8(expected, 1);
	event(expected, 3, t + 2);
	context(expected);
	string(expected, "text (missing)");
	event(expected, 1, t + 3);
	context(expected);
	string(expected, "text ");
	u16(expected, 0);
	same(expected, f->files[1]);
	has(f->files[0], "\t\tstring _text;\n\t\tuint16_t _stack_length;\n"
		"\t\txuint64_t _stack[_stack_length];\n\t};\n");
}

/*
 * Events of CPUs without a stream, or of no CPU, are in the first stream, in packets of their own.
 */
static void test_events_of_unknown_cpus_go_to_the_first_stream(void **state)
{
	struct fixed *f = *state;
	const uint64_t t = f->base_ns, n = 1;
	g_autoptr(GString) expected = g_string_new(NULL);
	static const uint32_t cpus[] = { 1, 0xffff, 0 };
	uint32_t i;

	for (i = 0; i < 3; i++)
		tell(f, TRACING_INT, cpus[i], 0, i, &n, 1);
	write_all(f, 0);
	head(expected, t, t, 68, 0, 0);
	for (i = 0; i < 3; i++) {
		head(expected, t + i, t + i, 68 + 30, 0, cpus[i]);
		event(expected, 1, t + i);
		context(expected);
		u32(expected, 1);
	}
	same(expected, f->files[1]);
}

/*
 * The counter is 0 in the first packet and has the whole number in the second, also without events.
 */
static void test_lost_events_are_counted_in_the_second_packet(void **state)
{
	struct fixed *f = *state;
	const uint64_t t = f->base_ns, n = 1;
	g_autoptr(GString) expected = g_string_new(NULL);

	tell(f, TRACING_INT, 2, 0, 0, &n, 1);
	write_all(f, 17);
	head(expected, t, t, 68, 0, 0);
	head(expected, t, t, 68, 17, 0);
	same(expected, f->files[1]);
	has(f->files[0], "events_lost = 17;\n\tevents_left_out = 0;\n");
}

/*
 * Stamps that no clock can have made are clamped to the latest that signed numbers of a reader can
 * hold.
 */
static void test_impossible_times_are_clamped(void **state)
{
	struct fixed *f = *state;
	const uint64_t n = 1, last = INT64_MAX - 1000000002500000000;
	g_autoptr(GString) expected = g_string_new(NULL);

	tell(f, TRACING_INT, 0, 0, UINT64_MAX - f->base_ns, &n, 1);
	write_all(f, 0);
	head(expected, last, last, 68, 0, 0);
	head(expected, last, last, 68 + 30, 0, 0);
	event(expected, 1, last);
	context(expected);
	u32(expected, 1);
	same(expected, f->files[1]);
}

/* Packets end when they are full, and follow each other in time. */
static void test_full_packets_follow_each_other_in_time(void **state)
{
	struct fixed *f = *state;
	size_t at = 68, packets = 0, events = 0;
	uint64_t bits, n;

	for (n = 0; n < 2000; n++)
		tell(f, TRACING_INT, 0, 0, n, &n, 1);
	write_all(f, 0);
	while (at < f->files[1]->len) {
		memcpy(&bits, f->files[1]->str + at + 40, sizeof(bits));
		assert_in_range(bits / 8, 69, CTF_PACKET_BYTES + 68 + 30);
		events += (bits / 8 - 68) / 30;
		at += bits / 8;
		packets++;
	}
	assert_int_equal(at, f->files[1]->len);
	assert_int_equal(events, 2000);
	assert_int_equal(packets, 2); /* 2000 * 30 = 60,000 bytes */
}

static bool always(void *arg)
{
	return true;
}

static void test_empty_cancelled_and_too_large_traces_are_refused(void **state)
{
	struct fixed *f = *state;
	struct err err = { "" };
	const uint64_t n = 1;

	assert_int_equal(write_limited(f, 0, UINT64_MAX, NULL, &err), -ENODATA);
	assert_string_equal(err.text, "the trace is empty");
	assert_int_equal(f->files[0]->len + f->files[1]->len, 0);
	tell(f, TRACING_INT, 0, 0, 0, &n, 1);
	assert_int_equal(write_limited(f, 0, UINT64_MAX, always, &err), -EINTR);
	assert_int_equal(write_limited(f, 0, 100, NULL, &err), -EFBIG);
	assert_string_equal(err.text, "the trace as CTF would be larger than 0 MiB");
	f->metadata_max = 200; /* the class of messages has 80, that of TRACING_INT 175 */
	assert_int_equal(write_limited(f, 0, UINT64_MAX, NULL, &err), -EFBIG);
	assert_string_equal(err.text, "more different events than 0 MiB of metadata can describe");
	f->metadata_max = 300;
	assert_int_equal(write_limited(f, 0, UINT64_MAX, NULL, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_streams_have_the_bytes_of_the_specification,
						set_up, tear_down),
		cmocka_unit_test(test_strings_are_valid_utf8_and_cut),
		cmocka_unit_test(test_formats_become_typed_fields),
		cmocka_unit_test(test_hostile_names_do_not_break_the_metadata),
		cmocka_unit_test(test_each_name_format_and_shape_is_one_class),
		cmocka_unit_test_setup_teardown(test_stacks_cut_strings_and_missing_arguments_are_written,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_backtrace_is_a_text_with_a_stack,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_events_of_unknown_cpus_go_to_the_first_stream,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost_events_are_counted_in_the_second_packet,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_impossible_times_are_clamped,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full_packets_follow_each_other_in_time,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_empty_cancelled_and_too_large_traces_are_refused,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
