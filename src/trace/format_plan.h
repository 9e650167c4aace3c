/* SPDX-License-Identifier: MIT */
/*
 * Formats that were parsed once, so that the length of an event's text can be computed without parsing its
 * format again: a trace has millions of events and few formats.
 *
 * One thread at a time for each struct format_plans; nothing blocks.
 */
#ifndef KPROFS_TRACE_FORMAT_PLAN_H
#define KPROFS_TRACE_FORMAT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/args.h"

struct format_plan {
	char *format; /* a copy, `bytes` long; literals of the conversions lie in it */
	uint32_t bytes;
	bool is_valid;	      /* no bad conversion, and at most KPROF_ARGS_MAX of them */
	bool is_clean;	      /* no bytes below 32, and no 127 */
	size_t literal_bytes; /* with one for each %% */
	unsigned int count;
	struct args_conversion conversions[KPROF_ARGS_MAX]; /* without %% */
};

struct format_plans;

struct format_plans *format_plans_create(void);
void format_plans_destroy(struct format_plans *plans);

/* The plan of a format, compared by its bytes. Valid until the next call for these plans. */
const struct format_plan *format_plans_get(
	struct format_plans *plans, const char *format, uint32_t bytes);

#endif
