/* SPDX-License-Identifier: MIT */
/*
 * A capture as a profile of the Firefox Profiler, in its processed format of version 48: one JSON
 * object, in which each thread has its tables (if there are several events, each event of each
 * thread).
 *
 * The weight of a sample is its period: milliseconds of a clock, else how often the event happened.
 * Losses are in meta.extra.
 */
#ifndef KPROFS_FORMATS_FIREFOX_H
#define KPROFS_FORMATS_FIREFOX_H

#include <stdio.h>

#include "formats/view_input.h"

/*
 * Needs VIEW_MOMENTS. Returns the errors of timeline_create(), or -EFBIG if there are more than
 * FIREFOX_STACKS_MAX stacks.
 */
int firefox_write(const struct view_input *input, FILE *out, struct err *err);

#endif
