/* SPDX-License-Identifier: MIT */
/*
 * The rows of a browser: functions of a profile with what they call or are called by, or its call
 * tree from the processes down. Rows are made from a tree of calls (formats/calltree.h) when they
 * are expanded. Expanded rows are remembered by their names, so that they stay expanded when the
 * profile or the order changes. No terminal is needed. One thread.
 */
#ifndef KPROFS_TUI_ROWS_H
#define KPROFS_TUI_ROWS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/functions.h"
#include "capture/profile.h"
#include "formats/calltree.h"

/* rows_expand_all() stops at this many rows: more are of no use to a reader, and take memory. */
#define ROWS_EXPANDED_MAX 20000

enum rows_kind {
	ROWS_CALLERS, /* the functions of each process; below each the callers */
	ROWS_CALLEES, /* the same; below each what it calls */
	ROWS_TREE,    /* the processes; below each its functions as they call each other */
	ROWS_KINDS,
};

enum rows_order {
	ROWS_BY_SELF,
	ROWS_BY_TOTAL,
	ROWS_BY_PROCESS,
	ROWS_BY_FUNCTION,
	ROWS_BY_FILE,
	ROWS_ORDERS,
};

/* As users read them. */
extern const char *const rows_kind_names[ROWS_KINDS];
extern const char *const rows_order_names[ROWS_ORDERS];

struct rows_options {
	enum rows_kind kind;
	enum rows_order order;
	bool reverse;
	const char *filter; /* only rows with this text in the process, function or file; "" for all */
	bool no_kernel, no_user; /* leave out such functions at the top */
	double limit; /* percent: rows at the top with a smaller share are left out */
};

struct row {
	uint64_t key;	     /* of its name and those above it: equal in the next profile */
	uint32_t node;	     /* of the tree; one of those that it stands for */
	uint32_t depth;	     /* 0 at the top */
	const char *process; /* of a function at the top, else NULL */
	bool expandable, expanded;
	struct profile_count self;  /* without samples in a row of a caller */
	struct profile_count total;
	uint32_t counted; /* used while counting */
	GArray *parts;	  /* struct rows_part: its nodes, owned */
	GPtrArray *below; /* struct row *, or NULL if not made yet */
};

struct rows {
	struct profile *selected; /* owned */
	struct calltree *tree;
	struct rows_options options; /* its filter is owned */
	GPtrArray *top;	  /* struct row *, owned */
	GPtrArray *shown; /* struct row *: the top and what is expanded below it */
	GHashTable *expanded; /* keys (uint64_t) */
	uint64_t whole;	      /* weight of all samples, 100 % */
	uint64_t samples;
	uint32_t filtered; /* rows that the filter leaves out at the top */
	uint32_t limited; /* others that are below the limit */
};

struct rows *rows_create(void);
void rows_destroy(struct rows *rows);

/*
 * Takes another profile (made by selection_create(), owned from now on), and makes the rows anew. The
 * functions must outlive its use. -EFBIG as calltree_create(): there are no rows then.
 */
int rows_take(struct rows *rows, struct profile *selected, const struct functions *functions,
	struct err *err);

/* Makes the rows anew. The filter is copied. */
void rows_set(struct rows *rows, const struct rows_options *options);

/* Shows what is below a row, or hides it. */
void rows_expand(struct rows *rows, struct row *row, bool expanded);
/* All below a row. Returns false if there are more than ROWS_EXPANDED_MAX. */
bool rows_expand_all(struct rows *rows, struct row *row);
void rows_collapse_all(struct rows *rows);

static inline struct row *rows_at(const struct rows *rows, uint32_t i)
{
	return rows->shown->pdata[i];
}

/* The index of the row with this key; UINT32_MAX: it is not shown. */
uint32_t rows_find_key(const struct rows *rows, uint64_t key);

/*
 * The next row from index `from` on whose process, function or file contains the text, in either
 * direction, round the end; UINT32_MAX: there is none.
 */
uint32_t rows_search(const struct rows *rows, const char *text, uint32_t from, bool backward);

/* Not escaped. "-": there is none. */
const char *rows_name(const struct rows *rows, const struct row *row);
const char *rows_file(const struct rows *rows, const struct row *row);

/* What a row is ordered by at first: the samples of the function itself, or with what it calls. */
const struct profile_count *rows_count(const struct rows *rows, const struct row *row);

/* The index of the row's function in the profile's functions; FUNCTIONS_NO_FRAME: it has no name. */
uint32_t rows_function(const struct rows *rows, const struct row *row);

#endif
