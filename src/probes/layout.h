/* SPDX-License-Identifier: MIT */
/*
 * How values, keys and maps of a checked program lie in memory: what the instructions write (gen.h) and
 * what the server reads (store.h). Pure functions of the tree; any thread.
 */
#ifndef KPROFS_PROBES_LAYOUT_H
#define KPROFS_PROBES_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "probes/ast.h"

/* The kernel's limits of a key that is built on its way, and of a value of a per-CPU map. */
#define LAYOUT_KEY_MAX	 2048u
#define LAYOUT_VALUE_MAX 32768u

/*
 * The bytes of a value of this type where it is stored, a multiple of 8:
 *	integers, pointers, KSYM, TIMESTAMP, PROBE, USERNAME	8
 *	KSTACK	the hash of its frames		USTACK, USYM	hash or address, then the process
 *	STRING	its bytes, those behind its NUL are 0
 *	INET	8 for the length of the address, and 16	BUFFER	8 for the length, and its bytes
 *	TUPLE	its parts one behind the other
 */
uint32_t layout_bytes(const struct ast_type *type);

/* Whether a value fits into a register. */
bool layout_is_word(const struct ast_type *type);

/* Whether it is a stack, or a tuple with one. */
bool layout_has_stack(const struct ast_type *type);

/* What a map is in the kernel. */
enum layout_kind {
	LAYOUT_ONE,	   /* an array with one value, for all CPUs: no keys, a plain value */
	LAYOUT_KEYED,	   /* a hash with plain values */
	LAYOUT_ONE_PER_CPU, /* aggregations */
	LAYOUT_KEYED_PER_CPU,
};

/*
 * A cache in front of a map KEYED_PER_CPU: an array map with one value, which the server maps into memory.
 *
 *	HEAD bytes	the generation of the map, from 1: clearing the map adds 1
 *	for each CPU	slots, in steps of layout_cache_cpu_bytes():
 *		8 bytes		the generation in which the key took the slot; any other: it is free
 *		the key, and what was counted of it in the slot: the hash map has the rest of its value
 *
 * Only programs that nothing interrupts write slots (gen_source.is_alone), each those of its CPU.
 */
#define LAYOUT_CACHE_HEAD 64u
#define LAYOUT_SLOT_KEY	  8

struct layout_cache {
	uint32_t slots; /* of each CPU: a power of two; 0: no cache */
};

struct layout_map {
	enum layout_kind kind;
	uint32_t key_bytes; /* 4 without keys: the index 0 */
	uint32_t value_bytes;
	uint32_t buckets; /* of HIST and LHIST */
	struct layout_cache cache;
};

/*
 * The values, in 8-byte words:
 *	PLAIN	without keys: 1 once it was set, and the value; with keys the value
 *	COUNT	the count
 *	SUM	the sum, and 1 once it was set	MIN, MAX	the same
 *	AVG, STATISTICS	sum, count
 *	HIST, LHIST	a count for each bucket, the sum of all numbers, and 1 once one was negative
 */
void layout_map(const struct ast_map *map, struct layout_map *layout);
/* Gives it a cache for so many CPUs if the map may have one. */
void layout_cache(const struct ast_map *map, uint32_t cpus, struct layout_map *layout);

/* Of a slot of the cache: where its value is, and its bytes; and the bytes of all slots of a CPU. */
uint32_t layout_slot_value(const struct layout_map *layout);
uint32_t layout_slot_bytes(const struct layout_map *layout);
uint32_t layout_cache_cpu_bytes(const struct layout_map *layout);

/* Where the sum of a histogram is, in words; the mark of a negative number is behind it. */
uint32_t layout_sum_word(const struct layout_map *layout);

/* Where the plain value of a map begins. */
uint32_t layout_plain_offset(const struct layout_map *layout);

/*
 * The buckets of hist(x, bits): 0 is that of negative numbers; then, of x < 2^bits, one for each
 * number, and 2^bits for each power of two. Bounds of a bucket are inclusive and exclusive; that of the
 * last one is 2^63.
 */
uint32_t layout_hist_buckets(uint32_t bits);
uint32_t layout_hist_bucket(uint32_t bits, int64_t value);
void layout_hist_bounds(uint32_t bits, uint32_t bucket, int64_t *low, uint64_t *high);

/* The buckets of lhist(): 0 for what is below `low`, the last for what is not below `high`. */
uint32_t layout_lhist_buckets(int64_t low, int64_t high, int64_t step);

#endif
