/* SPDX-License-Identifier: MIT */
/*
 * probes/attach_function: by which way functions of the kernel are attached. probes.md: up to 16 of a rule by
 * fentry and fexit, more by kprobe_multi, else by perf's kprobes; kperr says for each function why not. The
 * kernel is replaced: it refuses what a row says.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf/function_way.h"
#include "probes/attach_state.h"

#define FUNCTIONS_MAX 40u

/* What the kernel refuses. */
enum {
	NO_TYPES = 1 << 0,  /* fentry: the function is not in BTF */
	NO_FENTRY = 1 << 1, /* the trampoline */
	NO_FPROBE = 1 << 2,
	NO_KPROBE = 1 << 3,
};

struct row {
	uint32_t count;
	uint32_t in_other_unit; /* of the same rule and kind */
	enum ast_probe_kind kind;
	uint64_t offset; /* in the first function */
	int refused;
	bool of_first; /* only the first function */
	const char *expected; /* the links in their order: a way, how many functions, of which program */
	guint notes;
	int ret;
	int line;
};

static struct {
	const struct row *row;
	GString *links; /* of the test */
	enum bpf_prog_type type;
	enum bpf_attach_type attach;
	bool by_cookie;
} kernel;

/* ---- the kernel -------------------------------------------------------------------------------- */

static bool is_refused(int what, const char *function)
{
	return kernel.row->refused & what && (!kernel.row->of_first || strcmp(function, "f0") == 0);
}

static const char *program_name(void)
{
	if (kernel.type == BPF_PROG_TYPE_TRACING)
		return kernel.attach == BPF_TRACE_FEXIT ? "fexit" : "fentry";
	return kernel.attach == BPF_TRACE_KPROBE_MULTI ? "multi" : "kprobe";
}

static int add_link(const char *way, uint32_t count, bool at_return, int *link)
{
	g_autofree char *text = g_strdup_printf("%s/%s/%s", way, program_name(),
		at_return ? "return" : "entry");
	const char *last = strrchr(kernel.links->str, ' ');
	unsigned int before = 0;

	/* the same again is counted */
	last = last ? last + 1 : kernel.links->str;
	if (g_str_has_prefix(last, text) && last[strlen(text)] == '*') {
		before = (unsigned int)atoi(last + strlen(text) + 1);
		g_string_truncate(kernel.links, (gsize)(last - kernel.links->str));
	} else if (kernel.links->len) {
		g_string_append_c(kernel.links, ' ');
	}
	g_string_append_printf(kernel.links, "%s*%u", text, before + count);
	*link = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

int __wrap_types_function(const struct types *types, const char *name, struct types_function *function);
int __wrap_attach_load(struct attaching *attaching, const struct gen_source *source,
	const struct program_spec *spec, int *program);
int __wrap_function_way_attach(enum function_way way, int program, const char *function, uint64_t offset,
	bool at_return, int *link, struct err *err);
int __wrap_program_attach_kprobe_multi(int program, const struct program_functions *functions, bool at_return,
	int *link, struct err *err);

int __wrap_types_function(const struct types *types, const char *name, struct types_function *function)
{
	*function = (struct types_function){ .type = 1 };
	return is_refused(NO_TYPES, name) ? -ENOENT : 0;
}

int __wrap_attach_load(struct attaching *attaching, const struct gen_source *source,
	const struct program_spec *spec, int *program)
{
	kernel.type = spec->type;
	kernel.attach = spec->attach;
	kernel.by_cookie = source->by_cookie;
	*program = open("/dev/null", O_RDONLY | O_CLOEXEC);
	g_array_append_val(attaching->attached->programs, *program);
	return 0;
}

int __wrap_function_way_attach(enum function_way way, int program, const char *function, uint64_t offset,
	bool at_return, int *link, struct err *err)
{
	static const int bits[FUNCTION_WAYS] = { [FUNCTION_FENTRY] = NO_FENTRY, [FUNCTION_KPROBE] = NO_KPROBE,
		[FUNCTION_FPROBE] = NO_FPROBE };

	/* only perf's kprobes have offsets */
	if (is_refused(bits[way], function) || (offset && way != FUNCTION_KPROBE))
		return err_set(err, EOPNOTSUPP, "refused");
	return add_link(function_way_name(way), 1, at_return, link);
}

int __wrap_program_attach_kprobe_multi(int program, const struct program_functions *functions, bool at_return,
	int *link, struct err *err)
{
	assert_true(kernel.by_cookie);
	for (uint32_t i = 0; i < functions->count; i++) {
		g_autofree char *name = g_strdup_printf("f%u", i);

		assert_string_equal(functions->names[i], name);
		assert_int_equal(functions->cookies[i], i);
	}
	if (is_refused(NO_FPROBE, "f0"))
		return err_set(err, EOPNOTSUPP, "refused");
	return add_link("together", functions->count, at_return, link);
}

/* ---- one row ----------------------------------------------------------------------------------- */

static void attach_row(const struct row *row)
{
	static char names[FUNCTIONS_MAX][12];
	const struct ast_rule rule = { .filter = NULL };
	struct ast_probe probe = { .kind = row->kind }, first = { .kind = row->kind, .offset = row->offset };
	struct ast_target targets[FUNCTIONS_MAX];
	struct ast_unit other = { .rule = &rule, .kind = row->kind, .target_count = row->in_other_unit };
	struct ast_unit unit = { .rule = &rule, .kind = row->kind, .targets = targets,
		.target_count = row->count, .next = &other };
	struct ast ast = { .units = &unit };
	struct gen_env env = { .ast = &ast };
	const struct attach_machine machine = { .types = (const struct types *)&ast };
	struct attached attached;
	struct err err = { "" };
	struct attaching attaching = { .machine = &machine, .env = &env, .unit = &unit, .target = targets,
		.attached = &attached, .err = &err };
	g_autoptr(GString) links = g_string_new(NULL);
	int ret;

	for (uint32_t i = 0; i < row->count; i++) {
		snprintf(names[i], sizeof(names[i]), "f%u", i);
		targets[i] = (struct ast_target){ .probe = i ? &probe : &first, .number = i, .name = names[i],
			.text = names[i], .next = i + 1 < row->count ? &targets[i + 1] : NULL };
	}
	kernel.row = row;
	kernel.links = links;
	attached_init(&attached);
	ret = attach_kprobes(&attaching);
	if (ret != row->ret || strcmp(links->str, row->expected) != 0 || attached.notes->len != row->notes ||
		(!ret && attached.programs->len != attached.links->len))
		fail_msg("line %d: %d (%s), '%s', %u notes, %u programs, %u links", row->line, ret, err.text,
			links->str, attached.notes->len, attached.programs->len, attached.links->len);
	if (ret)
		assert_non_null(strstr(err.text, "refused"));
	attached_fini(&attached);
}

static void test_the_first_way_that_the_kernel_takes_is_chosen(void **state)
{
	static const struct row rows[] = {
		/* up to 16 by trampolines */
		{ 1, 0, PROBE_KPROBE, 0, 0, false, "fentry/fentry/entry*1", 0, 0, __LINE__ },
		{ 16, 0, PROBE_KPROBE, 0, 0, false, "fentry/fentry/entry*16", 0, 0, __LINE__ },
		{ 16, 0, PROBE_KRETPROBE, 0, 0, false, "fentry/fexit/return*16", 0, 0, __LINE__ },
		/* more by one link */
		{ 17, 0, PROBE_KPROBE, 0, 0, false, "together/multi/entry*17", 0, 0, __LINE__ },
		{ 17, 0, PROBE_KRETPROBE, 0, 0, false, "together/multi/return*17", 0, 0, __LINE__ },
		{ 40, 0, PROBE_KPROBE, 0, NO_FENTRY | NO_TYPES | NO_KPROBE,
			false, "together/multi/entry*40", 0,
			0, __LINE__ },
		/* the functions of a rule count, which may be in several units */
		{ 9, 8, PROBE_KPROBE, 0, 0, false, "together/multi/entry*9", 0, 0, __LINE__ },
		{ 9, 7, PROBE_KPROBE, 0, 0, false, "fentry/fentry/entry*9", 0, 0, __LINE__ },
		/* many without that link: one by one, and not by trampolines, said once */
		{ 17, 0, PROBE_KPROBE, 0, NO_FPROBE, false, "kprobes/kprobe/entry*17", 1, 0, __LINE__ },
		/* few without trampolines: the next way, said for each */
		{ 2, 0, PROBE_KPROBE, 0, NO_FENTRY, false, "ftrace/multi/entry*2", 2, 0, __LINE__ },
		{ 2, 0, PROBE_KRETPROBE, 0, NO_TYPES, false, "ftrace/multi/return*2", 2, 0, __LINE__ },
		{ 2, 0, PROBE_KPROBE, 0, NO_FENTRY | NO_FPROBE, false, "kprobes/kprobe/entry*2", 2, 0,
			__LINE__ },
		{ 3, 0, PROBE_KPROBE, 0, NO_TYPES, true, "ftrace/multi/entry*1 fentry/fentry/entry*2", 1, 0,
			__LINE__ },
		/* a place within a function: only perf's kprobes */
		{ 1, 0, PROBE_KPROBE, 4, 0, false, "kprobes/kprobe/entry*1", 0, 0, __LINE__ },
		{ 17, 0, PROBE_KPROBE, 4, 0, false, "kprobes/kprobe/entry*17", 0, 0, __LINE__ },
		{ 1, 0, PROBE_KPROBE, 4, NO_KPROBE, false, "", 0, -EOPNOTSUPP, __LINE__ },
		/* none of them */
		{ 1, 0, PROBE_KPROBE, 0, NO_FENTRY | NO_FPROBE | NO_KPROBE, false, "", 0, -EOPNOTSUPP,
			__LINE__ },
		{ 17, 0, PROBE_KPROBE, 0, NO_FPROBE | NO_KPROBE, false, "", 1, -EOPNOTSUPP, __LINE__ },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		attach_row(&rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_way_that_the_kernel_takes_is_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
