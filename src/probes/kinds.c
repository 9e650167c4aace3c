/* SPDX-License-Identifier: MIT */
/* The kinds of probes. */
#include <string.h>

#include "probes/tables.h"

const struct kind_row kind_rows[] = {
	{ "BEGIN", NULL, PROBE_BEGIN, KIND_NO_PARTS, "BEGIN", "once, when the program starts" },
	{ "END", NULL, PROBE_END, KIND_NO_PARTS, "END", "once, when the program ends" },
	{ "syscall", NULL, PROBE_TRACEPOINT, KIND_SYSCALL, "syscall:NAME:entry|return",
		"a system call begins or ends" },
	{ "tracepoint", "t", PROBE_TRACEPOINT, KIND_SYSTEM_NAME, "tracepoint:SUBSYSTEM:NAME",
		"a tracepoint, with the fields of its format" },
	{ "rawtracepoint", "rt", PROBE_RAWTRACEPOINT, KIND_NAME, "rawtracepoint:NAME",
		"a tracepoint, with the arguments of its call" },
	{ "kprobe", "k", PROBE_KPROBE, KIND_FUNCTION, "kprobe:FUNC[+OFFSET] or kprobe:FUNC:entry|return",
		"a function of the kernel is called" },
	{ "kretprobe", "kr", PROBE_KRETPROBE, KIND_FUNCTION, "kretprobe:FUNC",
		"a function of the kernel returns" },
	{ "fentry", "f", PROBE_FENTRY, KIND_FUNCTION, "fentry:FUNC",
		"a function of the kernel is called; its arguments have names and types" },
	{ "kfunc", NULL, PROBE_FENTRY, KIND_FUNCTION, "kfunc:FUNC", "the same, by an older name" },
	{ "fexit", "fr", PROBE_FEXIT, KIND_FUNCTION, "fexit:FUNC",
		"a function of the kernel returns; its arguments and its result have types" },
	{ "kretfunc", NULL, PROBE_FEXIT, KIND_FUNCTION, "kretfunc:FUNC", "the same, by an older name" },
	{ "uprobe", "u", PROBE_UPROBE, KIND_PATH_FUNCTION, "uprobe:PATH:FUNC[+OFFSET]",
		"a function of a program or library is called" },
	{ "uretprobe", "ur", PROBE_URETPROBE, KIND_PATH_FUNCTION, "uretprobe:PATH:FUNC",
		"a function of a program or library returns" },
	{ "usdt", "U", PROBE_USDT, KIND_PATH_NAME, "usdt:PATH|PID:[PROVIDER:]NAME",
		"a static probe of a program" },
	{ "event", NULL, PROBE_EVENT, KIND_SYSTEM_NAME, "event:PROVIDER:NAME",
		"an event of a program that is linked with libkprof" },
	{ "profile", "p", PROBE_PROFILE, KIND_PERIOD, "profile:hz|s|ms|us:N", "a timer, on each CPU" },
	{ "interval", "i", PROBE_INTERVAL, KIND_PERIOD, "interval:hz|s|ms|us:N", "a timer, on one CPU" },
	{ "software", "s", PROBE_PERF, KIND_EVENT_COUNT, "software:EVENT[:N]",
		"each Nth event of a counter of the kernel" },
	{ "hardware", "h", PROBE_PERF, KIND_EVENT_COUNT, "hardware:EVENT[:N]",
		"each Nth event of a counter of the CPU" },
	{ NULL, NULL, PROBE_KINDS, KIND_NO_PARTS, NULL, NULL },
};

static bool is_name(const char *name, const char *text, size_t length)
{
	return name && strlen(name) == length && strncmp(name, text, length) == 0;
}

const struct kind_row *kind_find(const char *name, size_t length)
{
	for (const struct kind_row *row = kind_rows; row->name; row++)
		if (is_name(row->name, name, length) || is_name(row->shorter, name, length))
			return row;
	return NULL;
}

const char *kind_name(enum ast_probe_kind kind)
{
	if (kind == PROBE_TRACEPOINT)
		return "tracepoint";
	for (const struct kind_row *row = kind_rows; row->name; row++)
		if (row->kind == kind)
			return row->name;
	return "?";
}
