/* SPDX-License-Identifier: MIT */
/*
 * The source that programs use: it sends requests to helper processes (symbols.h lists them) and
 * combines their results. Thread-safe: as many requests run at the same time as there are sets of
 * helpers; further requests wait for a free set until their deadline.
 */
#ifndef KPROFS_SYMBOLIZER_REMOTE_H
#define KPROFS_SYMBOLIZER_REMOTE_H

#include "symbolizer/helpers.h"
#include "symbolizer/symbols.h"

/* Sets of helpers, one a lane: a file that takes long does not delay another view. */
#define REMOTE_LANES 2

struct remote;

extern const struct symbols_source remote_source;

/*
 * Creates the state for remote_source. The options are copied. If their program is NULL, it is
 * kprof-symbols beside the running program (in a build tree), otherwise the installed one.
 */
struct remote *remote_create(const struct helpers_options *options);

#endif
