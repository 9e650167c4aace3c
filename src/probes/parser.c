/* SPDX-License-Identifier: MIT */
/* The parser: programs, rules and statements. Each function begins at parser->token and ends behind it. */
#include "probes/parser.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "probes/parser_state.h"
#include "probes/probe_text.h"
#include "probes/tables.h"

/* ---- tokens ------------------------------------------------------------------------------------ */

int parser_advance(struct parser *parser)
{
	return lexer_next(&parser->lexer, &parser->token);
}

int parser_fail(const struct parser *parser, int code, const char *format, ...)
{
	char why[ERR_TEXT_MAX / 2];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return lexer_fail(&parser->lexer, &parser->token, code, "%s", why);
}

int parser_no_memory(const struct parser *parser)
{
	return parser->ast->full ? -E2BIG : -ENOMEM;
}

void *parser_new(struct parser *parser, size_t bytes)
{
	void *made = ast_new(parser->ast, bytes);

	if (!made)
		parser_fail(parser, -parser_no_memory(parser), parser->ast->full ?
			"the program is too large" : "there is no memory for the program");
	return made;
}

const char *parser_copy_text(struct parser *parser, const char *text, size_t bytes)
{
	char *copy = parser_new(parser, bytes + 1);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

bool parser_is_sign(const struct parser *parser, int sign)
{
	return parser->token.kind == TOKEN_SIGN && parser->token.sign == sign;
}

bool parser_is_name(const struct parser *parser, const char *name)
{
	return parser->token.kind == TOKEN_NAME && parser->token.length == strlen(name) &&
		strncmp(parser->token.text, name, parser->token.length) == 0;
}

int parser_expect(struct parser *parser, int sign)
{
	if (!parser_is_sign(parser, sign))
		return parser_fail(parser, EINVAL, "'%c' is missing", sign);
	return parser_advance(parser);
}

int parser_enter(struct parser *parser)
{
	if (parser->depth == AST_DEPTH_MAX)
		return parser_fail(parser, E2BIG, "more than %u parts are within each other",
			AST_DEPTH_MAX);
	parser->depth++;
	return 0;
}

/* ---- statements -------------------------------------------------------------------------------- */

static int parse_block(struct parser *parser, struct ast_statement **first);
static int parse_statement(struct parser *parser, struct ast_statement **made);

/* A block, or one statement. */
static int parse_branch(struct parser *parser, struct ast_statement **first)
{
	int ret = parser_enter(parser);

	if (ret)
		return ret;
	ret = parser_is_sign(parser, '{') ? parse_block(parser, first) : parse_statement(parser, first);
	parser->depth--;
	return ret;
}

static int parse_condition(struct parser *parser, struct ast_expr **value)
{
	int ret = parser_advance(parser);

	if (!ret)
		ret = parser_expect(parser, '(');
	if (!ret)
		ret = parser_expression(parser, value);
	return ret ? ret : parser_expect(parser, ')');
}

static int parse_if(struct parser *parser, struct ast_statement *statement)
{
	int ret = parse_condition(parser, &statement->value);

	if (!ret)
		ret = parse_branch(parser, &statement->body);
	if (ret || !parser_is_name(parser, "else"))
		return ret;
	ret = parser_advance(parser);
	return ret ? ret : parse_branch(parser, &statement->otherwise);
}

static int parse_unroll(struct parser *parser, struct ast_statement *statement)
{
	int ret = parse_condition(parser, &statement->value);

	return ret ? ret : parse_branch(parser, &statement->body);
}

static int parse_return(struct parser *parser, struct ast_statement *statement)
{
	(void)statement;
	return parser_advance(parser);
}

/* An assignment, a call, or @x++. */
static int parse_plain(struct parser *parser, struct ast_statement *statement)
{
	struct ast_expr *expr;
	const struct token start = parser->token;
	int ret = parser_expression(parser, &expr);
	bool assigns;

	if (ret)
		return ret;
	assigns = parser->token.kind == TOKEN_SIGN &&
		(parser->token.sign == '=' || parser->token.sign & TOKEN_ASSIGNS);
	statement->value = expr;
	if (!assigns && expr->kind != AST_CALL && expr->kind != AST_STEP)
		return lexer_fail(&parser->lexer, parser->token.kind == TOKEN_END ? &parser->token : &start,
			EINVAL, "this does nothing: a call or an assignment is expected");
	if (!assigns)
		return 0;
	if (expr->kind != AST_MAP && expr->kind != AST_LOCAL)
		return parser_fail(parser, EINVAL, "only maps (@x) and variables ($x) can be assigned to");
	statement->kind = AST_ASSIGN;
	statement->target = expr;
	statement->operator = parser->token.sign == '=' ? 0 : parser->token.sign & ~TOKEN_ASSIGNS;
	ret = parser_advance(parser);
	return ret ? ret : parser_expression(parser, &statement->value);
}

static const struct statement_row {
	const char *word;
	enum ast_statement_kind kind;
	int (*parse)(struct parser *parser, struct ast_statement *statement);
} statement_rows[] = {
	{ "if", AST_IF, parse_if },
	{ "unroll", AST_UNROLL, parse_unroll },
	{ "return", AST_RETURN, parse_return },
	{ NULL, AST_EXPRESSION, parse_plain }, /* any other */
};

/* With the ';' behind it, which the last one of a block needs not have. */
static int parse_statement(struct parser *parser, struct ast_statement **made)
{
	const struct statement_row *row = statement_rows;
	struct ast_statement *statement = parser_new(parser, sizeof(*statement));
	const char *refused = parser->token.kind == TOKEN_NAME ?
		refused_find(REFUSED_STATEMENT, parser->token.text, parser->token.length) : NULL;
	int ret;

	if (!statement)
		return parser_no_memory(parser);
	if (refused)
		return parser_fail(parser, EOPNOTSUPP, "%s", refused);
	while (row->word && !parser_is_name(parser, row->word))
		row++;
	statement->kind = row->kind;
	statement->place = parser->token.place;
	ret = row->parse(parser, statement);
	if (ret)
		return ret;
	*made = statement;
	if (parser_is_sign(parser, ';'))
		return parser_advance(parser);
	if (!parser_is_sign(parser, '}') && row->kind != AST_IF && row->kind != AST_UNROLL)
		return parser_fail(parser, EINVAL, "';' is missing");
	return 0;
}

/* Up to the '}', which is the next token then. */
static int parse_statements(struct parser *parser, struct ast_statement **first)
{
	int ret = parser_advance(parser);

	while (!ret && !parser_is_sign(parser, '}')) {
		if (parser_is_sign(parser, ';')) {
			ret = parser_advance(parser);
			continue;
		}
		ret = parser->token.kind == TOKEN_END ? parser_fail(parser, EINVAL, "'}' is missing") :
			parse_statement(parser, first);
		if (!ret)
			first = &(*first)->next;
	}
	return ret;
}

static int parse_block(struct parser *parser, struct ast_statement **first)
{
	int ret = parse_statements(parser, first);

	return ret ? ret : parser_advance(parser);
}

/* ---- rules ------------------------------------------------------------------------------------- */

/* Between rules: a probe's name is a token of its own kind. */
static int advance_to_probe(struct parser *parser)
{
	return lexer_next_probe(&parser->lexer, &parser->token);
}

static int parse_probes(struct parser *parser, struct ast_rule *rule)
{
	struct ast_probe **last = &rule->probes;
	int ret;

	for (;;) {
		ret = probe_text_parse(parser->ast, &parser->lexer, &parser->token, last);
		if (!ret)
			ret = parser_advance(parser);
		if (ret || !parser_is_sign(parser, ','))
			return ret;
		last = &(*last)->next;
		ret = advance_to_probe(parser);
		if (ret)
			return ret;
	}
}

static int parse_filter(struct parser *parser, struct ast_rule *rule)
{
	int ret = parser_advance(parser);

	parser->in_filter = true;
	if (!ret)
		ret = parser_expression(parser, &rule->filter);
	parser->in_filter = false;
	return ret ? ret : parser_expect(parser, '/');
}

/* Ends at the next probe. */
static int parse_rule(struct parser *parser, struct ast_rule **made)
{
	struct ast_rule *rule = parser_new(parser, sizeof(*rule));
	int ret;

	if (!rule)
		return parser_no_memory(parser);
	rule->place = parser->token.place;
	ret = parse_probes(parser, rule);
	if (!ret && parser_is_sign(parser, '/'))
		ret = parse_filter(parser, rule);
	if (!ret && !parser_is_sign(parser, '{'))
		ret = parser_fail(parser, EINVAL, rule->filter ? "'{' is missing" :
			"a '/' with a filter or a '{' is missing");
	if (!ret)
		ret = parse_statements(parser, &rule->body);
	if (ret)
		return ret;
	*made = rule;
	parser->ast->rule_count++;
	return advance_to_probe(parser);
}

static int parse_definition(struct parser *parser)
{
	const bool is_union = parser_is_name(parser, "union");
	int ret = parser_advance(parser);

	if (!ret)
		ret = parser_struct(parser, is_union);
	if (!ret && !parser_is_sign(parser, ';'))
		ret = parser_fail(parser, EINVAL, "';' is missing");
	return ret ? ret : advance_to_probe(parser);
}

static int parse_program(struct parser *parser)
{
	struct ast_rule **last = &parser->ast->rules;
	const char *refused;
	int ret = advance_to_probe(parser);

	while (!ret && parser->token.kind != TOKEN_END) {
		refused = refused_find(REFUSED_DEFINITION, parser->token.text, parser->token.length);
		if (refused) {
			ret = parser_fail(parser, EOPNOTSUPP, "%s", refused);
		} else if (parser_is_name(parser, "struct") || parser_is_name(parser, "union")) {
			ret = parse_definition(parser);
		} else {
			ret = parse_rule(parser, last);
			if (!ret)
				last = &(*last)->next;
		}
	}
	if (!ret && !parser->ast->rules)
		ret = parser_fail(parser, EINVAL, "a probe is missing");
	return ret;
}

/* ---- texts ------------------------------------------------------------------------------------- */

int parser_parse(const char *text, size_t bytes, struct ast **ast, struct err *err)
{
	struct parser parser = { .ast = ast_create(text, bytes), .err = err };
	int ret;

	if (bytes > AST_TEXT_MAX)
		return err_set(err, E2BIG, "the program is longer than %u bytes", AST_TEXT_MAX);
	if (!parser.ast)
		return err_set(err, ENOMEM, "there is no memory for the program");
	lexer_init(&parser.lexer, parser.ast, err);
	ret = parse_program(&parser);
	if (ret) {
		ast_destroy(parser.ast);
		return ret;
	}
	*ast = parser.ast;
	return 0;
}

static int fail_behind_filter(const struct parser *parser)
{
	if (parser_is_sign(parser, '='))
		return parser_fail(parser, EINVAL, "'=' sets nothing here; '==' compares");
	return parser_fail(parser, EINVAL, "an operator is missing");
}

int parser_parse_filter(const char *text, struct ast **ast, struct ast_expr **expr, struct err *err)
{
	struct parser parser = { .ast = ast_create(text, strlen(text)), .err = err,
		.is_filter_only = true };
	struct ast_expr *made;
	int ret;

	if (!parser.ast)
		return err_set(err, ENOMEM, "there is no memory for the expression");
	parser.ast->in_one_line = true;
	lexer_init(&parser.lexer, parser.ast, err);
	ret = parser_advance(&parser);
	if (!ret)
		ret = parser_expression(&parser, &made);
	if (!ret && parser.token.kind != TOKEN_END)
		ret = fail_behind_filter(&parser);
	if (ret) {
		ast_destroy(parser.ast);
		return ret == -EAGAIN ? -EINVAL : ret;
	}
	*ast = parser.ast;
	*expr = made;
	return 0;
}
