/* SPDX-License-Identifier: MIT */
/* The built-ins. */
#include <ctype.h>
#include <string.h>

#include "probes/tables.h"

#define NUMBER { .kind = AST_INTEGER, .bytes = 8 }
/* One that the kernel has in 32 bits: it is computed with as any, but printf() has it as such. */
#define NUMBER_32 { .kind = AST_INTEGER, .bytes = 4 }
#define SIGNED { .kind = AST_INTEGER, .bytes = 8, .is_signed = true }

#define KERNEL_FUNCTIONS \
	(KIND_BIT(PROBE_KPROBE) | KIND_BIT(PROBE_KRETPROBE) | KIND_BIT(PROBE_FENTRY) | KIND_BIT(PROBE_FEXIT))
#define USER_FUNCTIONS	(KIND_BIT(PROBE_UPROBE) | KIND_BIT(PROBE_URETPROBE))
#define WITH_RETVAL \
	(KIND_BIT(PROBE_TRACEPOINT) | KIND_BIT(PROBE_KRETPROBE) | KIND_BIT(PROBE_FEXIT) | \
		KIND_BIT(PROBE_URETPROBE))
#define WITH_ARGUMENTS \
	(KIND_BIT(PROBE_TRACEPOINT) | KIND_BIT(PROBE_RAWTRACEPOINT) | KIND_BIT(PROBE_KPROBE) | \
		KIND_BIT(PROBE_FENTRY) | KIND_BIT(PROBE_FEXIT) | KIND_BIT(PROBE_UPROBE) | \
		KIND_BIT(PROBE_USDT) | KIND_BIT(PROBE_EVENT))
#define WITH_STACK (~(KIND_BIT(PROBE_BEGIN) | KIND_BIT(PROBE_END)))

const struct builtin_row builtin_rows[] = {
	{ "pid", BUILTIN_PID, NUMBER_32, 0, "process" },
	{ "tid", BUILTIN_TID, NUMBER_32, 0, "thread" },
	{ "uid", BUILTIN_UID, NUMBER_32, 0, "user" },
	{ "gid", BUILTIN_GID, NUMBER_32, 0, "group" },
	{ "comm", BUILTIN_COMM, { .kind = AST_STRING, .bytes = 16 }, 0, "name of the thread" },
	{ "cpu", BUILTIN_CPU, NUMBER_32, 0, "CPU" },
	{ "cpid", BUILTIN_CPID, NUMBER, 0, "process of -c" },
	{ "nsecs", BUILTIN_NSECS, NUMBER, 0, "CLOCK_MONOTONIC in nanoseconds" },
	{ "elapsed", BUILTIN_ELAPSED, NUMBER, 0, "nanoseconds since the program started" },
	{ "kstack", BUILTIN_KSTACK, { .kind = AST_KSTACK, .bytes = 8, .count = AST_FRAMES_MAX }, WITH_STACK,
		"stack in the kernel; kstack(N): N frames of it" },
	{ "ustack", BUILTIN_USTACK, { .kind = AST_USTACK, .bytes = 8, .count = AST_FRAMES_MAX }, WITH_STACK,
		"stack of the process; ustack(N): N frames of it" },
	{ "probe", BUILTIN_PROBE, { .kind = AST_PROBE, .bytes = 8 }, 0, "the probe's name" },
	{ "func", BUILTIN_FUNC, { .kind = AST_KSYM, .bytes = 8 }, KERNEL_FUNCTIONS | USER_FUNCTIONS,
		"the function that was probed" },
	{ "name", BUILTIN_NAME, { .kind = AST_PROBE, .bytes = 8 }, 0, "the last part of the probe's name" },
	{ "retval", BUILTIN_RETVAL, SIGNED, WITH_RETVAL, "what the function or system call returned" },
	{ "arg", BUILTIN_ARG, NUMBER, WITH_ARGUMENTS, "arg0 to arg9: arguments as integers" },
	{ "cgroup", BUILTIN_CGROUP, NUMBER, 0, "id of the control group (version 2)" },
	{ "numaid", BUILTIN_NUMAID, NUMBER_32, 0, "NUMA node" },
	{ "rand", BUILTIN_RAND, NUMBER_32, 0, "a random number of 32 bits" },
	{ "curtask", BUILTIN_CURTASK, { .kind = AST_POINTER, .bytes = 8 }, 0, "the kernel's task_struct" },
	{ "username", BUILTIN_USERNAME, { .kind = AST_USERNAME, .bytes = 8 }, 0, "name of the user" },
	{ NULL, BUILTINS, { .kind = AST_NONE }, 0, NULL },
};

const struct builtin_row *builtin_find(const char *name, size_t length)
{
	/* arg0..arg9 */
	if (length == 4 && isdigit((unsigned char)name[3]) && strncmp(name, "arg", 3) == 0)
		length = 3;
	else if (length == 3 && strncmp(name, "arg", 3) == 0)
		return NULL;
	for (const struct builtin_row *row = builtin_rows; row->name; row++)
		if (strlen(row->name) == length && strncmp(row->name, name, length) == 0)
			return row;
	return NULL;
}
