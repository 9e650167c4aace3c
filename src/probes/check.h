/* SPDX-License-Identifier: MIT */
/*
 * The checker: finds the targets of each probe, makes the units, resolves names, and gives each expression,
 * map and local variable its type. What it accepts can be made into programs, or is refused there with a
 * sentence of its own.
 */
#ifndef KPROFS_PROBES_CHECK_H
#define KPROFS_PROBES_CHECK_H

#include "probes/ast.h"

struct targets;

/* Of a string from memory, its NUL included: by default, and the bounds. */
#define CHECK_STRING_DEFAULT 200u
#define CHECK_STRING_MIN     16u
#define CHECK_STRING_MAX     4096u

/* A value of an event of a program. */
struct check_event_value {
	uint32_t index;	 /* among the values */
	uint32_t bytes;	 /* of an integer */
	bool is_signed, is_string, is_pointer, is_double;
	uint32_t format_hash; /* args_hash() */
};

/* Events of programs that are linked with libkprof. */
struct check_events {
	void *arg;
	/* calls each() for the events that programs have and whose provider and name match */
	int (*each)(void *arg, const char *provider, const char *name,
		int (*each)(void *arg, const char *provider, const char *name), void *each_arg);
	/* a value by its name; -ENOENT if no program has such an event, -EINVAL with the names that it has */
	int (*value)(void *arg, const char *provider, const char *event, const char *name,
		struct check_event_value *value, struct err *err);
};

struct check_options {
	const struct targets *targets; /* what can be probed here (targets.h) */
	const struct check_events *events; /* NULL: not known */
	uint32_t string_bytes;	 /* of a string from memory, its NUL included (probe_strlen); 0: 200 */
	const char *const *args; /* $1, $2, ...: NULL-terminated; NULL: none */
	int pid;		 /* of -p: for usdt; 0: none */
	int child;		 /* of -c: cpid; 0: none */
};

/*
 * Returns 0 and completes the tree, or, with the sentence and the place in `err`, -EINVAL, -EOPNOTSUPP,
 * -E2BIG, -ENOENT (none of a rule's probes exists here), -ENOMEM. Then the tree can only be destroyed.
 */
int check_program(struct ast *ast, const struct check_options *options, struct err *err);

#endif
