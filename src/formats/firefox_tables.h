/* SPDX-License-Identifier: MIT */
/*
 * The tables of one thread in the Firefox Profiler's format: strings, functions, frames, stacks,
 * each entry once. A stack is a frame and the stack of its caller. Inlined functions are separate
 * frames, called by the function into which they were inlined.
 *
 * One set is filled for a thread, written, and reset for the next one. One thread at a time.
 */
#ifndef KPROFS_FORMATS_FIREFOX_TABLES_H
#define KPROFS_FORMATS_FIREFOX_TABLES_H

#include <glib.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/table.h"
#include "formats/view_input.h"

#define FIREFOX_NONE UINT32_MAX /* null */

/*
 * Stacks of one thread, at most: some 100 MiB. There are more of them than frames in the capture
 * only because of inlined functions.
 */
#define FIREFOX_STACKS_MAX (4u << 20)

/* Indexes of meta.categories. */
enum firefox_category { FIREFOX_OTHER, FIREFOX_USER, FIREFOX_KERNEL, FIREFOX_CATEGORIES };

struct firefox_function {
	uint32_t name;	   /* string */
	uint32_t source;   /* string, or FIREFOX_NONE */
	uint32_t resource; /* or FIREFOX_NONE */
};

struct firefox_frame {
	uint32_t function;
	uint32_t line;  /* or FIREFOX_NONE */
	uint32_t depth; /* of inlining: 0 for the function that is not inlined */
	uint32_t category;
};

struct firefox_stack {
	uint32_t frame;
	uint32_t caller; /* a stack with a smaller number, or FIREFOX_NONE */
	uint32_t category; /* that of the frame */
};

struct firefox_resource {
	uint32_t file; /* of processes */
	uint32_t lib;  /* of the profile's libs */
	uint32_t name; /* string; set when the tables are written */
};

struct firefox_tables {
	const struct view_input *input;
	const uint32_t *libs; /* by file of processes: index of the profile's libs */
	GPtrArray *strings;   /* char *, owned */
	GHashTable *string_indexes;
	GArray *functions, *frames, *stacks, *resources;
	struct table function_table, frame_table, stack_table;
	uint32_t *resource_of; /* by file; FIREFOX_NONE if there is none */
	uint32_t *stack_of;    /* by node of the profile's stacks; FIREFOX_NONE if none yet */
	GArray *touched;       /* uint32_t: nodes whose stack_of is set */
	GArray *path;	       /* scratch */
	GString *text;	       /* scratch */
};

/* libs must outlive the tables. */
void firefox_tables_init(struct firefox_tables *t, const struct view_input *input,
	const uint32_t *libs);
void firefox_tables_fini(struct firefox_tables *t);
void firefox_tables_reset(struct firefox_tables *t);

/* The stack of a node of the profile's stacks; FIREFOX_NONE for the root. */
uint32_t firefox_tables_stack(struct firefox_tables *t, uint32_t node);

/*
 * Writes the members from `"stackTable":{...},` to `"stringArray":[...]`, without a comma at the
 * end.
 */
void firefox_tables_write(struct firefox_tables *t, FILE *out);

#endif
