/* SPDX-License-Identifier: MIT */
/*
 * The three tables of the language, one row each for a kind of probe (kinds.c), a built-in (builtins.c)
 * and a function (functions.c): what a new one needs first. The parser, the checker, the man page's test
 * and `kprof probe -l` read them. Constant; any thread.
 */
#ifndef KPROFS_PROBES_TABLES_H
#define KPROFS_PROBES_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "probes/ast.h"

#define KIND_BIT(kind) (1u << (kind))

/* ---- kinds of probes --------------------------------------------------------------------------- */

/* How the parts behind the first ':' are read. */
enum kind_parts {
	KIND_NO_PARTS,	     /* BEGIN */
	KIND_SYSTEM_NAME,    /* SUBSYSTEM:NAME */
	KIND_NAME,	     /* NAME */
	KIND_FUNCTION,	     /* FUNC[+OFF][:entry|:return] */
	KIND_SYSCALL,	     /* NAME:entry|return */
	KIND_PATH_FUNCTION,  /* PATH:FUNC[+OFF] */
	KIND_PATH_NAME,	     /* PATH:[PROVIDER:]NAME */
	KIND_PERIOD,	     /* hz|s|ms|us:N */
	KIND_EVENT_COUNT,    /* EVENT[:N] */
};

struct kind_row {
	const char *name, *shorter; /* "kprobe", "k"; NULL: no short form */
	enum ast_probe_kind kind;
	enum kind_parts parts;
	const char *usage; /* "kprobe:FUNC[+OFF][:entry|:return]" */
	const char *help;
};

extern const struct kind_row kind_rows[]; /* until name is NULL */
/* By either name; NULL. */
const struct kind_row *kind_find(const char *name, size_t length);
/* The name of a kind in messages: "kprobe". */
const char *kind_name(enum ast_probe_kind kind);

/* ---- built-ins --------------------------------------------------------------------------------- */

enum builtin_id {
	BUILTIN_PID,
	BUILTIN_TID,
	BUILTIN_UID,
	BUILTIN_GID,
	BUILTIN_COMM,
	BUILTIN_CPU,
	BUILTIN_CPID, /* the checker makes a NUMBER of it */
	BUILTIN_NSECS,	 /* CLOCK_MONOTONIC, as nsecs of bpftrace */
	BUILTIN_ELAPSED, /* since the program was attached */
	BUILTIN_KSTACK,
	BUILTIN_USTACK,
	BUILTIN_PROBE,
	BUILTIN_FUNC,
	BUILTIN_NAME, /* the last part of the probe's name: a number of the target too */
	BUILTIN_RETVAL,
	BUILTIN_ARG, /* expr.number says which */
	BUILTIN_CGROUP,
	BUILTIN_NUMAID,
	BUILTIN_RAND,
	BUILTIN_CURTASK,
	BUILTIN_USERNAME,
	BUILTINS
};

struct builtin_row {
	const char *name;
	enum builtin_id id;
	struct ast_type type; /* what does not depend on the probe */
	uint32_t kinds;	      /* KIND_BIT of those that have it; 0: all */
	const char *help;
};

extern const struct builtin_row builtin_rows[]; /* until name is NULL; arg0..arg9 are one row, "arg" */
const struct builtin_row *builtin_find(const char *name, size_t length);

/* ---- functions --------------------------------------------------------------------------------- */

enum function_id {
	/* aggregations: the value of an assignment to a map */
	FUNCTION_COUNT,
	FUNCTION_SUM,
	FUNCTION_MIN,
	FUNCTION_MAX,
	FUNCTION_AVG,
	FUNCTION_STATS,
	FUNCTION_HIST,
	FUNCTION_LHIST,
	/* statements */
	FUNCTION_PRINTF,
	FUNCTION_PRINT, /* print(@m[, top[, div]]), print(@m[k]), print(value) */
	FUNCTION_CLEAR,
	FUNCTION_ZERO,
	FUNCTION_DELETE,
	FUNCTION_TIME,
	FUNCTION_JOIN,
	FUNCTION_CAT,
	FUNCTION_EXIT,
	FUNCTION_SAMPLE,
	FUNCTION_MARK,
	FUNCTION_SNAPSHOT,
	/* values */
	FUNCTION_STR,
	FUNCTION_BUF,
	FUNCTION_KSYM,
	FUNCTION_USYM,
	FUNCTION_KADDR,
	FUNCTION_UADDR,
	FUNCTION_REG,
	FUNCTION_NTOP,
	FUNCTION_STRNCMP,
	FUNCTION_BSWAP,
	FUNCTION_STRFTIME,
	FUNCTIONS
};

enum function_use {
	FUNCTION_AGGREGATES, /* only `@m = f(...)` */
	FUNCTION_ACTS,	     /* only a statement of its own */
	FUNCTION_GIVES,	     /* a value */
};

/*
 * What the arguments must be, a letter each:
 *	i integer or pointer   n a number that is known (literal or $N)   t a literal text, or str($N)
 *	f a format, checked against all arguments behind it   s string   p integer, pointer or array
 *	m a map without keys   k a map with its keys   v any value   a integer or pointer to pointers
 * '|' begins those that may be left out, '.' allows more of any kind.
 */
struct function_row {
	const char *name;
	enum function_id id;
	enum function_use use;
	const char *arguments;
	struct ast_type type; /* what it gives, where this does not depend on the arguments */
	uint32_t kinds;	      /* KIND_BIT of the probes in which it can be used; 0: all */
	const char *usage;    /* "hist(x[, bits])" */
	const char *help;
};

extern const struct function_row function_rows[]; /* until name is NULL */
const struct function_row *functions_find(const char *name, size_t length);

/* ---- what bpftrace has and this language has not (refused.c) ------------------------------------ */

enum refused_where {
	REFUSED_PROBE,	    /* a kind of probes */
	REFUSED_DEFINITION, /* at the place of a rule */
	REFUSED_STATEMENT,
	REFUSED_CALL,
	REFUSED_NAME, /* a built-in */
};

/* The sentence that refuses the word, or NULL. */
const char *refused_find(enum refused_where where, const char *word, size_t length);

/* ---- macros ------------------------------------------------------------------------------------ */

/* A macro that programs use without its header: AF_INET, TASK_RUNNING, ... */
bool macro_find(const char *name, int64_t *value);

#endif
