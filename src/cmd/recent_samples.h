/* SPDX-License-Identifier: MIT */
/*
 * The samples of a running profiler since the last look. Each look has its own capture: everything
 * known of processes so far, and the new samples. One thread.
 */
#ifndef KPROFS_CMD_RECENT_SAMPLES_H
#define KPROFS_CMD_RECENT_SAMPLES_H

#include <glib.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/units.h"
#include "capture/profile.h"
#include "capture/query.h"
#include "symbolizer/symbols.h"

struct recent_samples;

/* Begins with the samples from now on. Returns -errno of open(2). */
int recent_samples_open(const char *dir, struct recent_samples **recent, struct err *err);
/*
 * From now on only the samples of this part are taken. With QUERY_LAST each call gives those of that time
 * again, up to RECENT_SAMPLES_OLDER_MAX bytes of the calls before.
 */
void recent_samples_select(struct recent_samples *recent, const struct query *query);
#define RECENT_SAMPLES_OLDER_MAX (64 * MIB)
void recent_samples_close(struct recent_samples *recent);

/*
 * Takes the samples since the last call, or since the open; the caller owns the profile. Returns
 * -errno of read(2).
 */
int recent_samples_take(struct recent_samples *recent, struct symbols *symbols,
	struct profile **profile, struct err *err);

/* Returns whether the profiler ran at the last read. */
bool recent_samples_runs(const struct recent_samples *recent);

#endif
