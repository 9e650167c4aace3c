/* SPDX-License-Identifier: MIT */
/*
 * What a running profiler sampled since one looked last: a capture of its own for each look, made
 * of all that is known of processes so far and of the samples that are new. One thread.
 */
#ifndef KPROFS_CMD_LIVE_H
#define KPROFS_CMD_LIVE_H

#include <glib.h>
#include <stdbool.h>

#include "base/err.h"
#include "symbolizer/symbols.h"
#include "capture/profile.h"

struct live;

/* Samples from now on. -errno of open(2). */
int live_open(const char *dir, struct live **live, struct err *err);
void live_close(struct live *live);

/* The samples since the last call, or the open; the profile is the caller's. -errno of read(2). */
int live_take(struct live *live, struct symbols *symbols, struct profile **profile, struct err *err);

/* Whether the profiler ran when it was last read. */
bool live_runs(const struct live *live);

#endif
