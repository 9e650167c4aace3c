/* SPDX-License-Identifier: MIT */
/*
 * Callers and callees as text. For each event first the processes, below each its functions, each
 * called by the one above it; then the functions in which samples were taken, below each its
 * callers. Lines:
 *
 *	# ...						the summary (summary.h)
 *	total%  self%  samples  function  (file)	total is with all callees
 *	share%  samples  function  (file)		in the second part
 *
 * The function of an indented line after `- ` is called by (in the second part: calls) the function
 * of the nearest line above that is less indented. A line without `- ` is the only one below the
 * line just above it. The file is shown if it differs from that of the caller's line. Functions
 * below TREE_THRESHOLD of their event are left out; a line in their place has their number.
 */
#ifndef KPROFS_FORMATS_TREE_H
#define KPROFS_FORMATS_TREE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "formats/view_input.h"

#define TREE_THRESHOLD 0.5 /* percent */

struct tree_options {
	bool callees; /* the part with the processes, and what each function calls */
	bool callers; /* the part with the functions in which samples were taken, and their callers */
	double threshold; /* percent; instead of TREE_THRESHOLD */
};

/* Errors of view_format.write. */
int tree_write_with(const struct view_input *input, const struct tree_options *options, FILE *out,
	struct err *err);

/* As view_format.write. */
int tree_write(const struct view_input *input, FILE *out, struct err *err);

#endif
