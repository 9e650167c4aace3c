/* SPDX-License-Identifier: MIT */
/* Filters in the words of tracefs. */
#include "kernel/filter_state.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "kernel/filter.h"

/* What tracefs can't say, as a sentence. */
static int refuse(const char *what, struct err *err)
{
	return err_set(err, EOPNOTSUPP, "without bpf(2) a filter is one of tracefs, which has no %s", what);
}

/* The name as tracefs has it. */
static int print_name(const struct filter *filter, const struct ast_expr *node, GString *out,
	struct err *err)
{
	const struct filter_field *field;

	switch (node->number) {
	case FILTER_PID:
		return refuse("processes: write tid for a thread", err);
	case FILTER_TID:
		g_string_append(out, "common_pid");
		return 0;
	case FILTER_COMM:
		g_string_append(out, "COMM");
		return 0;
	case FILTER_UID:
		return refuse("users", err);
	case FILTER_CPU:
		g_string_append(out, "CPU");
		return 0;
	default:
		field = &filter->fields[node->number - FILTER_FIELDS];
		if (field->source != FILTER_RECORD && field->source != FILTER_TEXT)
			return refuse("arguments, results and durations of calls", err);
		g_string_append(out, field->name);
		return 0;
	}
}

static bool is_constant(const struct ast_expr *node, int64_t *value)
{
	if (node->kind == AST_NUMBER)
		*value = (int64_t)node->number;
	else if (node->kind == AST_UNARY && node->operator == '-' && node->right->kind == AST_NUMBER)
		*value = -(int64_t)node->right->number;
	else
		return false;
	return true;
}

static const char *sign_of(int operator, bool is_swapped)
{
	switch (operator) {
	case AST_EQUAL: return "==";
	case AST_NOT_EQUAL: return "!=";
	case '<': return is_swapped ? ">" : "<";
	case '>': return is_swapped ? "<" : ">";
	case AST_LESS_EQUAL: return is_swapped ? ">=" : "<=";
	case AST_GREATER_EQUAL: return is_swapped ? "<=" : ">=";
	default: return NULL;
	}
}

/* NAME OPERATOR CONSTANT, either way round. */
static int print_comparison(const struct filter *filter, const struct ast_expr *node, GString *out,
	struct err *err)
{
	const bool is_swapped = node->right->kind == AST_NAME;
	const struct ast_expr *name = is_swapped ? node->right : node->left;
	const struct ast_expr *other = is_swapped ? node->left : node->right;
	int64_t value;
	int ret;

	if (name->kind != AST_NAME)
		return refuse("arithmetic", err);
	ret = print_name(filter, name, out, err);
	if (ret)
		return ret;
	if (other->kind == AST_LITERAL) {
		if (strpbrk(other->text, "\"*"))
			return refuse("texts with these characters", err);
		g_string_append_printf(out, " %s \"%s\"", sign_of(node->operator, false), other->text);
		return 0;
	}
	if (!is_constant(other, &value))
		return refuse("comparisons of fields with each other", err);
	g_string_append_printf(out, " %s %" PRId64, sign_of(node->operator, is_swapped), value);
	return 0;
}

static int print_node(const struct filter *filter, const struct ast_expr *node, GString *out,
	struct err *err)
{
	int ret;

	if (node->kind == AST_NAME) {
		ret = print_name(filter, node, out, err);
		g_string_append(out, " != 0");
		return ret;
	}
	if (node->kind == AST_UNARY && node->operator == '!') {
		g_string_append(out, "!(");
		ret = print_node(filter, node->right, out, err);
		g_string_append_c(out, ')');
		return ret;
	}
	if (node->kind != AST_BINARY)
		return refuse("such expressions", err);
	if (sign_of(node->operator, false))
		return print_comparison(filter, node, out, err);
	if (node->operator != AST_AND && node->operator != AST_OR)
		return refuse("arithmetic", err);
	g_string_append_c(out, '(');
	ret = print_node(filter, node->left, out, err);
	g_string_append(out, node->operator == AST_AND ? ") && (" : ") || (");
	if (!ret)
		ret = print_node(filter, node->right, out, err);
	g_string_append_c(out, ')');
	return ret;
}

int filter_print(const struct filter *filter, GString *out, struct err *err)
{
	return print_node(filter, expr_root(filter->expr), out, err);
}
