/* SPDX-License-Identifier: MIT */
/*
 * The source of names that programs use: it asks processes of its own (symbols.h says which) and
 * puts their answers together. Thread-safe: so many questions run at a time as there are sets of
 * processes, others wait for their turn as long as they may.
 */
#ifndef KPROFS_SYMBOLIZER_REMOTE_H
#define KPROFS_SYMBOLIZER_REMOTE_H

#include "symbolizer/helpers.h"
#include "symbolizer/symbols.h"

/* Sets of processes: one file that takes long does not hold up another view. */
#define REMOTE_LANES 2

struct remote;

extern const struct symbols_source remote_source;

/*
 * The state for remote_source. The options are copied; program NULL: kprof-symbols beside the
 * running program (in a build tree), else where it is installed.
 */
struct remote *remote_create(const struct helpers_options *options);

#endif
