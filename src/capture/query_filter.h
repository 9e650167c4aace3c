/* SPDX-License-Identifier: MIT */
/*
 * The part of a capture that belongs to a query, as a capture of its own.
 *
 * A sample is copied if all conditions hold for it, and so is what it needs: records of its process
 * and of that one's ancestors, the kernel's mappings, events, periods and threads. A loss is copied
 * if its CPU and event fit, and if the last sample before it in the stream is within the time: a
 * LOST record has no time, and the process of a lost sample is not known. Malformed bytes are copied,
 * so that a report names them.
 *
 * `last` counts from the newest sample of each section (processes.h). One thread at a time.
 *
 * `spans` are the intervals in which the span of QUERY_SPAN was open; NULL for a query without it. They stay
 * the caller's, and must stay as long as the call or the struct query_values.
 */
#ifndef KPROFS_CAPTURE_QUERY_FILTER_H
#define KPROFS_CAPTURE_QUERY_FILTER_H

#include <glib.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/err.h"
#include "capture/decode.h"
#include "capture/intervals.h"
#include "capture/query.h"

struct query_filter_result {
	int fd;		  /* of the unnamed file, sealed, at its start; the caller closes it */
	uint64_t samples; /* in it */
	uint64_t lost;	  /* reported by its LOST records */
	struct query query; /* as it applied to the last section: with settled times */
};

/*
 * Copies the records of the decoder, from where it began. Returns -EINTR if it was cancelled,
 * -ESPIPE if the decoder can't be rewound, or -errno of the file, with a sentence.
 */
int query_filter_make(struct decoder *decoder, const struct query *query, const struct intervals *spans,
	const struct cancel *cancel, struct query_filter_result *result, struct err *err);

/*
 * The values of a key that the samples of a query have: those for which the query with that value is
 * not empty; not for QUERY_SPAN, whose values the trace has. All records are given to
 * query_values_learn(), and then all again to query_values_add(). Values that are longer than the key's
 * limit are left out.
 */
struct query_values;

struct query_values *query_values_create(
	const struct query *query, const struct intervals *spans, enum query_key key);
/* Whether query_values_learn() is needed; otherwise it may be left out. */
bool query_values_must_learn(const struct query_values *values);
void query_values_learn(struct query_values *values, const struct decode_record *record);
void query_values_add(struct query_values *values, const struct decode_record *record);
/* Frees it and returns a set of strings that owns them; the caller unrefs it. */
GHashTable *query_values_finish(struct query_values *values);

#endif
