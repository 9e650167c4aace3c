/* SPDX-License-Identifier: MIT */
/* Expressions: the parser and the checker. */
#include "probes/expr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/expr_lexer.h"

struct expr {
	char *text;
	struct expr_node *root;
	struct expr_node nodes[EXPR_NODES_MAX];
	unsigned int count;
};

struct expr_parser {
	struct expr *expr;
	struct expr_token token; /* the next one */
	size_t at;		 /* behind it */
	int depth;
	struct err *err;
};

/* The binary operators by their strength, the weakest first. */
static const struct expr_binary {
	const char *sign;
	int operator;
	int strength;
} binaries[] = {
	{ "||", EXPR_OR, 1 }, { "&&", EXPR_AND, 2 }, { "|", '|', 3 }, { "^", '^', 4 }, { "&", '&', 5 },
	{ "==", EXPR_EQ, 6 }, { "!=", EXPR_NE, 6 }, { "<", '<', 7 }, { "<=", EXPR_LE, 7 }, { ">", '>', 7 },
	{ ">=", EXPR_GE, 7 }, { "<<", EXPR_SHL, 8 }, { ">>", EXPR_SHR, 8 }, { "+", '+', 9 }, { "-",
		'-', 9 },
	{ "*", '*', 10 }, { "/", '/', 10 }, { "%", '%', 10 },
};

static int advance(struct expr_parser *parser)
{
	return expr_lexer_next(parser->expr->text, &parser->at, &parser->token, parser->err);
}

static int fail(struct expr_parser *parser, const char *why)
{
	return expr_lexer_fail(parser->expr->text, parser->token.at, parser->err, "%s", why);
}

static int make_node(struct expr_parser *parser, enum expr_kind kind, struct expr_node **node)
{
	if (parser->expr->count == EXPR_NODES_MAX)
		return err_set(parser->err, E2BIG, "the expression has more than %d parts", EXPR_NODES_MAX);
	*node = &parser->expr->nodes[parser->expr->count++];
	(*node)->kind = kind;
	(*node)->at = (uint32_t)parser->token.at;
	return 0;
}

static bool is_sign(const struct expr_parser *parser, const char *sign)
{
	return parser->token.kind == EXPR_TOKEN_SIGN && strlen(sign) == parser->token.length &&
		strncmp(parser->expr->text + parser->token.at, sign, parser->token.length) == 0;
}

static int parse_binary(struct expr_parser *parser, int strength, struct expr_node **node);

static int parse_text(struct expr_parser *parser, struct expr_node *node)
{
	const size_t quote = node->kind == EXPR_STRING;

	node->text = strndup(parser->expr->text + parser->token.at + quote,
		parser->token.length - 2 * quote);
	if (!node->text)
		return err_set(parser->err, ENOMEM, "there is no memory for the expression");
	return advance(parser);
}

static int parse_value(struct expr_parser *parser, struct expr_node **node)
{
	int ret;

	switch (parser->token.kind) {
	case EXPR_TOKEN_NUMBER:
		ret = make_node(parser, EXPR_NUMBER, node);
		if (ret)
			return ret;
		(*node)->number = parser->token.number;
		return advance(parser);
	case EXPR_TOKEN_STRING:
	case EXPR_TOKEN_NAME:
		ret = make_node(parser,
			parser->token.kind == EXPR_TOKEN_NAME ? EXPR_NAME : EXPR_STRING, node);
		return ret ? ret : parse_text(parser, *node);
	default:
		break;
	}
	if (!is_sign(parser, "("))
		return fail(parser, "a name, a number, a string or '(' is missing");
	ret = advance(parser);
	if (!ret)
		ret = parse_binary(parser, 1, node);
	if (ret)
		return ret;
	if (!is_sign(parser, ")"))
		return fail(parser, "')' is missing");
	return advance(parser);
}

static int parse_unary(struct expr_parser *parser, struct expr_node **node)
{
	int ret;

	if (!is_sign(parser, "!") && !is_sign(parser, "~") && !is_sign(parser, "-"))
		return parse_value(parser, node);
	if (++parser->depth > EXPR_DEPTH_MAX)
		return fail(parser, "the expression is nested too deep");
	ret = make_node(parser, EXPR_UNARY, node);
	if (ret)
		return ret;
	(*node)->operator = parser->expr->text[parser->token.at];
	ret = advance(parser);
	if (!ret)
		ret = parse_unary(parser, &(*node)->right);
	parser->depth--;
	return ret;
}

static const struct expr_binary *find_binary(const struct expr_parser *parser)
{
	for (size_t i = 0; i < sizeof(binaries) / sizeof(*binaries); i++)
		if (is_sign(parser, binaries[i].sign))
			return &binaries[i];
	return NULL;
}

/* Operands that are joined by operators of at least this strength. */
static int parse_binary(struct expr_parser *parser, int strength, struct expr_node **node)
{
	const struct expr_binary *binary;
	struct expr_node *left = NULL, *joined = NULL;
	int ret;

	if (++parser->depth > EXPR_DEPTH_MAX)
		return fail(parser, "the expression is nested too deep");
	ret = parse_unary(parser, &left);
	while (!ret && (binary = find_binary(parser)) && binary->strength >= strength) {
		ret = make_node(parser, EXPR_BINARY, &joined);
		if (ret)
			break;
		joined->operator = binary->operator;
		joined->left = left;
		ret = advance(parser);
		if (!ret)
			ret = parse_binary(parser, binary->strength + 1, &joined->right);
		left = joined;
	}
	parser->depth--;
	if (!ret)
		*node = left;
	return ret;
}

int expr_parse(const char *text, struct expr **expr, struct err *err)
{
	struct expr *made = calloc(1, sizeof(*made));
	struct expr_parser parser = { .expr = made, .err = err };
	int ret;

	if (!made)
		return err_set(err, ENOMEM, "there is no memory for the expression");
	made->text = strdup(text);
	if (!made->text)
		ret = err_set(err, ENOMEM, "there is no memory for the expression");
	else if (strlen(text) > EXPR_TEXT_MAX)
		ret = err_set(err, E2BIG, "the expression is longer than %d bytes", EXPR_TEXT_MAX);
	else
		ret = advance(&parser);
	if (!ret)
		ret = parse_binary(&parser, 1, &made->root);
	if (!ret && parser.token.kind != EXPR_TOKEN_END)
		ret = fail(&parser, "an operator is missing");
	if (ret) {
		expr_destroy(made);
		return ret;
	}
	*expr = made;
	return 0;
}

void expr_destroy(struct expr *expr)
{
	if (!expr)
		return;
	for (unsigned int i = 0; i < expr->count; i++)
		free(expr->nodes[i].text);
	free(expr->text);
	free(expr);
}

const struct expr_node *expr_root(const struct expr *expr)
{
	return expr->root;
}

/* ---- names and types --------------------------------------------------------------------------- */

struct expr_checking {
	const struct expr *expr;
	expr_resolve *resolve;
	void *arg;
	struct err *err;
};

static int check_name(struct expr_checking *checking, struct expr_node *node)
{
	struct err why = { "" };
	int ret = checking->resolve(checking->arg, node->text, &node->type, &node->number, &why);

	if (!ret)
		return 0;
	return expr_lexer_fail(checking->expr->text, node->at, checking->err, "%s%s%s",
		why.text[0] ? why.text : "there is nothing named '", why.text[0] ? "" : node->text,
		why.text[0] ? "" : "'");
}

static int check_node(struct expr_checking *checking, struct expr_node *node)
{
	bool compares = node->operator == EXPR_EQ || node->operator == EXPR_NE;
	int ret = 0;

	switch (node->kind) {
	case EXPR_NUMBER:
		node->type = EXPR_IS_NUMBER;
		return 0;
	case EXPR_STRING:
		node->type = EXPR_IS_STRING;
		return 0;
	case EXPR_NAME:
		return check_name(checking, node);
	case EXPR_UNARY:
	case EXPR_BINARY:
		break;
	}
	node->type = EXPR_IS_NUMBER;
	if (node->left)
		ret = check_node(checking, node->left);
	if (!ret)
		ret = check_node(checking, node->right);
	if (ret)
		return ret;
	if (node->left && node->left->type != node->right->type)
		return expr_lexer_fail(checking->expr->text, node->at, checking->err,
			"a string and a number can't be joined");
	if (node->right->type == EXPR_IS_STRING && !compares)
		return expr_lexer_fail(checking->expr->text, node->at, checking->err,
			"strings can be compared by '==' and '!=' only");
	if (node->right->type == EXPR_IS_STRING &&
		(node->left->kind == EXPR_STRING) == (node->right->kind == EXPR_STRING))
		return expr_lexer_fail(checking->expr->text, node->at, checking->err,
			"one side must be a name and the other a text in quotes");
	return 0;
}

int expr_check(struct expr *expr, expr_resolve *resolve, void *arg, struct err *err)
{
	struct expr_checking checking = { .expr = expr, .resolve = resolve, .arg = arg, .err = err };
	int ret = check_node(&checking, expr->root);

	if (!ret && expr->root->type != EXPR_IS_NUMBER)
		ret = expr_lexer_fail(expr->text, expr->root->at, err,
			"a string alone is neither true nor false");
	return ret;
}
