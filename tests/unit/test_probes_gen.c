/* SPDX-License-Identifier: MIT */
/*
 * The instructions that texts become (probes/gen*.c), and what their maps then hold as text (probes/store,
 * probes/answer): each text is a BEGIN that is run once in this process by the kernel. Skipped where
 * bpf(2) is refused or the kernel does not describe its types.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf/map.h"
#include "bpf/queue.h"
#include "bpf/rings.h"
#include "probes/answer.h"
#include "probes/layout.h"
#include "probes/parser.h"
#include "probes/probe.h"

struct machine_state {
	struct targets *targets;
	struct queue *queue;
	struct emit_machine machine;
	GString *printed; /* what the program has asked the server to print */
	struct outputs *outputs;
	_Atomic uint32_t serials;
	bool as_json; /* of the programs to be made */
};

static struct machine_state host;

static int hold(void *arg, const struct emit_machine **machine, struct err *err)
{
	(void)arg, (void)err;
	*machine = &host.machine;
	return 0;
}

static void release(void *arg)
{
	(void)arg;
}

static void add_outputs(void *arg, uint32_t serial, const char *label, struct outputs *outputs)
{
	(void)arg, (void)serial, (void)label;
	outputs_put(host.outputs);
	host.outputs = outputs;
}

static void message(void *arg, const char *label, const struct gen_action *action, const char *text,
	size_t bytes)
{
	(void)arg, (void)label, (void)action;
	g_string_append_len(host.printed, text, (gssize)bytes);
}

static void note(void *arg, const char *name, const char *text)
{
	(void)arg;
	print_error("%s: %s\n", name, text);
}

static void end_outputs(void *arg, uint32_t serial)
{
	(void)arg, (void)serial;
}

static const struct probe_hooks hooks = { .hold = hold, .release = release, .add_outputs = add_outputs,
	.end_outputs = end_outputs, .message = message, .note = note };

static void take_action(void *arg, const void *record, size_t bytes)
{
	const struct gen_action *action = record;

	probe_act(*(struct probe **)arg, action, action + 1, bytes - sizeof(*action));
}

static struct probe *acting; /* the program whose actions are taken */

/* ---- running ------------------------------------------------------------------------------------ */

/* The records that the program has written since the last call, as text. */
static void take_records(GString *out)
{
	static uint64_t taken[64];
	const struct value_names names = { .targets = host.outputs->targets };

	for (uint32_t cpu = 0; cpu < rings_cpus(host.machine.rings) && cpu < 64; cpu++) {
		const struct kernel_record *record;
		struct rings_copy copy;
		uint64_t at, output;

		if (rings_copy((struct rings *)(uintptr_t)host.machine.rings, cpu, taken[cpu], false, &copy))
			continue;
		at = copy.begin;
		while ((record = rings_next(&copy, &at))) {
			uint32_t bytes = KERNEL_HEAD_UNITS(record->head) * 8;

			assert_int_equal(KERNEL_HEAD_ID(record->head), KERNEL_ID_PROBE);
			assert_int_equal(record->tid, gettid());
			memcpy(&output, record + 1, sizeof(output));
			output_print(host.outputs, (uint32_t)output, record->time_ns,
				(const char *)(record + 1) + sizeof(output),
				bytes - (uint32_t)sizeof(*record) - (uint32_t)sizeof(output), &names, out);
		}
		taken[cpu] = copy.end;
		rings_copy_clear(&copy);
	}
}

/* The text of all maps after the program has run `times`, or the reason why it was refused. */
static char *run(const char *text, unsigned int times, GString *printed)
{
	const struct probe_options options = { .name = "test", .hooks = &hooks, .machine = &host.machine,
		.targets = host.targets, .actions = queue_map(host.queue), .serials = &host.serials,
			.keys = 16, .as_json = host.as_json };
	const struct value_names names = { 0 };
	GString *out = g_string_new(NULL);
	struct err err = { "" };
	struct ast *ast = NULL;
	struct probe *probe = NULL;
	char *counts;
	int ret = parser_parse(text, strlen(text), &ast, &err);

	if (!ret)
		ret = probe_create(&options, ast, text, &probe, &err);
	if (ret) {
		g_string_append(out, err.text);
		return g_string_free(out, FALSE);
	}
	probe_run(probe);
	for (unsigned int i = 0; i < times; i++) {
		acting = probe;
		probe_begin(probe);
		queue_read(host.queue);
	}
	probe_print(probe, &names, NULL, out);
	if (printed) {
		/* the records first */
		take_records(printed);
		g_string_append(printed, host.printed->str);
	}
	g_string_truncate(host.printed, 0);
	probe_destroy(probe);
	counts = strstr(out->str, "# ");
	if (counts)
		g_string_truncate(out, (gsize)(counts - out->str));
	return g_string_free(out, FALSE);
}

#define BAR "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"
#define HALF "@@@@@@@@@@@@@@@@@@@@@@@@@@                          "
#define NO_BAR "                                                    "

static const struct {
	int line;
	const char *text, *answer;
} rows[] = {
	/* integers */
	{ __LINE__, "BEGIN { @ = 7 + 3 * 2 - 1; }", "@: 12\n" },
	{ __LINE__, "BEGIN { $x = 17; @d = $x / 5; @m = $x % 5; }", "@d: 3\n@m: 2\n" },
	{ __LINE__, "BEGIN { $x = -17; @d = $x / 5; @m = $x % 5; @s = $x >> 1; }",
		"@d: -3\n@m: -2\n@s: -9\n" },
	{ __LINE__, "BEGIN { $x = 0; @d = 5 / $x; }", "@d: 0\n" },
	{ __LINE__,
		"BEGIN { $x = 12; @a = $x & 10; @o = $x | 3; @x = $x ^ 5; @n = ~$x & 255; @l = $x << 2; }",
		"@a: 8\n@o: 15\n@x: 9\n@n: 243\n@l: 48\n" },
	{ __LINE__, "BEGIN { $x = 5; @a = $x == 5; @b = $x != 5; @c = $x < 6; @d = $x <= 4; @e = $x > -1; }",
		"@a: 1\n@b: 0\n@c: 1\n@d: 0\n@e: 1\n" },
	{ __LINE__,
		"BEGIN { $x = 5; @a = !$x; @b = $x && 0; @c = $x || 0; @d = $x ? 1 : 2; @e = 0 ? 1 : 2; }",
		"@a: 0\n@b: 0\n@c: 1\n@d: 1\n@e: 2\n" },
	{ __LINE__, "BEGIN { $i = 1; @a = $i++; @b = $i; @c = ++$i; @d = $i--; @e = --$i; }",
		"@a: 1\n@b: 2\n@c: 3\n@d: 3\n@e: 1\n" },
	{ __LINE__, "BEGIN { $i = 6; $i += 4; $i *= 3; $i -= 2; $i /= 4; $i <<= 1; @ = $i; }", "@: 14\n" },
	{ __LINE__, "BEGIN { $x = 300; @a = (uint8)$x; @b = (int8)200; @c = (uint16)-1; }",
		"@a: 44\n@b: -56\n@c: 65535\n" },
	/* the second side is not looked at when the first one decides */
	{ __LINE__, "BEGIN { $x = 0 && @a++; $x = 1 || @b++; $x = 1 && @c++; }", "@c: 1\n" },
	/* statements */
	{ __LINE__, "BEGIN { if (1 == 2) { @a = 1; } else { @a = 2; } if (3 > 2) { @b = 3; } }",
		"@a: 2\n@b: 3\n" },
	{ __LINE__, "BEGIN { unroll(5) { @n++; } }", "@n: 5\n" },
	{ __LINE__, "BEGIN { @a = 1; return; @b = 1; }", "@a: 1\n" },
	/* variables that were never set */
	{ __LINE__, "BEGIN { if (@u == 0) { @a = 4; } @b = @k[3] + 1; if (@a == 5) { @u = 1; @k[3] = 1; } }",
		"@a: 4\n@b: 1\n" },
	/* strings */
	{ __LINE__, "BEGIN { @a = \"abc\"; $s = \"de\"; @b = $s; @c[$s, \"f\"] = 1; }",
		"@a: abc\n@b: de\n@c[de, f]: 1\n" },
	{ __LINE__, "BEGIN { $s = \"abc\"; @a = $s == \"abc\"; @b = $s == \"abd\"; @c = $s != \"ab\"; }",
		"@a: 1\n@b: 0\n@c: 1\n" },
	{ __LINE__,
		"BEGIN { @a = strncmp(\"abcd\", \"abxy\", 2); @b = strncmp(\"abcd\", \"abxy\", 3) != 0; }",
		"@a: 0\n@b: 1\n" },
	{ __LINE__, "BEGIN { @[comm] = count(); @c = comm == \"gen test\"; }", "@[gen test]: 1\n@c: 1\n" },
	/* keys and tuples */
	{ __LINE__, "BEGIN { @[1, 2] = 3; @[1, 3] = 4; @[1, 2] = 5; delete(@[1, 3]); }", "@[1, 2]: 5\n" },
	{ __LINE__, "BEGIN { $t = (1, \"two\"); @a = $t.0; @b = $t.1; @t[$t] = 1; }",
		"@a: 1\n@b: two\n@t[(1, two)]: 1\n" },
	/* highest last */
	{ __LINE__, "BEGIN { @[1] = 30; @[2] = 10; @[3] = 20; }", "@[2]: 10\n@[3]: 20\n@[1]: 30\n" },
	{ __LINE__, "BEGIN { @x[1]++; @x[1]++; @x[2]--; @x[3] += 5; @x[3] -= 1; }",
		"@x[2]: -1\n@x[1]: 2\n@x[3]: 4\n" },
	/* aggregations */
	{ __LINE__, "BEGIN { @c = count(); @c = count(); @s = sum(5); @s = sum(-7); }", "@c: 2\n@s: -2\n" },
	{ __LINE__, "BEGIN { @a = min(5); @a = min(-3); @a = min(4); @b = max(-5); @b = max(-3); }",
		"@a: -3\n@b: -3\n" },
	{ __LINE__, "BEGIN { @a = avg(4); @a = avg(8); @s = stats(4); @s = stats(8); }",
		"@a: 6\n@s: count 2, average 6, total 12\n" },
	{ __LINE__, "BEGIN { @[\"k\"] = sum(3); @[\"k\"] = sum(4); }", "@[k]: 7\n" },
	{ __LINE__, "BEGIN { @h = hist(-1); @h = hist(0); @h = hist(0); @h = hist(1); @h = hist(3); }",
		"@h:\n"
		"(..., 0)               1 |" HALF "|\n"
		"[0]                    2 |" BAR "|\n"
		"[1]                    1 |" HALF "|\n"
		"[2, 4)                 1 |" HALF "|\n\n" },
	{ __LINE__, "BEGIN { @h[9] = hist(1023); @h[9] = hist(4096); }",
		"@h[9]:\n"
		"[512, 1K)              1 |" BAR "|\n"
		"[1K, 2K)               0 |" NO_BAR "|\n"
		"[2K, 4K)               0 |" NO_BAR "|\n"
		"[4K, 8K)               1 |" BAR "|\n\n" },
	{ __LINE__, "BEGIN { @l = lhist(-1, 0, 30, 10); @l = lhist(0, 0, 30, 10); @l = lhist(29, 0, 30, 10); "
		    "@l = lhist(30, 0, 30, 10); @l = lhist(500, 0, 30, 10); }",
		"@l:\n"
		"(..., 0)               1 |" HALF "|\n"
		"[0, 10)                1 |" HALF "|\n"
		"[10, 20)               0 |" NO_BAR "|\n"
		"[20, 30)               1 |" HALF "|\n"
		"[30, ...)              2 |" BAR "|\n\n" },
};

static void test_each_text_has_its_answer(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		g_autofree char *answer = run(rows[i].text, 1, NULL);

		if (strcmp(answer, rows[i].answer) != 0)
			fail_msg("row of line %d: %s\nexpected:\n%sfound:\n%s", rows[i].line, rows[i].text,
				rows[i].answer, answer);
	}
}

static const struct {
	int line;
	const char *text, *printed;
} prints[] = {
	{ __LINE__, "BEGIN { printf(\"plain\\n\"); }", "plain\n" },
	{ __LINE__,
		"BEGIN { printf(\"%d %i %u %x %X %o %c|%5d|%-5d|%05d %%\\n\", "
		"-3, 4, 5, 255, 255, 8, 65, 1, 2, 3); }",
		"-3 4 5 ff FF 10 A|    1|2    |00003 %\n" },
	{ __LINE__, "BEGIN { printf(\"%s|%6s|%-6s|%.2s\\n\", \"ab\", \"cd\", \"ef\", \"ghi\"); }",
		"ab|    cd|ef    |gh\n" },
	{ __LINE__, "BEGIN { printf(\"%s %d\\n\", comm, pid == tid); }", "gen test 1\n" },
	{ __LINE__, "BEGIN { printf(\"%lld %lx\\n\", 1 << 40, 1 << 40); }", "1099511627776 10000000000\n" },
	{ __LINE__, "BEGIN { @a = 5; print(@a); print(\"text\"); print((1, 2)); }", "@a: 5\ntext\n(1, 2)\n" },
	/* a map without keys: its value at that moment, and nothing if it is not set */
	{ __LINE__, "BEGIN { @s = \"longer text\"; print(@s); @s = \"b\"; print(@s); "
		    "delete(@s); print(@s); }",
		"@s: longer text\n@s: b\n" },
	{ __LINE__, "BEGIN { @t = (1, \"ab\", -3); print(@t); @i = ntop(0x0100007f); print(@i); }",
		"@t: (1, ab, -3)\n@i: 127.0.0.1\n" },
	{ __LINE__, "BEGIN { @p = probe; print(@p); @u = ksym(16); print(@u); @ = -1; print(@); }",
		"@p: BEGIN\n@u: 0x10\n@: -1\n" },
	{ __LINE__, "BEGIN { @n = 7; print(@n, 0, 2); @n = -7; print(@n, 1, 2); "
		    "if (0) { @z = 1; } print(@z); }",
		"@n: 3\n@n: -3\n" },
	/* one key: the value, and of an aggregation the line of the map */
	{ __LINE__, "BEGIN { @p[1, \"a\"] = 4; print(@p[1, \"a\"]); @m[1] = count(); @m[2] = count(); "
		    "@m[2] = count(); print(@m[2]); print(@m[3]); $k = 1; print(@m[$k]); }",
		"4\n@m[2]: 2\n@m[1]: 1\n" },
	{ __LINE__, "BEGIN { @a[\"k\", 2] = avg(4); @a[\"k\", 2] = avg(8); @a[\"j\", 2] = avg(1); "
		    "print(@a[\"k\", 2]); @h[probe] = hist(5); print(@h[probe]); }",
		"@a[k, 2]: 6\n@h[BEGIN]:\n[4, 8)                 1 |" BAR "|\n\n" },
	{ __LINE__, "BEGIN { printf(\"%s\\n\", probe); }", "BEGIN\n" },
	/* what has 32 bits is an int, as bpftrace 0.17 prints it */
	{ __LINE__, "BEGIN { printf(\"%d %u %x %ld\\n\", (uint32)-1, (uint32)-1, (uint32)-1, (uint32)-1); }",
		"-1 4294967295 ffffffff 4294967295\n" },
	{ __LINE__, "BEGIN { printf(\"%d %u %x %lu\\n\", (int32)-1, (int32)-1, (int8)-1, (int32)-1); }",
		"-1 4294967295 ffffffff 18446744073709551615\n" },
	{ __LINE__, "BEGIN { printf(\"%d %d %u\\n\", (uint16)-1, (uint8)-1, (int8)-1); }",
		"65535 255 4294967295\n" },
	{ __LINE__, "BEGIN { print((\"a\\nb\", 1)); }", "(a\\x0ab, 1)\n" },
	/* the bytes of a string: zeros behind it, and what is in memory from its address */
	{ __LINE__, "BEGIN { printf(\"%r|%r|%r\\n\", buf(\"abc\", 3), "
		    "buf(\"abcdef\", 3), buf(\"abc\", 9)); }",
		"abc|abc|abc\\x00\\x00\\x00\\x00\\x00\\x00\n" },
	{ __LINE__, "BEGIN { $s = \"hello\"; @m = \"xyz\"; $n = 2; "
		    "printf(\"%r|%r|%r|%r\\n\", buf($s, 4), buf(@m, 3), buf(comm, 5), buf(\"abc\", $n)); }",
		"hell|xyz|gen t|ab\n" },
	{ __LINE__, "BEGIN { printf(\"%r|%r\\n\", buf(curtask->comm, 10), buf(str(0), 2)); }",
		"gen test\\x00\\x00|\\x00\\x00\n" },
	{ __LINE__, "BEGIN { print(strftime(\"\", nsecs)); print(strftime(\"%% ff\\n\", 0)); }",
		"\n% ff\n\n" },
};

static void test_each_text_prints(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(prints) / sizeof(prints[0]); i++) {
		g_autoptr(GString) printed = g_string_new(NULL);
		g_autofree char *answer = run(prints[i].text, 1, printed);

		if (strcmp(printed->str, prints[i].printed) != 0)
			fail_msg("row of line %d: %s\nexpected: %sfound: %s(%s)", prints[i].line,
				prints[i].text,
				prints[i].printed, printed->str, answer);
	}
}

/* The lines of bpftrace 0.17. */
static void test_maps_without_keys_print_as_json(void **state)
{
	static const char text[] = "BEGIN { @s = \"abc\"; print(@s); @n = 5; print(@n); @t = (1, \"ab\"); "
		"print(@t); delete(@n); print(@n); print(7); "
		"@m[1] = count(); @m[2] = count(); print(@m[2]); }";
	g_autoptr(GString) printed = g_string_new(NULL);
	g_autofree char *answer = NULL;

	(void)state;
	host.as_json = true;
	answer = run(text, 1, printed);
	host.as_json = false;
	assert_string_equal(printed->str, "{\"type\": \"map\", \"data\": {\"@s\": \"abc\"}}\n"
		"{\"type\": \"map\", \"data\": {\"@n\": 5}}\n"
		"{\"type\": \"map\", \"data\": {\"@t\": [1,\"ab\"]}}\n"
		"{\"type\": \"value\", \"data\": 7}\n"
		"{\"type\": \"map\", \"data\": {\"@m\": {\"2\": 1}}}\n");
}

/* What date(1) says. */
static void date(const char *format, char *text, size_t size)
{
	g_autofree char *command = g_strdup_printf("date '+%s'", format);
	FILE *pipe = popen(command, "re");

	assert_non_null(pipe);
	assert_non_null(fgets(text, (int)size, pipe));
	assert_int_equal(pclose(pipe), 0);
	text[strcspn(text, "\n")] = '\0';
}

/* Times in these forms are in order as texts too. */
static void test_times_are_those_of_date(void **state)
{
	static const struct {
		int line;
		const char *text, *format, *before, *behind; /* what is around the time */
		bool as_json, in_answer;
	} times[] = {
		{ __LINE__, "BEGIN { printf(\"at %s.\\n\", strftime(\"%F %T\", nsecs)); }",
			"%F %T", "at ", ".\n", false, false },
		{ __LINE__, "BEGIN { printf(\"%22s\\n\", strftime(\"%F %T\", nsecs)); }",
			"%F %T", "   ", "\n", false, false },
		{ __LINE__, "BEGIN { print(strftime(\"%s.%f\", nsecs)); }",
			"%s.%6N", "", "\n", false, false },
		{ __LINE__, "BEGIN { $t = strftime(\"%F %T\", nsecs); print((1, $t)); }",
			"%F %T", "(1, ", ")\n", false, false },
		{ __LINE__, "BEGIN { @t = strftime(\"%F %T\", nsecs); print(@t); }", "%F %T", "@t: ", "\n",
			false, false },
		{ __LINE__, "BEGIN { @t = strftime(\"%F %T %z\", nsecs); }", "%F %T %z", "@t: ", "\n",
			false, true },
		{ __LINE__, "BEGIN { @[strftime(\"%F %T\", nsecs), 2] = 7; }", "%F %T", "@[", ", 2]: 7\n",
			false, true },
		{ __LINE__, "BEGIN { print(strftime(\"%F %T\", nsecs)); }", "%F %T",
			"{\"type\": \"value\", \"data\": \"", "\"}\n", true, false },
		{ __LINE__, "BEGIN { @t = strftime(\"%F %T\", nsecs); print(@t); }", "%F %T",
			"{\"type\": \"map\", \"data\": {\"@t\": \"", "\"}}\n", true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		g_autoptr(GString) printed = g_string_new(NULL);
		g_autofree char *answer = NULL, *time = NULL;
		const char *found;
		char first[64], last[64];

		date(times[i].format, first, sizeof(first));
		host.as_json = times[i].as_json;
		answer = run(times[i].text, 1, printed);
		host.as_json = false;
		date(times[i].format, last, sizeof(last));
		found = times[i].in_answer ? answer : printed->str;
		if (!g_str_has_prefix(found, times[i].before) || !g_str_has_suffix(found, times[i].behind))
			fail_msg("row of line %d: %s", times[i].line, found);
		time = g_strndup(found + strlen(times[i].before),
			strlen(found) - strlen(times[i].before) - strlen(times[i].behind));
		if (strlen(time) != strlen(first) || strcmp(first, time) > 0 || strcmp(time, last) > 0)
			fail_msg("row of line %d: %s, and date says %s and %s", times[i].line, time, first,
				last);
	}
}

/* What bpftrace 0.17 prints for a program of such a user; a sum has 64 bits here. */
static void test_built_ins_of_32_bits_print_as_int(void **state)
{
	static const char text[] = "BEGIN { printf(\"%d %u %x %ld %d\\n\", uid, uid, uid, uid, uid + 2); "
		"print(uid); }";
	g_autoptr(GString) printed = g_string_new(NULL);
	const uid_t before = getuid();
	g_autofree char *answer = NULL;

	(void)state;
	if (setresuid(4294967294u, (uid_t)-1, (uid_t)-1))
		skip();
	answer = run(text, 1, printed);
	assert_int_equal(setresuid(before, (uid_t)-1, (uid_t)-1), 0);
	assert_string_equal(printed->str, "-2 4294967294 fffffffe 4294967294 4294967296\n4294967294\n");
}

/* Texts that the checker or the instructions refuse: the reason is the answer. */
static void test_refused_texts_say_why(void **state)
{
	static const struct {
		int line;
		const char *text, *reason;
	} refused[] = {
		{ __LINE__, "BEGIN { @x[1] = count(); print(@x, 0, -1); }", "the divisor is not above 0" },
		{ __LINE__, "BEGIN { @x[1] = count(); print(@x, 0, 0); }", "the divisor is not above 0" },
		{ __LINE__, "BEGIN { print(strftime(\"%256d\", nsecs)); }",
			"line 1, column 24: the text of this format can have more than 255 bytes" },
		{ __LINE__, "BEGIN { @a = strftime(\"%F\", nsecs); @a = strftime(\"%T\", nsecs); }",
			"line 1, column 37: @a is a time in another format elsewhere" },
		{ __LINE__, "BEGIN { @[(1, strftime(\"%F\", 1))] = 1; @[(1, strftime(\"%T\", 1))] = 1; }",
			"a key of @ is a time in another format elsewhere" },
		{ __LINE__, "BEGIN { print(pid ? strftime(\"%F\", nsecs) : strftime(\"%T\", nsecs)); }",
			"the two sides are times in different formats" },
		{ __LINE__, "BEGIN { printf(\"%d\", strftime(\"%F\", nsecs)); }",
			"a time can't be printed with '%d'" },
		{ __LINE__, "BEGIN { @ = arg3; }", "line 1, column 13: BEGIN probes have no 'arg3'" },
		/* 100 * 100 * 100 passes */
		{ __LINE__, "BEGIN { unroll(100) { unroll(100) { unroll(100) { } } } }",
			"unroll() has more than" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		g_autofree char *answer = run(refused[i].text, 1, NULL);

		if (!strstr(answer, refused[i].reason))
			fail_msg("row of line %d: %s", refused[i].line, answer);
	}
}

/* More keys than a map has room for (16): they are counted, and the others are right. */
static void test_keys_without_room_are_counted(void **state)
{
	g_autofree char *answer = run("BEGIN { $i = 0; unroll(20) { @[$i] = count(); $i++; } }", 1, NULL);
	unsigned int lines = 0;

	(void)state;
	for (const char *at = answer; *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, 16);
}

/* The buckets of hist() follow each other without a gap, and each number is within its own. */
static void test_buckets_are_contiguous(void **state)
{
	(void)state;
	for (uint32_t bits = 0; bits <= 5; bits++) {
		uint64_t end = 0;

		for (uint32_t i = 1; i < layout_hist_buckets(bits); i++) {
			int64_t low;
			uint64_t high;

			layout_hist_bounds(bits, i, &low, &high);
			assert_int_equal((uint64_t)low, end);
			assert_int_equal(layout_hist_bucket(bits, low), i);
			assert_int_equal(layout_hist_bucket(bits, (int64_t)(high - 1)), i);
			end = high;
		}
		assert_true(end == (uint64_t)1 << 63);
		assert_int_equal(layout_hist_bucket(bits, -1), 0);
		assert_int_equal(layout_hist_bucket(bits, INT64_MIN), 0);
	}
}

/* ---- set-up ------------------------------------------------------------------------------------- */

static int create_machine(void **state)
{
	const struct map_spec control = { .type = BPF_MAP_TYPE_ARRAY, .name = "test", .key_bytes = 4,
		.value_bytes = 8, .entries = 1 };
	const uint32_t zero = 0;
	const uint64_t one = 1;
	struct rings *rings = NULL;
	struct err err = { "" };
	const struct types *types;
	int ret = targets_open(NULL, &host.targets, &err);

	(void)state;
	if (!ret)
		ret = rings_create(RINGS_KB_MIN, &rings, &err);
	types = host.targets ? targets_types(host.targets, NULL) : NULL;
	if (ret || !types)
		return -1;
	host.machine.rings = rings;
	if (emit_machine_init(&host.machine, types, &err) || emit_machine_find_own(&host.machine, &err) ||
		map_create(&control, &host.machine.control, &err) ||
		map_update(host.machine.control, &zero, &one, 0) ||
		queue_create(65536, take_action, &acting, &host.queue, &err)) {
		print_error("%s\n", err.text);
		return -1;
	}
	host.printed = g_string_new(NULL);
	return prctl(PR_SET_NAME, "gen test");
}

static int destroy_machine(void **state)
{
	(void)state;
	queue_destroy(host.queue);
	close(host.machine.control);
	rings_destroy((struct rings *)(uintptr_t)host.machine.rings);
	targets_close(host.targets);
	outputs_put(host.outputs);
	g_string_free(host.printed, TRUE);
	return 0;
}

/* Whether this process may make a map, and the kernel has types. */
static int is_possible(void)
{
	const struct map_spec spec = { .type = BPF_MAP_TYPE_ARRAY, .name = "test", .key_bytes = 4,
		.value_bytes = 8, .entries = 1 };
	struct err err = { "" };
	int fd;

	if (map_create(&spec, &fd, &err)) {
		printf("skipped: %s\n", err.text);
		return 0;
	}
	close(fd);
	return access("/sys/kernel/btf/vmlinux", R_OK) == 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_text_has_its_answer),
		cmocka_unit_test(test_each_text_prints),
		cmocka_unit_test(test_maps_without_keys_print_as_json),
		cmocka_unit_test(test_times_are_those_of_date),
		cmocka_unit_test(test_built_ins_of_32_bits_print_as_int),
		cmocka_unit_test(test_refused_texts_say_why),
		cmocka_unit_test(test_keys_without_room_are_counted),
		cmocka_unit_test(test_buckets_are_contiguous),
	};

	if (!is_possible())
		return 77;
	return cmocka_run_group_tests(tests, create_machine, destroy_machine);
}
