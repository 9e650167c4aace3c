/* SPDX-License-Identifier: MIT */
/* The third stage: what is done with maps. */
#include "probes/gen_state.h"

#include <errno.h>

#include "probes/tables.h"

/* Tries to exchange a value: each one fails only if another thread came in between. */
#define EXCHANGES 4

static const struct layout_map *layout_of(const struct gen *gen, const struct ast_map *map)
{
	return &gen->env->layouts[map->number];
}

static int fd_of(const struct gen *gen, const struct ast_map *map)
{
	return gen->env->maps[map->number];
}

struct gen_place gen_key(struct gen *gen, const struct ast_map *map, const struct ast_expr *keys)
{
	const struct layout_map *layout = layout_of(gen, map);
	struct gen_place place = gen_room(gen, layout->key_bytes), part = place;
	const struct ast_expr *key = keys;

	if (!map->key_count)
		gen_zero(gen, place, 8);
	for (uint32_t i = 0; i < map->key_count && key; i++, key = key->next) {
		gen_store(gen, key, &map->keys[i], part);
		part.offset += (int)layout_bytes(&map->keys[i]);
	}
	return place;
}

/* R0 = the value, or 0. */
static void look_up(struct gen *gen, const struct ast_map *map, struct gen_place key)
{
	code_map(gen->code, BPF_REG_1, fd_of(gen, map));
	gen_address(gen, BPF_REG_2, key);
	code_call(gen->code, BPF_FUNC_map_lookup_elem);
}

/* Sets a key, to the value at the address in R3; R0 = 0 if that worked. */
static void update(struct gen *gen, const struct ast_map *map, struct gen_place key, int flags)
{
	code_map(gen->code, BPF_REG_1, fd_of(gen, map));
	gen_address(gen, BPF_REG_2, key);
	code_mov_imm(gen->code, BPF_REG_4, flags);
	code_call(gen->code, BPF_FUNC_map_update_elem);
}

void gen_find_or_add(struct gen *gen, const struct ast_map *map, struct gen_place key, int without)
{
	struct code *code = gen->code;
	int found = code_label(code);

	look_up(gen, map, key);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_0, 0, found);
	if (map->key_count) {
		code_map_value(code, BPF_REG_3, gen->env->zeros, 0);
		update(gen, map, key, BPF_NOEXIST);
		/* another CPU may have been faster, or the map is full */
		look_up(gen, map, key);
		code_jump_if_imm(code, BPF_JNE, BPF_REG_0, 0, found);
	}
	gen_count(gen, offsetof(struct gen_counts, dropped));
	code_jump(code, without);
	code_place(code, found);
	code_mov(code, BPF_REG_7, BPF_REG_0);
}

/* ---- plain values ------------------------------------------------------------------------------ */

/* R0 = the address of the plain value, 0 if it is not there. */
static void find_plain(struct gen *gen, const struct ast_expr *expr)
{
	const struct layout_map *layout = layout_of(gen, expr->map);
	struct gen_mark mark = gen_mark(gen);

	if (layout->kind == LAYOUT_ONE)
		code_map_value(gen->code, BPF_REG_0, fd_of(gen, expr->map), layout_plain_offset(layout));
	else
		look_up(gen, expr->map, gen_key(gen, expr->map, expr->args));
	gen_back(gen, mark);
}

static bool is_plain(struct gen *gen, const struct ast_expr *expr)
{
	if (expr->map->value_kind == AST_PLAIN)
		return true;
	gen_refuse(gen, expr->place, EOPNOTSUPP, "the value of @%s is an aggregation, which is only printed",
		expr->map->name);
	return false;
}

void gen_map_value(struct gen *gen, const struct ast_expr *expr)
{
	int none = code_label(gen->code);

	if (!is_plain(gen, expr))
		return;
	find_plain(gen, expr);
	if (expr->map->key_count)
		code_jump_if_imm(gen->code, BPF_JEQ, BPF_REG_0, 0, none);
	code_load(gen->code, BPF_DW, BPF_REG_0, BPF_REG_0, 0);
	code_place(gen->code, none);
}

void gen_map_store(struct gen *gen, const struct ast_expr *expr, const struct ast_type *as,
	struct gen_place place)
{
	const uint32_t bytes = layout_bytes(&expr->map->value), room = layout_bytes(as);
	int none = code_label(gen->code);

	if (!is_plain(gen, expr))
		return;
	find_plain(gen, expr);
	gen_zero(gen, place, room);
	if (expr->map->key_count)
		code_jump_if_imm(gen->code, BPF_JEQ, BPF_REG_0, 0, none);
	code_mov(gen->code, BPF_REG_7, BPF_REG_0);
	gen_copy(gen, place, BPF_REG_7, 0, bytes < room ? bytes : room);
	code_place(gen->code, none);
}

static void mark_set(struct gen *gen, const struct ast_map *map)
{
	code_map_value(gen->code, BPF_REG_1, fd_of(gen, map), 0);
	code_store_imm(gen->code, BPF_DW, BPF_REG_1, 0, 1);
}

/* The value first: it may be made of the map's former one. */
static void assign_plain(struct gen *gen, const struct ast_statement *statement)
{
	const struct ast_map *map = statement->target->map;
	const struct layout_map *layout = layout_of(gen, map);
	const uint32_t bytes = layout_bytes(&map->value);
	struct code *code = gen->code;
	int done = code_label(code), add = code_label(code);
	struct gen_place value = gen_room(gen, bytes), key;

	gen_store(gen, statement->value, &map->value, value);
	if (layout->kind == LAYOUT_ONE) {
		code_map_value(code, BPF_REG_7, fd_of(gen, map), layout_plain_offset(layout));
		for (uint32_t at = 0; at < bytes; at += 8) {
			gen_load(gen, BPF_REG_1, value, at);
			code_store(code, BPF_DW, BPF_REG_7, (int)at, BPF_REG_1);
		}
		mark_set(gen, map);
		code_place(code, done);
		code_place(code, add);
		return;
	}
	key = gen_key(gen, map, statement->target->args);
	look_up(gen, map, key);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, add);
	for (uint32_t at = 0; at < bytes; at += 8) {
		gen_load(gen, BPF_REG_1, value, at);
		code_store(code, BPF_DW, BPF_REG_0, (int)at, BPF_REG_1);
	}
	code_jump(code, done);
	code_place(code, add);
	gen_address(gen, BPF_REG_3, value);
	update(gen, map, key, BPF_ANY);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, done);
	gen_count(gen, offsetof(struct gen_counts, dropped));
	code_place(code, done);
}

/* R7 = the address of a plain value that is a word; it is made if it is new. */
static void find_word(struct gen *gen, const struct ast_expr *target, int without)
{
	const struct ast_map *map = target->map;
	const struct layout_map *layout = layout_of(gen, map);

	if (layout->kind == LAYOUT_ONE) {
		mark_set(gen, map);
		code_map_value(gen->code, BPF_REG_7, fd_of(gen, map), layout_plain_offset(layout));
		return;
	}
	gen_find_or_add(gen, map, gen_key(gen, map, target->args), without);
}

/* @m OP= value. Sums are exact on all CPUs; the others read and write. */
static void assign_operator(struct gen *gen, const struct ast_statement *statement)
{
	const int operator = statement->operator;
	struct code *code = gen->code;
	struct gen_place value = gen_room(gen, 8);
	int without = code_label(code);

	gen_value(gen, statement->value);
	if (operator == '-')
		code_alu_imm(code, BPF_NEG, BPF_REG_0, 0);
	gen_save(gen, value, 0, BPF_REG_0);
	find_word(gen, statement->target, without);
	gen_load(gen, BPF_REG_1, value, 0);
	if (operator == '+' || operator == '-') {
		code_atomic(code, BPF_DW, BPF_ADD, BPF_REG_7, 0, BPF_REG_1);
	} else {
		code_load(code, BPF_DW, BPF_REG_0, BPF_REG_7, 0);
		operators_emit(gen->code, operator, statement->target->map->value.is_signed);
		code_store(code, BPF_DW, BPF_REG_7, 0, BPF_REG_0);
	}
	code_place(code, without);
}

void gen_map_step(struct gen *gen, const struct ast_expr *step)
{
	struct gen_mark mark = gen_mark(gen);
	struct code *code = gen->code;
	const int32_t by = step->operator == AST_PLUS_PLUS ? 1 : -1;
	struct gen_place old;
	int without = code_label(code);

	if (!is_plain(gen, step->right))
		return;
	old = gen_room(gen, 8);
	gen_zero(gen, old, 8);
	find_word(gen, step->right, without);
	code_mov_imm(code, BPF_REG_1, by);
	code_atomic(code, BPF_DW, BPF_ADD | BPF_FETCH, BPF_REG_7, 0, BPF_REG_1);
	if (step->number)
		code_alu_imm(code, BPF_ADD, BPF_REG_1, by);
	gen_save(gen, old, 0, BPF_REG_1);
	code_place(code, without);
	gen_load(gen, BPF_REG_0, old, 0);
	gen_back(gen, mark);
}

/* ---- aggregations ------------------------------------------------------------------------------ */

/*
 * Adds R1 to a word of the value at R7. Values of a map that others change too, or that the server sets to 0,
 * take an atomic addition; so do those without keys, which clear() sets to 0.
 */
static void add(struct gen *gen, const struct ast_map *map, int offset)
{
	gen_add(gen, gen->source->is_alone && map->key_count && !map->is_shared, BPF_REG_7, offset);
}

/* Adds the number in R0 to the sum of the histogram at R7. */
static void add_to_sum(struct gen *gen, const struct ast_map *map)
{
	const int sum = (int)layout_sum_word(layout_of(gen, map)) * 8;
	struct code *code = gen->code;
	int positive = code_label(code);

	code_mov(code, BPF_REG_1, BPF_REG_0);
	add(gen, map, sum);
	code_jump_if_imm(code, BPF_JSGE, BPF_REG_0, 0, positive);
	code_store_imm(code, BPF_DW, BPF_REG_7, sum + 8, 1);
	code_place(code, positive);
}

/* Adds 1 to the bucket in R0 of the value at R7. */
static void add_to_bucket(struct gen *gen, const struct ast_map *map, int without)
{
	struct code *code = gen->code;

	code_jump_if_imm(code, BPF_JGE, BPF_REG_0, (int32_t)layout_of(gen, map)->buckets, without);
	code_alu_imm(code, BPF_LSH, BPF_REG_0, 3);
	code_alu(code, BPF_ADD, BPF_REG_7, BPF_REG_0);
	code_mov_imm(code, BPF_REG_1, 1);
	add(gen, map, 0);
}

/* R0 = the bucket of R0, as layout_hist_bucket() has it. */
static void find_bucket(struct code *code, uint32_t bits)
{
	int large = code_label(code), done = code_label(code), positive = code_label(code);

	code_jump_if_imm(code, BPF_JSGE, BPF_REG_0, 0, positive);
	code_mov_imm(code, BPF_REG_0, 0);
	code_jump(code, done);
	code_place(code, positive);
	code_jump_if_imm(code, BPF_JGE, BPF_REG_0, 1 << bits, large);
	code_alu_imm(code, BPF_ADD, BPF_REG_0, 1);
	code_jump(code, done);
	code_place(code, large);
	/* R2 is the power of two in R0 */
	code_mov(code, BPF_REG_1, BPF_REG_0);
	code_log2(code, BPF_REG_2, BPF_REG_1, BPF_REG_3);
	code_alu_imm(code, BPF_SUB, BPF_REG_2, (int32_t)bits);
	code_alu_imm(code, BPF_AND, BPF_REG_2, 63);
	code_alu(code, BPF_RSH, BPF_REG_0, BPF_REG_2);
	code_alu_imm(code, BPF_LSH, BPF_REG_2, (int32_t)bits);
	code_alu(code, BPF_ADD, BPF_REG_0, BPF_REG_2);
	code_alu_imm(code, BPF_ADD, BPF_REG_0, 1);
	code_place(code, done);
}

/* R0 = the bucket of R0 of lhist(). */
static void find_linear(struct code *code, const struct ast_map *map, uint32_t buckets)
{
	int inside = code_label(code), done = code_label(code), above = code_label(code);

	code_mov_imm64(code, BPF_REG_1, (uint64_t)map->low);
	code_jump_if(code, BPF_JSGE, BPF_REG_0, BPF_REG_1, inside);
	code_mov_imm(code, BPF_REG_0, 0);
	code_jump(code, done);
	code_place(code, inside);
	code_mov_imm64(code, BPF_REG_2, (uint64_t)map->high);
	code_jump_if(code, BPF_JSGE, BPF_REG_0, BPF_REG_2, above);
	code_alu(code, BPF_SUB, BPF_REG_0, BPF_REG_1);
	code_mov_imm64(code, BPF_REG_1, (uint64_t)map->step);
	code_alu(code, BPF_DIV, BPF_REG_0, BPF_REG_1);
	code_alu_imm(code, BPF_ADD, BPF_REG_0, 1);
	code_jump(code, done);
	code_place(code, above);
	code_mov_imm(code, BPF_REG_0, (int32_t)buckets - 1);
	code_place(code, done);
}

/* The same where another thread may change the value meanwhile: by exchange, tried a few times. */
static void exchange_extreme(struct code *code, int jump)
{
	int done = code_label(code), stored = code_label(code);

	for (int i = 0; i < EXCHANGES; i++) {
		int first = code_label(code);

		code_load(code, BPF_DW, BPF_REG_0, BPF_REG_7, 0);
		code_load(code, BPF_DW, BPF_REG_2, BPF_REG_7, 8);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_2, 0, first);
		code_jump_if(code, jump, BPF_REG_1, BPF_REG_0, done);
		code_place(code, first);
		code_mov(code, BPF_REG_2, BPF_REG_0);
		code_atomic(code, BPF_DW, BPF_CMPXCHG, BPF_REG_7, 0, BPF_REG_1);
		code_jump_if(code, BPF_JEQ, BPF_REG_0, BPF_REG_2, stored);
	}
	code_place(code, stored);
	code_store_imm(code, BPF_DW, BPF_REG_7, 8, 1);
	code_place(code, done);
}

/* The value at R7 has the extreme so far, and 1 if there is one; R1 is the new number. */
static void keep_extreme(struct gen *gen, const struct ast_map *map)
{
	struct code *code = gen->code;
	const bool is_signed = map->value.is_signed;
	const int jump = map->value_kind == AST_MIN ? (is_signed ? BPF_JSGE : BPF_JGE) :
						      (is_signed ? BPF_JSLE : BPF_JLE);
	int first, done;

	if (gen_is_preempted(gen->unit)) {
		exchange_extreme(code, jump);
		return;
	}
	first = code_label(code);
	done = code_label(code);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_7, 8);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_2, 0, first);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_7, 0);
	code_jump_if(code, jump, BPF_REG_1, BPF_REG_2, done);
	code_place(code, first);
	code_store(code, BPF_DW, BPF_REG_7, 0, BPF_REG_1);
	code_store_imm(code, BPF_DW, BPF_REG_7, 8, 1);
	code_place(code, done);
}

static void aggregate(struct gen *gen, const struct ast_map *map, struct gen_place number, int without)
{
	struct code *code = gen->code;

	switch (map->value_kind) {
	case AST_COUNT:
		code_mov_imm(code, BPF_REG_1, 1);
		add(gen, map, 0);
		return;
	case AST_SUM:
	case AST_AVG:
	case AST_STATISTICS:
		gen_load(gen, BPF_REG_1, number, 0);
		add(gen, map, 0);
		code_mov_imm(code, BPF_REG_1, 1);
		if (map->value_kind == AST_SUM)
			code_store(code, BPF_DW, BPF_REG_7, 8, BPF_REG_1);
		else
			add(gen, map, 8);
		return;
	case AST_MIN:
	case AST_MAX:
		gen_load(gen, BPF_REG_1, number, 0);
		keep_extreme(gen, map);
		return;
	case AST_HIST:
		gen_load(gen, BPF_REG_0, number, 0);
		add_to_sum(gen, map);
		find_bucket(code, map->hist_bits);
		add_to_bucket(gen, map, without);
		return;
	case AST_LHIST:
		gen_load(gen, BPF_REG_0, number, 0);
		add_to_sum(gen, map);
		find_linear(code, map, layout_of(gen, map)->buckets);
		add_to_bucket(gen, map, without);
		return;
	case AST_PLAIN:
		return;
	}
}

static void assign_aggregate(struct gen *gen, const struct ast_statement *statement)
{
	const struct ast_map *map = statement->target->map;
	struct gen_place number = { 0 }, key;
	int without = code_label(gen->code);

	if (map->value_kind != AST_COUNT) {
		number = gen_room(gen, 8);
		gen_value(gen, statement->value->args);
		gen_save(gen, number, 0, BPF_REG_0);
	}
	key = gen_key(gen, map, statement->target->args);
	if (gen_takes_cache(gen, map))
		gen_find_cached(gen, map, key, without);
	else
		gen_find_or_add(gen, map, key, without);
	aggregate(gen, map, number, without);
	code_place(gen->code, without);
}

void gen_map_assign(struct gen *gen, const struct ast_statement *statement)
{
	if (statement->target->map->value_kind != AST_PLAIN)
		assign_aggregate(gen, statement);
	else if (statement->operator)
		assign_operator(gen, statement);
	else
		assign_plain(gen, statement);
}

void gen_map_delete(struct gen *gen, const struct ast_expr *call)
{
	const struct ast_expr *target = call->args;
	const struct layout_map *layout = layout_of(gen, target->map);

	if (target->map->key_count) {
		struct gen_place key = gen_key(gen, target->map, target->args);

		code_map(gen->code, BPF_REG_1, fd_of(gen, target->map));
		gen_address(gen, BPF_REG_2, key);
		code_call(gen->code, BPF_FUNC_map_delete_elem);
	} else if (layout->kind == LAYOUT_ONE) {
		code_map_value(gen->code, BPF_REG_1, fd_of(gen, target->map), 0);
		for (uint32_t at = 0; at < layout->value_bytes; at += 8)
			code_store_imm(gen->code, BPF_DW, BPF_REG_1, (int)at, 0);
	} else {
		gen_refuse(gen, call->place, EOPNOTSUPP, "delete() of a map without keys: use clear()");
	}
}
