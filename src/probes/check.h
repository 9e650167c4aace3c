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

struct check_options {
	const struct targets *targets; /* what can be probed here (targets.h) */
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
