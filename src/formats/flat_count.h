/* SPDX-License-Identifier: MIT */
/*
 * The figures of the flat profile: the samples of each event in each function of each process, and
 * by caller. Thread-safe once created.
 */
#ifndef KPROFS_FORMATS_FLAT_COUNT_H
#define KPROFS_FORMATS_FLAT_COUNT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/functions.h"
#include "capture/profile.h"

struct summary_source;

struct flat_options {
	const struct summary_source *source; /* where the capture is from; NULL if not known */
	bool own;     /* count the samples of the server itself */
	bool total;   /* a column for a function with all its callees; sorts by it */
	bool colours; /* for a terminal */
	bool callers; /* below each function its callers, with `<-` for an event */
};

/* A function; or a caller of the function `of`. */
struct flat_row {
	uint32_t event;
	uint32_t function; /* FUNCTIONS_NO_FRAME: there is no stack, or no caller */
	const char *process;
	uint32_t of;	   /* callers: the number of the called row; else UINT32_MAX */
	uint32_t number;   /* of a row, in the order of first samples */
	uint32_t seen;	   /* rows: the last cell that was counted in total */
	uint32_t outermost; /* rows: the outermost node of that cell with the function */
	uint32_t calls;	   /* rows: index of the first caller, UINT32_MAX if there is none */
	struct profile_count self;  /* the innermost frame */
	struct profile_count total; /* any frame, each stack once */
};

struct flat_count {
	GArray *rows;	    /* struct flat_row: by event, hottest first */
	GArray *calls;	    /* struct flat_row: by called row, hottest first */
	GArray *weights;    /* uint64_t by event: weight of all counted samples, 100 % */
	uint64_t counted;   /* samples, all events */
	uint64_t unresolved; /* of these, those whose innermost frame has no symbol */
};

struct flat_count *flat_count_create(const struct profile *profile,
	const struct functions *functions, const struct flat_options *options);
void flat_count_destroy(struct flat_count *count);

static inline const struct flat_row *flat_row(const struct flat_count *count, uint32_t i)
{
	return &g_array_index(count->rows, struct flat_row, i);
}

/* The callers of a row, hottest first; NULL after the last one. */
const struct flat_row *flat_first_call(const struct flat_count *count, const struct flat_row *row);
const struct flat_row *flat_next_call(const struct flat_count *count, const struct flat_row *call);

#endif
