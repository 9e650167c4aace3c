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

struct types;
struct targets;

/* Where to look instead (tests); NULL: the running kernel's. */
struct targets_paths {
	const char *btf;       /* a raw file */
	const char *tracefs;   /* its top directory */
};

/*
 * Whatever is missing (BTF, tracefs, the list of functions) is left out: programs that need it are
 * refused with the reason. -ENOMEM only.
 */
int targets_open(const struct targets_paths *paths, struct targets **targets, struct err *err);
void targets_close(struct targets *targets);

/* NULL without BTF; then `why` (may be NULL) is the sentence. */
const struct types *targets_types(const struct targets *targets, const char **why);

/* Whether a name is matched by a pattern with '*' and '?'. */
bool targets_match(const char *pattern, const char *name);

typedef int targets_each(void *arg, const char *system, const char *name);

/*
 * Calls each() for the tracepoints, or functions (system is ""), that match, until it returns other
 * than 0, and returns that. A function is one that BTF and available_filter_functions both have, or,
 * where one of them is missing, the other. -ENOENT if it can't be known.
 */
int targets_tracepoints(const struct targets *targets, const char *system, const char *name,
	targets_each *each, void *arg);
int targets_functions(const struct targets *targets, const char *name, targets_each *each, void *arg);

/* ---- a tracepoint's fields --------------------------------------------------------------------- */

#define TARGETS_FIELDS_MAX 64u

struct targets_field {
	char name[64];
	char type[96]; /* as declared, without __data_loc: "const char *", "unsigned long", "char[]" */
	uint32_t offset, bytes;
	uint32_t count; /* of an array, 0 if it is none */
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

#endif
