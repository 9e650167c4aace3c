/* SPDX-License-Identifier: MIT */
/* The functions. */
#include <string.h>

#include "probes/tables.h"

#define NONE   { .kind = AST_NONE }
#define NUMBER { .kind = AST_INTEGER, .bytes = 8 }
#define SIGNED { .kind = AST_INTEGER, .bytes = 8, .is_signed = true }
#define OF_ARGUMENTS { .kind = AST_NONE } /* the checker finds it */

#define USER_CODE (KIND_BIT(PROBE_UPROBE) | KIND_BIT(PROBE_URETPROBE) | KIND_BIT(PROBE_USDT) | \
	KIND_BIT(PROBE_EVENT))
/* the place that was reached is known, which it is not where a function returns */
#define WITH_FILE (KIND_BIT(PROBE_UPROBE) | KIND_BIT(PROBE_USDT))
#define IN_EVENTS (~(KIND_BIT(PROBE_BEGIN) | KIND_BIT(PROBE_END)))
#define WITH_REGISTERS \
	(USER_CODE | KIND_BIT(PROBE_KPROBE) | KIND_BIT(PROBE_KRETPROBE) | KIND_BIT(PROBE_PROFILE) | \
		KIND_BIT(PROBE_PERF))

const struct function_row function_rows[] = {
	{ "count", FUNCTION_COUNT, FUNCTION_AGGREGATES, "", NONE, 0, "count()", "number of calls" },
	{ "sum", FUNCTION_SUM, FUNCTION_AGGREGATES, "i", NONE, 0, "sum(x)", "sum" },
	{ "min", FUNCTION_MIN, FUNCTION_AGGREGATES, "i", NONE, 0, "min(x)", "least value" },
	{ "max", FUNCTION_MAX, FUNCTION_AGGREGATES, "i", NONE, 0, "max(x)", "greatest value" },
	{ "avg", FUNCTION_AVG, FUNCTION_AGGREGATES, "i", NONE, 0, "avg(x)", "average" },
	{ "stats", FUNCTION_STATS, FUNCTION_AGGREGATES, "i", NONE, 0, "stats(x)",
		"count, average and sum" },
	{ "hist", FUNCTION_HIST, FUNCTION_AGGREGATES, "i|n", NONE, 0, "hist(x[, bits])",
		"histogram of powers of two, each divided into 2^bits rows" },
	{ "lhist", FUNCTION_LHIST, FUNCTION_AGGREGATES, "innn", NONE, 0, "lhist(x, low, high, step)",
		"histogram of equal rows" },

	{ "printf", FUNCTION_PRINTF, FUNCTION_ACTS, "f.", NONE, 0, "printf(format, ...)", "prints values" },
	{ "print", FUNCTION_PRINT, FUNCTION_ACTS, "v|nn", NONE, 0, "print(@m[, top[, divisor]]), print(x)",
		"prints a map or a value" },
	{ "clear", FUNCTION_CLEAR, FUNCTION_ACTS, "m", NONE, 0, "clear(@m)", "removes all keys of a map" },
	{ "zero", FUNCTION_ZERO, FUNCTION_ACTS, "m", NONE, 0, "zero(@m)", "sets all values of a map to 0" },
	{ "delete", FUNCTION_DELETE, FUNCTION_ACTS, "k", NONE, 0, "delete(@m[k])", "removes one key" },
	{ "time", FUNCTION_TIME, FUNCTION_ACTS, "|t", NONE, 0, "time([format])",
		"prints the time as strftime(3) does" },
	{ "join", FUNCTION_JOIN, FUNCTION_ACTS, "a|t", NONE, 0, "join(argv[, separator])",
		"prints an array of strings" },
	{ "cat", FUNCTION_CAT, FUNCTION_ACTS, "t", NONE, 0, "cat(path)", "prints a file" },
	{ "exit", FUNCTION_EXIT, FUNCTION_ACTS, "", NONE, 0, "exit()",
		"detaches the program, as off does" },
	{ "sample", FUNCTION_SAMPLE, FUNCTION_ACTS, "", NONE, IN_EVENTS, "sample()",
		"a sample with its stacks into kpdata" },
	{ "mark", FUNCTION_MARK, FUNCTION_ACTS, "t", NONE, 0, "mark(text)", "a mark in the trace" },
	{ "snapshot", FUNCTION_SNAPSHOT, FUNCTION_ACTS, "t", NONE, 0, "snapshot(name)",
		"keeps what the session holds" },

	{ "str", FUNCTION_STR, FUNCTION_GIVES, "p|i", OF_ARGUMENTS, 0, "str(p[, length])",
		"the string at an address" },
	{ "buf", FUNCTION_BUF, FUNCTION_GIVES, "p|i", OF_ARGUMENTS, 0, "buf(p[, length])",
		"bytes at an address, or of a string" },
	{ "ksym", FUNCTION_KSYM, FUNCTION_GIVES, "p", { .kind = AST_KSYM, .bytes = 8 }, 0, "ksym(address)",
		"symbol of the kernel" },
	{ "usym", FUNCTION_USYM, FUNCTION_GIVES, "p", { .kind = AST_USYM, .bytes = 16 }, 0, "usym(address)",
		"symbol of the process" },
	{ "kaddr", FUNCTION_KADDR, FUNCTION_GIVES, "t", NUMBER, 0, "kaddr(symbol)",
		"address of a symbol of the kernel" },
	{ "uaddr", FUNCTION_UADDR, FUNCTION_GIVES, "t", NUMBER, WITH_FILE, "uaddr(symbol)",
		"address of a symbol of the probed file" },
	{ "reg", FUNCTION_REG, FUNCTION_GIVES, "t", NUMBER, WITH_REGISTERS, "reg(name)", "a register" },
	{ "ntop", FUNCTION_NTOP, FUNCTION_GIVES, "v|v", OF_ARGUMENTS, 0, "ntop([family, ]address)",
		"text of an IPv4 or IPv6 address" },
	{ "strncmp", FUNCTION_STRNCMP, FUNCTION_GIVES, "ssn", SIGNED, 0, "strncmp(a, b, length)",
		"0 if the strings are equal up to a length" },
	{ "bswap", FUNCTION_BSWAP, FUNCTION_GIVES, "i", OF_ARGUMENTS, 0, "bswap(x)", "reverses the bytes" },
	{ "strftime", FUNCTION_STRFTIME, FUNCTION_GIVES, "ti", { .kind = AST_TIMESTAMP, .bytes = 8 }, 0,
		"strftime(format, nsecs)", "text of a time of nsecs, by the wall clock" },
	{ NULL, FUNCTIONS, FUNCTION_ACTS, NULL, NONE, 0, NULL, NULL },
};

const struct function_row *functions_find(const char *name, size_t length)
{
	for (const struct function_row *row = function_rows; row->name; row++)
		if (strlen(row->name) == length && strncmp(row->name, name, length) == 0)
			return row;
	return NULL;
}
