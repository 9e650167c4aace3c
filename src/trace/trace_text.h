/* SPDX-License-Identifier: MIT */
/*
 * Formats an event of a program as the lines that a reader sees:
 *
 *	[SEC.NSEC]:cpuN: prog[PID] provider:event: text		prog[PID/TID] for other threads
 *	[SEC.NSEC]:cpuN: prog[PID]: text			of kprof_printf
 *
 * Format and arguments come from the producer and are not trusted. ring/args.h parses the format,
 * each conversion is printed by itself, and an argument that is not there is shown as "(missing)".
 * Each line of a text gets the header, and bytes below 32 except newline and tab, and 127, become
 * \xNN. A stack is the lines after the text, an address each, innermost first. A text that the
 * program or this file had to cut ends in " [cut]". If the text goes on in the next event of its kind, the
 * last line has "+: " in place of the last ": " of the header.
 *
 * One thread at a time for each struct trace_text; nothing blocks.
 */
#ifndef KPROFS_TRACE_TRACE_TEXT_H
#define KPROFS_TRACE_TRACE_TEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/arguments.h"
#include "trace/text_event.h"

struct trace_text;

struct trace_text *trace_text_create(void);
void trace_text_destroy(struct trace_text *trace_text);

/* Appends the event's lines. */
void trace_text_append(
	struct trace_text *trace_text, const struct trace_text_event *event, GString *out);

/*
 * How many bytes trace_text_append would append, mostly without formatting them. `format` may be NULL for
 * a text that carries its format: then it is not split yet.
 */
uint64_t trace_text_measure(struct trace_text *trace_text, const struct trace_text_event *event);

/*
 * The text alone, as printf would make it: without header and escapes; it may contain NUL bytes.
 * *cut: the text is not complete. Valid until the next call for the same trace_text.
 */
const char *trace_text_format(struct trace_text *trace_text, const struct trace_text_event *event,
	size_t *bytes, bool *cut);

/*
 * Splits a text that carries its format (KPROF_ID_TEXT) into format and arguments. Returns false if
 * it is not valid; format and arguments are then empty.
 */
bool trace_text_split(struct trace_text_event *event);

/*
 * Skips the arguments of the format in *args, which begins with event->args: what is left is the
 * stack. Returns false if some are missing.
 */
bool trace_text_skip_arguments(const struct trace_text_event *event, struct arguments *args);

/*
 * Copies the addresses of a stack to `stack`, innermost first, and takes them out of the event, whose
 * text is then without them. Returns how many there are; 0, and the event is unchanged, if it has
 * none, more than `max`, or not all arguments.
 */
uint32_t trace_text_take_stack(struct trace_text_event *event, uint64_t *stack, uint32_t max);

/* Appends the line "[T]:cpuN: COUNT events WHAT". */
void trace_text_append_note(
	uint64_t time_ns, uint32_t cpu, uint64_t count, const char *what, GString *out);

#endif
