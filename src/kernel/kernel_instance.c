/* SPDX-License-Identifier: MIT */
/* Kernel events by an instance of tracefs, where there is no bpf(2). */
#include "kernel/kernel_state.h"

#include <errno.h>
#include <string.h>

/* A filter of tracefs is at most a page. */
#define FILTER_BYTES_MAX 4000

int kernel_check_instance(const char *name, const struct kernel_choice *choice, struct err *err)
{
	const char *what = kernel_is_function(name) ? "functions of the kernel need" :
		choice->stacks ? "stacks need" : NULL;

	return what ? err_set(err, EOPNOTSUPP, "%s bpf(2), which needs the capabilities CAP_BPF and "
			      "CAP_PERFMON, or CAP_SYS_ADMIN", what) : 0;
}

int kernel_trace_point(struct kernel *kernel, const char *name, const struct filter *filter, uint32_t id,
	struct err *err)
{
	const struct kernel_meaning *meaning = kernel_point_meaning(kernel, id);
	g_autoptr(GString) text = g_string_new(NULL);
	int ret = filter ? filter_print(filter, text, err) : 0;

	if (ret)
		return ret;
	ret = instance_set_point(kernel->instance, name, meaning->point, id, filter ? text->str : NULL, err);
	if (ret) {
		/* a filter that was refused may have replaced the former one */
		kernel_untrace_point(kernel, name);
		kernel_store(kernel, name, NULL);
	}
	return ret;
}

void kernel_untrace_point(struct kernel *kernel, const char *name)
{
	instance_set_point(kernel->instance, name, NULL, 0, NULL, NULL);
}

/* The calls of one filter: "id == 1 || id == 2", with the filter behind. */
static int print_call(const struct filter *filter, unsigned int number, GString *text, struct err *err)
{
	int ret = 0;

	g_string_append_printf(text, "%s(id == %u", text->len ? " || " : "", number);
	if (filter) {
		g_string_append(text, " && (");
		ret = filter_print(filter, text, err);
		g_string_append_c(text, ')');
	}
	g_string_append_c(text, ')');
	return ret;
}

/* Whether all calls are on, with the same filter or none. */
static bool are_alike(const bool *on, const struct filter *const *filters)
{
	for (unsigned int i = 0; i < CALLNAMES_NUMBERS; i++)
		if (!on[i] || filters[i] != filters[0])
			return false;
	return true;
}

int kernel_trace_calls(struct kernel *kernel, const bool *on, const struct filter *const *filters,
	struct err *err)
{
	g_autoptr(GString) text = g_string_new(NULL);
	bool any = false;
	int ret = 0;

	for (unsigned int i = 0; i < CALLNAMES_NUMBERS; i++)
		any |= on[i];
	if (any && are_alike(on, filters)) {
		if (filters[0])
			ret = filter_print(filters[0], text, err);
	} else {
		for (unsigned int i = 0; i < CALLNAMES_NUMBERS && !ret; i++)
			if (on[i] && kernel->callnames.names[i])
				ret = print_call(filters[i], i, text, err);
	}
	if (ret)
		return ret;
	if (text->len > FILTER_BYTES_MAX)
		return err_set(err, EOPNOTSUPP,
			"without bpf(2) a filter is one of tracefs, which is too long for so many system "
			"calls");
	return instance_set_calls(kernel->instance, any, text->len ? text->str : NULL, err);
}
