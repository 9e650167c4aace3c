/* SPDX-License-Identifier: MIT */
/* How values, keys and maps of a checked program lie in memory. */
#include "probes/layout.h"

#include <string.h>

#define WORD 8u
#define CACHE_LINE 64u

/* A cache is for few keys that come often. A longer key takes as long to compare as the kernel to find. */
#define CACHE_SLOTS_MIN	   8u
#define CACHE_SLOTS_MAX	   64u
#define CACHE_KEY_MAX	   64u
/* Of a CPU, about what its first-level cache can spare; and of all CPUs, which is memory of the kernel. */
#define CACHE_CPU_BYTES_MAX 16384u
#define CACHE_BYTES_MAX	    (1u << 20)

static uint32_t round_up(uint32_t bytes)
{
	return (bytes + WORD - 1) / WORD * WORD;
}

uint32_t layout_bytes(const struct ast_type *type)
{
	uint32_t bytes = 0;

	switch (type->kind) {
	case AST_STRING:
		return round_up(type->bytes ? type->bytes : 1);
	case AST_BUFFER:
		return WORD + round_up(type->bytes);
	case AST_INET:
		return WORD + 16;
	case AST_USTACK:
	case AST_USYM:
		return 2 * WORD;
	case AST_TUPLE:
		for (uint32_t i = 0; i < type->count; i++)
			bytes += layout_bytes(&type->parts[i]);
		return bytes;
	default:
		return WORD;
	}
}

bool layout_is_word(const struct ast_type *type)
{
	switch (type->kind) {
	case AST_INTEGER:
	case AST_POINTER:
	case AST_STRUCT:
	case AST_ARRAY:
	case AST_KSYM:
	case AST_TIMESTAMP:
	case AST_PROBE:
	case AST_USERNAME:
		return true;
	default:
		return false;
	}
}

bool layout_has_stack(const struct ast_type *type)
{
	bool has = type->kind == AST_KSTACK || type->kind == AST_USTACK;

	for (uint32_t i = 0; type->kind == AST_TUPLE && i < type->count; i++)
		has = has || layout_has_stack(&type->parts[i]);
	return has;
}

uint32_t layout_sum_word(const struct layout_map *layout)
{
	return layout->buckets;
}

static uint32_t value_bytes(const struct ast_map *map, const struct layout_map *layout)
{
	switch (map->value_kind) {
	case AST_PLAIN:
		return layout_bytes(&map->value) + layout_plain_offset(layout);
	case AST_COUNT:
		return WORD;
	case AST_HIST:
	case AST_LHIST:
		return (layout_sum_word(layout) + 2) * WORD;
	default:
		return 2 * WORD;
	}
}

/*
 * Whether nothing but the programs of one unit of system calls changes values. To walk a stack takes much
 * longer than to find it; and the server must see from the keys alone which stacks are used.
 */
static bool may_have_cache(const struct ast_map *map, const struct layout_map *layout)
{
	bool may = layout->kind == LAYOUT_KEYED_PER_CPU && layout->key_bytes <= CACHE_KEY_MAX &&
		!map->is_shared && map->user && !strcmp(map->user->targets->system, "syscalls");

	for (uint32_t i = 0; i < map->key_count; i++)
		may = may && !layout_has_stack(&map->keys[i]);
	return may;
}

void layout_cache(const struct ast_map *map, uint32_t cpus, struct layout_map *layout)
{
	const uint32_t bytes_most = cpus > CACHE_BYTES_MAX / CACHE_CPU_BYTES_MAX ? CACHE_BYTES_MAX / cpus
										 : CACHE_CPU_BYTES_MAX;

	if (!may_have_cache(map, layout))
		return;
	layout->cache.slots = CACHE_SLOTS_MAX;
	while (layout->cache.slots >= CACHE_SLOTS_MIN && layout_cache_cpu_bytes(layout) > bytes_most)
		layout->cache.slots /= 2;
	if (layout->cache.slots < CACHE_SLOTS_MIN)
		layout->cache.slots = 0;
}

uint32_t layout_slot_value(const struct layout_map *layout)
{
	return LAYOUT_SLOT_KEY + layout->key_bytes;
}

uint32_t layout_slot_bytes(const struct layout_map *layout)
{
	return layout_slot_value(layout) + layout->value_bytes;
}

uint32_t layout_cache_cpu_bytes(const struct layout_map *layout)
{
	const uint32_t bytes = layout->cache.slots * layout_slot_bytes(layout);

	return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

void layout_map(const struct ast_map *map, struct layout_map *layout)
{
	const bool is_plain = map->value_kind == AST_PLAIN;

	*layout = (struct layout_map){ .key_bytes = 4 };
	if (map->key_count) {
		layout->kind = is_plain ? LAYOUT_KEYED : LAYOUT_KEYED_PER_CPU;
		layout->key_bytes = 0;
		for (uint32_t i = 0; i < map->key_count; i++)
			layout->key_bytes += layout_bytes(&map->keys[i]);
	} else {
		layout->kind = is_plain ? LAYOUT_ONE : LAYOUT_ONE_PER_CPU;
	}
	if (map->value_kind == AST_HIST)
		layout->buckets = layout_hist_buckets(map->hist_bits);
	else if (map->value_kind == AST_LHIST)
		layout->buckets = layout_lhist_buckets(map->low, map->high, map->step);
	layout->value_bytes = value_bytes(map, layout);
}

uint32_t layout_plain_offset(const struct layout_map *layout)
{
	return layout->kind == LAYOUT_ONE ? WORD : 0;
}

uint32_t layout_hist_buckets(uint32_t bits)
{
	return ((64 - bits) << bits) + 1;
}

static uint32_t power_of(uint64_t value)
{
	return 63u - (uint32_t)__builtin_clzll(value);
}

uint32_t layout_hist_bucket(uint32_t bits, int64_t value)
{
	uint32_t power;

	if (value < 0)
		return 0;
	if (value < (int64_t)1 << bits)
		return (uint32_t)value + 1;
	power = power_of((uint64_t)value);
	return ((power - bits) << bits) + (uint32_t)(value >> (power - bits)) + 1;
}

void layout_hist_bounds(uint32_t bits, uint32_t bucket, int64_t *low, uint64_t *high)
{
	uint32_t index = bucket - 1, shift, part;

	if (!bucket) {
		*low = INT64_MIN;
		*high = 0;
		return;
	}
	if (index < 1u << bits) {
		*low = index;
		*high = index + 1;
		return;
	}
	shift = (index >> bits) - 1;
	part = index - (shift << bits);
	*low = (int64_t)((uint64_t)part << shift);
	*high = (uint64_t)(part + 1) << shift;
}

uint32_t layout_lhist_buckets(int64_t low, int64_t high, int64_t step)
{
	return (uint32_t)((high - low - 1) / step) + 3;
}
