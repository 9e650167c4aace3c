/* SPDX-License-Identifier: MIT */
/* What bpftrace's language has and this one has not: refused by its name, so that it is not misread. */
#include <string.h>

#include "probes/tables.h"

static const struct refused_row {
	enum refused_where where;
	const char *word, *sentence;
} rows[] = {
	{ REFUSED_STATEMENT, "for", "for loops are not supported" },
	{ REFUSED_STATEMENT, "while", "while loops are not supported; unroll(n) repeats a block" },
	{ REFUSED_STATEMENT, "break", "break is not supported, since there are no loops" },
	{ REFUSED_STATEMENT, "continue", "continue is not supported, since there are no loops" },
	{ REFUSED_STATEMENT, "let", "let is not supported: a variable begins with its first assignment" },

	{ REFUSED_DEFINITION, "config",
		"config blocks are not supported: mount options set what they set" },
	{ REFUSED_DEFINITION, "enum",
		"definitions of enums are not supported; those of the kernel are known" },
	{ REFUSED_DEFINITION, "typedef", "typedef is not supported" },
	{ REFUSED_DEFINITION, "fn", "functions in a program are not supported" },
	{ REFUSED_DEFINITION, "macro", "macros are not supported; #define of constants is" },
	{ REFUSED_DEFINITION, "import", "import is not supported" },
	{ REFUSED_DEFINITION, "let", "let is not supported: a map begins with its first assignment" },

	{ REFUSED_PROBE, "watchpoint", "watchpoint probes are not supported" },
	{ REFUSED_PROBE, "w", "watchpoint probes are not supported" },
	{ REFUSED_PROBE, "asyncwatchpoint", "watchpoint probes are not supported" },
	{ REFUSED_PROBE, "aw", "watchpoint probes are not supported" },
	{ REFUSED_PROBE, "iter", "iter probes are not supported" },
	{ REFUSED_PROBE, "it", "iter probes are not supported" },
	{ REFUSED_PROBE, "self", "self probes are not supported" },
	{ REFUSED_PROBE, "bench", "bench probes are not supported" },
	{ REFUSED_PROBE, "test", "test probes are not supported" },

	{ REFUSED_CALL, "system", "system() is not supported: the server starts no programs for a probe" },
	{ REFUSED_CALL, "signal",
		"signal() is not supported: a probe changes nothing in what it looks at" },
	{ REFUSED_CALL, "override",
		"override() is not supported: a probe changes nothing in what it looks at" },
	{ REFUSED_CALL, "cgroupid", "cgroupid() is not supported; compare cgroup with the inode number" },
	{ REFUSED_CALL, "cgroup_path", "cgroup_path() is not supported" },
	{ REFUSED_CALL, "macaddr", "macaddr() is not supported; buf(p, 6) has the bytes" },
	{ REFUSED_CALL, "pton", "pton() is not supported" },
	{ REFUSED_CALL, "path", "path() is not supported" },
	{ REFUSED_CALL, "dpath", "dpath() is not supported" },
	{ REFUSED_CALL, "kptr", "kptr() is not supported: the type says whose memory it is" },
	{ REFUSED_CALL, "uptr", "uptr() is not supported: the type says whose memory it is" },
	{ REFUSED_CALL, "sizeof", "sizeof() is not supported" },
	{ REFUSED_CALL, "offsetof", "offsetof() is not supported" },
	{ REFUSED_CALL, "skboutput", "skboutput() is not supported" },
	{ REFUSED_CALL, "skb_output", "skb_output() is not supported" },
	{ REFUSED_CALL, "unwatch", "unwatch() is not supported" },
	{ REFUSED_CALL, "strerror", "strerror() is not supported" },
	{ REFUSED_CALL, "strcontains", "strcontains() is not supported" },
	{ REFUSED_CALL, "strstr", "strstr() is not supported" },
	{ REFUSED_CALL, "has_key", "has_key() is not supported; a key that is not there is 0" },
	{ REFUSED_CALL, "len", "len() is not supported" },
	{ REFUSED_CALL, "errorf", "errorf() is not supported; printf() is" },
	{ REFUSED_CALL, "warnf", "warnf() is not supported; printf() is" },
	{ REFUSED_CALL, "debugf", "debugf() is not supported; printf() is" },
	{ REFUSED_CALL, "nsecs", "clocks of nsecs are not supported: it is CLOCK_MONOTONIC" },
	{ REFUSED_CALL, "pid", "pid() is not supported; pid is" },
	{ REFUSED_CALL, "tid", "tid() is not supported; tid is" },
	{ REFUSED_CALL, "percpu_kaddr", "percpu_kaddr() is not supported" },
	{ REFUSED_CALL, "socket_cookie", "socket_cookie() is not supported" },
	{ REFUSED_CALL, "tseries", "tseries() is not supported" },

	{ REFUSED_NAME, "sarg0", "arguments on the stack (sarg0) are not supported" },
	{ REFUSED_NAME, "sarg1", "arguments on the stack (sarg1) are not supported" },
	{ REFUSED_NAME, "sarg2", "arguments on the stack (sarg2) are not supported" },
	{ REFUSED_NAME, "sarg3", "arguments on the stack (sarg3) are not supported" },
	{ REFUSED_NAME, "sarg4", "arguments on the stack (sarg4) are not supported" },
	{ REFUSED_NAME, "sarg5", "arguments on the stack (sarg5) are not supported" },
	{ REFUSED_NAME, "sarg6", "arguments on the stack (sarg6) are not supported" },
	{ REFUSED_NAME, "sarg7", "arguments on the stack (sarg7) are not supported" },
	{ REFUSED_NAME, "sarg8", "arguments on the stack (sarg8) are not supported" },
	{ REFUSED_NAME, "sarg9", "arguments on the stack (sarg9) are not supported" },
	{ REFUSED_NAME, "ctx", "ctx is not supported; args and arg0 to arg9 are" },
	{ REFUSED_NAME, "jiffies", "jiffies is not supported; nsecs is" },
	{ REFUSED_NAME, "ncpus", "ncpus is not supported" },
	{ REFUSED_NAME, "usermode", "usermode is not supported" },
	{ REFUSED_NAME, "ppid", "ppid is not supported; curtask->real_parent->tgid is" },
	{ REFUSED_NAME, "sizeof", "sizeof is not supported" },
};

const char *refused_find(enum refused_where where, const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].where == where && strlen(rows[i].word) == length &&
			strncmp(rows[i].word, word, length) == 0)
			return rows[i].sentence;
	return NULL;
}
