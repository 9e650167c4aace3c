/* SPDX-License-Identifier: MIT */
/*
 * Counts the samples of one or two captures by given fields: process, function, file, address,
 * thread, CPU, or several of these together. The figures of `kprof report`.
 *
 * A row is one combination of values. It has one column of counts; or one column for each event;
 * or, if two captures are compared, one for each capture. Without columns for the events, the event
 * is a value of the row. One thread at a time; thread-safe once created.
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
	BREAKDOWN_HOST, /* the name of the machine */
	BREAKDOWN_PROCESS, /* its name */
	BREAKDOWN_PID,
	BREAKDOWN_THREAD,
	BREAKDOWN_COMM, /* the name of the thread */
	BREAKDOWN_CPU,
	BREAKDOWN_ADDRESS, /* as in the file; in the kernel and without a file as in memory */
	BREAKDOWN_LINE, /* source line, of the innermost inlined function; needs SYMBOLS_LINES */
	BREAKDOWN_FUNCTION,
	BREAKDOWN_FILE,
	BREAKDOWN_FIELDS,
};

/* Names of the fields, as users write them. */
extern const char *const breakdown_fields[BREAKDOWN_FIELDS];

/*
 * The field of a name, which can also be one of perf report's --sort (dso, sym, tid, srcline);
 * BREAKDOWN_FIELDS if there is none.
 */
enum breakdown_field breakdown_find_field(const char *name);

/*
 * The filter for samples: a sample must match one of the patterns of each field that has any, and
 * no excluding pattern.
 */
struct breakdown_filter {
	enum breakdown_field field;
	bool exclude;
	const char *glob; /* fnmatch(3) */
};

struct breakdown_options {
	unsigned int fields; /* bits: 1 << field; the event's is set unless side_by_side */
	bool own;	     /* count the samples of the server itself */
	bool total;	     /* also count what a row's function and its callees took */
	bool side_by_side;   /* a column for each event */
	bool merged;	     /* all addresses of a file without a symbol are one function, [FILE] */
	const struct breakdown_filter *filters;
	size_t filter_count;
};

struct breakdown_input {
	const struct profile *profile;
	const struct functions *functions;
};

struct breakdown_count {
	struct profile_count self;  /* the innermost frame */
	struct profile_count total; /* any frame, each stack once; only with options.total */
};

struct breakdown_row {
	const char *values[BREAKDOWN_FIELDS]; /* NULL if not a field; equal ones are one pointer */
	uint32_t event; /* of breakdown.events; with side_by_side 0 */
	uint32_t counts; /* index of the count of its first column */
	uint32_t seen;	 /* used while counting */
};

struct breakdown {
	GArray *rows;	     /* struct breakdown_row, in the order of their first samples */
	GArray *counts;	     /* struct breakdown_count */
	uint32_t columns;
	bool side_by_side;
	GPtrArray *events;   /* texts, of all captures */
	uint64_t *wholes;    /* weight of all counted samples, 100 %; events times columns */
	uint64_t *counted;   /* samples, of each input */
	uint64_t *unresolved; /* of these, those whose innermost frame has no symbol */
	uint64_t filtered;   /* samples that the filters left out */
	GStringChunk *strings;
};

/* Counts the samples of one or two captures, which may be destroyed afterwards. */
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

/* The order of rows. */
struct breakdown_order {
	enum breakdown_field field; /* by its value; BREAKDOWN_FIELDS: hottest first */
	bool total;		    /* by the total, with all callees */
	bool difference;	    /* by the difference of the two columns, largest first */
	bool reverse;
};

/* Events stay together, in their order. Equal rows are sorted by all values. */
void breakdown_sort(struct breakdown *b, const struct breakdown_order *order);

#endif
