/* SPDX-License-Identifier: MIT */
/*
 * What programs print: for each call of printf() and the like how its record is laid out, and the
 * records as text. The table is made together with the instructions, and does not refer to the syntax
 * tree: records are read long after their program has gone. It does not change then; any thread may
 * read it.
 */
#ifndef KPROFS_PROBES_OUTPUT_H
#define KPROFS_PROBES_OUTPUT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "probes/ast.h"
#include "probes/tables.h"
#include "probes/value.h"

/* The bytes of all arguments of one call in a record: what is left of the longest one. */
#define OUTPUT_BYTES_MAX (KERNEL_RECORD_MAX - (uint32_t)sizeof(struct kernel_record) - 8)

/* An argument, in the form of layout.h, or of a stack whose frames follow it. */
struct output_part {
	struct ast_type type;
	uint32_t offset;
	uint32_t frames; /* not 0: a count and at most so many frames */
	/* A register whose type is not known: the upper half is 0 if it holds an int. */
	bool is_register;
};

struct output {
	enum function_id id;
	char *format; /* printf(), time(), cat(), mark(): the text */
	struct output_part *parts;
	uint32_t count;
	uint32_t bytes; /* of all parts */
	bool has_addresses; /* a part is printed with names of addresses */
	/* print(), clear(), zero(): the map, or NULL: print(value). With a part: its value, in the record */
	char *map;
	uint64_t top, divisor; /* 0: none */
};

struct outputs {
	GPtrArray *items; /* struct output */
	char **targets;	  /* what `probe` prints, by number; NULL-terminated */
	bool as_json;	  /* each call is a line of JSON, in the shape that bpftrace has for it */
};

/* The names of all targets of a program are copied. The caller has the first reference. */
struct outputs *outputs_create(const struct ast *ast);
/* Any thread. outputs_put(): NULL is allowed. */
struct outputs *outputs_get(struct outputs *outputs);
void outputs_put(struct outputs *outputs);
/* A new row, which is the table's. */
struct output *outputs_add(struct outputs *outputs, enum function_id id);
/* A part behind those that are there: its types are copied. It may be changed before the next one. */
struct output_part *output_add_part(struct output *output, const struct ast_type *type, uint32_t bytes,
	uint32_t frames);

/* Whether a call prints addresses, for which there may be names. */
bool outputs_have_addresses(const struct outputs *outputs, uint32_t index);

/* The line of JSON of a text that a call has made: {"type": TYPE, "data": TEXT}, with a newline. */
void output_json(const struct output *output, const char *text, size_t bytes, GString *out);

/*
 * Appends the text of a call: printf() with its arguments, print(value), time() of time_ns, a time of
 * CLOCK_MONOTONIC. `data` has `bytes`; too few show as what is there.
 */
void output_print(const struct outputs *outputs, uint32_t index, uint64_t time_ns, const void *data,
	uint32_t bytes, const struct value_names *names, GString *out);

#endif
