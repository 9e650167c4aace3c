/* SPDX-License-Identifier: MIT */
/*
 * The lexer: splits a text of the language into tokens. Blanks, comments, `#!` lines and the directives of
 * the preprocessor (lexer_directive.c) are left out; names that #define gives a text are replaced by it.
 * A copy of the struct is a place to go back to.
 */
#ifndef KPROFS_PROBES_LEXER_H
#define KPROFS_PROBES_LEXER_H

#include "probes/ast.h"

#define LEXER_CONDITIONS_MAX 16u   /* #if within #if */
#define LEXER_MACROS_MAX     256u
#define LEXER_DEPTH_MAX	     8u	   /* texts of #define within each other */
#define LEXER_EXPANSIONS_MAX 8192u /* of all names together */

enum token_kind {
	TOKEN_END,
	TOKEN_NUMBER,
	TOKEN_TEXT,	 /* "..." */
	TOKEN_NAME,
	TOKEN_MAP,	 /* @NAME */
	TOKEN_LOCAL,	 /* $NAME */
	TOKEN_PARAMETER, /* $1; $# is number 0 */
	TOKEN_SIGN,
};

/* A sign that assigns has this bit and its operator: '+' | TOKEN_ASSIGNS is "+=". "->" is its own. */
#define TOKEN_ASSIGNS 0x10000
#define TOKEN_ARROW   0x20000

struct token {
	enum token_kind kind;
	struct ast_place place;
	const char *text; /* without '@', '$' and quotes, escapes decoded; lives as long as the tree */
	size_t length;
	uint64_t number;
	int sign;	  /* a character, enum ast_operator, or one of the above */
	bool ends_text;	  /* more text behind it might belong to it */
};

/* A name with the text that #define gave it. */
struct lexer_macro {
	const char *name, *text;
	size_t name_length, text_length;
	struct lexer_macro *next;
};

struct lexer_input {
	const char *at, *end;
	const struct lexer_macro *macro; /* of which this is the text; NULL: the program's own */
};

struct lexer {
	struct ast *ast;
	struct err *err;
	struct lexer_input inputs[LEXER_DEPTH_MAX];
	unsigned int depth;
	uint32_t line;
	const char *line_start;
	bool line_begins; /* nothing but blanks in this line so far */
	struct lexer_condition {
		bool active, was_active, has_else;
		struct ast_place place;
	} conditions[LEXER_CONDITIONS_MAX];
	unsigned int condition_count;
	struct lexer_macro *macros;
	unsigned int macro_count, expansions;
};

void lexer_init(struct lexer *lexer, struct ast *ast, struct err *err);

/* -EAGAIN: the text ends within a comment, a string or an #if; -EINVAL; -E2BIG; -ENOMEM. */
int lexer_next(struct lexer *lexer, struct token *token);

/*
 * The name of a probe from the next byte that is no blank on: up to a blank, one of ",{};", or a '/' that is
 * not of a path; quotes may enclose what has these. TOKEN_NAME with the quotes, or TOKEN_END.
 */
int lexer_next_probe(struct lexer *lexer, struct token *token);

/* Whether the next byte behind blanks and comments is this one. */
bool lexer_follows(const struct lexer *lexer, char byte);

/* ast_fail() at a token; -EAGAIN where more text could make it right. */
int lexer_fail(const struct lexer *lexer, const struct token *token, int code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* ---- between lexer.c and lexer_directive.c ------------------------------------------------------ */

/* A line that begins with '#', at the '#': goes to its end. */
int lexer_directive(struct lexer *lexer);
/* Whether the text here is left out by an #if. */
bool lexer_is_skipping(const struct lexer *lexer);
const struct lexer_macro *lexer_find_macro(const struct lexer *lexer, const char *name, size_t length);
struct ast_place lexer_place(const struct lexer *lexer, const char *at);
/* Bytes of the name at `at`, 0 if there is none. */
size_t lexer_name_length(const char *at, const char *end);

#endif
