/* SPDX-License-Identifier: MIT */
/*
 * The length of an event's lines without making them. The size of a trace is needed when it is opened, and
 * a trace may hold millions of events.
 *
 * One thread at a time for each struct text_length; nothing blocks.
 */
#ifndef KPROFS_TRACE_TEXT_LENGTH_H
#define KPROFS_TRACE_TEXT_LENGTH_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/text_event.h"

struct text_length;

/* NULL if there is not enough memory. */
struct text_length *text_length_create(void);
void text_length_destroy(struct text_length *length);

/*
 * Returns false if the lines must be formatted to know their length. That is so for texts that are
 * longer than TRACE_TEXT_BYTES_MAX, and for formats that are not valid.
 */
bool text_length(
	struct text_length *length, const struct trace_text_event *event, uint64_t *bytes);

#endif
