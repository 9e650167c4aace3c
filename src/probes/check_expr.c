/* SPDX-License-Identifier: MIT */
/* The checker: expressions. A type that is not known yet is AST_NONE, and passes. */
#include <errno.h>
#include <string.h>

#include "probes/check_state.h"
#include "probes/tables.h"

static int check_any(struct check *check, struct ast_expr *expr);

static bool is_unknown(const struct ast_expr *expr)
{
	return expr->type.kind == AST_NONE;
}

bool check_is_user_code(const struct check *check)
{
	return check->unit->kind == PROBE_UPROBE || check->unit->kind == PROBE_URETPROBE ||
		check->unit->kind == PROBE_USDT || check->unit->kind == PROBE_EVENT;
}

void check_set_number(struct ast_expr *expr, uint64_t number, bool is_signed)
{
	expr->kind = AST_NUMBER;
	expr->number = number;
	expr->left = expr->right = NULL;
	/* a literal that fits both ways takes the other side's signedness */
	expr->type = check_integer(is_signed || number <= INT64_MAX);
}

int check_known_number(struct check *check, struct ast_expr *expr, int64_t *value)
{
	int ret = check_value(check, expr);

	if (ret)
		return ret;
	if (expr->kind != AST_NUMBER)
		return check_fail(check, expr->place, "this must be a number, and not be computed");
	*value = (int64_t)expr->number;
	return 0;
}

/* ---- operators --------------------------------------------------------------------------------- */

bool check_is_neutral(const struct ast_expr *expr)
{
	return expr->kind == AST_NUMBER && (int64_t)expr->number >= 0;
}

/* Of both sides together. */
static bool is_signed(const struct ast_expr *left, const struct ast_expr *right)
{
	if (check_is_neutral(left))
		return right->type.is_signed;
	if (check_is_neutral(right))
		return left->type.is_signed;
	return left->type.is_signed || right->type.is_signed;
}

static int fail_operands(const struct check *check, const struct ast_expr *expr)
{
	return check_fail(check, expr->place, "this can't be done with %s and %s",
		check_type_text(&expr->left->type), check_type_text(&expr->right->type));
}

/* Two numbers that are known are joined now; what has no result is left as it is. */
static void fold(struct ast_expr *expr)
{
	const uint64_t a = expr->left->number, b = expr->right->number;
	const bool is_small = b <= INT64_MAX && a <= INT64_MAX;
	/* as the result of the same operation that is computed when it runs */
	const bool has_sign = expr->operator == '-' || (expr->compares_signed && !is_small);
	uint64_t result;

	if (expr->left->kind != AST_NUMBER || expr->right->kind != AST_NUMBER)
		return;
	if (expr->operator == '+')
		result = a + b;
	else if (expr->operator == '-')
		result = a - b;
	else if (expr->operator == '*')
		result = a * b;
	else if (expr->operator == '|')
		result = a | b;
	else if (expr->operator == '&')
		result = a & b;
	else if (expr->operator == AST_SHIFT_LEFT && b < 64)
		result = a << b;
	else if (expr->operator == '/' && is_small && b)
		result = a / b;
	else
		return;
	check_set_number(expr, result, has_sign);
}

/* The number of a pointer's items becomes a number of bytes. */
static int scale(struct check *check, struct ast_expr **number, const struct ast_type *pointer)
{
	const struct ast_type item = check_item(check, pointer);
	struct ast_expr *size, *product;

	if (item.bytes <= 1)
		return 0;
	size = ast_new(check->ast, sizeof(*size));
	product = ast_new(check->ast, sizeof(*product));
	if (!size || !product)
		return check_no_memory(check);
	size->place = product->place = (*number)->place;
	check_set_number(size, item.bytes, false);
	product->kind = AST_BINARY;
	product->operator = '*';
	product->type = check_integer(true);
	product->left = *number;
	product->right = size;
	*number = product;
	return 0;
}

static int check_arithmetic(struct check *check, struct ast_expr *expr)
{
	struct ast_expr *left = expr->left, *right = expr->right;
	const bool adds = expr->operator == '+' || expr->operator == '-';
	const bool left_points = left->type.kind == AST_POINTER,
		right_points = right->type.kind == AST_POINTER;
	int ret = 0;

	if (!check_is_number(&left->type) || !check_is_number(&right->type))
		return fail_operands(check, expr);
	expr->compares_signed = is_signed(left, right);
	expr->type = check_integer(expr->operator == '-' || expr->compares_signed);
	expr->type.is_user = left->type.is_user || right->type.is_user;
	if (ast_divides_by_zero(expr))
		return check_fail(check, expr->place, "this divides by 0");
	if (adds && left_points != right_points && (left_points || expr->operator == '+')) {
		expr->type = left_points ? left->type : right->type;
		if (check->is_last)
			ret = scale(check, left_points ? &expr->right : &expr->left, &expr->type);
		return ret;
	}
	fold(expr);
	return 0;
}

static int check_comparison(struct check *check, struct ast_expr *expr)
{
	const struct ast_type *left = &expr->left->type, *right = &expr->right->type;
	const bool is_equality = expr->operator == AST_EQUAL || expr->operator == AST_NOT_EQUAL;

	expr->type = check_integer(true);
	if (left->kind == AST_STRING && right->kind == AST_STRING)
		return is_equality ? 0 :
			check_fail(check, expr->place, "strings can be compared by '==' and '!=' only");
	if (!check_is_number(left) || !check_is_number(right))
		return fail_operands(check, expr);
	expr->compares_signed = is_signed(expr->left, expr->right);
	return 0;
}

static int check_binary(struct check *check, struct ast_expr *expr)
{
	int ret;

	if (expr->operator == AST_AND || expr->operator == AST_OR) {
		expr->type = check_integer(true);
		ret = check_condition(check, expr->left);
		return ret ? ret : check_condition(check, expr->right);
	}
	ret = check_value(check, expr->left);
	if (!ret)
		ret = check_value(check, expr->right);
	if (ret || is_unknown(expr->left) || is_unknown(expr->right))
		return ret;
	switch (expr->operator) {
	case AST_EQUAL:
	case AST_NOT_EQUAL:
	case '<':
	case '>':
	case AST_LESS_EQUAL:
	case AST_GREATER_EQUAL:
		return check_comparison(check, expr);
	default:
		return check_arithmetic(check, expr);
	}
}

static int check_unary(struct check *check, struct ast_expr *expr)
{
	int ret = expr->operator == '!' ? check_condition(check, expr->right) : check_value(check,
		expr->right);

	if (ret || is_unknown(expr->right))
		return ret;
	if (!check_is_number(&expr->right->type))
		return check_fail(check, expr->place, "this can't be done with %s",
			check_type_text(&expr->right->type));
	expr->type = check_integer(expr->operator != '~' || expr->right->type.is_signed);
	if (expr->right->kind == AST_NUMBER && expr->operator != '!')
		check_set_number(expr, expr->operator == '-' ? 0 - expr->right->number :
			~expr->right->number, true);
	return 0;
}

static int check_choice(struct check *check, struct ast_expr *expr)
{
	const struct ast_type *b, *c;
	int ret = check_condition(check, expr->left);

	if (!ret)
		ret = check_value(check, expr->right);
	if (!ret)
		ret = check_value(check, expr->third);
	if (ret)
		return ret;
	b = &expr->right->type;
	c = &expr->third->type;
	if (b->kind == AST_NONE || c->kind == AST_NONE) {
		expr->type = b->kind == AST_NONE ? *c : *b;
		return 0;
	}
	if (check_is_number(b) && check_is_number(c)) {
		expr->type = b->kind == c->kind && b->kind == AST_POINTER ? *b :
			check_integer(is_signed(expr->right, expr->third));
		return 0;
	}
	if (b->kind != c->kind || !check_is_stored(b))
		return check_fail(check, expr->place, "the two sides are %s and %s", check_type_text(b),
			check_type_text(c));
	if (!check_has_format_of(b, c))
		return check_fail(check, expr->place, "the two sides are times in different formats");
	expr->type = b->bytes > c->bytes ? *b : *c;
	return 0;
}

static int check_step(struct check *check, struct ast_expr *expr)
{
	const struct ast_type number = check_integer(true);
	int ret = check_store(check, expr->right, &number);

	if (ret)
		return ret;
	if (!is_unknown(expr->right) && expr->right->type.kind != AST_INTEGER)
		return check_fail(check, expr->place, "only integers can be counted up and down");
	expr->type = expr->right->type;
	return 0;
}

/* ---- memory ------------------------------------------------------------------------------------ */

static int check_cast(struct check *check, struct ast_expr *expr)
{
	const struct ast_type *from = &expr->right->type;
	int ret = check_value(check, expr->right);

	if (!ret && is_unknown(expr))
		ret = check_resolve(check, expr->place, &expr->cast);
	if (ret)
		return ret;
	if (expr->cast.kind == AST_STRUCT || expr->cast.kind == AST_NONE || expr->cast.kind == AST_STRING)
		return check_fail(check, expr->place,
			"a cast is to an integer or to a pointer (struct X *)");
	expr->type = expr->cast;
	if (is_unknown(expr->right))
		return 0;
	if (!check_is_number(from) && !(expr->cast.kind == AST_POINTER &&
		(from->kind == AST_ARRAY || from->kind == AST_STRUCT)))
		return check_fail(check, expr->place, "%s can't be cast", check_type_text(from));
	expr->type.is_user = from->is_user || (from->kind == AST_INTEGER && check_is_user_code(check));
	return 0;
}

static int check_deref(struct check *check, struct ast_expr *expr)
{
	struct ast_expr *address = expr->right;
	int ret = check_value(check, address);

	if (ret || is_unknown(address))
		return ret;
	if (address->type.kind == AST_INTEGER) {
		/* as bpftrace reads it */
		address->type.is_user |= check_is_user_code(check);
		expr->type = check_integer(false);
		expr->type.is_user = address->type.is_user;
		return 0;
	}
	if (address->type.kind != AST_POINTER)
		return check_fail(check, expr->place, "%s is no address", check_type_text(&address->type));
	expr->type = check_item(check, &address->type);
	if (is_unknown(expr))
		return check_fail(check, expr->place, "what this points to has no size: cast it");
	return 0;
}

static int check_member(struct check *check, struct ast_expr *expr)
{
	struct ast_type structure;
	int ret = check_value(check, expr->left);

	if (ret || is_unknown(expr->left))
		return ret;
	structure = expr->left->type;
	if (structure.kind == AST_POINTER && !expr->number)
		return check_fail(check, expr->place, "this is a pointer: use -> in place of '.'");
	if (structure.kind == AST_STRUCT && expr->number)
		return check_fail(check, expr->place, "this is a struct: use '.' in place of ->");
	if (structure.kind == AST_POINTER)
		structure = check_item(check, &structure);
	if (structure.kind == AST_NONE && !check->types)
		return ast_fail(check->ast, expr->place, EOPNOTSUPP, check->err,
			"what this points to is not known: %s",
			check->why_no_types);
	if (structure.kind != AST_STRUCT)
		return check_fail(check, expr->place, "this is no struct%s",
			expr->left->type.kind == AST_INTEGER ? ": cast it to (struct X *)" : "");
	return check_field(check, expr->place, &structure, expr->text, &expr->type, &expr->field);
}

static int check_index(struct check *check, struct ast_expr *expr)
{
	struct ast_type *array = &expr->left->type;
	int ret = check_value(check, expr->left);
	struct ast_type *item;

	if (!ret)
		ret = check_value(check, expr->right);
	if (ret || is_unknown(expr->left) || is_unknown(expr->right))
		return ret;
	if (expr->right->type.kind != AST_INTEGER)
		return check_fail(check, expr->right->place, "an index is an integer");
	if (array->kind == AST_STRING && (expr->left->kind == AST_FIELD ||
		expr->left->kind == AST_ARGUMENT)) {
		/* characters in memory */
		item = ast_new(check->ast, sizeof(*item));
		if (!item)
			return check_no_memory(check);
		*item = check_integer(true);
		item->bytes = 1;
		item->is_char = true;
		*array = (struct ast_type){ .kind = AST_ARRAY, .is_user = array->is_user, .is_char = true,
			.bytes = array->bytes, .count = array->bytes, .item = item };
	}
	if (array->kind != AST_ARRAY && array->kind != AST_POINTER)
		return check_fail(check, expr->place, "%s has no items", check_type_text(array));
	if (array->kind == AST_ARRAY && array->count && expr->right->kind == AST_NUMBER &&
		expr->right->number >= array->count)
		return check_fail(check, expr->right->place, "the array has %u items", array->count);
	expr->type = check_item(check, array);
	if (!expr->type.bytes)
		return check_fail(check, expr->place, "the items have no size: cast the pointer");
	return 0;
}

/* ---- tuples ------------------------------------------------------------------------------------ */

static int check_tuple(struct check *check, struct ast_expr *expr)
{
	struct ast_type *parts = ast_new(check->ast, sizeof(*parts) * expr->count);
	uint32_t i = 0;
	int ret;

	if (!parts)
		return check_no_memory(check);
	expr->type = (struct ast_type){ .kind = AST_NONE };
	for (struct ast_expr *part = expr->args; part; part = part->next) {
		ret = check_value(check, part);
		if (ret || is_unknown(part))
			return ret;
		if (!check_is_stored(&part->type))
			return check_fail(check, part->place, "%s can't be in a tuple",
				check_type_text(&part->type));
		parts[i] = part->type;
		if (parts[i].kind == AST_INTEGER)
			parts[i].bytes = 8;
		i++;
	}
	expr->type = (struct ast_type){ .kind = AST_TUPLE, .count = expr->count, .parts = parts };
	return 0;
}

static int check_tuple_item(struct check *check, struct ast_expr *expr)
{
	int ret = check_value(check, expr->left);

	if (ret || is_unknown(expr->left))
		return ret;
	if (expr->left->type.kind != AST_TUPLE)
		return check_fail(check, expr->place, "this is no tuple");
	if (expr->number >= expr->left->type.count)
		return check_fail(check, expr->place, "the tuple has %u values, from .0 on",
			expr->left->type.count);
	expr->type = expr->left->type.parts[expr->number];
	return 0;
}

/* ---- all --------------------------------------------------------------------------------------- */

static int check_number(struct check *check, struct ast_expr *expr)
{
	(void)check;
	check_set_number(expr, expr->number, expr->type.is_signed);
	return 0;
}

static int check_literal(struct check *check, struct ast_expr *expr)
{
	(void)check;
	expr->type = (struct ast_type){ .kind = AST_STRING, .bytes = (uint32_t)strlen(expr->text) + 1 };
	return 0;
}

static int check_call_or_stack(struct check *check, struct ast_expr *expr)
{
	return expr->function ? check_call(check, expr) : check_stack_call(check, expr);
}

/* An argument that is of a unit's own probe; the others were made from built-ins. */
static int check_named_argument(struct check *check, struct ast_expr *expr)
{
	return expr->builtin || !is_unknown(expr) ? 0 : check_argument(check, expr);
}

static int (*const checks[])(struct check *check, struct ast_expr *expr) = {
	[AST_NUMBER] = check_number, [AST_LITERAL] = check_literal, [AST_NAME] = check_name,
	[AST_PARAMETER] = check_parameter, [AST_BUILTIN] = check_builtin,
		[AST_ARGUMENT] = check_named_argument,
	[AST_MAP] = check_map, [AST_LOCAL] = check_local, [AST_UNARY] = check_unary,
		[AST_BINARY] = check_binary,
	[AST_CHOICE] = check_choice, [AST_STEP] = check_step, [AST_CAST] = check_cast,
		[AST_DEREF] = check_deref,
	[AST_FIELD] = check_member, [AST_INDEX] = check_index, [AST_TUPLE_OF] = check_tuple,
	[AST_ITEM] = check_tuple_item, [AST_CALL] = check_call_or_stack,
};

static int check_any(struct check *check, struct ast_expr *expr)
{
	return checks[expr->kind](check, expr);
}

int check_value(struct check *check, struct ast_expr *expr)
{
	if (expr->kind == AST_CALL && expr->function && expr->function->use == FUNCTION_AGGREGATES)
		return check_fail(check, expr->place, "%s can only be assigned to a map: @x = %s",
			expr->function->usage, expr->function->usage);
	if (expr->kind == AST_CALL && expr->function && expr->function->use == FUNCTION_ACTS)
		return check_fail(check, expr->place, "%s() gives no value", expr->function->name);
	return check_any(check, expr);
}

int check_condition(struct check *check, struct ast_expr *expr)
{
	int ret = check_value(check, expr);

	if (ret || is_unknown(expr) || check_is_number(&expr->type))
		return ret;
	return check_fail(check, expr->place, "%s is neither true nor false", check_type_text(&expr->type));
}
