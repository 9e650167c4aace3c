/* SPDX-License-Identifier: MIT */
/*
 * The samples of one or two captures broken down by what the reader asks for: processes, functions,
 * files, addresses, threads, CPUs, or several of these together. The figures of `kprof report`.
 *
 * A row is one combination of values. It has one column of counts; or one for each event, side by
 * side; or, of two captures that are compared, one for each. Without columns for the events, the
 * event is a value of the row. One thread at a time; thread-safe once made.
 */
#ifndef KPROFS_FORMATS_BREAKDOWN_H
#define KPROFS_FORMATS_BREAKDOWN_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/functions.h"
#include "capture/profile.h"

enum breakdown_field {
	BREAKDOWN_EVENT,
	BREAKDOWN_PROCESS, /* its name */
	BREAKDOWN_PID,
	BREAKDOWN_THREAD,
	BREAKDOWN_CPU,
	BREAKDOWN_ADDRESS, /* the file's own; in the kernel and without a file that in memory */
	BREAKDOWN_LINE, /* of the source, the innermost inlined one's: names with SYMBOLS_LINES */
	BREAKDOWN_FUNCTION,
	BREAKDOWN_FILE,
	BREAKDOWN_FIELDS,
};

/* Names of the fields, as the user says them. */
extern const char *const breakdown_fields[BREAKDOWN_FIELDS];

/* The field of a name; BREAKDOWN_FIELDS where there is none. */
enum breakdown_field breakdown_find_field(const char *name);

/*
 * Which samples make rows: those that any of the patterns for a field matches, and none excludes.
 */
struct breakdown_filter {
	enum breakdown_field field;
	bool exclude;
	const char *glob; /* fnmatch(3) */
};

struct breakdown_options {
	unsigned int fields; /* bits: 1 << field; the event's is set unless side_by_side */
	bool own;	     /* count the samples taken in the server itself */
	bool total;	     /* what a row's function and all that it calls took, too */
	bool side_by_side;   /* a column for each event */
	const struct breakdown_filter *filters;
	size_t filter_count;
};

struct breakdown_input {
	const struct profile *profile;
	const struct functions *names;
};

struct breakdown_count {
	struct profile_count self;  /* the innermost frame */
	struct profile_count total; /* any frame, each stack once; where it was asked for */
};

struct breakdown_row {
	const char *values[BREAKDOWN_FIELDS]; /* NULL: not asked for; equal ones are one pointer */
	uint32_t event; /* of breakdown.events; with side_by_side 0 */
	uint32_t counts; /* index of its first column's */
	uint32_t seen;	 /* while counting */
};

struct breakdown {
	GArray *rows;	     /* struct breakdown_row, as first met */
	GArray *counts;	     /* struct breakdown_count */
	uint32_t columns;
	bool side_by_side;
	GPtrArray *events;   /* texts, of all captures */
	uint64_t *wholes;    /* weight of what is counted: 100 %; events times columns */
	uint64_t *counted;   /* samples: of each input */
	uint64_t *unresolved; /* of these: the innermost frame has no symbol */
	uint64_t filtered;   /* samples that the filters kept from making a row of their own */
	GStringChunk *strings;
};

/* Counts the samples of one or two captures; these may go afterwards. */
struct breakdown *breakdown_create(const struct breakdown_input *inputs, size_t count,
	const struct breakdown_options *options);
void breakdown_destroy(struct breakdown *breakdown);

static inline const struct breakdown_row *breakdown_row(const struct breakdown *b, uint32_t i)
{
	return &g_array_index(b->rows, struct breakdown_row, i);
}

static inline const struct breakdown_count *breakdown_count(const struct breakdown *b,
	const struct breakdown_row *row, uint32_t column)
{
	return &g_array_index(b->counts, struct breakdown_count, row->counts + column);
}

/* Percent of the row's event, or of the column's. */
double breakdown_share(const struct breakdown *b, const struct breakdown_row *row, uint32_t column,
	uint64_t weight);

/* How rows are sorted: */
struct breakdown_order {
	enum breakdown_field field; /* by its value; BREAKDOWN_FIELDS: hottest first */
	bool total;		    /* by what they took with all that they call */
	bool difference;	    /* the largest between the two columns first */
	bool reverse;
};

/* Events stay together, in their order. What is equal is ordered by all values. */
void breakdown_sort(struct breakdown *b, const struct breakdown_order *order);

#endif
