/* SPDX-License-Identifier: MIT */
/*
 * The rows of kpstat while they are collected: `name value`, one a line, sorted by name.
 *
 * Each part of the server adds its own rows; fs/ renders them. Names are lower case words with dots
 * between them, values are numbers in base units (ns, bytes, samples) or one line of text. One
 * thread at a time.
 */
#ifndef KPROFS_BASE_STATS_H
#define KPROFS_BASE_STATS_H

#include <glib.h>
#include <inttypes.h>
#include <stdint.h>

struct stats;

struct stats *stats_create(void);
void stats_destroy(struct stats *stats);

/* Adds a row; the name is a printf format. A newline in text becomes a blank. */
void stats_u64(struct stats *stats, uint64_t value, const char *name, ...)
	__attribute__((format(printf, 3, 4)));
void stats_i64(struct stats *stats, int64_t value, const char *name, ...)
	__attribute__((format(printf, 3, 4)));
void stats_text(struct stats *stats, const char *value, const char *name, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Sets *value to the number in the row with that name. Returns -ENOENT if there is no such row or
 * its value is not a number.
 */
int stats_find_u64(const struct stats *stats, const char *name, uint64_t *value);

/* Appends all rows, sorted by byte value, so that `LC_ALL=C sort -c` agrees. */
void stats_render(struct stats *stats, GString *out);

#endif
