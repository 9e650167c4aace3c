/* SPDX-License-Identifier: MIT */
/*
 * The figures of the flat profile: how much of each event was met in each function of each process,
 * and on whose behalf. Thread-safe once made.
 */
#ifndef KPROFS_FORMATS_FLAT_COUNT_H
#define KPROFS_FORMATS_FLAT_COUNT_H

#include <glib.h>
#include <stdint.h>

#include "formats/flat.h"
#include "capture/functions.h"
#include "capture/profile.h"

/* A function; or a caller of one, behind `of`. */
struct flat_row {
	uint32_t event;
	uint32_t function; /* of names, FUNCTIONS_NO_FRAME where no stack was taken, or no caller */
	const char *process;
	uint32_t of;	   /* callers: which function is called, as number; else UINT32_MAX */
	uint32_t number;   /* of a row, as met */
	uint32_t seen;	   /* rows: the last cell that was counted in total */
	uint32_t outermost; /* rows: the node at which that cell met the function last */
	uint32_t calls;	   /* rows: index of the first caller, UINT32_MAX: none */
	struct profile_count self;  /* the innermost frame */
	struct profile_count total; /* any frame, each stack once */
};

struct flat_count {
	GArray *rows;	    /* struct flat_row: by event, hottest first */
	GArray *calls;	    /* struct flat_row: by called row, hottest first */
	GArray *weights;    /* uint64_t by event: what is counted, 100 % */
	uint64_t counted;   /* samples, all events */
	uint64_t unresolved; /* of these: the innermost frame has no symbol */
};

struct flat_count *flat_count_create(const struct profile *profile, const struct functions *names,
	const struct flat_options *options);
void flat_count_destroy(struct flat_count *count);

static inline const struct flat_row *flat_row(const struct flat_count *count, uint32_t i)
{
	return &g_array_index(count->rows, struct flat_row, i);
}

/* The callers of a row, hottest first; NULL behind the last. */
const struct flat_row *flat_first_call(const struct flat_count *count, const struct flat_row *row);
const struct flat_row *flat_next_call(const struct flat_count *count, const struct flat_row *call);

#endif
