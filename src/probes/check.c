/* SPDX-License-Identifier: MIT */
/* The checker: its passes, and statements. */
#include "probes/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/check_state.h"
#include "probes/tables.h"
#include "probes/targets.h"

/* Each pass but the last learns a type that the one before it did not know. */
#define PASSES_MAX 32

int check_fail(const struct check *check, struct ast_place place, const char *format, ...)
{
	char why[ERR_TEXT_MAX / 2];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return ast_fail(check->ast, place, EINVAL, check->err, "%s", why);
}

int check_no_memory(const struct check *check)
{
	return check->ast->full ? err_set(check->err, E2BIG, "the program is too large") :
		err_set(check->err, ENOMEM, "there is no memory for the program");
}

/* ---- statements -------------------------------------------------------------------------------- */

static int check_statements(struct check *check, struct ast_statement *statement);

static bool is_call_of(const struct ast_expr *expr, enum function_use use)
{
	return expr->kind == AST_CALL && expr->function && expr->function->use == use;
}

static int check_expression(struct check *check, struct ast_statement *statement)
{
	struct ast_expr *value = statement->value;

	if (is_call_of(value, FUNCTION_ACTS))
		return check_call(check, value);
	if (value->kind == AST_CALL)
		return is_call_of(value, FUNCTION_AGGREGATES) ? check_value(check, value) :
			check_fail(check, value->place, "this does nothing with its value");
	return check_value(check, value);
}

/* @x += 1 is checked as @x = @x + 1 */
static int check_compound(struct check *check, struct ast_statement *statement)
{
	const struct ast_type number = check_integer(statement->operator == '-' ||
		(statement->value->type.is_signed && !check_is_neutral(statement->value)));

	if (statement->value->type.kind != AST_NONE && !check_is_number(&statement->value->type))
		return check_fail(check, statement->value->place, "this can't be done with %s",
			check_type_text(&statement->value->type));
	int ret = check_store(check, statement->target, &number);

	if (ret || statement->target->type.kind == AST_NONE || statement->target->type.kind == AST_INTEGER)
		return ret;
	return check_fail(check, statement->place, "only integers can be changed so");
}

static int check_assignment(struct check *check, struct ast_statement *statement)
{
	struct ast_expr *value = statement->value;
	struct ast_type type;
	int ret;

	if (is_call_of(value, FUNCTION_AGGREGATES) && !statement->operator)
		return check_aggregate(check, statement->target, value);
	ret = check_value(check, value);
	if (ret)
		return ret;
	if (statement->operator)
		return check_compound(check, statement);
	type = value->type;
	if (value->kind == AST_NUMBER && (int64_t)value->number >= 0)
		type.is_signed = false; /* it says nothing of what else comes */
	return check_store(check, statement->target, &type);
}

static int check_if(struct check *check, struct ast_statement *statement)
{
	int ret = check_condition(check, statement->value);

	if (!ret)
		ret = check_statements(check, statement->body);
	return ret ? ret : check_statements(check, statement->otherwise);
}

static int check_unroll(struct check *check, struct ast_statement *statement)
{
	int64_t times;
	int ret = check_known_number(check, statement->value, &times);

	if (ret)
		return ret;
	if (times < 1 || times > AST_UNROLL_MAX)
		return check_fail(check, statement->value->place, "unroll takes 1 to %u", AST_UNROLL_MAX);
	return check_statements(check, statement->body);
}

static int check_return(struct check *check, struct ast_statement *statement)
{
	(void)check, (void)statement;
	return 0;
}

static int (*const checks[])(struct check *check, struct ast_statement *statement) = {
	[AST_EXPRESSION] = check_expression, [AST_ASSIGN] = check_assignment, [AST_IF] = check_if,
	[AST_UNROLL] = check_unroll, [AST_RETURN] = check_return,
};

static int check_statements(struct check *check, struct ast_statement *statement)
{
	int ret = 0;

	for (; !ret && statement; statement = statement->next)
		ret = checks[statement->kind](check, statement);
	return ret;
}

/* ---- passes ------------------------------------------------------------------------------------ */

static int check_all_units(struct check *check)
{
	int ret = 0;

	check->changed = false;
	for (check->unit = check->ast->units; !ret && check->unit; check->unit = check->unit->next) {
		if (check->unit->filter)
			ret = check_condition(check, check->unit->filter);
		if (!ret)
			ret = check_statements(check, check->unit->body);
	}
	return ret;
}

static int run_passes(struct check *check)
{
	int ret = 0, passes = 0;

	do {
		ret = check_all_units(check);
	} while (!ret && check->changed && ++passes < PASSES_MAX);
	if (ret)
		return ret;
	check->is_last = true;
	return check_all_units(check);
}

int check_program(struct ast *ast, const struct check_options *options, struct err *err)
{
	struct check *check = calloc(1, sizeof(*check));
	int ret;

	if (!check)
		return err_set(err, ENOMEM, "there is no memory for the program");
	check->ast = ast;
	check->options = options;
	check->err = err;
	check->string_bytes = options->string_bytes ? options->string_bytes : CHECK_STRING_DEFAULT;
	check->types = targets_types(options->targets, &check->why_no_types);
	ret = check_structs(check);
	if (!ret)
		ret = check_units(check);
	if (!ret)
		ret = run_passes(check);
	free(check);
	return ret;
}
