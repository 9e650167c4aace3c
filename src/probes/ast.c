/* SPDX-License-Identifier: MIT */
/* Syntax trees: their memory, and messages that show a place in the text. */
#include "probes/ast.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Small nodes share a block. */
#define BLOCK_BYTES 16384u

/* Of the line that a message shows: what is around the place. */
#define SHOWN_BEFORE 60u
#define SHOWN_BYTES  100u
/* Of the text behind the place, where the message is of one line. */
#define REST_SHOWN 40

struct ast_block {
	struct ast_block *next;
	size_t used, room;
	_Alignas(16) char bytes[];
};

struct ast *ast_create(const char *text, size_t bytes)
{
	struct ast *ast = calloc(1, sizeof(*ast));

	if (ast && bytes <= AST_TEXT_MAX)
		ast->text = ast_copy_text(ast, text, bytes);
	if (ast)
		ast->text_bytes = bytes;
	if (ast && !ast->text) {
		ast_destroy(ast);
		return NULL;
	}
	return ast;
}

void ast_destroy(struct ast *ast)
{
	struct ast_block *block;

	if (!ast)
		return;
	while ((block = ast->blocks)) {
		ast->blocks = block->next;
		free(block);
	}
	free(ast);
}

void *ast_new(struct ast *ast, size_t bytes)
{
	struct ast_block *block = ast->blocks;
	void *made;

	bytes = (bytes + 15) / 16 * 16;
	if (!block || block->room - block->used < bytes) {
		const size_t room = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;

		if (room > AST_BYTES_MAX - ast->bytes) {
			ast->full = true;
			return NULL;
		}
		block = calloc(1, sizeof(*block) + room);
		if (!block)
			return NULL;
		block->room = room;
		block->next = ast->blocks;
		ast->blocks = block;
		ast->bytes += room;
	}
	made = block->bytes + block->used;
	block->used += bytes;
	return made;
}

const char *ast_copy_text(struct ast *ast, const char *text, size_t bytes)
{
	char *copy = ast_new(ast, bytes + 1);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

bool ast_divides_by_zero(const struct ast_expr *expr)
{
	return (expr->operator == '/' || expr->operator == '%') && expr->right->kind == AST_NUMBER &&
		!expr->right->number;
}

/* The text's line, from `before` bytes before the column, and the column's blanks with a caret. */
static void show_place(const struct ast *ast, struct ast_place place, char *out, size_t room)
{
	const char *line = ast->text, *end;
	size_t before = place.column - 1, length, i;
	char caret[SHOWN_BEFORE + 1];

	for (uint32_t number = 1; number < place.line && line; number++)
		line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
	if (!line || before > strlen(line))
		return;
	end = line + strcspn(line, "\r\n");
	if (before > SHOWN_BEFORE) {
		line += before - SHOWN_BEFORE;
		before = SHOWN_BEFORE;
	}
	length = end > line ? (size_t)(end - line) : 0;
	if (length > SHOWN_BYTES)
		length = SHOWN_BYTES;
	/* tabs stay, so that the caret is below the same column */
	for (i = 0; i < before; i++)
		caret[i] = i < length && line[i] == '\t' ? '\t' : ' ';
	caret[i] = '\0';
	snprintf(out, room, "\n%.*s\n%s^", (int)length, line, caret);
	for (char *byte = out + 1; *byte; byte++)
		if (*byte != '\n' && *byte != '\t' && ((unsigned char)*byte < ' ' || *byte == 127))
			*byte = '?';
}

int ast_fail(const struct ast *ast, struct ast_place place, int code, struct err *err,
	const char *format, ...)
{
	char why[ERR_TEXT_MAX / 2], shown[SHOWN_BYTES + SHOWN_BEFORE + 8] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	if (ast->in_one_line && place.column > ast->text_bytes)
		return err_set(err, code, "column %u: %s, at the end", place.column, why);
	if (ast->in_one_line)
		return err_set(err, code, "column %u: %s, at '^%.*s'", place.column, why, REST_SHOWN,
			ast->text + place.column - 1);
	show_place(ast, place, shown, sizeof(shown));
	return err_set(err, code, "line %u, column %u: %s%s", place.line, place.column, why, shown);
}

bool ast_has_place(const struct err *err)
{
	return strncmp(err->text, "line ", 5) == 0;
}
