/* SPDX-License-Identifier: MIT */
/* Filters of events. */
#include "probes/expr.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/parser.h"

struct expr {
	struct ast *ast;
	struct ast_expr *root;
};

int expr_parse(const char *text, struct expr **expr, struct err *err)
{
	struct expr *made = calloc(1, sizeof(*made));
	int ret;

	if (!made)
		return err_set(err, ENOMEM, "there is no memory for the expression");
	if (strlen(text) > EXPR_TEXT_MAX)
		ret = err_set(err, E2BIG, "the expression is longer than %d bytes", EXPR_TEXT_MAX);
	else
		ret = parser_parse_filter(text, &made->ast, &made->root, err);
	if (ret) {
		free(made);
		return ret;
	}
	*expr = made;
	return 0;
}

void expr_destroy(struct expr *expr)
{
	if (!expr)
		return;
	ast_destroy(expr->ast);
	free(expr);
}

const struct ast_expr *expr_root(const struct expr *expr)
{
	return expr->root;
}

int expr_fail(const struct expr *expr, const struct ast_expr *node, int code, struct err *err,
	const char *format, ...)
{
	char why[ERR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return ast_fail(expr->ast, node->place, code, err, "%s", why);
}

/* ---- names and types --------------------------------------------------------------------------- */

struct expr_checking {
	const struct expr *expr;
	expr_resolve *resolve;
	void *arg;
	struct err *err;
};

static int fail(const struct expr_checking *checking, const struct ast_expr *node, const char *why)
{
	return ast_fail(checking->expr->ast, node->place, EINVAL, checking->err, "%s", why);
}

static int check_name(struct expr_checking *checking, struct ast_expr *node)
{
	struct err why = { "" };
	int ret = checking->resolve(checking->arg, node->text, &node->type.kind, &node->number, &why);

	if (!ret)
		return 0;
	if (why.text[0])
		return fail(checking, node, why.text);
	return ast_fail(checking->expr->ast, node->place, EINVAL, checking->err,
		"there is nothing named '%s'",
		node->text);
}

static int check_operands(const struct expr_checking *checking, const struct ast_expr *node)
{
	const enum ast_type_kind right = node->right->type.kind;

	if (node->left && node->left->type.kind != right)
		return fail(checking, node, "a string and a number can't be joined");
	if (right == AST_STRING && node->operator != AST_EQUAL && node->operator != AST_NOT_EQUAL)
		return fail(checking, node, "strings can be compared by '==' and '!=' only");
	if (right == AST_STRING && (node->left->kind == AST_LITERAL) == (node->right->kind == AST_LITERAL))
		return fail(checking, node, "one side must be a name and the other a text in quotes");
	return ast_divides_by_zero(node) ? fail(checking, node, "this divides by 0") : 0;
}

static int check_node(struct expr_checking *checking, struct ast_expr *node)
{
	int ret = 0;

	node->type = (struct ast_type){ .kind = node->kind == AST_LITERAL ? AST_STRING : AST_INTEGER,
		.bytes = 8 };
	if (node->kind == AST_NAME)
		return check_name(checking, node);
	if (node->kind != AST_UNARY && node->kind != AST_BINARY)
		return 0;
	if (node->left)
		ret = check_node(checking, node->left);
	if (!ret)
		ret = check_node(checking, node->right);
	return ret ? ret : check_operands(checking, node);
}

int expr_check(struct expr *expr, expr_resolve *resolve, void *arg, struct err *err)
{
	struct expr_checking checking = { .expr = expr, .resolve = resolve, .arg = arg, .err = err };
	int ret = check_node(&checking, expr->root);

	if (!ret && expr->root->type.kind != AST_INTEGER)
		ret = fail(&checking, expr->root, "a string alone is neither true nor false");
	return ret;
}

static int each_text(const struct ast_expr *node, expr_text *each, void *arg, struct err *err)
{
	int ret = 0;

	if (node->kind != AST_UNARY && node->kind != AST_BINARY)
		return 0;
	if (node->left && node->left->type.kind == AST_STRING)
		return node->left->kind == AST_NAME ? each(arg, node->left, node->right, err)
						    : each(arg, node->right, node->left, err);
	if (node->left)
		ret = each_text(node->left, each, arg, err);
	return ret ? ret : each_text(node->right, each, arg, err);
}

int expr_each_text(const struct expr *expr, expr_text *each, void *arg, struct err *err)
{
	return each_text(expr->root, each, arg, err);
}
