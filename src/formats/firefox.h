/* SPDX-License-Identifier: MIT */
/*
 * A capture as a profile of the Firefox Profiler, in its processed format of version 48: one JSON
 * object, in which each thread (and where there are several, each event of it) has tables of its
 * own.
 *
 * Weights are what samples stand for: milliseconds of a clock, else how often the event happened.
 * What was lost stands in meta.extra.
 */
#ifndef KPROFS_FORMATS_FIREFOX_H
#define KPROFS_FORMATS_FIREFOX_H

#include "formats/view.h"

/* Needs VIEW_MOMENTS. Errors of timeline_create(); -EFBIG: more than FIREFOX_STACKS_MAX. */
int firefox_write(const struct view_input *input, FILE *out, struct err *err);

#endif
