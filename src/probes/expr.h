/* SPDX-License-Identifier: MIT */
/*
 * Expressions: C's operators on names, integers of 64 bits and strings. A text becomes a tree
 * (expr_parse), and its names and types are checked (expr_check); what makes instructions of it walks
 * the tree. One thread at a time for each tree.
 *
 *	|| && | ^ & == != < <= > >= << >> + - * / % ! ~ -, parentheses
 *	10, 0x1f, "text", names; strings can be compared with == and != only
 */
#ifndef KPROFS_PROBES_EXPR_H
#define KPROFS_PROBES_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Longer texts are refused, and deeper trees: they are walked by recursion. */
#define EXPR_TEXT_MAX 1024
#define EXPR_DEPTH_MAX 24
#define EXPR_NODES_MAX 256

enum expr_kind {
	EXPR_NUMBER,
	EXPR_STRING, /* a literal */
	EXPR_NAME,
	EXPR_UNARY,
	EXPR_BINARY,
};

/* The operators: those of one character are that character. */
enum expr_operator {
	EXPR_OR = 256, EXPR_AND, EXPR_EQ, EXPR_NE, EXPR_LE, EXPR_GE, EXPR_SHL, EXPR_SHR,
};

enum expr_type {
	EXPR_IS_NUMBER,
	EXPR_IS_STRING,
};

struct expr_node {
	enum expr_kind kind;
	enum expr_type type; /* after expr_check() */
	int operator; /* enum expr_operator, or a character */
	uint64_t number; /* NUMBER; of a NAME what the caller's resolve() has stored */
	char *text;      /* STRING, NAME */
	uint32_t at;     /* its place in the text */
	struct expr_node *left, *right; /* UNARY has right only */
};

struct expr;

/* -EINVAL with the column, -E2BIG, -ENOMEM. */
int expr_parse(const char *text, struct expr **expr, struct err *err);
/* NULL is allowed. */
void expr_destroy(struct expr *expr);
const struct expr_node *expr_root(const struct expr *expr);

/*
 * Says what a name is: its type, and a value for expr_node.number. -ENOENT if there is no such name; it may
 * write a sentence for that.
 */
typedef int expr_resolve(void *arg, const char *name, enum expr_type *type, uint64_t *value,
	struct err *err);

/* Sets the types and resolves the names. The whole must be a number. -EINVAL with the column. */
int expr_check(struct expr *expr, expr_resolve *resolve, void *arg, struct err *err);

#endif
