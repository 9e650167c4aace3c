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

/* Text between conversions, with one % for each %%. */
struct format_literal {
	uint16_t bytes;
	uint16_t newlines;
	uint16_t escaped; /* other bytes that escape_is_needed() is true for */
	bool ends_line;	  /* the last byte is a newline */
};

struct format_step {
	struct format_literal before;
	bool is_plain; /* %d, %i or %u without flags, width and precision */
	struct args_conversion conversion; /* its literal is not to be used */
};

struct format_plan {
	const char *format; /* NULL if the place is free */
	uint32_t bytes;
	uint32_t copy_bytes; /* allocated for it */
	char *copy;	     /* `format` is this one, or the caller's */
	bool is_valid; /* args_plan() accepts it, and it is at most KPROF_FORMAT_MAX long */
	unsigned int count;
	struct format_step steps[KPROF_ARGS_MAX];
	struct format_literal rest;
};

struct format_plans;

/* NULL if there is not enough memory. */
struct format_plans *format_plans_create(void);
void format_plans_destroy(struct format_plans *plans);

/*
 * Returns the plan of a format, which is valid until the next call for these plans, or NULL if
 * there is not enough memory. `stays` says that the bytes at `format` do not change as long as the
 * plans exist, so that they need not be compared.
 */
const struct format_plan *format_plans_get(
	struct format_plans *plans, const char *format, uint32_t bytes, bool stays);

#endif
