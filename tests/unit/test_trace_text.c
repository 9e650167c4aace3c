/* SPDX-License-Identifier: MIT */
/*
 * trace/trace_text: events become the lines that printf prints for the values, or that kprof(5)
 * describes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <kprof/attach_abi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace_text.h"

#define HEAD "[12.000345678]:cpu3: prog[1234] net:packet: "

/* Arguments as a program stores them. */
struct stored {
	char bytes[KPROF_RECORD_MAX];
	uint32_t count;
};

static void add_word(struct stored *args, uint64_t word)
{
	memcpy(args->bytes + args->count, &word, sizeof(word));
	args->count += sizeof(word);
}

static void add_double(struct stored *args, double value)
{
	memcpy(args->bytes + args->count, &value, sizeof(value));
	args->count += sizeof(value);
}

static void add_bytes(struct stored *args, const char *text, uint16_t said, size_t bytes)
{
	memset(args->bytes + args->count, 0, (2 + bytes + 7) / 8 * 8);
	memcpy(args->bytes + args->count, &said, 2);
	memcpy(args->bytes + args->count + 2, text, bytes);
	args->count += (uint32_t)((2 + bytes + 7) / 8 * 8);
}

static void add_string(struct stored *args, const char *text)
{
	add_bytes(args, text, (uint16_t)strlen(text), strlen(text));
}

static struct trace_text_event make_event(const char *format, const struct stored *args)
{
	return (struct trace_text_event){
		.time_ns = 12000345678,
		.cpu = 3,
		.pid = 1234,
		.tid = 1234,
		.program = "prog",
		.label = "net:packet",
		.format = format,
		.format_bytes = (uint32_t)strlen(format),
		.args = args->bytes,
		.args_bytes = args->count,
	};
}

/* The lines of an event; also checks their length and bound. */
static char *show(const struct trace_text_event *event)
{
	struct trace_text *line = trace_text_create();
	GString *out = g_string_new("before\n");

	trace_text_append(line, event, out);
	assert_memory_equal(out->str, "before\n", 7);
	g_string_erase(out, 0, 7);
	assert_int_equal(strlen(out->str), out->len);
	assert_int_equal(out->len, trace_text_measure(line, event));
	trace_text_destroy(line);
	assert_true(out->len <= TRACE_TEXT_EVENT_MAX);
	return g_string_free(out, FALSE);
}

static void expect(int line, const struct trace_text_event *event, const char *text)
{
	char *shown = show(event);

	if (strcmp(shown, text))
		fail_msg("line %d: '%s', not '%s'", line, shown, text);
	g_free(shown);
}

/* Every conversion, against the C library's; SHOWN: of another format. */
#define SAME(format, type, value) SHOWN(format, format, type, value)
#define SHOWN(format, shown, type, value)                                                          \
	do {                                                                                       \
		struct stored args = {.count = 0};                                                 \
		type v = (type)(value);                                                            \
		char text[TRACE_TEXT_BYTES_MAX];                                                    \
		struct trace_text_event event;                                                     \
		if (_Generic(v, double : 1, default : 0))                                          \
			add_double(&args, (double)v);                                              \
		else                                                                               \
			add_word(&args, (uint64_t)v);                                              \
		snprintf(text, sizeof(text), HEAD "<" shown ">\n", v);                             \
		event = make_event("<" format ">", &args);                                         \
		expect(__LINE__, &event, text);                                                    \
	} while (0)

static void test_numbers_print_as_printf_does(void **state)
{
	static const int64_t values[] = {0, 1, -1, 9, 10, 127, 128, -128, 255, 256, 32768, -32769,
		INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN, 1234567890123456789};
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		SAME("%d", int, values[i]);
		SAME("%i", int, values[i]);
		SAME("%u", unsigned int, values[i]);
		SAME("%x", unsigned int, values[i]);
		SAME("%X", unsigned int, values[i]);
		SAME("%o", unsigned int, values[i]);
		SAME("%#x", unsigned int, values[i]);
		SAME("%ld", long, values[i]);
		SAME("%lu", unsigned long, values[i]);
		SAME("%llx", unsigned long long, values[i]);
		SAME("%hd", short, values[i]);
		SAME("%hu", unsigned short, values[i]);
		SAME("%hhd", signed char, values[i]);
		SAME("%hhu", unsigned char, values[i]);
		SAME("%jd", intmax_t, values[i]);
		SAME("%zu", size_t, values[i]);
		SAME("%td", ptrdiff_t, values[i]);
		SAME("%+d", int, values[i]);
		SAME("% d", int, values[i]);
		SAME("%12d", int, values[i]);
		SAME("%-12d|", int, values[i]);
		SAME("%012d", int, values[i]);
		SAME("%.5d", int, values[i]);
		SAME("%.0d", int, values[i]);
		SAME("%#20.10lx", unsigned long, values[i]);
		SAME("%256.255d", int, values[i]);
		SAME("%-256d|", int, values[i]);
		SHOWN("%257d", "%256d", int, values[i]);
		SHOWN("%-4096d|", "%-256d|", int, values[i]);
		SHOWN("%.4096d", "%.256d", int, values[i]);
	}
	/* what the type does not hold is not shown: arguments of a corrupt producer */
	SAME("%hhu", unsigned char, 0x1ff);
	SAME("%d", int, 0x1122334455667788);
}

static void test_doubles_print_as_printf_does(void **state)
{
	static const double values[] = {0, -0.0, 1, -1.5, 3.14159265358979, 1e300, 1e-300, 5e-324,
		-1.7976931348623157e308, 1.0 / 3};
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		SAME("%f", double, values[i]);
		SAME("%F", double, values[i]);
		SAME("%e", double, values[i]);
		SAME("%E", double, values[i]);
		SAME("%g", double, values[i]);
		SAME("%G", double, values[i]);
		SAME("%a", double, values[i]);
		SAME("%A", double, values[i]);
		SAME("%.3f", double, values[i]);
		SAME("%+12.4e", double, values[i]);
		SAME("%-30g|", double, values[i]);
		SAME("%#.0f", double, values[i]);
		SAME("%256.256f", double, values[i]);
		SHOWN("%.257f", "%.256f", double, values[i]);
		SHOWN("%.4096e", "%.256e", double, values[i]);
		SHOWN("%#.4096G", "%#.256G", double, values[i]);
		SHOWN("%.4096a", "%.256a", double, values[i]);
		SHOWN("%-4000.3900f|", "%-256.256f|", double, values[i]);
		SHOWN("%+04000.100e", "%+0256.100e", double, values[i]);
	}
	SHOWN("%2000.1900f", "%256f", double, strtod("nan", NULL));
	SHOWN("%-2000.1900e|", "%-256e|", double, strtod("-inf", NULL));
	SAME("%f", double, strtod("nan", NULL));
	SAME("%f", double, strtod("-inf", NULL));
}

static void test_pointers_print_as_numbers(void **state)
{
	static const struct {
		int line;
		const char *format;
		uint64_t value;
	} rows[] = {
		{__LINE__, "<%p>", 0},
		{__LINE__, "<%p>", 0x7fff12345678},
		{__LINE__, "<%20p>", 0x7fff12345678},
		{__LINE__, "<%-20p|>", 0},
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stored args = {.count = 0};
		struct trace_text_event event;
		char text[200], want[256];

		add_word(&args, rows[i].value);
		snprintf(text, sizeof(text), rows[i].format, (void *)(uintptr_t)rows[i].value);
		snprintf(want, sizeof(want), HEAD "%s\n", text);
		event = make_event(rows[i].format, &args);
		expect(rows[i].line, &event, want);
	}
	SAME("%c", char, 'x');
	SAME("%5c", char, 'x');
	SAME("%-5c|", char, 'x');
}

/* 260 bytes: more than is shown of a width */
#define TWENTY_SIX "abcdefghijklmnopqrstuvwxyz"
#define LONG                                                                                       \
	TWENTY_SIX TWENTY_SIX TWENTY_SIX TWENTY_SIX TWENTY_SIX TWENTY_SIX TWENTY_SIX TWENTY_SIX    \
		TWENTY_SIX TWENTY_SIX

static void test_strings_print_as_printf_does(void **state)
{
	static const struct {
		int line;
		const char *format, *text, *shown;
	} rows[] = {
		{__LINE__, "%s", "hello", "hello"},
		{__LINE__, "%s", "", ""},
		{__LINE__, "%10s|", "hello", "     hello|"},
		{__LINE__, "%-10s|", "hello", "hello     |"},
		{__LINE__, "%.3s|", "hello", "hel|"},
		{__LINE__, "%6.3s|", "hello", "   hel|"},
		{__LINE__, "%.0s|", "hello", "|"},
		{__LINE__, "%.300s|", LONG, LONG "|"},
		{__LINE__, "%4096.300s|", LONG, LONG "|"},
		{__LINE__, "100%% %s", "x", "100% x"},
		{__LINE__, "%s", "tab\there", "tab\there"},
		{__LINE__, "%s", "\x1b[31mred\x7f\r", "\\x1b[31mred\\x7f\\x0d"},
		{__LINE__, "%s", "\x1f\x20\x7e\x80\xff", "\\x1f ~\x80\xff"},
		{__LINE__, "%s", "seven..\x01", "seven..\\x01"},
		{__LINE__, "%s", "last new line\n", "last new line"},
		{__LINE__, "%s", "one\ntwo\n\nfour", "one\n" HEAD "two\n" HEAD "\n" HEAD "four"},
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stored args = {.count = 0};
		char *text = g_strconcat(HEAD, rows[i].shown, "\n", NULL);
		struct trace_text_event event;

		add_string(&args, rows[i].text);
		event = make_event(rows[i].format, &args);
		expect(rows[i].line, &event, text);
		g_free(text);
	}
}

/* Every byte at every position of a word: the fast check must find each one. */
static void test_each_byte_is_escaped_at_every_place(void **state)
{
	int byte, at;

	for (byte = 1; byte < 256; byte++)
		for (at = 0; at < 20; at++) {
			char text[21] = "abcdefghijklmnopqrst", want[512];
			struct stored args = {.count = 0};
			struct trace_text_event event;

			text[at] = (char)byte;
			add_string(&args, text);
			event = make_event("%s", &args);
			if (byte == '\n' && at == 19)
				snprintf(want, sizeof(want), HEAD "%.19s\n", text);
			else if (byte == '\n')
				snprintf(want, sizeof(want), HEAD "%.*s\n" HEAD "%s\n", at, text,
					text + at + 1);
			else if ((byte < 32 && byte != '\t') || byte == 127)
				snprintf(want, sizeof(want), HEAD "%.*s\\x%02x%s\n", at, text, byte,
					text + at + 1);
			else
				snprintf(want, sizeof(want), HEAD "%s\n", text);
			expect(__LINE__, &event, want);
		}
}

static void test_lines_begin_with_time_cpu_and_program(void **state)
{
	struct stored args = {.count = 0};
	struct trace_text_event event = make_event("x", &args);

	event.time_ns = 0;
	event.cpu = 0;
	expect(__LINE__, &event, "[0.000000000]:cpu0: prog[1234] net:packet: x\n");
	event.time_ns = UINT64_MAX;
	event.cpu = 65534;
	event.tid = 1240;
	expect(__LINE__, &event,
		"[18446744073.709551615]:cpu65534: prog[1234/1240] net:packet: x\n");
	event.cpu = KPROF_CPU_UNKNOWN;
	event.label = "";
	event.time_ns = 1000000001;
	expect(__LINE__, &event, "[1.000000001]:cpu?: prog[1234/1240]: x\n");
	event.format_bytes = 0;
	expect(__LINE__, &event, "[1.000000001]:cpu?: prog[1234/1240]: \n");
}

static void test_stars_take_their_arguments(void **state)
{
	struct stored args = {.count = 0};
	struct trace_text_event event;

	add_word(&args, 6);
	add_word(&args, (uint64_t)-6);
	add_word(&args, 42);
	event = make_event("%*.*d|", &args);
	expect(__LINE__, &event, HEAD "    42|\n"); /* a precision below zero is none */
	args.count = 0;
	add_word(&args, (uint64_t)-6);
	add_word(&args, 3);
	add_word(&args, 42);
	event = make_event("%*.*d|", &args);
	expect(__LINE__, &event, HEAD "042   |\n");
	/* no wider than the shown columns, with any requested width */
	args.count = 0;
	add_word(&args, INT32_MAX);
	add_string(&args, "x");
	event = make_event("%*s", &args);
	{
		char *shown = show(&event);

		assert_int_equal(strlen(shown), strlen(HEAD) + 256 + 1);
		g_free(shown);
	}
}

static void test_hostile_arguments_are_harmless(void **state)
{
	struct stored args = {.count = 0};
	struct trace_text_event event;

	event = make_event("%d %s %f %p %c|", &args);
	expect(__LINE__, &event, HEAD "(missing) (missing) (missing) (missing) (missing)|\n");
	add_word(&args, 7);
	event.args_bytes = 7; /* less than a word */
	event.format = "%d|";
	event.format_bytes = 3;
	expect(__LINE__, &event, HEAD "(missing)|\n");
	/* a string that is said to be longer than the record */
	args.count = 0;
	add_bytes(&args, "short", 15, 5);
	add_word(&args, 1);
	event = make_event("%s %d", &args);
	expect(__LINE__, &event, HEAD "(missing) (missing)\n");
	/* a missing string, and one with NULs in it */
	args.count = 0;
	add_bytes(&args, "", KPROF_STRING_NULL, 0);
	add_bytes(&args, "a\0b", 3, 3);
	event = make_event("%s %8s|", &args);
	expect(__LINE__, &event, HEAD "(null)      a\\x00b|\n");
	/* formats that should have been refused */
	event = make_event("x %n y", &args);
	expect(__LINE__, &event, HEAD "x (bad format)\n");
	event = make_event("%", &args);
	expect(__LINE__, &event, HEAD "(bad format)\n");
}

/* As long as an event can get: bounded, and said to be cut. */
static void test_longest_event_is_cut(void **state)
{
	struct stored args = {.count = 0};
	g_autoptr(GString) format = g_string_new(NULL);
	struct trace_text_event event;
	char *shown, text[4001];
	size_t lines = 0, i;

	/* 64 times 256 are TRACE_TEXT_TEXT_MAX */
	for (i = 0; i < 64; i++) {
		g_string_append(format, "%4096d");
		add_word(&args, i);
	}
	/* full to the last byte: nothing more is cut off where nothing is to be printed */
	add_word(&args, 0);
	g_string_append(format, "%.0d");
	event = make_event(format->str, &args);
	shown = show(&event);
	assert_int_equal(strlen(shown), strlen(HEAD) + TRACE_TEXT_BYTES_MAX + 1);
	g_free(shown);
	g_string_append(format, "%4096d");
	add_word(&args, 1);
	event = make_event(format->str, &args);
	shown = show(&event);
	assert_int_equal(strlen(shown), strlen(HEAD) + TRACE_TEXT_BYTES_MAX + strlen(" [cut]\n"));
	assert_string_equal(shown + strlen(HEAD) + TRACE_TEXT_BYTES_MAX, " [cut]\n");
	g_free(shown);
	memset(text, '\n', 4000);
	text[4000] = '\0';
	args.count = 0;
	add_string(&args, text);
	event = make_event("%s.", &args);
	shown = show(&event);
	for (i = 0; shown[i]; i++)
		lines += shown[i] == '\n';
	assert_int_equal(lines, TRACE_TEXT_LINES_MAX);
	g_free(shown);
}

static void test_stacks_and_cuts_are_printed(void **state)
{
	struct stored args = {.count = 0};
	struct trace_text_event event;

	add_word(&args, 5);
	add_word(&args, 2);
	add_word(&args, 0x7f0000001000);
	add_word(&args, 0xffffffffffffffff);
	event = make_event("%d", &args);
	event.flags = KPROF_RECORD_STACK;
	expect(__LINE__, &event,
		HEAD "5\n" HEAD "  0x7f0000001000\n" HEAD "  0xffffffffffffffff\n");
	event.args_bytes = 24; /* two are promised, one is there */
	expect(__LINE__, &event, HEAD "5\n" HEAD "  0x7f0000001000\n");
	event.args_bytes = 8;
	expect(__LINE__, &event, HEAD "5\n");
	event.flags = KPROF_RECORD_CUT;
	expect(__LINE__, &event, HEAD "5 [cut]\n");
}

/* Of a text that goes on the last line says so. */
static void test_a_text_goes_on(void **state)
{
	static const char goes_on[] = "[12.000345678]:cpu3: prog[1234] net:packet+: ";
	struct stored args = { .count = 0 };
	struct trace_text_event event = make_event("a ", &args);
	g_autofree char *one = g_strconcat(goes_on, "a \n", NULL);
	g_autofree char *two = g_strconcat(HEAD "a\n", goes_on, "b [cut]\n", NULL);

	(void)state;
	event.flags = KPROF_RECORD_GOES_ON;
	expect(__LINE__, &event, one);
	event = make_event("a\nb", &args);
	event.flags = KPROF_RECORD_GOES_ON | KPROF_RECORD_CUT;
	expect(__LINE__, &event, two);
}

/* An event whose stack cannot be taken keeps it in its text. */
static void test_stack_is_taken_out_of_the_event(void **state)
{
	struct stored args = {.count = 0};
	struct trace_text_event event;
	uint64_t stack[2] = {0};

	add_string(&args, "ab");
	add_word(&args, 2);
	add_word(&args, 0x7f0000001000);
	add_word(&args, 0xffffffffffffffff);
	event = make_event("%s", &args);
	assert_int_equal(trace_text_take_stack(&event, stack, 2), 0); /* it has none */
	event.flags = KPROF_RECORD_STACK | KPROF_RECORD_CUT;
	assert_int_equal(trace_text_take_stack(&event, stack, 1), 0); /* more than the caller takes */
	event.args_bytes -= 8;
	assert_int_equal(trace_text_take_stack(&event, stack, 2), 0); /* two are promised, one is there */
	assert_int_equal(event.flags, KPROF_RECORD_STACK | KPROF_RECORD_CUT);
	event.args_bytes += 8;
	assert_int_equal(trace_text_take_stack(&event, stack, 2), 2);
	assert_true(stack[0] == 0x7f0000001000 && stack[1] == UINT64_MAX);
	expect(__LINE__, &event, HEAD "ab [cut]\n");
	event = make_event("%d %d %d %d %d", &args); /* five arguments, and four words */
	event.flags = KPROF_RECORD_STACK;
	assert_int_equal(trace_text_take_stack(&event, stack, 2), 0);
}

static void test_text_is_split_from_its_arguments(void **state)
{
	struct stored args = {.count = 0};
	struct trace_text_event event;

	add_string(&args, "n %d");
	add_word(&args, 9);
	event = make_event("", &args);
	event.label = "";
	assert_true(trace_text_split(&event));
	expect(__LINE__, &event, "[12.000345678]:cpu3: prog[1234]: n 9\n");
	args.count = 0;
	add_string(&args, "%n");
	event = make_event("", &args);
	assert_false(trace_text_split(&event));
	assert_int_equal(event.format_bytes + event.args_bytes, 0);
	args.count = 0;
	add_bytes(&args, "", KPROF_STRING_NULL, 0);
	event = make_event("", &args);
	assert_false(trace_text_split(&event));
	event.args_bytes = 1;
	assert_false(trace_text_split(&event));
}

static void test_note_says_the_number_of_lost_events(void **state)
{
	GString *out = g_string_new(NULL);

	trace_text_append_note(1000000005, 2, 17, "lost", out);
	assert_string_equal(out->str, "[1.000000005]:cpu2: 17 events lost\n");
	g_string_free(out, TRUE);
}

/* The lengths of the texts of many formats, in turn: each format keeps its own. */
static void test_many_formats_are_measured(void **state)
{
	static const char *const ends[] = {"%d", "%%%d", "%d\t", "%5d%%", "%x%s", "%.3d", "%"};
	struct trace_text *trace_text = trace_text_create();
	GString *out = g_string_new(NULL);
	struct stored args = {.count = 0};

	add_word(&args, 1234567);
	add_string(&args, "text");
	for (unsigned int i = 0; i < 2000; i++) {
		/* equal in their first bytes and their last, and every second one in its length */
		g_autofree char *format = g_strdup_printf("a number of a format: %*u, and so on %s",
			i % 2 ? 9 : 7, i / 2 % 500, ends[i % G_N_ELEMENTS(ends)]);
		struct trace_text_event event = make_event(format, &args);

		g_string_truncate(out, 0);
		trace_text_append(trace_text, &event, out);
		assert_int_equal(out->len, trace_text_measure(trace_text, &event));
	}
	g_string_free(out, TRUE);
	trace_text_destroy(trace_text);
}

/* A conversion of a random format, with its argument. */
static void add_random_conversion(GRand *random, GString *format, struct stored *args)
{
	static const char *const flags[] = {"", "", "-", "0", "#", "+", " ", "-#"};
	static const char *const sizes[] = {"", "", "5", ".3", "12.7", "*", "-*.*", "300", ".0", ".300"};
	static const char *const texts[] = {"", "a", "some text\n", "a\tb", "\033[1m", "\n\n", "\177"};
	static const char letters[] = "diouxXcspfFeEgGaA";
	const char *size = sizes[g_rand_int_range(random, 0, G_N_ELEMENTS(sizes))];
	char letter = letters[g_rand_int_range(random, 0, sizeof(letters) - 1)];

	g_string_append_printf(format, "%%%s%s%c", flags[g_rand_int_range(random, 0, G_N_ELEMENTS(flags))],
		size, letter);
	for (const char *at = size; *at; at++)
		if (*at == '*')
			add_word(args, (uint64_t)(int64_t)g_rand_int_range(random, -20, 400));
	if (letter == 's' && g_rand_int_range(random, 0, 8))
		add_string(args, texts[g_rand_int_range(random, 0, G_N_ELEMENTS(texts))]);
	else if (letter == 's')
		add_bytes(args, "", KPROF_STRING_NULL, 0);
	else if (strchr("fFeEgGaA", letter))
		add_double(args, g_rand_double_range(random, -1000, 1000));
	else
		add_word(args, (uint64_t)g_rand_int(random) >> g_rand_int_range(random, 0, 32));
}

static void test_random_events_have_their_length(void **state)
{
	static const char *const between[] = {"", "", " ", "\n", "%%", "text", "\001", "\n\n\n"};
	g_autoptr(GRand) random = g_rand_new_with_seed(1);

	for (int i = 0; i < 3000; i++) {
		g_autoptr(GString) format = g_string_new(NULL);
		struct stored args = {.count = 0};
		struct trace_text_event event;

		for (int n = g_rand_int_range(random, 0, 6); n > 0; n--) {
			g_string_append(format,
				between[g_rand_int_range(random, 0, G_N_ELEMENTS(between))]);
			add_random_conversion(random, format, &args);
		}
		g_string_append(format, between[g_rand_int_range(random, 0, G_N_ELEMENTS(between))]);
		event = make_event(format->str, &args);
		if (i % 4 == 0)
			event.flags = KPROF_RECORD_CUT;
		if (i % 3 == 0)
			event.flags |= KPROF_RECORD_GOES_ON;
		if (i % 5 == 0) {
			add_word(&args, 3);
			add_word(&args, 0x1234);
			add_word(&args, UINT64_MAX);
			event.flags |= KPROF_RECORD_STACK;
		}
		event.args_bytes = args.count - (uint32_t)(i % 7 ? 0 : MIN(args.count, 8));
		event.tid += (uint32_t)(i % 3);
		g_free(show(&event));
	}
}

static void test_lines_after_the_last_are_measured_as_escapes(void **state)
{
	struct stored args = {.count = 0};
	g_autoptr(GString) format = g_string_new(NULL);

	for (unsigned int i = 0; i < 2 * TRACE_TEXT_LINES_MAX; i++) {
		struct trace_text_event event;

		g_string_append_c(format, '\n');
		event = make_event(format->str, &args);
		g_free(show(&event));
	}
}

/* As a snapshot has them: format and arguments are in one. */
static void test_text_that_is_not_split_has_the_same_length(void **state)
{
	static const char *const formats[] = {"", "%d and %s\n", "%", "%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d"};
	struct trace_text *trace_text = trace_text_create();

	for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
		struct stored args = {.count = 0};
		struct trace_text_event event, split;

		add_string(&args, formats[i]);
		add_word(&args, 12);
		add_string(&args, "text");
		event = make_event("", &args);
		split = event;
		event.format = NULL;
		trace_text_split(&split);
		assert_int_equal(
			trace_text_measure(trace_text, &event), trace_text_measure(trace_text, &split));
		g_free(show(&split));
	}
	trace_text_destroy(trace_text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_print_as_printf_does),
		cmocka_unit_test(test_doubles_print_as_printf_does),
		cmocka_unit_test(test_pointers_print_as_numbers),
		cmocka_unit_test(test_strings_print_as_printf_does),
		cmocka_unit_test(test_each_byte_is_escaped_at_every_place),
		cmocka_unit_test(test_lines_begin_with_time_cpu_and_program),
		cmocka_unit_test(test_stars_take_their_arguments),
		cmocka_unit_test(test_hostile_arguments_are_harmless),
		cmocka_unit_test(test_longest_event_is_cut),
		cmocka_unit_test(test_stacks_and_cuts_are_printed),
		cmocka_unit_test(test_a_text_goes_on),
		cmocka_unit_test(test_stack_is_taken_out_of_the_event),
		cmocka_unit_test(test_text_is_split_from_its_arguments),
		cmocka_unit_test(test_note_says_the_number_of_lost_events),
		cmocka_unit_test(test_many_formats_are_measured),
		cmocka_unit_test(test_random_events_have_their_length),
		cmocka_unit_test(test_lines_after_the_last_are_measured_as_escapes),
		cmocka_unit_test(test_text_that_is_not_split_has_the_same_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
