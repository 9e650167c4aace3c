/* SPDX-License-Identifier: MIT */
/* The checker: maps and local variables. */
#include <errno.h>
#include <string.h>

#include "probes/check_state.h"
#include "probes/tables.h"

/* Rows of lhist(). */
#define ROWS_MAX 1000

/* ---- maps -------------------------------------------------------------------------------------- */

static int find_map(struct check *check, struct ast_expr *expr)
{
	struct ast_map **last = &check->ast->maps, *map;

	if (expr->map)
		return 0;
	for (; *last; last = &(*last)->next)
		if (strcmp((*last)->name, expr->text) == 0) {
			expr->map = *last;
			return 0;
		}
	if (check->ast->map_count == AST_MAPS_MAX)
		return ast_fail(check->ast, expr->place, E2BIG, check->err, "there are more than %u maps",
			AST_MAPS_MAX);
	map = ast_new(check->ast, sizeof(*map));
	if (!map)
		return check_no_memory(check);
	map->name = expr->text;
	map->number = check->ast->map_count++;
	map->place = expr->place;
	expr->map = *last = map;
	check->changed = true;
	return 0;
}

/* The name of a value: comm, args.len, $x, and that of what a function or a cast is of. */
static const char *name_of(const struct ast_expr *expr)
{
	for (; expr; expr = expr->kind == AST_CAST ? expr->right : expr->args) {
		if (expr->kind == AST_BUILTIN && expr->builtin->id != BUILTIN_ARG)
			return expr->builtin->name;
		if (expr->kind == AST_ARGUMENT || expr->kind == AST_LOCAL || expr->kind == AST_FIELD)
			return expr->text;
		if (expr->kind != AST_CAST && expr->kind != AST_CALL)
			return NULL;
	}
	return NULL;
}

static int join_key(struct check *check, struct ast_expr *key, struct ast_map *map, uint32_t i)
{
	struct ast_type type = key->type;

	if (type.kind != AST_NONE && !check_is_stored(&type))
		return check_fail(check, key->place, "%s can't be a key", check_type_text(&type));
	/* what a pointer points to is of no concern for a key */
	if (check_is_number(&type))
		type = check_integer(type.is_signed && !(key->kind == AST_NUMBER &&
			(int64_t)key->number >= 0));
	if (!map->has_shape)
		map->key_names[i] = name_of(key);
	return check_join(check, key->place, "a key of @", map->name, &map->keys[i], &type);
}

int check_map_keys(struct check *check, struct ast_expr *expr)
{
	struct ast_map *map;
	uint32_t i = 0;
	int ret = find_map(check, expr);

	if (ret)
		return ret;
	map = expr->map;
	map->is_shared |= map->user && map->user != check->unit;
	map->user = check->unit;
	for (struct ast_expr *key = expr->args; key; key = key->next) {
		ret = check_value(check, key);
		if (!ret)
			ret = join_key(check, key, map, i++);
		if (ret)
			return ret;
	}
	if (map->has_shape && map->key_count != expr->count)
		return check_fail(check, expr->place, "@%s has %u keys elsewhere, and %u here", map->name,
			map->key_count, expr->count);
	map->has_shape = true;
	map->key_count = expr->count;
	return 0;
}

static int fail_unset_map(const struct check *check, const struct ast_expr *expr)
{
	return check_fail(check, expr->place, "@%s is never assigned", expr->map->name);
}

int check_map(struct check *check, struct ast_expr *expr)
{
	const struct ast_map *map;
	int ret = check_map_keys(check, expr);

	if (ret)
		return ret;
	map = expr->map;
	if (map->value_kind != AST_PLAIN)
		return check_fail(check, expr->place,
			"@%s is an aggregation, which can be printed and not computed with", map->name);
	expr->type = map->value;
	return check->is_last && expr->type.kind == AST_NONE ? fail_unset_map(check, expr) : 0;
}

int check_whole_map(struct check *check, struct ast_expr *expr)
{
	int ret = find_map(check, expr);

	if (ret)
		return ret;
	expr->type = (struct ast_type){ .kind = AST_AGGREGATE };
	if (check->is_last && !expr->map->has_value)
		return fail_unset_map(check, expr);
	return 0;
}

static int store_in_map(struct check *check, struct ast_expr *target, const struct ast_type *type)
{
	struct ast_type stored = *type;
	struct ast_map *map;
	int ret = check_map_keys(check, target);

	if (ret)
		return ret;
	map = target->map;
	if (map->value_kind != AST_PLAIN)
		return check_fail(check, target->place, "@%s is an aggregation elsewhere, and a value here",
			map->name);
	if (stored.kind != AST_NONE && !check_is_stored(&stored))
		return check_fail(check, target->place, "%s can't be stored in a map",
			check_type_text(&stored));
	if (stored.kind == AST_INTEGER)
		stored.bytes = 8;
	map->has_value = true;
	ret = check_join(check, target->place, "@", map->name, &map->value, &stored);
	target->type = map->value;
	return ret;
}

/* ---- local variables --------------------------------------------------------------------------- */

static int find_local(struct check *check, struct ast_expr *expr)
{
	struct ast_local **last = &check->unit->locals, *local;

	if (expr->local)
		return 0;
	for (; *last; last = &(*last)->next)
		if (strcmp((*last)->name, expr->text) == 0) {
			expr->local = *last;
			return 0;
		}
	if (check->unit->local_count == AST_LOCALS_MAX)
		return ast_fail(check->ast, expr->place, E2BIG, check->err,
			"the rule has more than %u variables", AST_LOCALS_MAX);
	local = ast_new(check->ast, sizeof(*local));
	if (!local)
		return check_no_memory(check);
	local->name = expr->text;
	local->number = check->unit->local_count++;
	expr->local = *last = local;
	check->changed = true;
	return 0;
}

int check_local(struct check *check, struct ast_expr *expr)
{
	int ret = find_local(check, expr);

	if (ret)
		return ret;
	expr->type = expr->local->type;
	if (check->is_last && expr->type.kind == AST_NONE)
		return check_fail(check, expr->place, "$%s is never assigned", expr->text);
	return 0;
}

static int store_in_local(struct check *check, struct ast_expr *target, const struct ast_type *type)
{
	int ret = find_local(check, target);

	if (ret)
		return ret;
	if (type->kind == AST_AGGREGATE)
		return check_fail(check, target->place, "%s can't be stored", check_type_text(type));
	ret = check_join(check, target->place, "$", target->text, &target->local->type, type);
	target->type = target->local->type;
	return ret;
}

int check_store(struct check *check, struct ast_expr *target, const struct ast_type *type)
{
	return target->kind == AST_MAP ? store_in_map(check, target, type) :
		store_in_local(check, target, type);
}

/* ---- aggregations ------------------------------------------------------------------------------ */

static const enum ast_value_kind value_kinds[FUNCTIONS] = {
	[FUNCTION_COUNT] = AST_COUNT, [FUNCTION_SUM] = AST_SUM, [FUNCTION_MIN] = AST_MIN,
	[FUNCTION_MAX] = AST_MAX, [FUNCTION_AVG] = AST_AVG, [FUNCTION_STATS] = AST_STATISTICS,
	[FUNCTION_HIST] = AST_HIST, [FUNCTION_LHIST] = AST_LHIST,
};

/* The parameters of hist() and lhist(), which are the map's own. */
static int take_rows(struct check *check, const struct ast_expr *call, struct ast_map *shape)
{
	int64_t numbers[3] = { 0 }, span;
	uint32_t i = 0;
	int ret = 0;

	for (struct ast_expr *arg = call->args ? call->args->next : NULL; arg && i < 3 &&
		!ret; arg = arg->next)
		ret = check_known_number(check, arg, &numbers[i++]);
	if (ret || shape->value_kind == AST_COUNT)
		return ret;
	if (shape->value_kind == AST_HIST) {
		if (numbers[0] < 0 || numbers[0] > 5)
			return check_fail(check, call->place, "hist(x, bits) takes 0 to 5 bits");
		shape->hist_bits = (uint32_t)numbers[0];
	} else if (shape->value_kind == AST_LHIST) {
		if (numbers[0] >= numbers[1] || numbers[2] <= 0 ||
			__builtin_sub_overflow(numbers[1], numbers[0], &span))
			return check_fail(check, call->place,
				"lhist(x, low, high, step) needs low < high and step > 0");
		if (span / numbers[2] > ROWS_MAX)
			return check_fail(check, call->place,
				"lhist() would have more than %d rows", ROWS_MAX);
		shape->low = numbers[0];
		shape->high = numbers[1];
		shape->step = numbers[2];
	}
	return 0;
}

static bool is_same_shape(const struct ast_map *a, const struct ast_map *b)
{
	return a->value_kind == b->value_kind && a->hist_bits == b->hist_bits && a->low == b->low &&
		a->high == b->high && a->step == b->step;
}

int check_aggregate(struct check *check, struct ast_expr *target, struct ast_expr *call)
{
	struct ast_map shape = { .value_kind = value_kinds[call->function->id] }, *map;
	int ret;

	if (target->kind != AST_MAP)
		return check_fail(check, target->place, "%s can only be assigned to a map (@x)",
			call->function->usage);
	ret = check_call(check, call);
	if (!ret)
		ret = take_rows(check, call, &shape);
	if (!ret)
		ret = check_map_keys(check, target);
	if (ret)
		return ret;
	map = target->map;
	if (map->has_value && !is_same_shape(map, &shape))
		return check_fail(check, target->place,
			"@%s is assigned something else than %s elsewhere", map->name,
			call->function->usage);
	map->has_value = true;
	map->value_kind = shape.value_kind;
	map->hist_bits = shape.hist_bits;
	map->low = shape.low;
	map->high = shape.high;
	map->step = shape.step;
	target->type = (struct ast_type){ .kind = AST_AGGREGATE };
	if (!call->args || call->args->type.kind == AST_NONE)
		return 0;
	return check_join(check, target->place, "@", map->name, &map->value,
		&(struct ast_type){ .kind = AST_INTEGER, .bytes = 8,
			.is_signed = call->args->type.is_signed });
}
