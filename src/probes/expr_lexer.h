/* SPDX-License-Identifier: MIT */
/* Splits the text of an expression into tokens; for expr.c. */
#ifndef KPROFS_PROBES_EXPR_LEXER_H
#define KPROFS_PROBES_EXPR_LEXER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum expr_token_kind {
	EXPR_TOKEN_END,
	EXPR_TOKEN_NUMBER,
	EXPR_TOKEN_STRING,
	EXPR_TOKEN_NAME,
	EXPR_TOKEN_SIGN, /* an operator or a parenthesis: its bytes are at `at` */
};

struct expr_token {
	enum expr_token_kind kind;
	size_t at;     /* where it begins in the text */
	size_t length; /* bytes of the text */
	uint64_t number;
};

/* The token at *at or behind blanks there; moves *at behind it. -EINVAL with the place. */
int expr_lexer_next(const char *text, size_t *at, struct expr_token *token, struct err *err);

/* Writes "column N: SENTENCE, at '^REST'" and returns -EINVAL. */
int expr_lexer_fail(const char *text, size_t at, struct err *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
