/* SPDX-License-Identifier: MIT */
/* The state of a parser, and what its files call of each other. */
#ifndef KPROFS_PROBES_PARSER_STATE_H
#define KPROFS_PROBES_PARSER_STATE_H

#include "probes/ast.h"
#include "probes/lexer.h"

struct parser {
	struct ast *ast;
	struct err *err;
	struct lexer lexer;
	struct token token; /* the next one */
	uint32_t depth;	    /* of calls within calls */
	bool in_filter;	    /* a '/' before a '{' ends the expression */
	bool is_filter_only; /* expr.h: names, numbers, strings and operators of C only */
};

/* ---- parser.c ---------------------------------------------------------------------------------- */

int parser_advance(struct parser *parser);
/* At the next token; -EAGAIN where the text ends with it. */
int parser_fail(const struct parser *parser, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Zeroed memory of the tree; NULL after the error was written (parser_no_memory()). */
void *parser_new(struct parser *parser, size_t bytes);
const char *parser_copy_text(struct parser *parser, const char *text, size_t bytes);
/* -E2BIG or -ENOMEM, as parser_new() has written. */
int parser_no_memory(const struct parser *parser);
bool parser_is_sign(const struct parser *parser, int sign);
bool parser_is_name(const struct parser *parser, const char *name);
/* Goes behind the sign, or says that it is missing. */
int parser_expect(struct parser *parser, int sign);
/* One more level; parser->depth-- leaves it. */
int parser_enter(struct parser *parser);

/* ---- parser_expr.c ----------------------------------------------------------------------------- */

int parser_expression(struct parser *parser, struct ast_expr **expr);
/* A map or local variable, "@m[k]" or "$x", with what follows it: "@m[k]++". */
int parser_unary(struct parser *parser, struct ast_expr **expr);

/* ---- parser_type.c ----------------------------------------------------------------------------- */

/* Whether the next tokens are "(TYPE)"; then goes behind them. */
int parser_cast(struct parser *parser, bool *is_cast, struct ast_type *type);
/* `struct NAME { ... };`, behind the first word. */
int parser_struct(struct parser *parser, bool is_union);

#endif
