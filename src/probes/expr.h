/* SPDX-License-Identifier: MIT */
/*
 * Filters of events: one expression of the language of probes, of C's operators on names, integers of 64
 * bits and strings. A text becomes a tree (expr_parse), and its names and types are checked (expr_check);
 * what makes instructions of it walks the tree. One thread at a time for each tree.
 *
 *	|| && | ^ & == != < <= > >= << >> + - * / % ! ~ -, parentheses
 *	10, 0x1f, "text", names; strings can be compared with == and != only
 *
 * Nodes are AST_NUMBER, AST_LITERAL, AST_NAME, AST_UNARY and AST_BINARY; their types AST_INTEGER and
 * AST_STRING.
 */
#ifndef KPROFS_PROBES_EXPR_H
#define KPROFS_PROBES_EXPR_H

#include <stdint.h>

#include "base/err.h"
#include "probes/ast.h"

/* Longer texts are refused. */
#define EXPR_TEXT_MAX 1024

struct expr;

/* -EINVAL with the column, -E2BIG, -ENOMEM. */
int expr_parse(const char *text, struct expr **expr, struct err *err);
/* NULL is allowed. */
void expr_destroy(struct expr *expr);
const struct ast_expr *expr_root(const struct expr *expr);

/* Says what is wrong at a node, with its column; returns -code. */
int expr_fail(const struct expr *expr, const struct ast_expr *node, int code, struct err *err,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

/*
 * Says what a name is: its type, and a value for ast_expr.number. -ENOENT if there is no such name; it may
 * write a sentence for that.
 */
typedef int expr_resolve(void *arg, const char *name, enum ast_type_kind *type, uint64_t *value,
	struct err *err);

/* Sets the types and resolves the names. The whole must be a number. -EINVAL with the column. */
int expr_check(struct expr *expr, expr_resolve *resolve, void *arg, struct err *err);

/* A name and the text that it is compared with. */
typedef int expr_text(void *arg, const struct ast_expr *name, const struct ast_expr *literal,
	struct err *err);

/* Calls each() for each of them in a checked tree, until it returns other than 0; returns that, or 0. */
int expr_each_text(const struct expr *expr, expr_text *each, void *arg, struct err *err);

#endif
