/* SPDX-License-Identifier: MIT */
/*
 * The functions of a profile: each place of it gets one, asked for once for each file.
 *
 * A place whose name can't be found is a function of its own, called FILE+0xADDRESS, by the address
 * that the file gives it (where the file can't be read: by its offset in the file), or by its
 * address in memory where it is in no file or in the kernel. Behind it stands [replaced] where the
 * file that was mapped is not there any more. Thread-safe once made.
 */
#ifndef KPROFS_CAPTURE_FUNCTIONS_H
#define KPROFS_CAPTURE_FUNCTIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/helpers.h"
#include "symbolizer/symbols.h"
#include "capture/symbolize.h"
#include "capture/profile.h"

#define FUNCTIONS_NO_FRAME UINT32_MAX

struct functions_function {
	const char *name;
	const char *file; /* path, "-" where there is none */
	bool resolved;
	bool replaced; /* not resolved: the file that was mapped is not there any more */
};

struct functions {
	GArray *functions;  /* struct functions_function; equal (name, file) is one */
	uint32_t *of_place; /* index into functions: the one around all that was inlined */
	/* by place: where its inlined functions begin in `inlined` */
	uint32_t *inlined_at;
	GArray *inlined; /* uint32_t: indexes into functions, innermost first */
	struct symbols_place
		*places; /* what is known of each: source lines and inlined functions too */
	struct symbols_arena *arenas[SYMBOLIZE_THREADS]; /* hold them; NULL: not needed */
	GStringChunk *strings;
};

/*
 * Asks `symbols` (NULL: nobody) about every place. how NULL: functions only, and nobody will
 * interrupt it. how->deadline_ns is for source lines and inlined functions: what would come later
 * is named by its function only. What is left when how->cancel_fd becomes readable has no names.
 * how->arena_max is set here. Blocks while files are read.
 */
struct functions *functions_create(
	const struct profile *profile, struct symbols *symbols, const struct symbols_how *how);
void functions_destroy(struct functions *names);

/* The function of a node of the profile's stacks, FUNCTIONS_NO_FRAME for the root. */
static inline uint32_t functions_of_node(
	const struct functions *names, const struct profile *profile, uint32_t node)
{
	if (node == STACKS_ROOT)
		return FUNCTIONS_NO_FRAME;
	return names->of_place[stacks_node(&profile->stacks, node)->place];
}

/* How many functions were inlined at a place. */
static inline uint32_t functions_inlined_count(const struct functions *names, uint32_t place)
{
	return names->places[place].count ? names->places[place].count - 1 : 0;
}

/* The i-th of them, innermost first. */
static inline uint32_t functions_inlined(const struct functions *names, uint32_t place, uint32_t i)
{
	return g_array_index(names->inlined, uint32_t, names->inlined_at[place] + i);
}

static inline const struct functions_function *functions_function(
	const struct functions *names, uint32_t i)
{
	return &g_array_index(names->functions, struct functions_function, i);
}

/* A file of a capture as symbols.h asks about it; it points into itself and into `processes`. */
struct functions_question {
	struct symbols_file file;
	struct symbols_kernel kernel;
	struct symbols_mapping mappings[PROCESSES_FILE_MAPPINGS];
};

void functions_describe(const struct processes *processes, const struct processes_file *file,
	struct functions_question *question);

/*
 * The symbols of this machine: of the files that were mapped, of the running kernel, of JITs.
 * options NULL: the plain ones. To be destroyed by the caller; thread-safe.
 */
struct symbols *functions_open_symbols(const struct helpers_options *options);

#endif
