/* SPDX-License-Identifier: MIT */
/*
 * prof/only: the instructions of an expression, run once for this thread, as the task that runs, as any other
 * task, and as steps of a map (only_steps); and which expressions are refused. Skipped where bpf(2) is
 * refused.
 */
#include <errno.h>
#include <glib.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf/program.h"
#include "prof/only.h"
#include "prof/only_filter.h"
#include "prof/only_steps.h"
#include "sys/proc.h"

/* The table of programs: the update number `refused_update` fails, and the last program of each index. */
static unsigned int updates, refused_update;
static int placed[EVENTS_MAX];
int __real_map_update(int fd, const void *key, const void *value, uint64_t flags);
int __wrap_map_update(int fd, const void *key, const void *value, uint64_t flags);

int __wrap_map_update(int fd, const void *key, const void *value, uint64_t flags)
{
	if (++updates == refused_update)
		return -ENOMEM;
	memcpy(&placed[*(const uint32_t *)key], value, sizeof(placed[0]));
	return __real_map_update(fd, key, value, flags);
}

static struct types *types;
static struct only_fields fields;

/* Whether the expression holds for this thread, by the kernel. */
static bool holds(int line, const char *text, bool is_current)
{
	const struct program_spec spec = { .name = "test_only", .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
	struct err err = { "" };
	uint32_t result = 2;
	struct only *only;
	struct code code;
	int fd = -1, yes;

	if (only_create(text, NULL, &only, &err))
		fail_msg("line %d: %s: %s", line, text, err.text);
	code_init(&code);
	yes = code_label(&code);
	code_call(&code, BPF_FUNC_get_current_task_btf);
	code_mov(&code, BPF_REG_8, BPF_REG_0);
	only_emit(only, &fields, is_current, &code);
	code_jump_if_imm(&code, BPF_JNE, BPF_REG_0, 0, yes);
	code_return(&code, 0);
	code_place(&code, yes);
	code_return(&code, 1);
	if (code_finish(&code, &err) || program_load(&spec, &code, &fd, &err))
		fail_msg("line %d: %s: %s", line, text, err.text);
	assert_int_equal(program_run(fd, NULL, 0, &result), 0);
	close(fd);
	code_fini(&code);
	only_destroy(only);
	return result;
}

/* One program, whose steps are changed. */
static struct only_steps *steps;
static int steps_program;

static bool steps_hold(void)
{
	uint32_t result = 2;

	assert_int_equal(program_run(steps_program, NULL, 0, &result), 0);
	return result;
}

static bool holds_by_steps(int line, const char *text)
{
	struct err err = { "" };
	struct only *only;

	if (only_create(text, NULL, &only, &err) || only_steps_set(steps, only, &err))
		fail_msg("line %d: %s: %s", line, text, err.text);
	only_destroy(only);
	return steps_hold();
}

static int open_steps(struct err *err)
{
	const struct program_spec spec = { .name = "test_steps", .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
	struct code code;
	int refused, ret = only_steps_create(&steps, err);

	if (ret)
		return ret;
	code_init(&code);
	refused = code_label(&code);
	only_steps_emit(steps, &code, refused);
	code_return(&code, 1);
	code_place(&code, refused);
	code_return(&code, 0);
	ret = code_finish(&code, err);
	if (!ret)
		ret = program_load(&spec, &code, &steps_program, err);
	code_fini(&code);
	return ret;
}

static void check(int line, bool expected, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	if (holds(line, text, true) != expected || holds(line, text, false) != expected ||
		holds_by_steps(line, text) != expected)
		fail_msg("line %d: %s does not give %d", line, text, expected);
}

static void test_numbers_are_those_of_the_thread(void **state)
{
	const long tid = syscall(SYS_gettid);

	if (proc_in_first_pid_namespace(NULL)) {
		check(__LINE__, true, "pid == %d", (int)getpid());
		check(__LINE__, false, "pid == %d", (int)getpid() + 1);
		check(__LINE__, true, "tid == %ld && ppid == %d", tid, (int)getppid());
		check(__LINE__, false, "ppid != %d", (int)getppid());
	}
	check(__LINE__, true, "uid == %u", (unsigned int)getuid());
	check(__LINE__, false, "uid == %u", (unsigned int)getuid() + 1);
	check(__LINE__, true, "gid == %u", (unsigned int)getgid());
	check(__LINE__, true, "gid <= %u && gid >= %u", (unsigned int)getgid(), (unsigned int)getgid());
}

static void test_operators_are_those_of_the_language(void **state)
{
	check(__LINE__, true, "1");
	check(__LINE__, false, "0");
	check(__LINE__, true, "!0 && (0 || 2)");
	check(__LINE__, true, "1 + 2 * 3 == 7 && 7 %% 4 == 3 && 1 << 3 == 8 && (6 & 3) == 2 && (6 ^ 3) == 5");
	check(__LINE__, true, "-1 < 0 && ~0 == -1");
	check(__LINE__, false, "0x10 != 16");
	check(__LINE__, true, "uid - uid == 0 && pid / pid == 1");
}

static void test_the_name_is_that_of_the_thread(void **state)
{
	char before[16];

	assert_int_equal(prctl(PR_GET_NAME, before), 0);
	assert_int_equal(prctl(PR_SET_NAME, "a b"), 0);
	check(__LINE__, true, "comm == \"a b\"");
	check(__LINE__, true, "\"a b\" == comm");
	check(__LINE__, false, "comm == \"a\"");
	check(__LINE__, false, "comm == \"a b \"");
	check(__LINE__, true, "comm != \"\"");
	check(__LINE__, false, "comm != \"a b\"");
	assert_int_equal(prctl(PR_SET_NAME, "fifteen bytes.."), 0);
	check(__LINE__, true, "comm == \"fifteen bytes..\"");
	check(__LINE__, false, "comm == \"fifteen bytes.\"");
	assert_int_equal(prctl(PR_SET_NAME, before), 0);
}

static void test_the_cpu_is_that_which_runs(void **state)
{
	cpu_set_t all, one;
	int cpu;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		check(__LINE__, true, "cpu == %d", cpu);
		check(__LINE__, false, "cpu == %d", cpu + 1);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* The path of this process among the cgroups of version 2. */
static char *own_cgroup(void)
{
	g_autofree char *text = NULL;
	char *path;

	if (!g_file_get_contents("/proc/self/cgroup", &text, NULL, NULL))
		return NULL;
	path = g_strrstr(text, "0::/");
	return path ? g_strndup(path + 3, strcspn(path + 3, "\n")) : NULL;
}

static void test_a_cgroup_has_those_below_it(void **state)
{
	g_autofree char *path = own_cgroup();
	struct only *only = NULL;

	if (!path || only_create("cgroup == \"/\"", NULL, &only, NULL))
		skip(); /* not mounted, or in a namespace */
	only_destroy(only);
	check(__LINE__, true, "cgroup == \"/\"");
	check(__LINE__, false, "cgroup != \"/\"");
	while (strlen(path) > 1) {
		check(__LINE__, true, "cgroup == \"%s\"", path);
		*strrchr(path, '/') = '\0';
	}
}

/* ---- steps ------------------------------------------------------------------------------------ */

static void test_without_an_expression_all_are_taken(void **state)
{
	assert_false(holds_by_steps(__LINE__, "uid == 4294967294"));
	assert_int_equal(only_steps_set(steps, NULL, NULL), 0);
	assert_true(steps_hold());
	assert_int_equal(only_steps_set(steps, NULL, NULL), 0);
	assert_true(steps_hold());
}

/* A balanced tree with 2^depth ones as leaves; its sum. */
static void append_tree(GString *text, unsigned int depth, const char *operator)
{
	if (!depth) {
		g_string_append_c(text, '1');
		return;
	}
	g_string_append_c(text, '(');
	append_tree(text, depth - 1, operator);
	g_string_append(text, operator);
	append_tree(text, depth - 1, operator);
	g_string_append_c(text, ')');
}

static void test_values_are_enough_for_all_shapes_of_trees(void **state)
{
	g_autoptr(GString) tree = g_string_new("");
	g_autoptr(GString) left = g_string_new("7"), right = g_string_new("7");

	append_tree(tree, 6, "+");
	check(__LINE__, true, "%s == 64", tree->str);
	g_string_truncate(tree, 0);
	append_tree(tree, 5, "+");
	check(__LINE__, true, "2 == 34 - %s", tree->str);
	for (int i = 0; i < 30; i++) {
		g_string_append(left, "-1");
		g_string_prepend(right, "(1-");
		g_string_append_c(right, ')');
	}
	check(__LINE__, true, "%s == -23", left->str);
	/* 1-(1-(1-...7)): its sign changes 30 times */
	check(__LINE__, true, "%s == 7", right->str);
	check(__LINE__, true, "%s << 1 == 64", tree->str);
	check(__LINE__, true, "1 << (%s - 29) == 8", tree->str);
}

static void test_an_expression_of_more_steps_is_refused(void **state)
{
	g_autoptr(GString) tree = g_string_new("");
	struct err err = { "" };
	struct only *only;

	/* 63 operators */
	append_tree(tree, 6, "|");
	check(__LINE__, true, "%s", tree->str);
	check(__LINE__, false, "!%s", tree->str);
	g_string_prepend(tree, "!!");
	assert_int_equal(only_create(tree->str, NULL, &only, NULL), 0);
	assert_int_equal(only_steps_set(steps, only, &err), -E2BIG);
	assert_non_null(strstr(err.text, "65 operators"));
	assert_false(steps_hold()); /* the one before */
	only_destroy(only);
}

static void test_an_expression_with_more_cgroups_is_refused(void **state)
{
	static const char text[] = "cgroup != \"/\" || cgroup != \"/\" || cgroup != \"/\" || cgroup == \"/\"";
	g_autofree char *longer = g_strdup_printf("%s || cgroup == \"/\"", text);
	struct err err = { "" };
	struct only *only;

	if (only_create("cgroup == \"/\"", NULL, &only, NULL))
		skip(); /* not mounted, or in a namespace */
	only_destroy(only);
	check(__LINE__, true, "%s", text);
	assert_int_equal(only_create(longer, NULL, &only, NULL), 0);
	assert_int_equal(only_steps_set(steps, only, &err), -E2BIG);
	assert_non_null(strstr(err.text, "5 cgroups"));
	only_destroy(only);
}

/* Expressions by chance: steps give what the instructions give. A literal 0 is no divisor. */
static void append_random(GRand *rand, GString *text, int depth)
{
	static const char *const operators[] = { "|", "&", "^", "+", "-", "*", "/", "%", "<", ">", "==", "!=",
		"<=", ">=", "<<", ">>", "&&", "||" };
	static const char *const leaves[] = { "(uid - uid)", "1", "2", "3", "0x7fffffffffffffff", "pid",
		"uid", "(ppid - pid)" };
	static const char unary[] = "-~!";

	if (!depth || g_rand_int_range(rand, 0, 6) == 0) {
		g_string_append(text, leaves[g_rand_int_range(rand, 0, G_N_ELEMENTS(leaves))]);
		return;
	}
	g_string_append_c(text, '(');
	if (g_rand_int_range(rand, 0, 5) == 0) {
		g_string_append_c(text, unary[g_rand_int_range(rand, 0, 3)]);
		append_random(rand, text, depth - 1);
	} else {
		append_random(rand, text, depth - 1);
		g_string_append_printf(text, " %s ",
			operators[g_rand_int_range(rand, 0, G_N_ELEMENTS(operators))]);
		append_random(rand, text, depth - 1);
	}
	g_string_append_c(text, ')');
}

static void test_steps_agree_with_instructions(void **state)
{
	GRand *rand = g_rand_new_with_seed(13);
	unsigned int yes = 0;

	if (!proc_in_first_pid_namespace(NULL))
		skip();
	for (int i = 0; i < 150; i++) {
		g_autoptr(GString) text = g_string_new("");
		bool expected;

		append_random(rand, text, 5);
		expected = holds(__LINE__, text->str, true);
		yes += expected;
		if (holds_by_steps(__LINE__, text->str) != expected)
			fail_msg("%s is %d", text->str, expected);
	}
	assert_in_range(yes, 30, 120);
	g_rand_free(rand);
}

/* Each with its column, and the beginning of the sentence there. */
static void test_wrong_texts_are_refused_with_the_column(void **state)
{
	static const struct { int line; const char *text, *reason; int ret; } rows[] = {
		{ __LINE__, "", "column 1: ", -EINVAL },
		{ __LINE__, "pid", "", 0 },
		{ __LINE__, "pid ==", "column 7: ", -EINVAL },
		{ __LINE__, "pids == 1", "column 1: there is no name 'pids'; nearest: pid", -EINVAL },
		{ __LINE__, "uid == 1 && comm", "column 10: a string and a number", -EINVAL },
		{ __LINE__, "comm", "column 1: a string alone", -EINVAL },
		{ __LINE__, "comm == uid", "column 6: a string and a number", -EINVAL },
		{ __LINE__, "comm == comm", "column 6: one side must be a name", -EINVAL },
		{ __LINE__, "comm > \"a\"", "column 6: strings can be compared by", -EINVAL },
		{ __LINE__, "comm == \"sixteen bytes...\"", "column 9: the name of a task has at most 15",
			-EINVAL },
		{ __LINE__, "cgroup == 1", "column 8: a string and a number", -EINVAL },
		{ __LINE__, "cgroup == \"a\"", "column 11: the path of a cgroup begins with '/'", -EINVAL },
		{ __LINE__, "cgroup == \"/..\"", "column 11: the path of a cgroup has no part", -EINVAL },
		{ __LINE__, "!(uid == 0) && cgroup != \"/no/such\"", "column 26: ", -ENOENT },
		{ __LINE__, "retval == 1", "column 1: there is no name 'retval'", -EINVAL },
		{ __LINE__, "uid == 1; pid == 2", "column 9: ", -EINVAL },
	};
	struct err err;
	struct only *only;

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		int ret;

		err.text[0] = '\0';
		ret = only_create(rows[i].text, NULL, &only, &err);
		if (!ret)
			only_destroy(only);
		if (ret == -EOPNOTSUPP && rows[i].ret == -ENOENT)
			continue; /* no cgroups of version 2 are mounted */
		if (ret != rows[i].ret || strncmp(err.text, rows[i].reason, strlen(rows[i].reason)) != 0)
			fail_msg("line %d: %d: %s", rows[i].line, ret, err.text);
	}
}

static void test_one_cgroup_alone_is_recognized(void **state)
{
	static const struct { int line; const char *text, *path; } rows[] = {
		{ __LINE__, "cgroup == \"/\"", "/" },
		{ __LINE__, "(\"/\" == cgroup)", "/" },
		{ __LINE__, "cgroup != \"/\"", NULL },
		{ __LINE__, "cgroup == \"/\" && uid == 0", NULL },
		{ __LINE__, "(cgroup == \"/\") == 0", NULL },
		{ __LINE__, "!(cgroup == \"/\")", NULL },
		{ __LINE__, "uid == 0", NULL },
	};
	struct only *only;

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		if (only_create(rows[i].text, NULL, &only, NULL))
			skip(); /* not mounted, or in a namespace */
		if (g_strcmp0(only_cgroup(only), rows[i].path) != 0)
			fail_msg("line %d: %s", rows[i].line, rows[i].text);
		only_destroy(only);
	}
}

static void test_all_events_have_one_expression_also_after_an_error(void **state)
{
	struct only_filter *filter;
	struct only *first, *second;
	int before[3];

	assert_int_equal(only_create("uid == 1", NULL, &first, NULL), 0);
	assert_int_equal(only_create("uid == 2", NULL, &second, NULL), 0);
	assert_int_equal(only_filter_open(3, NULL, &filter, NULL), 0);
	assert_int_equal(only_filter_set(filter, first, NULL), 0);
	memcpy(before, placed, sizeof(before));
	updates = 0;
	refused_update = 3;
	assert_int_equal(only_filter_set(filter, second, NULL), -ENOMEM);
	refused_update = 0;
	assert_int_equal(updates, 5); /* two back */
	assert_memory_equal(placed, before, sizeof(before));
	assert_int_equal(only_filter_set(filter, second, NULL), 0);
	only_filter_close(filter);
	only_destroy(first);
	only_destroy(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_are_those_of_the_thread),
		cmocka_unit_test(test_operators_are_those_of_the_language),
		cmocka_unit_test(test_the_name_is_that_of_the_thread),
		cmocka_unit_test(test_the_cpu_is_that_which_runs),
		cmocka_unit_test(test_a_cgroup_has_those_below_it),
		cmocka_unit_test(test_without_an_expression_all_are_taken),
		cmocka_unit_test(test_values_are_enough_for_all_shapes_of_trees),
		cmocka_unit_test(test_an_expression_of_more_steps_is_refused),
		cmocka_unit_test(test_an_expression_with_more_cgroups_is_refused),
		cmocka_unit_test(test_steps_agree_with_instructions),
		cmocka_unit_test(test_wrong_texts_are_refused_with_the_column),
		cmocka_unit_test(test_one_cgroup_alone_is_recognized),
		cmocka_unit_test(test_all_events_have_one_expression_also_after_an_error),
	};
	struct err err = { "" };
	struct only *only;
	int ret;

	if (only_create("1", NULL, &only, NULL) || only_filter_try(only, &err)) {
		printf("skipped: %s\n", err.text);
		return 77;
	}
	only_destroy(only);
	if (types_open(NULL, &types, &err) || only_fields_init(&fields, types, &err)) {
		printf("%s\n", err.text);
		return 1;
	}
	if (open_steps(&err)) {
		printf("steps: %s\n", err.text);
		return 1;
	}
	ret = cmocka_run_group_tests_name("only", tests, NULL, NULL);
	types_close(types);
	close(steps_program);
	only_steps_destroy(steps);
	return ret;
}
