/* SPDX-License-Identifier: MIT */
/* The three ways to run a program at functions of the kernel. */
#include "bpf/function_way.h"

const char *function_way_name(enum function_way way)
{
	static const char *const names[FUNCTION_WAYS] = { "fentry", "kprobes", "ftrace" };

	return names[way];
}

struct program_spec function_way_spec(enum function_way way, bool at_return, const char *name, uint32_t type,
	int btf_fd)
{
	struct program_spec spec = { .name = name, .type = BPF_PROG_TYPE_KPROBE };

	if (way == FUNCTION_FPROBE)
		spec.attach = BPF_TRACE_KPROBE_MULTI;
	if (way != FUNCTION_FENTRY)
		return spec;
	spec.type = BPF_PROG_TYPE_TRACING;
	spec.attach = at_return ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY;
	spec.attach_type_id = type;
	spec.btf_fd = btf_fd >= 0 ? btf_fd : 0;
	return spec;
}

static int attach_once(enum function_way way, int program, const char *function, uint64_t offset,
	bool at_return, int *link, struct err *err)
{
	const struct program_functions functions = { .names = &function, .count = 1 };

	switch (way) {
	case FUNCTION_KPROBE:
		return program_attach_kprobe(program, function, offset, at_return, link, err);
	case FUNCTION_FPROBE:
		return program_attach_kprobe_multi(program, &functions, at_return, link, err);
	default:
		return program_attach_tracing(program, link, err);
	}
}

int function_way_attach(enum function_way way, int program, const char *function, uint64_t offset,
	bool at_return, int *link, struct err *err)
{
	unsigned int tries = 0;
	int ret;

	do
		ret = attach_once(way, program, function, offset, at_return, link, err);
	while (program_waits_for_room(ret, &tries));
	return ret;
}
