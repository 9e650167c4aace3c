/* SPDX-License-Identifier: MIT */
/* The parser: types in casts, and definitions of structs. What a name stands for is the checker's to find. */
#include <errno.h>
#include <string.h>

#include "probes/parser_state.h"

#define MEMBERS_MAX 1024u
#define ITEMS_MAX   65536u

/* Names of integers, for which no type of the kernel is needed. The words of C are joined (take_words). */
static const struct integer_row {
	const char *name;
	uint32_t bytes;
	bool is_signed, is_char;
} integer_rows[] = {
	{ "bool", 1, false, false },
	{ "char", 1, true, true }, { "signed char", 1, true, true }, { "unsigned char", 1, false, true },
	{ "short", 2, true, false }, { "unsigned short", 2, false, false },
	{ "int", 4, true, false }, { "unsigned int", 4, false, false },
	{ "long", 8, true, false }, { "unsigned long", 8, false, false },
	{ "int8", 1, true, false }, { "uint8", 1, false, false },
	{ "int16", 2, true, false }, { "uint16", 2, false, false },
	{ "int32", 4, true, false }, { "uint32", 4, false, false },
	{ "int64", 8, true, false }, { "uint64", 8, false, false },
	{ "int8_t", 1, true, false }, { "uint8_t", 1, false, false },
	{ "int16_t", 2, true, false }, { "uint16_t", 2, false, false },
	{ "int32_t", 4, true, false }, { "uint32_t", 4, false, false },
	{ "int64_t", 8, true, false }, { "uint64_t", 8, false, false },
	{ "s8", 1, true, false }, { "u8", 1, false, false }, { "s16", 2, true, false },
	{ "u16", 2, false, false }, { "s32", 4, true, false }, { "u32", 4, false, false },
	{ "s64", 8, true, false }, { "u64", 8, false, false },
	{ "size_t", 8, false, false }, { "ssize_t", 8, true, false }, { "uintptr_t", 8, false, false },
};

static const struct integer_row *find_integer(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(integer_rows) / sizeof(*integer_rows); i++)
		if (strlen(integer_rows[i].name) == length && strncmp(integer_rows[i].name, name,
			length) == 0)
			return &integer_rows[i];
	return NULL;
}

static struct ast_type integer_of(const struct integer_row *row)
{
	return (struct ast_type){ .kind = AST_INTEGER, .bytes = row->bytes, .is_signed = row->is_signed,
		.is_char = row->is_char };
}

/* ---- names of types ---------------------------------------------------------------------------- */

static const char *const c_words[] = { "unsigned", "signed", "char", "short", "int", "long",
	"const", "volatile" };

static bool is_c_word(const struct parser *parser)
{
	for (size_t i = 0; i < sizeof(c_words) / sizeof(*c_words); i++)
		if (parser_is_name(parser, c_words[i]))
			return true;
	return false;
}

/* "unsigned long long int" and the like: in any order, as C has them. */
static int take_words(struct parser *parser, struct ast_type *type)
{
	bool is_unsigned = false, is_any = false;
	const char *base = "int";
	char name[32] = "";
	int ret = 0;

	for (; !ret && is_c_word(parser); ret = parser_advance(parser)) {
		is_unsigned |= parser_is_name(parser, "unsigned");
		is_any |= !parser_is_name(parser, "const") && !parser_is_name(parser, "volatile");
		for (size_t i = 2; i < 6; i++)
			if (parser_is_name(parser, c_words[i]) && strcmp(c_words[i], "int") != 0)
				base = c_words[i];
	}
	if (ret || !is_any)
		return ret;
	if (is_unsigned)
		strcpy(name, "unsigned ");
	strcat(name, base);
	const struct integer_row *row = find_integer(name, strlen(name));

	*type = integer_of(row);
	return 0;
}

/* struct NAME, union NAME, or a name that is no word of C; `is_struct` says which. */
static int take_name(struct parser *parser, bool is_struct, struct ast_type *type)
{
	const struct integer_row *row;

	if (parser->token.kind != TOKEN_NAME)
		return parser_fail(parser, EINVAL, "the name of a type is missing");
	row = is_struct ? NULL : find_integer(parser->token.text, parser->token.length);
	*type = (struct ast_type){ .kind = is_struct ? AST_STRUCT : AST_NONE };
	if (row) {
		*type = integer_of(row);
	} else if (!parser_is_name(parser, "void")) {
		type->name = parser_copy_text(parser, parser->token.text, parser->token.length);
		if (!type->name)
			return parser_no_memory(parser);
	}
	return parser_advance(parser);
}

static int take_pointers(struct parser *parser, struct ast_type *type)
{
	struct ast_type *item;
	int ret = 0, depth;

	for (depth = 0; !ret && (parser_is_sign(parser, '*') || parser_is_name(parser, "const")); depth++) {
		if (parser_is_sign(parser, '*')) {
			item = parser_new(parser, sizeof(*item));
			if (!item)
				return parser_no_memory(parser);
			*item = *type;
			*type = (struct ast_type){ .kind = AST_POINTER, .bytes = 8, .item = item,
				.is_char = item->is_char && item->kind == AST_INTEGER };
		}
		if (depth == 16)
			return parser_fail(parser, E2BIG, "the type has too many '*'");
		ret = parser_advance(parser);
	}
	return ret;
}

/* The type before a declarator's name, with its '*'. */
static int take_type(struct parser *parser, struct ast_type *type)
{
	bool is_struct;
	int ret;

	*type = (struct ast_type){ .kind = AST_NONE };
	ret = take_words(parser, type);
	if (ret)
		return ret;
	is_struct = parser_is_name(parser, "struct") || parser_is_name(parser, "union");
	if (is_struct || parser_is_name(parser, "enum"))
		ret = parser_advance(parser);
	if (!ret && type->kind == AST_NONE)
		ret = take_name(parser, is_struct, type);
	return ret ? ret : take_pointers(parser, type);
}

/* ---- casts ------------------------------------------------------------------------------------- */

/* Behind '(': whether a type begins here. A name alone is one only if '*' and ')' follow. */
static bool begins_type(struct parser *parser)
{
	static const char *const words[] = { "struct", "union", "enum", "void" };

	if (parser->token.kind != TOKEN_NAME)
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (parser_is_name(parser, words[i]))
			return true;
	if (is_c_word(parser) || find_integer(parser->token.text, parser->token.length))
		return true;
	if (parser_advance(parser) || !parser_is_sign(parser, '*'))
		return false;
	while (parser_is_sign(parser, '*'))
		if (parser_advance(parser))
			return false;
	return parser_is_sign(parser, ')');
}

int parser_cast(struct parser *parser, bool *is_cast, struct ast_type *type)
{
	struct err ignored;
	struct parser ahead = *parser;
	int ret;

	ahead.err = &ignored;
	ahead.lexer.err = &ignored;
	*is_cast = !parser_advance(&ahead) && begins_type(&ahead);
	if (!*is_cast)
		return 0;
	ret = parser_advance(parser);
	if (!ret)
		ret = take_type(parser, type);
	return ret ? ret : parser_expect(parser, ')');
}

/* ---- struct definitions ------------------------------------------------------------------------ */

/* NAME or NAME[N] */
static int take_declarator(struct parser *parser, struct ast_type type, struct ast_member **made)
{
	struct ast_member *member = parser_new(parser, sizeof(*member));
	struct ast_type *item;
	int ret = member ? take_pointers(parser, &type) : parser_no_memory(parser);

	if (ret)
		return ret;
	if (parser->token.kind != TOKEN_NAME)
		return parser_fail(parser, parser_is_sign(parser, '{') || parser_is_sign(parser, '(') ?
			EOPNOTSUPP : EINVAL, parser_is_sign(parser, '(') ?
			"pointers to functions in a struct are not supported: write void *" :
			"the name of a field is missing");
	member->name = parser_copy_text(parser, parser->token.text, parser->token.length);
	member->type = type;
	ret = member->name ? parser_advance(parser) : parser_no_memory(parser);
	if (!ret && parser_is_sign(parser, '[')) {
		ret = parser_advance(parser);
		if (!ret && (parser->token.kind != TOKEN_NUMBER || parser->token.number > ITEMS_MAX))
			return parser_fail(parser, EINVAL, "the number of items is missing");
		item = parser_new(parser, sizeof(*item));
		if (ret || !item)
			return ret ? ret : parser_no_memory(parser);
		*item = type;
		member->type = (struct ast_type){ .kind = AST_ARRAY,
			.count = (uint32_t)parser->token.number,
			.item = item, .is_char = type.kind == AST_INTEGER && type.is_char };
		ret = parser_advance(parser);
		if (!ret)
			ret = parser_expect(parser, ']');
	}
	if (!ret && parser_is_sign(parser, ':'))
		return parser_fail(parser, EOPNOTSUPP, "bit fields in a struct are not supported");
	if (!ret)
		*made = member;
	return ret;
}

static int parse_members(struct parser *parser, struct ast_struct *structure)
{
	struct ast_member **last = &structure->members;
	struct ast_type type;
	uint32_t count = 0;
	int ret = 0;

	while (!ret && !parser_is_sign(parser, '}')) {
		ret = take_type(parser, &type);
		while (!ret) {
			ret = take_declarator(parser, type, last);
			if (!ret && ++count > MEMBERS_MAX)
				return parser_fail(parser, E2BIG, "the struct has too many fields");
			if (ret)
				return ret;
			last = &(*last)->next;
			if (!parser_is_sign(parser, ','))
				break;
			ret = parser_advance(parser);
		}
		if (!ret)
			ret = parser_expect(parser, ';');
	}
	return ret ? ret : parser_advance(parser);
}

int parser_struct(struct parser *parser, bool is_union)
{
	struct ast_struct *structure = parser_new(parser, sizeof(*structure));
	int ret;

	if (!structure)
		return parser_no_memory(parser);
	if (parser->token.kind != TOKEN_NAME)
		return parser_fail(parser, EINVAL, "the name of the struct is missing");
	structure->name = parser_copy_text(parser, parser->token.text, parser->token.length);
	structure->place = parser->token.place;
	structure->is_union = is_union;
	ret = structure->name ? parser_advance(parser) : parser_no_memory(parser);
	if (!ret)
		ret = parser_expect(parser, '{');
	if (!ret)
		ret = parse_members(parser, structure);
	if (ret)
		return ret;
	/* in the order of the text: a struct within another one is defined before it */
	struct ast_struct **last = &parser->ast->structs;

	while (*last)
		last = &(*last)->next;
	*last = structure;
	return 0;
}
