/* SPDX-License-Identifier: MIT */
/*
 * The functions of a profile: each place of it gets one. Each file is symbolized once.
 *
 * A place whose name can't be found is a separate function. Its name is FILE+0xADDRESS, with the
 * address that the file gives it (if the file can't be read: its offset in the file). A place in no
 * file or in the kernel is named by its address in memory. " [replaced]" follows if the file that
 * was mapped does not exist any more. Thread-safe once created.
 */
#ifndef KPROFS_CAPTURE_FUNCTIONS_H
#define KPROFS_CAPTURE_FUNCTIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/profile.h"
#include "capture/symbolize.h"
#include "symbolizer/helpers.h"
#include "symbolizer/symbols.h"

#define FUNCTIONS_NO_FRAME UINT32_MAX

struct functions_function {
	const char *name;
	const char *file; /* path; "-": none */
	bool resolved;
	bool replaced; /* not resolved: the file that was mapped does not exist any more */
};

struct functions {
	GArray *list;  /* struct functions_function; each (name, file) once */
	uint32_t *of_place; /* index into list: the function that is not inlined */
	uint32_t *inlined_at; /* by place: where its inlined functions begin in `inlined` */
	GArray *inlined; /* uint32_t: indexes into list, innermost first */
	struct symbols_place *places; /* by place: also source lines and inlined functions */
	struct symbols_arena *arenas[SYMBOLIZE_THREADS]; /* own the frames; NULL if unused */
	GStringChunk *strings;
};

/*
 * Resolves every place with `symbols` (NULL if no place gets a name). If `how` is NULL, only
 * function names are found, and the call can't be cancelled. how->deadline_ns is for source lines
 * and inlined functions: places that would take longer get the name of their function only. Places
 * that are not resolved when how->cancel_fd becomes readable get no name. how->arena_max is set
 * here. Blocks while files are read.
 */
struct functions *functions_create(
	const struct profile *profile, struct symbols *symbols, const struct symbols_how *how);
/*
 * Makes one function of all addresses of a file that have no symbol, named `[FILE]`, or `[unknown]`
 * without a file.
 */
void functions_merge_unresolved(struct functions *functions, const struct profile *profile);
/* That name, interned in `strings`. */
const char *functions_unresolved_name(
	GStringChunk *strings, const struct functions_function *function);
void functions_destroy(struct functions *functions);

/* The function of a node of the profile's stacks; FUNCTIONS_NO_FRAME for the root. */
static inline uint32_t functions_of_node(
	const struct functions *functions, const struct profile *profile, uint32_t node)
{
	if (node == STACKS_ROOT)
		return FUNCTIONS_NO_FRAME;
	return functions->of_place[stacks_node(&profile->stacks, node)->place];
}

/* How many functions were inlined at a place. */
static inline uint32_t functions_inlined_count(const struct functions *functions, uint32_t place)
{
	return functions->places[place].count ? functions->places[place].count - 1 : 0;
}

/* The i-th of them, innermost first. */
static inline uint32_t functions_inlined(
	const struct functions *functions, uint32_t place, uint32_t i)
{
	return g_array_index(functions->inlined, uint32_t, functions->inlined_at[place] + i);
}

static inline const struct functions_function *functions_function(
	const struct functions *functions, uint32_t i)
{
	return &g_array_index(functions->list, struct functions_function, i);
}

/*
 * The symbols of this machine: of the files that were mapped, of the running kernel, of JITs.
 * options NULL for the defaults. The caller destroys it; thread-safe.
 */
struct symbols *functions_open_symbols(const struct helpers_options *options);

#endif
