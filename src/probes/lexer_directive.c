/* SPDX-License-Identifier: MIT */
/*
 * Lines that begin with '#', as in C: #if, #ifdef, #ifndef, #elif, #else, #endif, #define and #undef of
 * constants. #include is ignored, since types come from the kernel, and so are #! and #pragma.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/lexer.h"

/* What follows the word of a directive, without blanks at both ends and comments. */
struct rest {
	const char *at, *end;
};

static int fail(const struct lexer *lexer, const char *at, int code, const char *why)
{
	return ast_fail(lexer->ast, lexer_place(lexer, at), code, lexer->err, "%s", why);
}

bool lexer_is_skipping(const struct lexer *lexer)
{
	return lexer->condition_count && !lexer->conditions[lexer->condition_count - 1].active;
}

const struct lexer_macro *lexer_find_macro(const struct lexer *lexer, const char *name, size_t length)
{
	for (const struct lexer_macro *macro = lexer->macros; macro; macro = macro->next)
		if (macro->name_length == length && strncmp(macro->name, name, length) == 0)
			return macro->text ? macro : NULL;
	return NULL;
}

static void skip_space(struct rest *rest)
{
	while (rest->at < rest->end && isspace((unsigned char)*rest->at))
		rest->at++;
}

static size_t take_word(struct rest *rest, const char **word)
{
	size_t length;

	skip_space(rest);
	*word = rest->at;
	length = lexer_name_length(rest->at, rest->end);
	rest->at += length;
	return length;
}

/* ---- #define ----------------------------------------------------------------------------------- */

static int add_macro(struct lexer *lexer, const char *name, size_t length, struct rest text,
	bool is_undefined)
{
	struct lexer_macro *macro;

	if (!length)
		return fail(lexer, name, EINVAL, "a name is missing");
	if (lexer->macro_count++ == LEXER_MACROS_MAX)
		return fail(lexer, name, E2BIG, "there are more than 256 #define and #undef");
	if (text.at < text.end && *text.at == '(')
		return fail(lexer, name, EOPNOTSUPP, "#define with parameters is not supported");
	skip_space(&text);
	macro = ast_new(lexer->ast, sizeof(*macro));
	if (!macro)
		return fail(lexer, name, lexer->ast->full ? E2BIG : ENOMEM,
			"there is no memory for the program");
	*macro = (struct lexer_macro){ name, is_undefined ? NULL : text.at, length,
		(size_t)(text.end - text.at), lexer->macros };
	lexer->macros = macro;
	return 0;
}

/* ---- #if --------------------------------------------------------------------------------------- */

static bool is_defined(const struct lexer *lexer, const char *name, size_t length)
{
	static const char btf[] = "BPFTRACE_HAVE_BTF";

	return lexer_find_macro(lexer, name, length) ||
		(length == strlen(btf) && strncmp(name, btf, length) == 0);
}

/* A number, or a name that #define gave one; other names are 0, as in C. */
static bool value_of(const struct lexer *lexer, const char *word, size_t length)
{
	const struct lexer_macro *macro = lexer_find_macro(lexer, word, length);

	if (macro)
		word = macro->text;
	return strtoull(word, NULL, 0) != 0 || (!macro && is_defined(lexer, word, length));
}

/* [!] NUMBER | NAME | defined NAME | defined(NAME) */
static int evaluate(const struct lexer *lexer, struct rest rest, bool *holds)
{
	const char *word;
	bool is_negated = false, is_enclosed;
	size_t length;

	for (skip_space(&rest); rest.at < rest.end && *rest.at == '!'; skip_space(&rest), rest.at++)
		is_negated = !is_negated;
	length = take_word(&rest, &word);
	if (length == strlen("defined") && strncmp(word, "defined", length) == 0) {
		skip_space(&rest);
		is_enclosed = rest.at < rest.end && *rest.at == '(';
		rest.at += is_enclosed;
		length = take_word(&rest, &word);
		skip_space(&rest);
		rest.at += is_enclosed && rest.at < rest.end && *rest.at == ')';
		*holds = is_defined(lexer, word, length);
	} else {
		*holds = value_of(lexer, word, length);
		while (!length && rest.at < rest.end && isalnum((unsigned char)*rest.at))
			rest.at++;
	}
	*holds = *holds != is_negated;
	skip_space(&rest);
	if (rest.at == word)
		return fail(lexer, word, EINVAL, "the condition is missing");
	if (rest.at < rest.end)
		return fail(lexer, rest.at, EOPNOTSUPP,
			"an #if of more than a number, a name or defined(NAME) is not supported");
	return 0;
}

static int begin_condition(struct lexer *lexer, const char *at, bool holds)
{
	const bool is_skipping = lexer_is_skipping(lexer);

	if (lexer->condition_count == LEXER_CONDITIONS_MAX)
		return fail(lexer, at, E2BIG, "too many #if are within each other");
	/* within what is left out no part is taken */
	lexer->conditions[lexer->condition_count++] = (struct lexer_condition){
		.active = holds && !is_skipping, .was_active = holds || is_skipping,
		.place = lexer_place(lexer, at) };
	return 0;
}

static int do_if(struct lexer *lexer, const char *at, struct rest rest)
{
	bool holds = false;
	int ret = lexer_is_skipping(lexer) ? 0 : evaluate(lexer, rest, &holds);

	return ret ? ret : begin_condition(lexer, at, holds);
}

static int do_ifdef(struct lexer *lexer, const char *at, struct rest rest)
{
	const char *word;
	size_t length = take_word(&rest, &word);

	if (!length)
		return fail(lexer, at, EINVAL, "a name is missing");
	return begin_condition(lexer, at, is_defined(lexer, word, length) == (at[2] == 'd'));
}

static int do_else(struct lexer *lexer, const char *at, struct rest rest)
{
	struct lexer_condition *condition =
		lexer->condition_count ? &lexer->conditions[lexer->condition_count - 1] : NULL;
	bool holds = true;
	int ret = 0;

	if (!condition || condition->has_else)
		return fail(lexer, at, EINVAL, "there is no #if that this belongs to");
	if (strncmp(at, "elif", 4) == 0 && !condition->was_active)
		ret = evaluate(lexer, rest, &holds);
	condition->has_else = strncmp(at, "else", 4) == 0;
	condition->active = !condition->was_active && holds;
	condition->was_active |= holds;
	return ret;
}

static int do_endif(struct lexer *lexer, const char *at, struct rest rest)
{
	(void)rest;
	if (!lexer->condition_count)
		return fail(lexer, at, EINVAL, "there is no #if that this belongs to");
	lexer->condition_count--;
	return 0;
}

static int do_define(struct lexer *lexer, const char *at, struct rest rest)
{
	const char *name;
	size_t length = take_word(&rest, &name);

	return add_macro(lexer, name, length, rest, *at == 'u');
}

static int do_nothing(struct lexer *lexer, const char *at, struct rest rest)
{
	(void)lexer, (void)at, (void)rest;
	return 0;
}

static const struct directive {
	const char *word;
	int (*run)(struct lexer *lexer, const char *at, struct rest rest);
	bool is_condition; /* looked at in what is left out too */
} directives[] = {
	{ "if", do_if, true },
	{ "ifdef", do_ifdef, true },
	{ "ifndef", do_ifdef, true },
	{ "elif", do_else, true },
	{ "else", do_else, true },
	{ "endif", do_endif, true },
	{ "define", do_define, false },
	{ "undef", do_define, false },
	{ "include", do_nothing, false },
	{ "pragma", do_nothing, false },
	{ "", do_nothing, false }, /* # alone, #! */
};

/* Up to a comment behind it, which may go on in the next lines, or to the end of the line. */
static struct rest rest_of_line(struct lexer_input *input)
{
	struct rest rest = { input->at, input->at };
	bool is_quoted = false;

	while (input->at < input->end && *input->at != '\n' &&
		(is_quoted || *input->at != '/' || input->end - input->at < 2 ||
			(input->at[1] != '/' && input->at[1] != '*'))) {
		is_quoted ^= *input->at == '"' && input->at[-1] != '\\';
		input->at++;
	}
	for (rest.end = input->at; rest.end > rest.at && isspace((unsigned char)rest.end[-1]);)
		rest.end--;
	return rest;
}

int lexer_directive(struct lexer *lexer)
{
	struct lexer_input *input = &lexer->inputs[0];
	const char *word, *hash = input->at++;
	struct rest line;
	size_t length;

	if (input->at < input->end && *input->at == '!') {
		while (input->at < input->end && *input->at != '\n')
			input->at++;
		return 0;
	}
	line = rest_of_line(input);
	lexer->line_begins = false;
	length = take_word(&line, &word);
	for (size_t i = 0; i < sizeof(directives) / sizeof(*directives); i++)
		if (strlen(directives[i].word) == length && strncmp(word, directives[i].word, length) == 0)
			return lexer_is_skipping(lexer) && !directives[i].is_condition ? 0 :
				directives[i].run(lexer, word, line);
	if (lexer_is_skipping(lexer))
		return 0;
	if (input->at == input->end)
		return fail(lexer, hash, EAGAIN, "the text ends too early: there is no such directive");
	return fail(lexer, hash, EINVAL, "there is no such directive");
}
