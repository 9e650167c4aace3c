/* SPDX-License-Identifier: MIT */
/* The parser: expressions, as C's grammar joins them. */
#include <errno.h>
#include <string.h>

#include "probes/parser_state.h"
#include "probes/tables.h"

/* The binary operators by their strength, the weakest first. */
static const struct binary_row {
	int operator;
	int strength;
} binary_rows[] = {
	{ AST_OR, 1 }, { AST_AND, 2 }, { '|', 3 }, { '^', 4 }, { '&', 5 }, { AST_EQUAL, 6 },
	{ AST_NOT_EQUAL, 6 }, { '<', 7 }, { AST_LESS_EQUAL, 7 }, { '>', 7 }, { AST_GREATER_EQUAL, 7 },
	{ AST_SHIFT_LEFT, 8 }, { AST_SHIFT_RIGHT, 8 }, { '+', 9 }, { '-', 9 }, { '*', 10 }, { '/', 10 },
	{ '%', 10 },
};

static int parse_choice(struct parser *parser, struct ast_expr **expr);

/* ---- nodes ------------------------------------------------------------------------------------- */

/* A node at the next token. */
static int make(struct parser *parser, enum ast_expr_kind kind, struct ast_expr **expr)
{
	*expr = parser_new(parser, sizeof(**expr));
	if (!*expr)
		return parser_no_memory(parser);
	(*expr)->kind = kind;
	(*expr)->place = parser->token.place;
	(*expr)->depth = 1;
	return 0;
}

/* Counts a part of the node in its depth. */
static int join(const struct parser *parser, struct ast_expr *expr, const struct ast_expr *part)
{
	if (part->depth >= AST_DEPTH_MAX)
		return parser_fail(parser, E2BIG, "the expression is nested too deep");
	if (part->depth >= expr->depth)
		expr->depth = part->depth + 1;
	return 0;
}

/* A node with the text of the next token, behind which it goes. */
static int make_with_text(struct parser *parser, enum ast_expr_kind kind, struct ast_expr **expr)
{
	int ret = make(parser, kind, expr);

	if (ret)
		return ret;
	(*expr)->text = parser_copy_text(parser, parser->token.text, parser->token.length);
	return (*expr)->text ? parser_advance(parser) : parser_no_memory(parser);
}

static int make_number(struct parser *parser, enum ast_expr_kind kind, struct ast_expr **expr)
{
	int ret = make(parser, kind, expr);

	if (ret)
		return ret;
	(*expr)->number = parser->token.number;
	return parser_advance(parser);
}

/* ---- values ------------------------------------------------------------------------------------ */

/* Expressions up to the closing sign, behind which it goes; the first one may be there already. */
static int parse_list(struct parser *parser, int closing, uint32_t most, struct ast_expr *owner)
{
	struct ast_expr **last = &owner->args;
	int ret = 0;

	for (; *last; last = &(*last)->next)
		;
	while (!ret && !parser_is_sign(parser, closing)) {
		if (owner->count && !parser_is_sign(parser, ','))
			return parser_fail(parser, EINVAL, "',' or '%c' is missing", closing);
		if (owner->count == most)
			return parser_fail(parser, E2BIG, "there are more than %u values", most);
		if (owner->count)
			ret = parser_advance(parser);
		if (!ret)
			ret = parse_choice(parser, last);
		if (!ret)
			ret = join(parser, owner, *last);
		if (ret)
			return ret;
		last = &(*last)->next;
		owner->count++;
	}
	return ret ? ret : parser_advance(parser);
}

static int parse_call(struct parser *parser, struct ast_expr *expr)
{
	int ret = parser_advance(parser);

	expr->kind = AST_CALL;
	expr->function = functions_find(expr->text, strlen(expr->text));
	return ret ? ret : parse_list(parser, ')', AST_ARGS_MAX, expr);
}

/* args.NAME, behind `args` */
static int parse_argument(struct parser *parser, struct ast_expr *expr)
{
	int ret;

	if (!parser_is_sign(parser, '.') && !parser_is_sign(parser, TOKEN_ARROW))
		return parser_fail(parser, EINVAL, "args is used as args.NAME");
	ret = parser_advance(parser);
	if (ret)
		return ret;
	if (parser->token.kind != TOKEN_NAME)
		return parser_fail(parser, EINVAL, "a name is missing");
	expr->kind = AST_ARGUMENT;
	expr->text = parser_copy_text(parser, parser->token.text, parser->token.length);
	return expr->text ? parser_advance(parser) : parser_no_memory(parser);
}

static int parse_name(struct parser *parser, struct ast_expr **expr)
{
	const bool is_args = parser_is_name(parser, "args") && !parser->is_filter_only;
	const bool calls = lexer_follows(&parser->lexer, '(') && !parser->is_filter_only;
	const char *refused = refused_find(calls ? REFUSED_CALL : REFUSED_NAME, parser->token.text,
		parser->token.length);
	int ret;

	if (calls && !functions_find(parser->token.text, parser->token.length) && !refused &&
		!builtin_find(parser->token.text, parser->token.length))
		return parser_fail(parser, EINVAL, "there is no function '%.*s'", (int)parser->token.length,
			parser->token.text);
	if (refused && !parser->is_filter_only)
		return parser_fail(parser, EOPNOTSUPP, "%s", refused);
	ret = make_with_text(parser, AST_NAME, expr);
	if (ret || (!is_args && !calls))
		return ret;
	return is_args ? parse_argument(parser, *expr) : parse_call(parser, *expr);
}

static int parse_map(struct parser *parser, struct ast_expr **expr)
{
	const bool has_keys = lexer_follows(&parser->lexer, '[');
	int ret = make_with_text(parser, AST_MAP, expr);

	if (ret || !has_keys)
		return ret;
	ret = parser_advance(parser);
	if (!ret)
		ret = parse_list(parser, ']', AST_KEYS_MAX, *expr);
	if (!ret && !(*expr)->count)
		return parser_fail(parser, EINVAL, "the key is missing");
	return ret;
}

/* (value), (a, b), () is refused */
static int parse_parentheses(struct parser *parser, struct ast_expr **expr)
{
	struct ast_expr *tuple, *first;
	int ret = make(parser, AST_TUPLE_OF, &tuple);

	if (!ret)
		ret = parser_advance(parser);
	if (!ret)
		ret = parse_choice(parser, &first);
	if (ret)
		return ret;
	if (!parser_is_sign(parser, ',')) {
		*expr = first;
		return parser_expect(parser, ')');
	}
	tuple->args = first;
	tuple->count = 1;
	*expr = tuple;
	ret = join(parser, tuple, first);
	return ret ? ret : parse_list(parser, ')', AST_KEYS_MAX, tuple);
}

static int fail_value(const struct parser *parser)
{
	return parser_fail(parser, EINVAL, "%s", parser->is_filter_only ?
		"a name, a number, a string or '(' is missing" : "a value is missing");
}

static int parse_value(struct parser *parser, struct ast_expr **expr)
{
	const bool is_variable = parser->token.kind == TOKEN_PARAMETER ||
		parser->token.kind == TOKEN_LOCAL ||
		parser->token.kind == TOKEN_MAP;

	if (parser->is_filter_only && is_variable)
		return fail_value(parser);
	switch (parser->token.kind) {
	case TOKEN_NUMBER:
		return make_number(parser, AST_NUMBER, expr);
	case TOKEN_PARAMETER:
		return make_number(parser, AST_PARAMETER, expr);
	case TOKEN_TEXT:
		return make_with_text(parser, AST_LITERAL, expr);
	case TOKEN_LOCAL:
		return make_with_text(parser, AST_LOCAL, expr);
	case TOKEN_MAP:
		return parse_map(parser, expr);
	case TOKEN_NAME:
		return parse_name(parser, expr);
	case TOKEN_SIGN:
	case TOKEN_END:
		break;
	}
	if (parser_is_sign(parser, '('))
		return parse_parentheses(parser, expr);
	return fail_value(parser);
}

/* ---- what follows a value ---------------------------------------------------------------------- */

static int is_assignable(const struct parser *parser, const struct ast_expr *expr)
{
	if (expr->kind == AST_MAP || expr->kind == AST_LOCAL)
		return 0;
	return parser_fail(parser, EINVAL, "only maps (@x) and variables ($x) can be changed");
}

/* .NAME ->NAME .N */
static int parse_member(struct parser *parser, struct ast_expr *expr)
{
	expr->number = parser_is_sign(parser, TOKEN_ARROW);
	int ret = parser_advance(parser);

	if (ret)
		return ret;
	if (parser->token.kind == TOKEN_NUMBER && !expr->number) {
		expr->kind = AST_ITEM;
		expr->number = parser->token.number;
		return parser_advance(parser);
	}
	if (parser->token.kind != TOKEN_NAME)
		return parser_fail(parser, EINVAL, "the name of a field is missing");
	expr->text = parser_copy_text(parser, parser->token.text, parser->token.length);
	return expr->text ? parser_advance(parser) : parser_no_memory(parser);
}

static int parse_index(struct parser *parser, struct ast_expr *expr)
{
	int ret = parser_advance(parser);

	expr->kind = AST_INDEX;
	if (!ret)
		ret = parse_choice(parser, &expr->right);
	if (!ret)
		ret = join(parser, expr, expr->right);
	return ret ? ret : parser_expect(parser, ']');
}

static int parse_step_behind(struct parser *parser, struct ast_expr *expr)
{
	expr->kind = AST_STEP;
	expr->operator = parser->token.sign;
	expr->right = expr->left;
	expr->left = NULL;
	return parser_advance(parser);
}

static int parse_postfix(struct parser *parser, struct ast_expr **expr)
{
	struct ast_expr *joined;
	int ret = parse_value(parser, expr);

	while (!ret && parser->token.kind == TOKEN_SIGN && !parser->is_filter_only) {
		const int sign = parser->token.sign;
		const bool steps = sign == AST_PLUS_PLUS || sign == AST_MINUS_MINUS;

		if (sign != '.' && sign != TOKEN_ARROW && sign != '[' && !steps)
			break;
		if (steps)
			ret = is_assignable(parser, *expr);
		if (!ret)
			ret = make(parser, AST_FIELD, &joined);
		if (!ret)
			ret = join(parser, joined, *expr);
		if (ret)
			return ret;
		joined->left = *expr;
		ret = steps ? parse_step_behind(parser, joined) :
			sign == '[' ? parse_index(parser, joined) : parse_member(parser, joined);
		*expr = joined;
	}
	return ret;
}

/* ---- operators --------------------------------------------------------------------------------- */

static int parse_prefix(struct parser *parser, struct ast_expr **expr)
{
	const int sign = parser->token.sign;
	int ret = make(parser, sign == '*' ? AST_DEREF : AST_UNARY, expr);

	if (!ret)
		ret = parser_enter(parser);
	if (ret)
		return ret;
	(*expr)->operator = sign;
	if (sign == AST_PLUS_PLUS || sign == AST_MINUS_MINUS) {
		(*expr)->kind = AST_STEP;
		(*expr)->number = 1;
	}
	ret = parser_advance(parser);
	if (!ret)
		ret = parser_unary(parser, &(*expr)->right);
	if (!ret && (*expr)->kind == AST_STEP)
		ret = is_assignable(parser, (*expr)->right);
	if (!ret)
		ret = join(parser, *expr, (*expr)->right);
	parser->depth--;
	return ret;
}

static int parse_cast(struct parser *parser, const struct ast_type *type, struct ast_place place,
	struct ast_expr **expr)
{
	int ret = make(parser, AST_CAST, expr);

	if (!ret)
		ret = parser_enter(parser);
	if (ret)
		return ret;
	(*expr)->cast = *type;
	(*expr)->place = place;
	ret = parser_unary(parser, &(*expr)->right);
	if (!ret)
		ret = join(parser, *expr, (*expr)->right);
	parser->depth--;
	return ret;
}

static bool is_prefix(const struct parser *parser)
{
	const int sign = parser->token.sign;

	if (parser->token.kind != TOKEN_SIGN)
		return false;
	if (sign == '*' || sign == AST_PLUS_PLUS || sign == AST_MINUS_MINUS)
		return !parser->is_filter_only;
	return sign == '!' || sign == '~' || sign == '-';
}

int parser_unary(struct parser *parser, struct ast_expr **expr)
{
	const struct ast_place place = parser->token.place;
	struct ast_type type;
	bool is_cast = false;
	int ret = 0;

	if (is_prefix(parser))
		return parse_prefix(parser, expr);
	if (parser_is_sign(parser, '(') && !parser->is_filter_only)
		ret = parser_cast(parser, &is_cast, &type);
	if (ret)
		return ret;
	return is_cast ? parse_cast(parser, &type, place, expr) : parse_postfix(parser, expr);
}

static const struct binary_row *find_binary(const struct parser *parser)
{
	if (parser->token.kind != TOKEN_SIGN)
		return NULL;
	if (parser->in_filter && parser->token.sign == '/' && lexer_follows(&parser->lexer, '{'))
		return NULL;
	for (size_t i = 0; i < sizeof(binary_rows) / sizeof(*binary_rows); i++)
		if (binary_rows[i].operator == parser->token.sign)
			return &binary_rows[i];
	return NULL;
}

/* Operands that are joined by operators of at least this strength. */
static int parse_binary(struct parser *parser, int strength, struct ast_expr **expr)
{
	const struct binary_row *row;
	struct ast_expr *joined;
	int ret = parser_enter(parser);

	if (ret)
		return ret;
	ret = parser_unary(parser, expr);
	while (!ret && (row = find_binary(parser)) && row->strength >= strength) {
		ret = make(parser, AST_BINARY, &joined);
		if (ret)
			break;
		joined->operator = row->operator;
		joined->left = *expr;
		ret = parser_advance(parser);
		if (!ret)
			ret = parse_binary(parser, row->strength + 1, &joined->right);
		if (!ret)
			ret = join(parser, joined, joined->left);
		if (!ret)
			ret = join(parser, joined, joined->right);
		*expr = joined;
	}
	parser->depth--;
	return ret;
}

/* a ? b : c, of which only c may be another one without parentheses, and b anything */
static int parse_choice(struct parser *parser, struct ast_expr **expr)
{
	struct ast_expr *choice;
	int ret = parse_binary(parser, 1, expr);

	if (ret || parser->is_filter_only || !parser_is_sign(parser, '?'))
		return ret;
	ret = make(parser, AST_CHOICE, &choice);
	if (!ret)
		ret = parser_enter(parser);
	if (ret)
		return ret;
	choice->left = *expr;
	*expr = choice;
	ret = parser_advance(parser);
	if (!ret)
		ret = parse_choice(parser, &choice->right);
	if (!ret)
		ret = parser_expect(parser, ':');
	if (!ret)
		ret = parse_choice(parser, &choice->third);
	if (!ret)
		ret = join(parser, choice, choice->left);
	if (!ret)
		ret = join(parser, choice, choice->right);
	if (!ret)
		ret = join(parser, choice, choice->third);
	parser->depth--;
	return ret;
}

int parser_expression(struct parser *parser, struct ast_expr **expr)
{
	return parse_choice(parser, expr);
}
