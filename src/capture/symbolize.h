/* SPDX-License-Identifier: MIT */
/*
 * Whom names.c asks about the places of a profile, and in which order: each file once, several
 * files at a time where the source of names can do that. For names.c only.
 */
#ifndef KPROFS_CAPTURE_SYMBOLIZE_H
#define KPROFS_CAPTURE_SYMBOLIZE_H

#include "symbolizer/symbols.h"
#include "capture/profile.h"

/* What names may take, in all threads together: with more of them the other places go without. */
#define SYMBOLIZE_BYTES_MAX (96u << 20)

/* The kernel's symbols take as long to read as those of fifty programs: these go beside it. */
#define SYMBOLIZE_THREADS 2

/*
 * Sets each of `places`, one for each place of the profile, as far as symbols knows it; their
 * frames are in the arenas, which are made here as needed (NULL before) and the caller's to
 * destroy. how: see functions_create(). Blocks while files are read.
 */
void symbolize_ask(const struct profile *profile, struct symbols *symbols,
	const struct symbols_how *how, struct symbols_place *places,
	struct symbols_arena *arenas[SYMBOLIZE_THREADS]);

#endif
