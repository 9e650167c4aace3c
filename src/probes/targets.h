/* SPDX-License-Identifier: MIT */
/*
 * What can be probed on this machine: its types (BTF), tracepoints with their fields, and functions. Opened
 * for what is made with it and closed afterwards; some 15 MB and 40 ms. It does not change: any thread.
 */
#ifndef KPROFS_PROBES_TARGETS_H
#define KPROFS_PROBES_TARGETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/nearest.h"

struct types;
struct targets;

/* Where to look instead (tests); NULL: the running kernel's. */
struct targets_paths {
	const char *btf;     /* a raw file */
	const char *tracefs; /* its top directory */
};

/*
 * Whatever is missing (BTF, tracefs, the list of functions) is left out: programs that need it are
 * refused with the reason. -ENOMEM only.
 */
int targets_open(const struct targets_paths *paths, struct targets **targets, struct err *err);
/* NULL is allowed. */
void targets_close(struct targets *targets);

/* NULL without BTF; then `why` (may be NULL) is the sentence. */
const struct types *targets_types(const struct targets *targets, const char **why);

/* 0, or why there are no tracepoints: -EACCES, -EPERM, -ENOENT, ... */
int targets_why_no_tracepoints(const struct targets *targets);

/* Whether a name is matched by a pattern with '*' and '?'; whether a text has one of these. */
bool targets_match(const char *pattern, const char *name);
bool targets_is_pattern(const char *text);

typedef int targets_each(void *arg, const char *system, const char *name);

/*
 * These call each() for what matches, until it returns other than 0, and return that. -ENOENT if it
 * can't be known here.
 *
 * Functions are those that the kernel says it can trace (available_filter_functions), or, where it does
 * not say, those that BTF has; with types, those that are in both. `system` is "" then.
 */
int targets_tracepoints(const struct targets *targets, const char *system, const char *name,
	targets_each *each, void *arg);
int targets_functions(const struct targets *targets, const char *name, bool with_types,
	targets_each *each, void *arg);
/* Tracepoints as BTF names them, without a subsystem. */
int targets_rawtracepoints(const struct targets *targets, const char *name, targets_each *each, void *arg);

/* ---- a tracepoint's fields --------------------------------------------------------------------- */

#define TARGETS_FIELDS_MAX 64u

struct targets_field {
	char name[64];
	char type[96];	/* as declared, without __data_loc and [N]: "const char *", "unsigned long" */
	uint32_t offset, bytes;
	uint32_t count; /* of an array, 0 if it is none or its size is not known before it is read */
	bool is_array;
	bool is_signed;
	bool is_location, is_relative; /* __data_loc, __rel_loc */
};

struct targets_format {
	uint64_t id; /* in tracefs: perf's config */
	uint32_t count;
	struct targets_field fields[TARGETS_FIELDS_MAX]; /* without the common ones */
};

/* -ENOENT if there is no such tracepoint, -EINVAL if its format can't be read. */
int targets_format(const struct targets *targets, const char *system, const char *name,
	struct targets_format *format, struct err *err);
/* The same from the text of a `format` file. */
int targets_parse_format(const char *text, struct targets_format *format);
/* "char prev_comm[16]"; "char filename[]" where each record has the length. */
#define TARGETS_DECLARATION_MAX 192u
void targets_declare(const struct targets_field *field, char text[TARGETS_DECLARATION_MAX]);

#endif
