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
 * program or this file had to cut ends in " [cut]".
 *
 * One thread at a time for each struct trace_text; nothing blocks.
 */
#ifndef KPROFS_TRACE_TRACE_TEXT_H
#define KPROFS_TRACE_TRACE_TEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include <kprof/ring_abi.h>

/*
 * The most that one event is shown with: bytes of text before escapes, and lines. The rest is cut.
 */
#define TRACE_TEXT_BYTES_MAX 16384u
#define TRACE_TEXT_LINES_MAX 128u
/* The longest header: numbers of at most 20 digits, names as in attach_abi.h. */
#define TRACE_TEXT_HEADER_MAX 512u
/* All lines of one event: every byte escaped, every line with its header. */
#define TRACE_TEXT_EVENT_MAX                                                                       \
	(TRACE_TEXT_LINES_MAX * (TRACE_TEXT_HEADER_MAX + 1) + 4 * TRACE_TEXT_BYTES_MAX)

struct trace_text_event {
	uint64_t time_ns;
	uint32_t cpu; /* KPROF_CPU_UNKNOWN: shown as ? */
	uint32_t pid, tid;
	uint32_t flags;      /* KPROF_RECORD_* */
	const char *program; /* printable, at most 200 bytes */
	const char *label;   /* "provider:event", at most 201 bytes; "": a text */
	const char *format;  /* never passed to printf; needs no NUL */
	uint32_t format_bytes;
	uint32_t args_bytes;
	const char *args; /* the bytes of the record; need not be aligned */
};

struct trace_text;

struct trace_text *trace_text_create(void);
void trace_text_destroy(struct trace_text *trace_text);

/* Appends the event's lines. */
void trace_text_append(
	struct trace_text *trace_text, const struct trace_text_event *event, GString *out);

/* How many bytes trace_text_append would append, mostly without formatting them. */
uint64_t trace_text_measure(struct trace_text *trace_text, const struct trace_text_event *event);

/*
 * The text alone, as printf would make it: without header and escapes; it may contain NUL bytes.
 * *cut: the text is not complete. Valid until the next call for the same trace_text.
 */
const char *trace_text_format(struct trace_text *trace_text, const struct trace_text_event *event,
	size_t *bytes, bool *cut);

/*
 * Splits a text that carries its format (KPROF_ID_TEXT) into format and arguments. false: it is
 * not valid; format and arguments are empty then.
 */
bool trace_text_split(struct trace_text_event *event);

/* Appends the line "[T]:cpuN: COUNT events WHAT". */
void trace_text_append_note(
	uint64_t time_ns, uint32_t cpu, uint64_t count, const char *what, GString *out);

#endif
