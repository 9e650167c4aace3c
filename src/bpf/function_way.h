/* SPDX-License-Identifier: MIT */
/* The three ways to run a program at functions of the kernel: which kernels have which differs. */
#ifndef KPROFS_BPF_FUNCTION_WAY_H
#define KPROFS_BPF_FUNCTION_WAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/program.h"

enum function_way {
	FUNCTION_FENTRY, /* trampolines with typed arguments */
	FUNCTION_KPROBE, /* perf's kprobes, with registers */
	FUNCTION_FPROBE, /* ftrace (kprobe_multi), with registers; many functions at once */
	FUNCTION_WAYS,
};

/* "fentry", "kprobes", "ftrace" */
const char *function_way_name(enum function_way way);

/* What a program at the entry or return is loaded as; FENTRY: type and btf_fd as program_spec has them. */
struct program_spec function_way_spec(enum function_way way, bool at_return, const char *name, uint32_t type,
	int btf_fd);

/*
 * Attaches a program that was loaded so, and waits for room if there is none. The function's name and the
 * offset in it are not looked at by FENTRY, which knows its place; only KPROBE has offsets.
 */
int function_way_attach(enum function_way way, int program, const char *function, uint64_t offset,
	bool at_return, int *link, struct err *err);

#endif
