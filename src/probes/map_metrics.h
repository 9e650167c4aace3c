/* SPDX-License-Identifier: MIT */
/* What maps hold as metrics (base/openmetrics.h). In any thread. */
#ifndef KPROFS_PROBES_MAP_METRICS_H
#define KPROFS_PROBES_MAP_METRICS_H

#include <stdint.h>

#include "base/openmetrics.h"
#include "probes/ast.h"
#include "probes/store.h"
#include "probes/value.h"

/* Samples of all maps in one text, some 12 MB: more would not be read within the time of a reader. */
#define MAP_METRICS_MAX 100000u

struct map_metrics {
	struct openmetrics *metrics;
	uint32_t samples;  /* so far */
	uint64_t left_out; /* keys for which there was no room */
};

/*
 * Adds a map: numbers as probe_value, hist() and lhist() as histograms probe_distribution, avg() and
 * stats() as probe_sum_value and probe_count_value, other values as the label `value` of probe_text_info.
 * Labels are the program, the map, and the keys.
 */
void map_metrics_add(struct map_metrics *metrics, const char *program, const struct store *store,
	const struct ast_map *map, const struct value_names *names);
/* Adds how many keys were left out; behind all maps. */
void map_metrics_end(struct map_metrics *metrics);

#endif
