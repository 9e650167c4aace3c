/* SPDX-License-Identifier: MIT */
/*
 * A flame graph of the capture: one SVG file that needs no other file. For each event there is a
 * picture of its stacks: a row of processes, below each its functions, each as wide as its share of
 * the event's samples that are not idle, the hottest on the left. Each frame has its name and
 * numbers in its title, which needs no script; the script inside (flame_script.js) zooms, searches,
 * and fits the window.
 *
 * Frames narrower than a fraction of a pixel are drawn together with their narrow neighbours below
 * the same caller, as a block with their number. The fraction grows until the frames take less than
 * FLAME_FRAMES_BYTES_MAX, however many stacks there are.
 */
#ifndef KPROFS_FORMATS_FLAME_H
#define KPROFS_FORMATS_FLAME_H

#include <stdio.h>

#include "base/err.h"
#include "formats/calltree.h"
#include "formats/flame_page.h"
#include "formats/view_input.h"

/* As view_format.write. */
int flame_write(const struct view_input *input, FILE *out, struct err *err);

/* The same of maps of a program of probes/: of a tree of stackmap.h, whose events are maps. */
void flame_write_map(const struct calltree *tree, FILE *out);

#endif
