/* SPDX-License-Identifier: MIT */
/*
 * The syntax tree of a text in the language of probes. The parser makes it (parser.h), the checker adds
 * types and targets (check.h), and what makes instructions reads it. All that a tree refers to lives in
 * it until ast_destroy(), but BTF's names, which live as long as the struct types. One thread at a time.
 *
 *	ast -> rules   as written: probes, filter, statements
 *	    -> units   after the check: what becomes one program, with its targets and a body of its own
 *	    -> maps, warnings
 *
 * A unit's body is checked for its targets: where the same text means different offsets or types, as
 * `args.filename` of two tracepoints does, the checker makes a unit for each target, with copies of the
 * statements. Nodes that are marked "after the check" are not set in the rules' own statements if these
 * were copied.
 *
 * All integers are 64 bits when they are computed with: a node reads its `type.bytes` from memory and
 * extends them by `type.is_signed`.
 */
#ifndef KPROFS_PROBES_AST_H
#define KPROFS_PROBES_AST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct builtin_row;
struct function_row;

/* Longer texts, deeper trees and more of everything are refused with -E2BIG. */
#define AST_TEXT_MAX	65536u
#define AST_DEPTH_MAX	64u	    /* of an expression's tree, and of blocks within blocks */
#define AST_NAME_MAX	128u	    /* bytes of a name or of one part of a probe's name, without NUL */
#define AST_KEYS_MAX	8u	    /* of a map; items of a tuple */
#define AST_ARGS_MAX	32u	    /* of a call */
#define AST_MAPS_MAX	128u
#define AST_LOCALS_MAX	128u	    /* of one rule */
#define AST_TARGETS_MAX 4096u	    /* of all rules together */
#define AST_UNROLL_MAX	100u
#define AST_FRAMES_MAX	127u	    /* of a stack: kernel.perf_event_max_stack unless it was raised */
#define AST_BYTES_MAX	(8u << 20)  /* of the whole tree, copies included */

/* Both count from 1; a column is a byte of the line. */
struct ast_place {
	uint32_t line, column;
};

/* ---- types ------------------------------------------------------------------------------------- */

enum ast_type_kind {
	AST_NONE,      /* what a call like printf() gives */
	AST_INTEGER,
	AST_STRING,    /* `bytes` with its NUL: at most so many are kept */
	AST_POINTER,   /* 8 bytes; what it points to is of the checker's concern */
	AST_STRUCT,    /* the value of the node is its address; never stored */
	AST_ARRAY,     /* the same: `count` items */
	AST_TUPLE,     /* `count` parts */
	AST_KSTACK,    /* a stack id; at most `count` frames */
	AST_USTACK,
	AST_KSYM,      /* an address that is printed as a symbol */
	AST_USYM,      /* the same, with the process it belongs to */
	AST_INET,      /* ntop(): an address of at most `bytes`, 4 or 16 */
	AST_BUFFER,    /* buf(): at most `bytes`, printed with %r */
	AST_TIMESTAMP, /* strftime(): nanoseconds of CLOCK_MONOTONIC, which are printed by `format` */
	AST_PROBE,     /* the number of a target, printed as its name */
	AST_USERNAME,  /* a uid that is printed as a name */
	AST_AGGREGATE, /* of a map only: it is printed, and not computed with */
};

struct ast_type {
	enum ast_type_kind kind;
	bool is_signed;	  /* INTEGER */
	bool is_user;	  /* POINTER, STRUCT, ARRAY: it is in the memory of the process,
		else the kernel's */
	bool is_char;	  /* POINTER, ARRAY: to characters */
	uint32_t bytes;	  /* INTEGER, STRUCT, ARRAY, ...: in memory; 0 if that is unknown */
	uint32_t count;	  /* ARRAY, TUPLE, stacks */
	uint32_t btf;	  /* STRUCT: it; POINTER, ARRAY: what it points to, its item. 0: see `item`,
		`own` */
	const struct ast_struct *own;  /* STRUCT: one that the text defines */
	const struct ast_type *item;   /* POINTER, ARRAY: what it points to, its item, where `btf` is 0 */
	const struct ast_type *parts;  /* TUPLE */
	const char *name;  /* as the text writes it, where it does: "task_struct"; for the checker */
	const char *format; /* TIMESTAMP: as strftime(3) takes it */
};

/* `struct NAME { ... };` in the text. Offsets are those of C. */
struct ast_struct {
	const char *name;
	struct ast_place place;
	bool is_union;
	uint32_t bytes, alignment;
	struct ast_member *members; /* a list in order */
	struct ast_struct *next;
};

struct ast_member {
	const char *name;
	struct ast_type type;
	uint32_t offset;
	struct ast_member *next;
};

/* ---- expressions ------------------------------------------------------------------------------- */

enum ast_expr_kind {
	AST_NUMBER,	 /* number */
	AST_LITERAL,	 /* text, without quotes and escapes */
	AST_NAME,	 /* text: a name that only the checker knows; it becomes a NUMBER or BUILTIN */
	AST_PARAMETER,	 /* number: $1...; $# is 0. The checker makes a NUMBER or LITERAL of it */
	AST_BUILTIN,	 /* builtin; number: N of argN, frames of kstack(N) and ustack(N) */
	AST_ARGUMENT,	 /* args.NAME: text; after the check `argument` */
	AST_MAP,	 /* text without '@'; args, count: the keys; map */
	AST_LOCAL,	 /* text without '$'; local */
	AST_UNARY,	 /* operator: ! ~ -; right */
	AST_BINARY,	 /* operator; left, right */
	AST_CHOICE,	 /* left ? right : third */
	AST_STEP,	 /* operator: AST_PLUS_PLUS, AST_MINUS_MINUS; right: a MAP or LOCAL; number: 1 if
			    it stands before the operand, so that the value is the new one */
	AST_CAST,	 /* to `cast`; right */
	AST_DEREF,	 /* *right: reads type.bytes at the address */
	AST_FIELD,	 /* left is a struct; number: 1 if `->`, left is a pointer; text; `field` */
	AST_INDEX,	 /* left[right]: left an array or pointer; items of type.bytes */
	AST_TUPLE_OF,	 /* args, count */
	AST_ITEM,	 /* left.number of a tuple */
	AST_CALL,	 /* function; args, count */
};

/* The operators: those of one character are that character. */
enum ast_operator {
	AST_OR = 256,
	AST_AND,
	AST_EQUAL,
	AST_NOT_EQUAL,
	AST_LESS_EQUAL,
	AST_GREATER_EQUAL,
	AST_SHIFT_LEFT,
	AST_SHIFT_RIGHT,
	AST_PLUS_PLUS,
	AST_MINUS_MINUS,
};

/* A field of a struct in memory: read the unit of `type.bytes` at `offset`; a bit field is within it. */
struct ast_field {
	uint32_t offset;
	uint32_t bits, bit_shift; /* bit field: its width, else 0; bits to the right of it in its unit */
};

/* Where a unit's program finds an argument. */
struct ast_argument {
	enum ast_argument_source {
		AST_FROM_CONTEXT,  /* `type.bytes` at `offset` of the context: of a tracepoint */
		AST_FROM_LOCATION, /* __data_loc at `offset`: length << 16 | place in the context */
		AST_FROM_RELATIVE, /* __rel_loc: the place counts from behind the word */
		AST_FROM_PARAM,	   /* parameter number `offset`, from 0,
			of the function or raw tracepoint */
	} source;
	uint32_t offset;
};

struct ast_expr {
	enum ast_expr_kind kind;
	struct ast_place place;
	struct ast_type type; /* after the check */
	uint32_t depth;	      /* of the tree below it, with it */
	int operator;	      /* enum ast_operator, or a character */
	bool compares_signed; /* after the check, BINARY: < <= > >= / % >> take both sides as signed */
	uint64_t number;
	const char *text;
	struct ast_expr *left, *right, *third;
	struct ast_expr *args; /* a list by `next` */
	uint32_t count;
	struct ast_expr *next;
	const struct builtin_row *builtin;
	const struct function_row *function;
	struct ast_type cast;
	/* after the check */
	struct ast_map *map;
	struct ast_local *local;
	struct ast_field field;
	struct ast_argument argument;
};

/* ---- statements -------------------------------------------------------------------------------- */

enum ast_statement_kind {
	AST_EXPRESSION, /* value: a call, or a STEP */
	AST_ASSIGN,	/* target (MAP or LOCAL) = value; operator: 0, or that of += and the like. An
			   aggregation is `@m = count()`: target a MAP, value a CALL whose row says so */
	AST_IF,		/* value, body, otherwise */
	AST_UNROLL,	/* body; value: a NUMBER after the check, 1..AST_UNROLL_MAX */
	AST_RETURN,
};

struct ast_statement {
	enum ast_statement_kind kind;
	struct ast_place place;
	int operator;
	struct ast_expr *target, *value;
	struct ast_statement *body, *otherwise;
	struct ast_statement *next;
};

/* ---- probes ------------------------------------------------------------------------------------ */

/* See kinds.h for the names. */
enum ast_probe_kind {
	PROBE_BEGIN,
	PROBE_END,
	PROBE_TRACEPOINT,    /* system, name; `syscall:read:entry` too: syscalls, sys_enter_read */
	PROBE_RAWTRACEPOINT, /* name */
	PROBE_KPROBE,	     /* name; offset */
	PROBE_KRETPROBE,
	PROBE_FENTRY,
	PROBE_FEXIT,
	PROBE_UPROBE,	 /* path, name or offset alone */
	PROBE_URETPROBE, /* path, name */
	PROBE_USDT,	 /* path or pid, system: the provider or "", name */
	PROBE_EVENT,	 /* system: the provider; name */
	PROBE_PROFILE,	 /* period_ns, on each CPU */
	PROBE_INTERVAL,	 /* period_ns, on one */
	PROBE_PERF,	 /* name as `event` of kpctl takes it, count: each so many; 0: the default */
	PROBE_KINDS
};

/* A probe as it is written. Names may have '*' and '?'. "" and 0 where the kind has no such part. */
struct ast_probe {
	enum ast_probe_kind kind;
	struct ast_place place;
	const char *text; /* as written, short forms too */
	const char *system, *name, *path;
	uint64_t offset, count, period_ns;
	int pid; /* USDT: 0 for none */
	struct ast_probe *next;
};

struct ast_rule {
	struct ast_place place;
	struct ast_probe *probes;
	struct ast_expr *filter; /* NULL */
	struct ast_statement *body;
	struct ast_rule *next;
};

/* ---- after the check --------------------------------------------------------------------------- */

/* One thing to attach to. Names of functions and tracepoints have no glob any more; those of uprobes,
   usdt and events may, since only what reads the file or knows the programs can tell. */
struct ast_target {
	const struct ast_probe *probe;
	uint32_t number;     /* in the program, from 0: the value of `probe` */
	const char *text;    /* "kprobe:vfs_read": what `probe` prints */
	const char *system, *name;
	struct ast_target *next;
};

/* A local variable, or `unset` where it is read only. */
struct ast_local {
	const char *name;
	uint32_t number; /* in its unit, from 0 */
	struct ast_type type;
	struct ast_local *next;
};

/* What becomes one program of the kernel, or several of one body if the targets need it. */
struct ast_unit {
	const struct ast_rule *rule;
	uint32_t number; /* from 0 */
	enum ast_probe_kind kind;
	struct ast_target *targets; /* at least one */
	uint32_t target_count;
	struct ast_expr *filter;
	struct ast_statement *body;
	struct ast_local *locals; /* in the order of their numbers */
	uint32_t local_count;
	bool has_format;      /* EVENT: args.NAME are of a format with this hash (args_hash) */
	uint32_t format_hash;
	struct ast_unit *next;
};

enum ast_value_kind {
	AST_PLAIN, /* the last value that was assigned: of `value` */
	AST_COUNT,
	AST_SUM,
	AST_MIN,
	AST_MAX,
	AST_AVG,
	AST_STATISTICS, /* stats(): count, average, total */
	AST_HIST,	/* powers of two, each divided into 2^hist_bits */
	AST_LHIST,	/* low, high, step */
};

struct ast_map {
	const char *name; /* without '@': "" is @ */
	uint32_t number;  /* in the program, from 0 */
	struct ast_place place; /* where it is first named */
	uint32_t key_count;
	bool has_shape, has_value; /* of the checker: keys were seen, an assignment was */
	const struct ast_unit *user; /* the first unit that has it with keys, */
	bool is_shared; /* and whether others have it so, set its values to 0, or remove keys */
	struct ast_type keys[AST_KEYS_MAX]; /* integers are 8 bytes, strings as long as the longest */
	const char *key_names[AST_KEYS_MAX]; /* what was first written as the key, if that has a name; NULL */
	enum ast_value_kind value_kind;
	struct ast_type value; /* PLAIN; of SUM, MIN, MAX, AVG, STATISTICS the integer's signedness */
	uint32_t hist_bits;
	int64_t low, high, step;
	struct ast_map *next;
};

/* Something that is left out, since other probes of its rule are there: a sentence for kperr. */
struct ast_warning {
	struct ast_place place;
	const char *text;
	struct ast_warning *next;
};

struct ast {
	struct ast_rule *rules;
	struct ast_struct *structs;
	/* after the check, each in the order of the numbers */
	struct ast_unit *units;
	struct ast_map *maps;
	struct ast_warning *warnings;
	uint32_t rule_count, unit_count, map_count, target_count;
	/* the memory, and the text for messages */
	struct ast_block *blocks;
	size_t bytes;
	const char *text;
	size_t text_bytes;
	bool in_one_line; /* a filter: messages are of one line */
	bool takes_samples; /* after the check: there is a sample() */
	bool full; /* AST_BYTES_MAX was reached: ast_new() has returned NULL */
};

/* NULL if there is no memory, or for a text of more than AST_TEXT_MAX. The text is copied. */
struct ast *ast_create(const char *text, size_t bytes);
/* NULL is allowed. */
void ast_destroy(struct ast *ast);

/* Zeroed memory that lives as long as the tree; NULL, and `full`, behind AST_BYTES_MAX. */
void *ast_new(struct ast *ast, size_t bytes);
/* A copy of a text; NULL like ast_new(). */
const char *ast_copy_text(struct ast *ast, const char *text, size_t bytes);

/* Whether it divides by a literal 0. */
bool ast_divides_by_zero(const struct ast_expr *expr);

/*
 * Writes an error: "line 1, column 7: SENTENCE", and in lines of their own the text's line and a caret
 * under the place. Returns -code.
 */
int ast_fail(const struct ast *ast, struct ast_place place, int code, struct err *err,
	const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Whether it is an error with a line and a column. */
bool ast_has_place(const struct err *err);

#endif
