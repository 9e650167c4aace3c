/* SPDX-License-Identifier: MIT */
/* The tokens of an expression. */
#include "probes/expr_lexer.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the text behind the place of an error, in the sentence. */
#define REST_SHOWN 40

int expr_lexer_fail(const char *text, size_t at, struct err *err, const char *format, ...)
{
	char why[ERR_TEXT_MAX / 2];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	if (!text[at])
		return err_set(err, EINVAL, "column %zu: %s, at the end", at + 1, why);
	return err_set(err, EINVAL, "column %zu: %s, at '^%.*s'", at + 1, why, REST_SHOWN, text + at);
}

static int take_number(const char *text, struct expr_token *token, struct err *err)
{
	const char *begin = text + token->at;
	char *end;

	errno = 0;
	token->kind = EXPR_TOKEN_NUMBER;
	token->number = strtoull(begin, &end, 0);
	token->length = (size_t)(end - begin);
	if (errno)
		return expr_lexer_fail(text, token->at, err, "the number has more than 64 bits");
	if (isalnum((unsigned char)*end) || *end == '_')
		return expr_lexer_fail(text, token->at, err, "this is not a number");
	return 0;
}

static int take_string(const char *text, struct expr_token *token, struct err *err)
{
	const char *end = strchr(text + token->at + 1, '"');

	token->kind = EXPR_TOKEN_STRING;
	if (!end)
		return expr_lexer_fail(text, token->at, err, "the string has no end");
	token->length = (size_t)(end + 1 - (text + token->at));
	return 0;
}

static int take_sign(const char *text, struct expr_token *token, struct err *err)
{
	static const char *const signs[] = { "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "!", "~", "-",
		"+", "*", "/", "%", "&", "|", "^", "<", ">", "(", ")" };

	token->kind = EXPR_TOKEN_SIGN;
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		token->length = strlen(signs[i]);
		if (strncmp(text + token->at, signs[i], token->length) == 0)
			return 0;
	}
	if (text[token->at] == '=')
		return expr_lexer_fail(text, token->at, err, "'=' sets nothing here; '==' compares");
	return expr_lexer_fail(text, token->at, err, "this is no part of an expression");
}

int expr_lexer_next(const char *text, size_t *at, struct expr_token *token, struct err *err)
{
	unsigned char byte;
	int ret = 0;

	while (text[*at] == ' ' || text[*at] == '\t')
		++*at;
	*token = (struct expr_token){ .kind = EXPR_TOKEN_END, .at = *at };
	byte = (unsigned char)text[*at];
	if (!byte)
		return 0;
	if (isdigit(byte)) {
		ret = take_number(text, token, err);
	} else if (byte == '"') {
		ret = take_string(text, token, err);
	} else if (isalpha(byte) || byte == '_') {
		token->kind = EXPR_TOKEN_NAME;
		while (isalnum((unsigned char)text[*at + token->length]) ||
			text[*at + token->length] == '_')
			token->length++;
	} else {
		ret = take_sign(text, token, err);
	}
	*at += token->length;
	return ret;
}
