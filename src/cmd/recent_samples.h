/* SPDX-License-Identifier: MIT */
/*
 * What a running profiler sampled since one looked last: a capture of its own for each look, made
 * of all that is known of processes so far and of the samples that are new. One thread.
 */
#ifndef KPROFS_CMD_RECENT_SAMPLES_H
#define KPROFS_CMD_RECENT_SAMPLES_H

#include <glib.h>
#include <stdbool.h>

#include "base/err.h"
#include "symbolizer/symbols.h"
#include "capture/profile.h"

struct recent_samples;

/* Samples from now on. -errno of open(2). */
int recent_samples_open(const char *dir, struct recent_samples **live, struct err *err);
void recent_samples_close(struct recent_samples *live);

/* The samples since the last call, or the open; the profile is the caller's. -errno of read(2). */
int recent_samples_take(struct recent_samples *live, struct symbols *symbols,
	struct profile **profile, struct err *err);

/* Whether the profiler ran when it was last read. */
bool recent_samples_runs(const struct recent_samples *live);

#endif
