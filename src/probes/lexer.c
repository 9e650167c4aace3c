/* SPDX-License-Identifier: MIT */
/* Tokens of the language of probes. */
#include "probes/lexer.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LITERAL_MAX 1024u /* bytes of a string in the text */

static const struct sign {
	const char *text;
	int sign;
} signs[] = {
	/* the longer ones first */
	{ "<<=", AST_SHIFT_LEFT | TOKEN_ASSIGNS },
	{ ">>=", AST_SHIFT_RIGHT | TOKEN_ASSIGNS },
	{ "<<", AST_SHIFT_LEFT }, { ">>", AST_SHIFT_RIGHT }, { "<=", AST_LESS_EQUAL },
	{ ">=", AST_GREATER_EQUAL }, { "==", AST_EQUAL }, { "!=", AST_NOT_EQUAL }, { "&&", AST_AND },
	{ "||", AST_OR }, { "++", AST_PLUS_PLUS }, { "--", AST_MINUS_MINUS }, { "->", TOKEN_ARROW },
	{ "+=", '+' | TOKEN_ASSIGNS }, { "-=", '-' | TOKEN_ASSIGNS }, { "*=", '*' | TOKEN_ASSIGNS },
	{ "/=", '/' | TOKEN_ASSIGNS }, { "%=", '%' | TOKEN_ASSIGNS }, { "&=", '&' | TOKEN_ASSIGNS },
	{ "|=", '|' | TOKEN_ASSIGNS }, { "^=", '^' | TOKEN_ASSIGNS },
};

static const char single_signs[] = "+-*/%&|^~!<>=?:;,.()[]{}";

void lexer_init(struct lexer *lexer, struct ast *ast, struct err *err)
{
	*lexer = (struct lexer){ .ast = ast, .err = err, .line = 1, .line_begins = true };
	lexer->line_start = ast->text;
	lexer->inputs[0].at = ast->text;
	lexer->inputs[0].end = ast->text + ast->text_bytes;
}

static struct lexer_input *input_of(struct lexer *lexer)
{
	return &lexer->inputs[lexer->depth];
}

/* Within the text of a #define it is the place of the name. */
struct ast_place lexer_place(const struct lexer *lexer, const char *at)
{
	if (lexer->depth)
		at = lexer->inputs[0].at - 1;
	if (at < lexer->line_start)
		at = lexer->line_start;
	return (struct ast_place){ lexer->line, (uint32_t)(at - lexer->line_start) + 1 };
}

static int fail_at(const struct lexer *lexer, const char *at, int code, const char *why)
{
	return ast_fail(lexer->ast, lexer_place(lexer, at), code, lexer->err, "%s", why);
}

/* More text could make it right; a filter has no more. */
static int fail_early(const struct lexer *lexer, const char *at, const char *why)
{
	if (lexer->ast->in_one_line)
		return fail_at(lexer, at, EINVAL, why);
	return ast_fail(lexer->ast, lexer_place(lexer, at), EAGAIN, lexer->err,
		"the text ends too early: %s", why);
}

int lexer_fail(const struct lexer *lexer, const struct token *token, int code, const char *format, ...)
{
	char why[ERR_TEXT_MAX / 2];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	if (token->ends_text && code == EINVAL && !lexer->ast->in_one_line)
		return ast_fail(lexer->ast, token->place, EAGAIN, lexer->err,
			"the text ends too early: %s", why);
	return ast_fail(lexer->ast, token->place, code, lexer->err, "%s", why);
}

size_t lexer_name_length(const char *at, const char *end)
{
	const char *byte = at;

	if (byte < end && isdigit((unsigned char)*byte))
		return 0;
	while (byte < end && (isalnum((unsigned char)*byte) || *byte == '_'))
		byte++;
	return (size_t)(byte - at);
}

/* ---- what is between tokens -------------------------------------------------------------------- */

static void end_line(struct lexer *lexer)
{
	if (lexer->depth)
		return;
	lexer->line++;
	lexer->line_start = input_of(lexer)->at;
	lexer->line_begins = true;
}

static void skip_line(struct lexer *lexer)
{
	struct lexer_input *input = input_of(lexer);

	while (input->at < input->end && *input->at != '\n')
		input->at++;
}

static int skip_comment(struct lexer *lexer)
{
	struct lexer_input *input = input_of(lexer);
	const struct ast_place place = lexer_place(lexer, input->at);

	for (input->at += 2; input->end - input->at >= 2; input->at++) {
		if (input->at[0] == '*' && input->at[1] == '/') {
			input->at += 2;
			return 0;
		}
		if (*input->at == '\n') {
			input->at++;
			end_line(lexer);
			input->at--;
		}
	}
	return ast_fail(lexer->ast, place, EAGAIN, lexer->err,
		"the text ends too early: a comment has no end");
}

/* Takes what stands at the place and is no token; `more` says whether it was something. */
static int skip_one(struct lexer *lexer, bool *more)
{
	struct lexer_input *input = input_of(lexer);
	const size_t left = (size_t)(input->end - input->at);

	*more = left != 0;
	if (!left)
		return 0;
	if (*input->at == '\n') {
		input->at++;
		end_line(lexer);
	} else if (*input->at == '#' && lexer->line_begins && !lexer->depth) {
		return lexer_directive(lexer);
	} else if (lexer_is_skipping(lexer)) {
		if (*input->at != ' ' && *input->at != '\t')
			skip_line(lexer);
		else
			input->at++;
	} else if (*input->at == ' ' || *input->at == '\t' || *input->at == '\r') {
		input->at++;
	} else if (left >= 2 && input->at[0] == '/' && input->at[1] == '/') {
		skip_line(lexer);
	} else if (left >= 2 && input->at[0] == '/' && input->at[1] == '*') {
		return skip_comment(lexer);
	} else {
		*more = false;
	}
	return 0;
}

/* To the next token. The end of a #define's text is none. */
static int skip_blanks(struct lexer *lexer)
{
	bool more = true;
	int ret = 0;

	while (!ret && more) {
		ret = skip_one(lexer, &more);
		if (!ret && !more && lexer->depth && input_of(lexer)->at == input_of(lexer)->end) {
			lexer->depth--;
			more = true;
		}
	}
	return ret;
}

bool lexer_follows(const struct lexer *lexer, char byte)
{
	struct err ignored;
	struct lexer copy = *lexer;

	copy.err = &ignored;
	return skip_blanks(&copy) == 0 && input_of(&copy)->at < input_of(&copy)->end &&
		*input_of(&copy)->at == byte;
}

/* ---- tokens ------------------------------------------------------------------------------------ */

static int digit_of(char byte)
{
	if (isdigit((unsigned char)byte))
		return byte - '0';
	return isxdigit((unsigned char)byte) ? tolower((unsigned char)byte) - 'a' + 10 : 99;
}

/* Digits and '_' of one base; false behind 64 bits. */
static bool take_digits(struct lexer_input *input, unsigned int base, uint64_t *number)
{
	for (; input->at < input->end; input->at++) {
		int digit = digit_of(*input->at);

		if (*input->at == '_')
			continue;
		if (digit >= (int)base)
			break;
		if (__builtin_mul_overflow(*number, base, number) ||
			__builtin_add_overflow(*number, (uint64_t)digit, number))
			return false;
	}
	return true;
}

/* 10, 1_000, 0x1f, 017, 1e6 */
static int take_number(struct lexer *lexer, struct token *token)
{
	struct lexer_input *input = input_of(lexer);
	const char *begin = input->at;
	unsigned int base = 10;
	uint64_t exponent = 0;
	bool fits;

	token->kind = TOKEN_NUMBER;
	if (input->end - begin > 2 && begin[0] == '0' && (begin[1] == 'x' || begin[1] == 'X')) {
		base = 16;
		input->at += 2;
	} else if (begin[0] == '0') {
		base = 8;
	}
	fits = take_digits(input, base, &token->number);
	if (fits && base == 10 && input->end - input->at >= 2 && *input->at == 'e' &&
		isdigit((unsigned char)input->at[1])) {
		input->at++;
		fits = take_digits(input, 10, &exponent) && exponent < 20;
		for (; fits && exponent; exponent--)
			fits = !__builtin_mul_overflow(token->number, 10u, &token->number);
	}
	if (!fits)
		return fail_at(lexer, begin, EINVAL, "the number has more than 64 bits");
	token->length = (size_t)(input->at - begin);
	token->ends_text = !lexer->depth && input->at == input->end;
	if (input->at < input->end && (isalnum((unsigned char)*input->at) || *input->at == '_'))
		return fail_at(lexer, begin, EINVAL, "this is not a number");
	return 0;
}

/* The byte that an escape stands for, behind the backslash; -1 if there is no such one. */
static int take_escape(struct lexer_input *input)
{
	static const char letters[] = "n\nt\tr\r\"\"\\\\''a\ab\bf\fv\v";
	const char byte = *input->at++;
	int value = 0, count = 0;

	for (const char *letter = letters; *letter; letter += 2)
		if (*letter == byte)
			return letter[1];
	if (byte == 'x') {
		for (; count < 2 && input->at < input->end && digit_of(*input->at) < 16; count++)
			value = value * 16 + digit_of(*input->at++);
		return count ? value : -1;
	}
	for (input->at--; count < 3 && input->at < input->end && digit_of(*input->at) < 8; count++)
		value = value * 8 + digit_of(*input->at++);
	return count && value < 256 ? value : -1;
}

static int take_text(struct lexer *lexer, struct token *token)
{
	struct lexer_input *input = input_of(lexer);
	const char *begin = input->at++;
	char text[LITERAL_MAX];
	size_t length = 0;

	token->kind = TOKEN_TEXT;
	while (input->at < input->end && *input->at != '"') {
		const char *at = input->at;
		int byte = (unsigned char)*input->at++;

		if (byte == '\n')
			return fail_at(lexer, begin, EINVAL, "the string has no end in its line");
		if (byte == '\\' && input->at < input->end) {
			byte = take_escape(input);
			if (byte < 0)
				return fail_at(lexer, at, EINVAL, "there is no such escape in a string");
		}
		if (!byte)
			return fail_at(lexer, at, EINVAL, "a string can't have a NUL byte");
		if (length == sizeof(text) - 1)
			return fail_at(lexer, begin, E2BIG, "the string is longer than 1023 bytes");
		text[length++] = (char)byte;
	}
	if (input->at == input->end)
		return fail_early(lexer, begin, "the string has no end");
	input->at++;
	token->text = ast_copy_text(lexer->ast, text, length);
	token->length = length;
	return token->text ? 0 : fail_at(lexer, begin, lexer->ast->full ? E2BIG : ENOMEM,
		"there is no memory for the program");
}

/* $1, $#, $name, @name, @ */
static int take_variable(struct lexer *lexer, struct token *token)
{
	struct lexer_input *input = input_of(lexer);
	const char *begin = input->at++;

	token->text = input->at;
	token->length = lexer_name_length(input->at, input->end);
	token->kind = *begin == '@' ? TOKEN_MAP : TOKEN_LOCAL;
	if (*begin == '$' && input->at < input->end && *input->at == '#') {
		token->kind = TOKEN_PARAMETER;
		token->length = 1;
	} else if (*begin == '$' && input->at < input->end && isdigit((unsigned char)*input->at)) {
		token->kind = TOKEN_PARAMETER;
		if (!take_digits(input, 10, &token->number) || !token->number || token->number > 1000)
			return fail_at(lexer, begin, EINVAL, "parameters are $1 to $1000");
		input->at -= token->length;
		token->length = 0;
	}
	input->at += token->length;
	token->ends_text = !lexer->depth && input->at == input->end;
	if (token->kind == TOKEN_LOCAL && !token->length)
		return lexer_fail(lexer, token, EINVAL, "a name or number is missing behind '$'");
	if (token->length > AST_NAME_MAX)
		return fail_at(lexer, begin, EINVAL, "the name is too long");
	return 0;
}

static int take_sign(struct lexer *lexer, struct token *token)
{
	struct lexer_input *input = input_of(lexer);
	const size_t left = (size_t)(input->end - input->at);

	token->kind = TOKEN_SIGN;
	token->text = input->at;
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs) && !token->length; i++)
		if (strlen(signs[i].text) <= left &&
			strncmp(input->at, signs[i].text, strlen(signs[i].text)) == 0) {
			token->sign = signs[i].sign;
			token->length = strlen(signs[i].text);
		}
	if (!token->length && *input->at && strchr(single_signs, *input->at)) {
		token->sign = *input->at;
		token->length = 1;
	}
	if (!token->length)
		return fail_at(lexer, input->at, EINVAL, "this is no part of the language");
	input->at += token->length;
	/* "<" may become "<=", and '/' a comment; '}' is whole */
	token->ends_text = !lexer->depth && input->at == input->end && strchr("+-*/%&|^!<>=",
		token->text[0]);
	return 0;
}

/* A name; or `is_replaced`, and the next token is that of the text that #define gave it. */
static int take_name(struct lexer *lexer, struct token *token, bool *is_replaced)
{
	struct lexer_input *input = input_of(lexer);
	const struct lexer_macro *macro;

	token->kind = TOKEN_NAME;
	token->text = input->at;
	token->length = lexer_name_length(input->at, input->end);
	input->at += token->length;
	token->ends_text = !lexer->depth && input->at == input->end;
	if (token->length > AST_NAME_MAX)
		return fail_at(lexer, token->text, EINVAL, "the name is too long");
	macro = lexer_find_macro(lexer, token->text, token->length);
	for (unsigned int i = 1; macro && i <= lexer->depth; i++)
		if (lexer->inputs[i].macro == macro)
			macro = NULL; /* as in C, a name is not replaced in its own text */
	if (!macro)
		return 0;
	if (lexer->depth + 1 == LEXER_DEPTH_MAX || ++lexer->expansions > LEXER_EXPANSIONS_MAX)
		return lexer_fail(lexer, token, E2BIG, "too many names of #define are within each other");
	lexer->inputs[++lexer->depth] =
		(struct lexer_input){ macro->text, macro->text + macro->text_length, macro };
	*is_replaced = true;
	return 0;
}

static int start_token(struct lexer *lexer, struct token *token)
{
	int ret = skip_blanks(lexer);

	*token = (struct token){ .kind = TOKEN_END, .place = lexer_place(lexer, input_of(lexer)->at) };
	lexer->line_begins = false;
	return ret;
}

static int end_text(struct lexer *lexer, struct token *token)
{
	token->ends_text = true;
	token->text = "";
	if (!lexer->condition_count)
		return 0;
	return ast_fail(lexer->ast, lexer->conditions[lexer->condition_count - 1].place, EAGAIN, lexer->err,
		"the text ends too early: the #endif is missing");
}

static int take_token(struct lexer *lexer, struct token *token, bool *is_replaced)
{
	const char byte = *input_of(lexer)->at;

	if (isdigit((unsigned char)byte))
		return take_number(lexer, token);
	if (isalpha((unsigned char)byte) || byte == '_')
		return take_name(lexer, token, is_replaced);
	if (byte == '"')
		return take_text(lexer, token);
	if (byte == '$' || byte == '@')
		return take_variable(lexer, token);
	return take_sign(lexer, token);
}

int lexer_next(struct lexer *lexer, struct token *token)
{
	bool is_replaced;
	int ret;

	do {
		is_replaced = false;
		ret = start_token(lexer, token);
		if (!ret && input_of(lexer)->at == input_of(lexer)->end)
			return end_text(lexer, token);
		if (!ret)
			ret = take_token(lexer, token, &is_replaced);
	} while (!ret && is_replaced);
	return ret;
}

int lexer_next_probe(struct lexer *lexer, struct token *token)
{
	struct lexer_input *input;
	bool is_path = false, is_quoted = false;
	int ret = start_token(lexer, token);

	if (ret)
		return ret;
	input = input_of(lexer);
	if (input->at == input->end)
		return end_text(lexer, token);
	token->kind = TOKEN_NAME;
	token->text = input->at;
	for (; input->at < input->end && *input->at != '\n'; input->at++) {
		const char byte = *input->at;

		if (byte == '"')
			is_quoted = !is_quoted;
		if (is_quoted || byte == '"')
			continue;
		if (isspace((unsigned char)byte) || strchr(",{};", byte) || (byte == '/' && !is_path))
			break;
		/* a part that begins so is a path */
		if (byte == ':')
			is_path = input->end - input->at > 1 && (input->at[1] == '/' ||
				input->at[1] == '.');
	}
	token->length = (size_t)(input->at - token->text);
	token->ends_text = input->at == input->end;
	if (is_quoted && !token->ends_text)
		return fail_at(lexer, token->text, EINVAL, "the string has no end in its line");
	return 0;
}
