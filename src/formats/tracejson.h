/* SPDX-License-Identifier: MIT */
/*
 * A capture in the Trace Event Format, JSON that Perfetto's viewer and chrome://tracing read: each
 * sample is an instant event of its thread, named after the function, with a reference to its
 * stack. Annotations are instant events too, and those that lasted for a time complete ones; where
 * switches of tasks are among them, each CPU has a track with what ran on it. Times are
 * CLOCK_MONOTONIC in microseconds. Losses are in otherData.
 */
#ifndef KPROFS_FORMATS_TRACEJSON_H
#define KPROFS_FORMATS_TRACEJSON_H

#include <stdio.h>

#include "formats/view_input.h"

/* Needs VIEW_MOMENTS. Errors of timeline_create(). */
int tracejson_write(const struct view_input *input, FILE *out, struct err *err);

#endif
