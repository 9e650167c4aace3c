/* SPDX-License-Identifier: MIT */
/* The checker: calls. The letters of a function's row say what its arguments must be (tables.h). */
#include <errno.h>
#include <string.h>

#include "probes/check_state.h"
#include "probes/print_format.h"
#include "probes/tables.h"
#include "probes/value.h"

static bool is_unknown(const struct ast_expr *expr)
{
	return expr->type.kind == AST_NONE;
}

static int fail_argument(const struct check *check, const struct ast_expr *call, const struct ast_expr *arg,
	const char *wanted)
{
	return check_fail(check, arg->place, "%s takes %s here, and not %s", call->function->usage, wanted,
		check_type_text(&arg->type));
}

/* ---- printf ------------------------------------------------------------------------------------ */

static bool is_printed_with(char letter, const struct ast_type *type)
{
	switch (letter) {
	case 's':
		return type->kind == AST_STRING || type->kind == AST_KSTACK || type->kind == AST_USTACK ||
			type->kind == AST_KSYM || type->kind == AST_USYM || type->kind == AST_INET ||
			type->kind == AST_TIMESTAMP || type->kind == AST_PROBE ||
				type->kind == AST_USERNAME;
	case 'r':
		return type->kind == AST_BUFFER;
	default:
		return check_is_number(type);
	}
}

static int check_conversion(const struct check *check, const struct ast_expr *call,
	const struct print_format_part *part, const struct ast_expr *arg)
{
	if (!arg)
		return check_fail(check, call->place, "the value for '%.*s' is missing", (int)part->length,
			part->text);
	if (is_unknown(arg) || is_printed_with(part->letter, &arg->type))
		return 0;
	return check_fail(check, arg->place, "%s can't be printed with '%.*s'%s",
		check_type_text(&arg->type),
		(int)part->length, part->text,
		part->letter == 's' && check_is_number(&arg->type) ? ": str() reads a string" : "");
}

/* The format and all that follows. */
static int check_format(struct check *check, struct ast_expr *call, struct ast_expr *format)
{
	struct print_format_part part;
	struct ast_expr *arg;
	const char *at;
	int ret, more;

	for (arg = format; arg; arg = arg->next) {
		ret = check_value(check, arg);
		if (ret)
			return ret;
	}
	if (format->kind != AST_LITERAL)
		return check_fail(check, format->place, "the format must be a string in quotes");
	arg = format->next;
	at = format->text;
	while ((more = print_format_next(&at, &part)) > 0) {
		if (!part.letter)
			continue;
		ret = check_conversion(check, call, &part, arg);
		if (ret)
			return ret;
		arg = arg->next;
	}
	if (more < 0)
		return check_fail(check, format->place, "the format has no conversion '%.*s'",
			(int)(part.length ? part.length : 1), part.text);
	if (arg)
		return check_fail(check, arg->place, "the format has no conversion for this");
	return 0;
}

/* ---- arguments, a letter each ------------------------------------------------------------------ */

static int take_number(struct check *check, struct ast_expr *call, struct ast_expr *arg)
{
	int ret = check_value(check, arg);

	if (ret || is_unknown(arg) || check_is_number(&arg->type))
		return ret;
	return fail_argument(check, call, arg, "an integer");
}

static int take_known(struct check *check, struct ast_expr *call, struct ast_expr *arg)
{
	int64_t ignored;

	(void)call;
	return check_known_number(check, arg, &ignored);
}

/* A string in quotes, or str($1), which becomes one. */
static int take_text(struct check *check, struct ast_expr *call, struct ast_expr *arg)
{
	int ret = check_value(check, arg);

	if (ret || arg->kind == AST_LITERAL)
		return ret;
	return fail_argument(check, call, arg, "a string in quotes");
}

static int take_string(struct check *check, struct ast_expr *call, struct ast_expr *arg)
{
	int ret = check_value(check, arg);

	if (ret || is_unknown(arg) || arg->type.kind == AST_STRING)
		return ret;
	return fail_argument(check, call, arg, "a string");
}

/* An address; of an integer its probe says whose. */
static int take_address(struct check *check, struct ast_expr *call, struct ast_expr *arg)
{
	int ret = check_value(check, arg);

	if (ret || is_unknown(arg))
		return ret;
	if (!check_is_number(&arg->type) && arg->type.kind != AST_ARRAY && arg->type.kind != AST_STRING)
		return fail_argument(check, call, arg, "an address");
	if (arg->type.kind == AST_INTEGER)
		arg->type.is_user |= check_is_user_code(check);
	return 0;
}

static int take_map(struct check *check, struct ast_expr *call, struct ast_expr *arg)
{
	int ret;

	if (arg->kind != AST_MAP || arg->count)
		return check_fail(check, arg->place, "%s takes a map without keys", call->function->usage);
	ret = check_whole_map(check, arg);
	if (!ret && call->function->id == FUNCTION_ZERO)
		arg->map->is_shared = true;
	return ret;
}

static int take_entry(struct check *check, struct ast_expr *call, struct ast_expr *arg)
{
	int ret;

	if (arg->kind != AST_MAP)
		return check_fail(check, arg->place, "%s takes a map with its keys", call->function->usage);
	ret = check_map_keys(check, arg);
	if (!ret && check->is_last && !arg->map->has_value)
		return check_fail(check, arg->place, "@%s is never assigned", arg->map->name);
	if (!ret && call->function->id == FUNCTION_DELETE)
		arg->map->is_shared = true;
	return ret;
}

/* print() takes a map as a whole too, and an aggregation at a key. */
static int take_any(struct check *check, struct ast_expr *call, struct ast_expr *arg)
{
	const bool prints = call->function->id == FUNCTION_PRINT;

	if (prints && arg->kind == AST_MAP && !arg->count)
		return check_whole_map(check, arg);
	if (prints && arg->kind == AST_MAP) {
		int ret = take_entry(check, call, arg);

		arg->type = arg->map && arg->map->value_kind == AST_PLAIN ? arg->map->value :
			(struct ast_type){ .kind = AST_AGGREGATE };
		return ret;
	}
	return check_value(check, arg);
}

static const struct letter_row {
	char letter;
	int (*take)(struct check *check, struct ast_expr *call, struct ast_expr *arg);
} letter_rows[] = {
	{ 'i', take_number }, { 'n', take_known }, { 't', take_text }, { 's', take_string },
	{ 'p', take_address }, { 'a', take_number }, { 'm', take_map }, { 'k', take_entry },
	{ 'v', take_any }, { 'f', check_format },
};

static int take_argument(struct check *check, struct ast_expr *call, char letter, struct ast_expr *arg)
{
	for (size_t i = 0; i < sizeof(letter_rows) / sizeof(*letter_rows); i++)
		if (letter_rows[i].letter == letter)
			return letter_rows[i].take(check, call, arg);
	return -EINVAL;
}

static int take_arguments(struct check *check, struct ast_expr *call)
{
	const char *letter = call->function->arguments;
	struct ast_expr *arg = call->args;
	bool is_optional = false;
	int ret = 0;

	for (; !ret && *letter && *letter != '.'; letter++) {
		if (*letter == '|') {
			is_optional = true;
			continue;
		}
		if (!arg && is_optional)
			break;
		if (!arg)
			return check_fail(check, call->place, "a value is missing: %s",
				call->function->usage);
		ret = take_argument(check, call, *letter, arg);
		arg = arg->next;
	}
	if (!ret && arg && *letter != '.')
		return check_fail(check, arg->place, "there are too many values: %s",
			call->function->usage);
	return ret;
}

/* ---- what a call gives ------------------------------------------------------------------------- */

/* The bytes that a length says, or the longest. */
static uint32_t known_length(const struct check *check, const struct ast_expr *length, uint32_t more)
{
	if (!length || length->kind != AST_NUMBER || length->number >= check->string_bytes - more)
		return check->string_bytes;
	return (uint32_t)length->number + more;
}

/* str($1) is a text that is known; str(comm) is comm. */
static int finish_str(struct check *check, struct ast_expr *call)
{
	struct ast_expr *arg = call->args, *next = call->next;

	call->type = (struct ast_type){ .kind = AST_STRING, .bytes = known_length(check, arg->next, 1) };
	if (arg->type.kind != AST_STRING)
		return 0;
	if (arg->next)
		return check_fail(check, arg->next->place,
			"a length is for addresses: this is a string already");
	*call = *arg;
	call->next = next;
	return 0;
}

static int finish_buf(struct check *check, struct ast_expr *call)
{
	const struct ast_expr *arg = call->args;
	uint32_t bytes = known_length(check, arg->next, 0);

	if (!arg->next && (arg->type.kind == AST_ARRAY || arg->type.kind == AST_STRING) &&
		arg->type.bytes < bytes)
		bytes = arg->type.bytes;
	else if (!arg->next && check_is_number(&arg->type))
		return check_fail(check, call->place, "the length is missing: %s", call->function->usage);
	if (!bytes)
		return check_fail(check, call->place, "the length is 0");
	call->type = (struct ast_type){ .kind = AST_BUFFER, .bytes = bytes };
	return 0;
}

static int finish_ntop(struct check *check, struct ast_expr *call)
{
	const struct ast_expr *address = call->args->next ? call->args->next : call->args;
	const struct ast_type *type = &address->type;

	if (call->args->next && !is_unknown(call->args) && call->args->type.kind != AST_INTEGER)
		return fail_argument(check, call, call->args, "AF_INET or AF_INET6");
	call->type = (struct ast_type){ .kind = AST_INET, .bytes = 4 };
	if (is_unknown(address) || type->kind == AST_INTEGER)
		return 0;
	if (type->kind != AST_ARRAY || (type->bytes != 4 && type->bytes != 16))
		return fail_argument(check, call, address, "an integer or an array of 4 or 16 bytes");
	call->type.bytes = type->bytes;
	return 0;
}

static int finish_bswap(struct check *check, struct ast_expr *call)
{
	(void)check;
	call->type = (struct ast_type){ .kind = AST_INTEGER, .bytes = call->args->type.bytes };
	if (is_unknown(call->args))
		call->type.bytes = 8;
	return 0;
}

static int finish_strncmp(struct check *check, struct ast_expr *call)
{
	const struct ast_expr *length = call->args->next->next;

	if (length->number > check->string_bytes)
		return check_fail(check, length->place, "the length is more than %u, the longest string",
			check->string_bytes);
	call->type = call->function->type;
	return 0;
}

/* The format stays with the type, for what prints the value. */
static int finish_strftime(struct check *check, struct ast_expr *call)
{
	const char *format = call->args->text;

	if (!value_is_time_format(format))
		return check_fail(check, call->args->place,
			"the text of this format can have more than %u bytes", VALUE_TIME_MAX);
	call->type = call->function->type;
	call->type.format = format;
	return 0;
}

static int finish_print(struct check *check, struct ast_expr *call)
{
	const struct ast_expr *arg = call->args;
	const bool is_map = arg->kind == AST_MAP && !arg->count;

	if (arg->next && !is_map)
		return check_fail(check, arg->next->place, "top and divisor are for maps");
	if (arg->next && arg->next->next && (int64_t)arg->next->next->number <= 0)
		return check_fail(check, arg->next->next->place, "the divisor is not above 0");
	if (is_unknown(arg) || check_is_stored(&arg->type) || arg->type.kind == AST_AGGREGATE)
		return 0;
	return fail_argument(check, call, arg, "a map or a value");
}

static const struct finish_row {
	enum function_id id;
	int (*finish)(struct check *check, struct ast_expr *call);
} finish_rows[] = {
	{ FUNCTION_STR, finish_str }, { FUNCTION_BUF, finish_buf }, { FUNCTION_NTOP, finish_ntop },
	{ FUNCTION_BSWAP, finish_bswap }, { FUNCTION_STRNCMP, finish_strncmp },
	{ FUNCTION_PRINT, finish_print }, { FUNCTION_STRFTIME, finish_strftime },
};

/* str($1): the parameter is a text here, and no number. */
static int literal_of_parameter(struct check *check, struct ast_expr *call)
{
	struct ast_expr *arg = call->args;

	if (call->function->id != FUNCTION_STR || !arg || arg->kind != AST_PARAMETER || !arg->number)
		return 0;
	if (arg->next)
		return check_fail(check, arg->next->place,
			"a length is for addresses: this is a string already");
	arg->kind = AST_LITERAL;
	arg->text = check_parameter_text(check, arg->number);
	if (strlen(arg->text) >= check->string_bytes)
		return check_fail(check, arg->place, "$%u is longer than %u bytes",
			(unsigned int)arg->number,
			check->string_bytes - 1);
	arg->text = ast_copy_text(check->ast, arg->text, strlen(arg->text));
	return arg->text ? 0 : check_no_memory(check);
}

int check_call(struct check *check, struct ast_expr *expr)
{
	const struct function_row *row = expr->function;
	int ret = 0;

	if (row->kinds && !(row->kinds & KIND_BIT(check->unit->kind)))
		return check_fail(check, expr->place, "%s can't be used in %s probes", row->usage,
			kind_name(check->unit->kind));
	ret = literal_of_parameter(check, expr);
	if (!ret)
		ret = take_arguments(check, expr);
	if (ret)
		return ret;
	expr->type = row->type;
	if (row->id == FUNCTION_SAMPLE)
		check->ast->takes_samples = true;
	for (size_t i = 0; i < sizeof(finish_rows) / sizeof(*finish_rows); i++)
		if (finish_rows[i].id == row->id)
			return finish_rows[i].finish(check, expr);
	return 0;
}
