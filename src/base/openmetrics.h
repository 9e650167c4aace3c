/* SPDX-License-Identifier: MIT */
/*
 * A text in the form of OpenMetrics while it is collected: samples by the name of their metric, which
 * stand together in the text. Gauges and histograms only, which the older text form of Prometheus writes
 * alike. One thread at a time.
 */
#ifndef KPROFS_BASE_OPENMETRICS_H
#define KPROFS_BASE_OPENMETRICS_H

#include <glib.h>
#include <stdint.h>

struct openmetrics;

/* Every name begins with the prefix. */
struct openmetrics *openmetrics_create(const char *prefix);
void openmetrics_destroy(struct openmetrics *metrics);

/* Appends a word to a name: what a name can't have becomes '_'. */
void openmetrics_append_word(GString *name, const char *word);
/* Appends a label to those of a sample: NAME="VALUE". The value can be any text. */
void openmetrics_append_label(GString *labels, const char *name, const char *value);

/* Adds a sample of a gauge. The help of its metric is that of the first sample. */
void openmetrics_add(struct openmetrics *metrics, const char *name, const char *help, const char *labels,
	const char *value);

/* A bucket with all values up to a bound, which is a number as text. */
struct openmetrics_bucket {
	const char *bound;
	uint64_t count;
};
/*
 * Adds a histogram: its buckets in the order of their bounds, each with those before it, and how many
 * values there are. sum: NULL if there may be negative values; then the format has no sum and no count.
 */
void openmetrics_add_histogram(struct openmetrics *metrics, const char *name, const char *help,
	const char *labels, const struct openmetrics_bucket *buckets, size_t bucket_count, uint64_t count,
	const char *sum);

/* Appends all of it, sorted by name, with the line that ends it. */
void openmetrics_render(const struct openmetrics *metrics, GString *out);

#endif
