/* SPDX-License-Identifier: MIT */
/* kernel/function with trace/trace_text, and sys/kallsyms. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf/record.h"
#include "kernel/function.h"
#include "sys/kallsyms.h"
#include "trace/trace_text.h"

#define UNSIGNED(name_, bytes_) { .name = name_, .value = { .class = TYPES_INTEGER, .bytes = bytes_ } }
#define SIGNED(name_, bytes_) \
	{ .name = name_, .value = { .class = TYPES_INTEGER, .bytes = bytes_, .is_signed = true } }
#define POINTER(name_) { .name = name_, .value = { .class = TYPES_POINTER, .bytes = 8 } }
#define STRUCT(name_, bytes_) { .name = name_, .value = { .class = TYPES_COMPOUND, .bytes = bytes_ } }

/* int tcp_sendmsg(struct sock *sk, struct msghdr *msg, size_t size) */
static const struct types_function tcp_sendmsg = { .type = 1, .count = 3,
	.params = { POINTER("sk"), POINTER("msg"), UNSIGNED("size", 8) }, .result = SIGNED("", 4) };

static char *format_of(const struct types_function *types, uint32_t flags)
{
	struct function *function = function_make("f", types);
	char *format = function_format(function, flags);

	function_destroy(function);
	return format;
}

static void assert_format(const struct types_function *types, uint32_t flags, const char *expected)
{
	g_autofree char *format = format_of(types, flags);

	assert_string_equal(format, expected);
}

static void test_formats_name_and_type_the_arguments(void **state)
{
	const struct types_function nothing = { .type = 1 };
	const struct types_function mixed = { .type = 1, .count = 4,
		.params = { SIGNED("a", 4), STRUCT("s", 16), UNSIGNED("", 1), STRUCT("t", 8) },
		.result = POINTER("") };

	assert_format(&tcp_sendmsg, 0, "sk=%#lx msg=%#lx size=%lu = %ld (%.1f us)");
	assert_format(&tcp_sendmsg, KERNEL_RECORD_NO_ENTRY, "sk=%#lx msg=%#lx size=%lu = %ld");
	assert_format(&tcp_sendmsg, KERNEL_RECORD_NO_ENTRY | KERNEL_RECORD_NO_ARGS, "? = %ld");
	assert_format(&nothing, 0, "(%.1f us)");
	assert_format(&nothing, KERNEL_RECORD_NO_ENTRY, "");
	/* structs are left out, and what has no name is named by its place */
	assert_format(&mixed, 0, "a=%ld arg2=%lu = %#lx (%.1f us)");
}

/* A record of a function, with room behind the values. */
struct sample {
	struct kernel_record record;
	struct {
		uint64_t duration_ns, result;
	} values;
	uint64_t args[8];
};
_Static_assert(offsetof(struct sample, args) == sizeof(struct kernel_record) + sizeof(struct kernel_function),
	"the values are a struct kernel_function without its arguments");

static void assert_line(const struct types_function *types, uint32_t flags, const struct sample *sample,
	size_t args, const char *expected)
{
	struct function *function = function_make("f", types);
	g_autofree char *format = function_format(function, flags);
	const size_t bytes = offsetof(struct sample, args) + args * 8;
	/* of its own size, so that a sanitizer sees reads behind it */
	struct kernel_record *copy = g_memdup2(sample, bytes);
	struct trace_text *trace_text = trace_text_create();
	GString *values = g_string_new(NULL), *line = g_string_new(NULL);
	struct trace_text_event event = { .label = "f", .program = "", .format = format,
		.format_bytes = (uint32_t)strlen(format) };

	copy->head = KERNEL_HEAD(0, 0, flags, KERNEL_ID_TRACEPOINTS);
	function_args(function, copy, bytes, values);
	event.args = values->str;
	event.args_bytes = (uint32_t)values->len;
	trace_text_append(trace_text, &event, line);
	assert_string_equal(strstr(line->str, "f: "), expected);
	g_string_free(values, TRUE);
	g_string_free(line, TRUE);
	trace_text_destroy(trace_text);
	g_free(copy);
	function_destroy(function);
}

static void test_values_have_the_bytes_of_their_types(void **state)
{
	const struct types_function mixed = { .type = 1, .count = 4,
		.params = { SIGNED("a", 4), STRUCT("s", 16), UNSIGNED("b", 1), SIGNED("c", 2) },
		.result = SIGNED("", 4) };
	struct sample sample = { .values = { .duration_ns = 1100, .result = 0xffffffea },
		.args = { 0xdeadbeeffffffff9, 1, 2, 0x12345678, 0xabcdffff } };

	assert_line(&mixed, 0, &sample, 5, "f: a=-7 b=120 c=-1 = -22 (1.1 us)\n");
	sample.args[0] = 0xffff888012345678;
	sample.args[1] = 0;
	sample.args[2] = 517;
	sample.values.result = 517;
	assert_line(&tcp_sendmsg, 0, &sample, 3, "f: sk=0xffff888012345678 msg=0 size=517 = 517 (1.1 us)\n");
	assert_line(&tcp_sendmsg, KERNEL_RECORD_NO_ENTRY | KERNEL_RECORD_NO_ARGS, &sample, 3, "f: ? = 517\n");
}

static void test_a_record_that_is_too_short_has_no_values(void **state)
{
	struct function *function = function_make("f", &tcp_sendmsg);
	struct sample sample = { .values = { .duration_ns = 1 } };
	GString *args = g_string_new(NULL);

	function_args(function, &sample.record, offsetof(struct sample, args) + 2 * 8, args);
	assert_int_equal(args->len, 0);
	function_args(function, &sample.record, offsetof(struct sample, args) + 3 * 8, args);
	assert_int_equal(args->len, 5 * 8);
	g_string_free(args, TRUE);
	function_destroy(function);
}

static void test_registers_have_the_first_six_arguments(void **state)
{
	const struct types_function many = { .type = 1, .count = 6,
		.params = { POINTER("a"), STRUCT("s", 16), POINTER("b"), POINTER("c"), STRUCT("t", 16),
			POINTER("d") } };
	struct function *function = function_make("f", &many), *copy;
	g_autofree char *format = NULL;

	assert_int_equal(function->slots, 8);
	copy = function_copy(function);
	function_limit(function);
	/* the second struct would be half in them */
	assert_int_equal(function->slots, 5);
	format = function_format(function, 0);
	assert_string_equal(format, "a=%#lx b=%#lx c=%#lx (%.1f us)");
	assert_int_equal(copy->slots, 8);
	assert_string_equal(copy->params[5].name, "d");
	function_destroy(function);
	function_destroy(copy);
}

static void test_filters_know_the_names(void **state)
{
	static const struct {
		const char *text;
		int ret;
		int line;
	} rows[] = {
		{ "size > 1024 && result < 0 && retval != -11", 0, __LINE__ },
		{ "duration_ns > 1000 || sk == 0", 0, __LINE__ },
		{ "pid == 1 && comm == \"a\"", 0, __LINE__ },
		{ "length > 1024", -EINVAL, __LINE__ },
		{ "s == 1", -EINVAL, __LINE__ },
	};
	struct types_function types = tcp_sendmsg;
	struct function *function;

	types.params[1] = (struct types_param)STRUCT("s", 16);
	function = function_make("f", &types);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct filter *filter = NULL;
		struct err err = { "" };

		if (function_filter(function, rows[i].text, &filter, &err) != rows[i].ret)
			fail_msg("line %d: %s", rows[i].line, err.text);
		filter_destroy(filter);
	}
	function_destroy(function);
}

static void test_names_of_functions(void **state)
{
	char name[600];

	assert_true(function_is_name("tcp_sendmsg"));
	assert_true(function_is_name("do_execveat_common.isra.0"));
	assert_false(function_is_name(""));
	assert_false(function_is_name(".text"));
	assert_false(function_is_name("1st"));
	assert_false(function_is_name("a b"));
	assert_false(function_is_name("a:b"));
	memset(name, 'a', sizeof(name));
	name[511] = '\0';
	assert_true(function_is_name(name));
	name[511] = 'a';
	name[512] = '\0';
	assert_false(function_is_name(name));
}

static void test_kallsyms_has_functions_and_their_modules(void **state)
{
	char path[] = "/tmp/test_function.XXXXXX", module[KALLSYMS_MODULE_MAX];
	static const char text[] = "ffffffff81000000 T _text\n"
				   "ffffffff81000010 d tcp_data\n"
				   "ffffffff81000020 t tcp_send\n"
				   "ffffffff81000030 T tcp_sendmsg\n"
				   "ffffffffc0000000 t fuse_lookup\t[fuse]\n"
				   "broken\n";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	assert_int_equal(kallsyms_find(path, "tcp_sendmsg", module), 0);
	assert_string_equal(module, "");
	assert_int_equal(kallsyms_find(path, "fuse_lookup", module), 0);
	assert_string_equal(module, "fuse");
	assert_int_equal(kallsyms_find(path, "tcp_data", module), -ENOENT);
	assert_int_equal(kallsyms_find(path, "tcp_sendms", module), -ENOENT);
	assert_int_equal(kallsyms_find(path, "broken", module), -ENOENT);
	unlink(path);
	assert_int_equal(kallsyms_find(path, "tcp_sendmsg", module), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats_name_and_type_the_arguments),
		cmocka_unit_test(test_values_have_the_bytes_of_their_types),
		cmocka_unit_test(test_a_record_that_is_too_short_has_no_values),
		cmocka_unit_test(test_registers_have_the_first_six_arguments),
		cmocka_unit_test(test_filters_know_the_names),
		cmocka_unit_test(test_names_of_functions),
		cmocka_unit_test(test_kallsyms_has_functions_and_their_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
