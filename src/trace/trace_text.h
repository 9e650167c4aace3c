/* SPDX-License-Identifier: MIT */
/*
 * An event of a program as the lines that a reader sees:
 *
 *	[SEC.NSEC]:cpuN: prog[PID] provider:event: text		prog[PID/TID] for other threads
 *	[SEC.NSEC]:cpuN: prog[PID]: text			of kprof_printf
 *
 * Format and arguments are a stranger's. The format is walked by ring/args.h, each conversion is
 * printed by itself, and what the arguments don't have is said: (missing). Each line of a text gets
 * the header, and bytes below 32 but newline and tab, and 127, become \xNN. A stack is the lines
 * that follow the text, an address each, innermost first. A text that the program, or we, had to
 * cut ends in " [cut]".
 *
 * One thread at a time for each struct trace_text; nothing blocks.
 */
#ifndef KPROFS_TRACE_TRACE_TEXT_H
#define KPROFS_TRACE_TRACE_TEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include <kprof/ring_abi.h>

/* What one event may become: the text before escapes, and its lines; what is more is cut. */
#define TRACE_TEXT_TEXT_MAX 16384u
#define TRACE_TEXT_LINES_MAX 128u
/* The longest header: numbers of at most 20 digits, names as in attach_abi.h. */
#define TRACE_TEXT_HEADER_MAX 512u
/* All lines of one event: every byte escaped, every line with its header. */
#define TRACE_TEXT_EVENT_MAX                                                                       \
	(TRACE_TEXT_LINES_MAX * (TRACE_TEXT_HEADER_MAX + 1) + 4 * TRACE_TEXT_TEXT_MAX)

struct trace_text_event {
	uint64_t time_ns;
	uint32_t cpu; /* KPROF_CPU_UNKNOWN: shown as ? */
	uint32_t pid, tid;
	uint32_t flags;      /* KPROF_RECORD_* */
	const char *program; /* printable, at most 200 bytes */
	const char *label;   /* "provider:event", at most 201 bytes; "": a text */
	const char *format;  /* not printed by printf; needs no NUL */
	uint32_t format_bytes;
	uint32_t args_bytes;
	const char *args; /* as they stand in the record; 8 bytes aligned or not */
};

struct trace_text;

struct trace_text *trace_text_create(void);
void trace_text_destroy(struct trace_text *line);

/* Appends the event's lines. */
void trace_text_append(struct trace_text *line, const struct trace_text_event *event, GString *out);

/* How many bytes trace_text_append would append, mostly without formatting them. */
uint64_t trace_text_measure(struct trace_text *line, const struct trace_text_event *event);

/*
 * The text alone, as printf would make it: without header and escapes, NUL bytes may be in it.
 * *cut: there would be more. Good until the next call for this line.
 */
const char *trace_text_text(
	struct trace_text *line, const struct trace_text_event *event, size_t *bytes, bool *cut);

/*
 * Splits a text that carries its format (KPROF_ID_TEXT) into format and arguments. false: it is
 * none; format and arguments are empty then.
 */
bool trace_text_split_text(struct trace_text_event *event);

/* "[T]:cpuN: COUNT events WHAT", a line of our own. */
void trace_text_append_note(
	uint64_t time_ns, uint32_t cpu, uint64_t count, const char *what, GString *out);

#endif
