/* SPDX-License-Identifier: MIT */
/* What maps hold as text, in the form that bpftrace prints. In any thread. */
#ifndef KPROFS_PROBES_ANSWER_H
#define KPROFS_PROBES_ANSWER_H

#include <glib.h>
#include <stdint.h>

#include "probes/ast.h"
#include "probes/store.h"
#include "probes/value.h"

/* A text that is taken in pieces, so that its memory does not grow with it. */
struct answer_pieces {
	void (*take)(void *arg, GString *out); /* empties it */
	void *arg;
};

struct answer_limits {
	const struct answer_pieces *pieces; /* NULL: none */
	uint64_t top;	  /* only so many entries, those with the highest values; 0: all */
	uint64_t divisor; /* of each value; 0: 1 */
	const void *key;  /* only this entry; NULL: all */
	size_t line_bytes; /* of JSON: a longer map is in several lines; 0: in one */
};

/* Appends a map: a line for each entry, or a histogram; nothing if it is empty. */
void answer_print_map(const struct store *store, const struct ast_map *map,
	const struct answer_limits *limits, const struct value_names *names, GString *out);

/*
 * The same as JSON, one line in the shape that bpftrace has for it, or several that have a part of the keys
 * each.
 */
void answer_json_map(const struct store *store, const struct ast_map *map,
	const struct answer_limits *limits, const struct value_names *names, GString *out);

/* Rows of a histogram from the first bucket that is not empty to the last. */
void answer_print_hist(const struct ast_map *map, const uint64_t *counts, uint32_t buckets, uint64_t divisor,
	GString *out);

#endif
