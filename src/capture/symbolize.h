/* SPDX-License-Identifier: MIT */
/*
 * Symbolizes the places of a profile: file by file, each file once, several files at a time if the
 * source of symbols can do that. For functions.c only.
 */
#ifndef KPROFS_CAPTURE_SYMBOLIZE_H
#define KPROFS_CAPTURE_SYMBOLIZE_H

#include "capture/profile.h"
#include "symbolizer/symbols.h"

/* Memory for names, of all threads together. Places beyond it get no name. */
#define SYMBOLIZE_BYTES_MAX (96u << 20)

/*
 * The kernel's symbols take as long to read as those of fifty programs, which are read at the same
 * time.
 */
#define SYMBOLIZE_THREADS 2

/* A file of a capture as symbols.h takes it; it points into itself and into `processes`. */
struct symbolize_query {
	struct symbols_file file;
	struct symbols_kernel kernel;
	struct symbols_mapping mappings[PROCESSES_FILE_MAPPINGS];
};

void symbolize_describe(const struct processes *processes, const struct processes_file *file,
	struct symbolize_query *query);

/*
 * Fills `places`, one for each place of the profile, with the results of `symbols`. Their frames
 * are in the arenas, which are made here as needed (NULL before) and which the caller destroys.
 * how: see functions_create(). Blocks while files are read.
 */
void symbolize_places(const struct profile *profile, struct symbols *symbols,
	const struct symbols_how *how, struct symbols_place *places,
	struct symbols_arena *arenas[SYMBOLIZE_THREADS]);

#endif
