/* SPDX-License-Identifier: MIT */
/*
 * The maps of one program in the kernel, and what they hold. Values of all CPUs are added up when they are
 * read. store_create() and store_destroy() in one thread; all others in any, several at once.
 */
#ifndef KPROFS_PROBES_STORE_H
#define KPROFS_PROBES_STORE_H

#include <glib.h>
#include <stdint.h>

#include "base/err.h"
#include "probes/ast.h"
#include "probes/gen.h"

struct store;

#define STORE_KEYS_DEFAULT 4096u
/* Reading a map of a million keys takes some seconds. */
#define STORE_KEYS_MAX	   (1u << 20)

/* What large maps of all programs take before they have keys, so that new keys find memory at once. */
#define STORE_READY_MAX	   (8u << 20)

struct store_options {
	uint32_t keys;	     /* of each map, and stacks; 0: the default */
	uint64_t bytes_most; /* that the maps may have together; 0: no limit */
	uint64_t ready_most; /* that large maps may take before they have keys */
};

/*
 * Creates the maps of a checked tree, which must outlive the store. -ENOMEM, also if they would be
 * larger than allowed, -EPERM, -E2BIG for a key or value that the kernel does not take.
 */
int store_create(const struct ast *ast, const struct store_options *options, struct store **store,
	struct err *err);
/* NULL is allowed. */
void store_destroy(struct store *store);
/* The bytes that the maps may come to have in the kernel. */
uint64_t store_bytes(const struct store *store);
/* What large maps have taken of `ready_most`. */
uint64_t store_ready_bytes(const struct store *store);

/* Sets the descriptors and layouts of what instructions refer to. */
void store_fill(const struct store *store, struct gen_env *env);

/*
 * Lets the programs with this serial number count, from `start_ns` on (0: from the former time on), and no
 * others; stops all.
 */
void store_run(struct store *store, uint32_t serial, uint64_t start_ns);
void store_stop(struct store *store);
/* Whether they count: exit() stops them too. */
bool store_is_running(const struct store *store);

/* Sums over CPUs and units. */
void store_counts(const struct store *store, struct gen_counts *counts);

/* A key and its value, of all CPUs together, in the form of layout.h. */
struct store_entry {
	char *key, *value;
};
/*
 * The entries of a map, in no order: struct store_entry. Without keys there is one with an empty key, or
 * none if the map was never set. Keys that come or go meanwhile may or may not be there.
 */
GArray *store_read(const struct store *store, const struct ast_map *map);
/* The same of one key. */
GArray *store_read_key(const struct store *store, const struct ast_map *map, const void *key);
const struct layout_map *store_layout(const struct store *store, const struct ast_map *map);

/* The number of keys of a map; without keys 0. */
uint32_t store_count_keys(const struct store *store, const struct ast_map *map);

/* Removes all keys, or sets all values to 0. */
void store_clear(struct store *store, const struct ast_map *map);
void store_zero(struct store *store, const struct ast_map *map);

/* Removes the stacks that no key and no value has any more, so that there is room for others. */
void store_sweep(struct store *store);

/* The frames of a stack, at most `most`; 0 if it is not there. */
uint32_t store_stack(const struct store *store, uint64_t hash, uint64_t *frames, uint32_t most);

#endif
