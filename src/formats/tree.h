/* SPDX-License-Identifier: MIT */
/*
 * Callers and callees as text. For each event first the processes, below each its functions, each
 * called by the one above it; then the functions in which samples were taken, below each its
 * callers. Lines:
 *
 *	# ...						what the capture holds, see head.h
 *	total%  self%  samples  function  (file)	and all that it called; what it took itself
 *	share%  samples  function  (file)		in the second part
 *
 * Indented lines behind `- ` are called by (in the second part: call) the nearest line above that
 * is less indented. A line without `- ` is the only one below the line just above it. The file is
 * named where it is not the one of that line. What is below TREE_THRESHOLD of its event is left
 * out, and counted in a line at its place.
 */
#ifndef KPROFS_FORMATS_TREE_H
#define KPROFS_FORMATS_TREE_H

#include <stdio.h>

#include "base/err.h"
#include "formats/view.h"

#define TREE_THRESHOLD 0.5 /* percent */

/* As view_format.write. */
int tree_write(const struct view_input *input, FILE *out, struct err *err);

#endif
