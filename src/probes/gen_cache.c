/* SPDX-License-Identifier: MIT */
/*
 * The cache in front of the kernel's hash map of an aggregation with keys: struct layout_cache has its form.
 * A key has one slot, by its hash. A slot keeps its first key until the map is cleared: other keys with the
 * same slot are counted in the hash map alone.
 */
#include "probes/gen_state.h"

/* Odd, with many bits: the upper bits of a product depend on all bits of the key. */
#define HASH_TIMES 0x9e3779b97f4a7c15ull

/* Statements of a unit that use caches: each takes some 100 instructions more than without. */
#define GEN_CACHED_MAX 16u

struct cache_use {
	const struct ast_map *map;
	const struct layout_map *layout;
	struct gen_place key;
	int fd;
	int slot;	/* on the stack: the address of the slot */
	int generation; /* on the stack: that of the map when the program looked */
};

bool gen_takes_cache(struct gen *gen, const struct ast_map *map)
{
	return gen->source->is_alone && gen->env->layouts[map->number].cache.slots &&
		gen->cached++ < GEN_CACHED_MAX;
}

/* R7 = the offset of the key's slot among those of a CPU. */
static void hash_key(struct gen *gen, const struct cache_use *use)
{
	const uint32_t slots = use->layout->cache.slots;
	struct code *code = gen->code;

	gen_load(gen, BPF_REG_7, use->key, 0);
	code_mov_imm64(code, BPF_REG_1, HASH_TIMES);
	code_alu(code, BPF_MUL, BPF_REG_7, BPF_REG_1);
	for (uint32_t at = 8; at < use->layout->key_bytes; at += 8) {
		gen_load(gen, BPF_REG_2, use->key, at);
		code_alu(code, BPF_XOR, BPF_REG_7, BPF_REG_2);
		code_alu(code, BPF_MUL, BPF_REG_7, BPF_REG_1);
	}
	code_alu_imm(code, BPF_RSH, BPF_REG_7, 64 - __builtin_ctz(slots));
	code_alu_imm(code, BPF_MUL, BPF_REG_7, (int32_t)layout_slot_bytes(use->layout));
}

/* R7 = the address of the slot, R2 = its generation, R3 = that of the map. */
static void find_slot(struct gen *gen, const struct cache_use *use)
{
	struct code *code = gen->code;

	hash_key(gen, use);
	code_call(code, BPF_FUNC_get_smp_processor_id);
	code_alu_imm(code, BPF_AND, BPF_REG_0, (int32_t)gen->env->cpus - 1);
	code_alu_imm(code, BPF_MUL, BPF_REG_0, (int32_t)layout_cache_cpu_bytes(use->layout));
	code_map_value(code, BPF_REG_1, use->fd, LAYOUT_CACHE_HEAD);
	code_alu(code, BPF_ADD, BPF_REG_1, BPF_REG_0);
	code_alu(code, BPF_ADD, BPF_REG_1, BPF_REG_7);
	code_mov(code, BPF_REG_7, BPF_REG_1);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_7, 0);
	code_map_value(code, BPF_REG_3, use->fd, 0);
	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_3, 0);
}

/* The slot is free, and the hash map has the key: it becomes the key's, with a value of zeros. */
static void take_slot(struct gen *gen, const struct cache_use *use)
{
	const int value = (int)layout_slot_value(use->layout);
	struct code *code = gen->code;

	code_load(code, BPF_DW, BPF_REG_7, BPF_REG_10, use->slot);
	/* a reader that copies what was there sees that it is no longer valid */
	code_mov_imm(code, BPF_REG_1, 0);
	code_atomic(code, BPF_DW, BPF_XCHG, BPF_REG_7, 0, BPF_REG_1);
	for (uint32_t at = 0; at < use->layout->key_bytes; at += 8) {
		gen_load(gen, BPF_REG_1, use->key, at);
		code_store(code, BPF_DW, BPF_REG_7, LAYOUT_SLOT_KEY + (int)at, BPF_REG_1);
	}
	for (uint32_t at = 0; at < use->layout->value_bytes; at += 8)
		code_store_imm(code, BPF_DW, BPF_REG_7, value + (int)at, 0);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, use->generation);
	code_atomic(code, BPF_DW, BPF_XCHG, BPF_REG_7, 0, BPF_REG_1);
}

void gen_find_cached(struct gen *gen, const struct ast_map *map, struct gen_place key, int without)
{
	struct cache_use use = { .map = map, .layout = &gen->env->layouts[map->number], .key = key,
		.fd = gen->env->caches[map->number], .slot = code_stack(gen->code, 8),
		.generation = code_stack(gen->code, 8) };
	struct code *code = gen->code;
	int is_free = code_label(code), is_other = code_label(code), found = code_label(code),
		done = code_label(code);

	find_slot(gen, &use);
	code_jump_if(code, BPF_JNE, BPF_REG_2, BPF_REG_3, is_free);
	for (uint32_t at = 0; at < use.layout->key_bytes; at += 8) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_7, LAYOUT_SLOT_KEY + (int)at);
		gen_load(gen, BPF_REG_2, key, at);
		code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_2, is_other);
	}
	code_jump(code, found);
	code_place(code, is_free);
	code_store(code, BPF_DW, BPF_REG_10, use.slot, BPF_REG_7);
	code_store(code, BPF_DW, BPF_REG_10, use.generation, BPF_REG_3);
	/* the hash map has all keys, so that their limit is that of the map */
	gen_find_or_add(gen, map, key, without);
	take_slot(gen, &use);
	code_place(code, found);
	code_alu_imm(code, BPF_ADD, BPF_REG_7, (int32_t)layout_slot_value(use.layout));
	code_jump(code, done);
	code_place(code, is_other);
	gen_find_or_add(gen, map, key, without);
	code_place(code, done);
}
