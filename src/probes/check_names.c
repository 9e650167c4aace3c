/* SPDX-License-Identifier: MIT */
/* The checker: built-ins, arguments, parameters and constants. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "bpf/types.h"
#include "probes/check_state.h"
#include "probes/tables.h"
#include "probes/targets.h"

/* In the record of a system call: after the header and the call's number, 8 bytes for each. */
#define SYSCALL_ARGUMENTS 16u
#define SYSCALL_ARGUMENTS_MAX 6u

/* ---- constants and parameters ------------------------------------------------------------------ */

static bool find_constant(struct check *check, const char *name, int64_t *value)
{
	for (uint32_t i = 0; i < check->constant_count; i++)
		if (strcmp(check->constants[i].name, name) == 0) {
			*value = check->constants[i].value;
			return true;
		}
	if (!check->types || check->constant_count == CHECK_CONSTANTS_MAX ||
		types_constant(check->types, name, value))
		return false;
	check->constants[check->constant_count++] = (struct check_constant){ name, *value };
	return true;
}

static int fail_name(const struct check *check, const struct ast_expr *expr)
{
	char near[NEAREST_TEXT_MAX];
	struct nearest nearest;

	if (check->constant_count == CHECK_CONSTANTS_MAX)
		return ast_fail(check->ast, expr->place, E2BIG, check->err,
			"the program has more than %u constants",
			CHECK_CONSTANTS_MAX);
	nearest_init(&nearest, expr->text);
	for (const struct builtin_row *row = builtin_rows; row->name; row++)
		nearest_offer(&nearest, row->name);
	for (const struct function_row *row = function_rows; row->name; row++)
		nearest_offer(&nearest, row->name);
	return check_fail(check, expr->place, "there is no built-in or constant '%s'%s", expr->text,
		nearest_text(&nearest, near, sizeof(near)));
}

int check_name(struct check *check, struct ast_expr *expr)
{
	int64_t value;

	expr->builtin = builtin_find(expr->text, strlen(expr->text));
	if (expr->builtin) {
		expr->kind = AST_BUILTIN;
		expr->number = expr->builtin->id == BUILTIN_ARG ? (uint64_t)(expr->text[3] - '0') : 0;
		return check_builtin(check, expr);
	}
	if (!macro_find(expr->text, &value) && !find_constant(check, expr->text, &value))
		return fail_name(check, expr);
	check_set_number(expr, (uint64_t)value, value < 0);
	return 0;
}

const char *check_parameter_text(const struct check *check, uint64_t number)
{
	const char *const *args = check->options->args;

	for (uint64_t i = 1; args && *args; args++, i++)
		if (i == number)
			return *args;
	return "";
}

int check_parameter(struct check *check, struct ast_expr *expr)
{
	const char *text = check_parameter_text(check, expr->number);
	const char *const *args = check->options->args;
	uint64_t number = 0;
	char *end;

	if (!expr->number) { /* $# */
		for (; args && args[number];)
			number++;
	} else if (*text) {
		errno = 0;
		number = *text == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
		if (errno || *end || !(isdigit((unsigned char)*text) || *text == '-'))
			return check_fail(check, expr->place,
				"$%u is '%.40s', which is not a number: use str($%u)",
				(unsigned int)expr->number, text, (unsigned int)expr->number);
	}
	check_set_number(expr, number, *text == '-');
	return 0;
}

/* ---- arguments --------------------------------------------------------------------------------- */

static bool is_syscall(const struct check *check, const char *prefix)
{
	for (const struct ast_target *target = check->unit->targets; target; target = target->next)
		if (strcmp(target->system, "syscalls") != 0 ||
			strncmp(target->name, prefix, strlen(prefix)) != 0)
			return false;
	return true;
}

static void from_context(struct ast_expr *expr, uint32_t offset, struct ast_type type)
{
	expr->kind = AST_ARGUMENT;
	expr->argument = (struct ast_argument){ AST_FROM_CONTEXT, offset };
	expr->type = type;
}

/* "struct sock *", "const char *", "unsigned int", "pid_t" */
static struct ast_type declared_type(const struct check *check, const struct targets_field *field,
	bool is_user)
{
	static const char *const left_out[] = { "const ", "volatile ", "struct ", "union ", "enum " };
	struct ast_type type = { .kind = AST_NONE };
	const char *name = field->type;
	char text[sizeof(field->type)];
	size_t length, stars = 0;
	uint32_t btf;

	for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
		if (strncmp(name, left_out[i], strlen(left_out[i])) == 0)
			name += strlen(left_out[i]);
	strcpy(text, name);
	for (length = strlen(text); length && (text[length - 1] == '*' ||
		text[length - 1] == ' '); length--)
		stars += text[length - 1] == '*';
	text[length] = '\0';
	if (stars)
		type = (struct ast_type){ .kind = AST_POINTER, .bytes = 8, .is_user = is_user,
			.is_char = stars == 1 && strcmp(text, "char") == 0 };
	if (!check->types || stars > 1)
		return type;
	btf = check_find_type(check, text);
	if (stars)
		type.btf = btf;
	else if (btf)
		type = check_kernel_type(check, btf, is_user);
	return type;
}

static int array_field(struct check *check, struct ast_expr *expr, const struct targets_field *field,
	struct ast_type item)
{
	const bool is_char = strcmp(field->type, "char") == 0 || strcmp(field->type, "const char") == 0;
	struct ast_type *copy;

	if (is_char) {
		expr->type = (struct ast_type){ .kind = AST_STRING,
			.bytes = field->is_location || field->is_relative ? check->string_bytes :
				field->bytes };
		return 0;
	}
	if (field->is_location || field->is_relative || !field->count)
		return check_fail(check, expr->place, "the field '%s' (%s[]) can't be read",
			expr->text, field->type);
	copy = ast_new(check->ast, sizeof(*copy));
	if (!copy)
		return check_no_memory(check);
	*copy = item.kind == AST_INTEGER ? item : (struct ast_type){ .kind = AST_INTEGER,
		.bytes = field->bytes / field->count, .is_signed = field->is_signed };
	expr->type = (struct ast_type){ .kind = AST_ARRAY, .bytes = field->bytes, .count = field->count,
		.item = copy };
	return 0;
}

static int format_field(struct check *check, struct ast_expr *expr, const struct targets_field *field)
{
	const bool is_call = is_syscall(check, "sys_enter_");
	struct ast_type declared = declared_type(check, field, is_call);

	from_context(expr, field->offset, declared);
	expr->argument.source = field->is_location ? AST_FROM_LOCATION :
		field->is_relative ? AST_FROM_RELATIVE : AST_FROM_CONTEXT;
	if (field->is_array || field->is_location || field->is_relative)
		return array_field(check, expr, field, declared);
	if (field->bytes != 1 && field->bytes != 2 && field->bytes != 4 && field->bytes != 8)
		return check_fail(check, expr->place, "the field '%s' (%s) can't be read",
			expr->text, field->type);
	if (declared.kind == AST_POINTER && field->bytes == 8)
		return 0;
	/* a system call's arguments have 8 bytes each, of which an int has 4 */
	if (is_call && declared.kind == AST_INTEGER && declared.bytes < field->bytes)
		return 0;
	expr->type = (struct ast_type){ .kind = AST_INTEGER, .bytes = field->bytes,
		.is_signed = field->is_signed, .is_user = is_call };
	return 0;
}

static int tracepoint_argument(struct check *check, struct ast_expr *expr)
{
	const struct ast_target *target = check->unit->targets;
	struct targets_format format;
	struct err why = { "" };
	char near[NEAREST_TEXT_MAX];
	struct nearest nearest;

	if (targets_format(check->options->targets, target->system, target->name, &format, &why))
		return check_fail(check, expr->place, "%s", why.text);
	nearest_init(&nearest, expr->text);
	for (uint32_t i = 0; i < format.count; i++) {
		if (strcmp(format.fields[i].name, expr->text) == 0)
			return format_field(check, expr, &format.fields[i]);
		nearest_offer(&nearest, format.fields[i].name);
	}
	return check_fail(check, expr->place, "%s:%s has no field '%s'%s", target->system, target->name,
		expr->text, nearest_text(&nearest, near, sizeof(near)));
}

/* Of a function or raw tracepoint, by its name in BTF. */
static int parameter_argument(struct check *check, struct ast_expr *expr)
{
	const struct ast_target *target = check->unit->targets;
	struct types_function function;
	int ret;

	if (!check->types)
		return ast_fail(check->ast, expr->place, EOPNOTSUPP, check->err,
			"the names of arguments are not known: %s", check->why_no_types);
	ret = check->unit->kind == PROBE_RAWTRACEPOINT ?
		types_tracepoint(check->types, target->name, &function) :
		types_function(check->types, target->name, &function);
	for (uint32_t i = 0; !ret && i < function.count; i++) {
		if (strcmp(function.params[i].name, expr->text) != 0)
			continue;
		expr->argument = (struct ast_argument){ AST_FROM_PARAM,
			types_slot(&function, i) };
		expr->type = check_kernel_type(check, function.params[i].type, false);
		if (!check_is_number(&expr->type))
			return check_fail(check, expr->place, "the argument '%s' can't be read",
				expr->text);
		return 0;
	}
	return check_fail(check, expr->place, "%s has no argument '%s'", target->name, expr->text);
}

/* Of an event of a program, by the word before it in its format. */
static int event_argument(struct check *check, struct ast_expr *expr)
{
	const struct ast_target *target = check->unit->targets;
	const struct check_events *events = check->options->events;
	struct check_event_value value;
	struct err why = { "" };
	int ret = !events ? -ENOENT :
		events->value(events->arg, target->system, target->name, expr->text, &value, &why);

	if (ret == -ENOENT)
		return check_fail(check, expr->place, "no program has the event %s:%s yet, so the names of "
			"its arguments are not known: arg0, arg1, ... are", target->system, target->name);
	if (ret)
		return check_fail(check, expr->place, "%s", why.text);
	if (value.is_double)
		return check_fail(check, expr->place, "the argument '%s' is a floating-point number, which "
			"can't be read", expr->text);
	check->unit->has_format = true;
	check->unit->format_hash = value.format_hash;
	expr->argument = (struct ast_argument){ AST_FROM_PARAM, value.index };
	expr->type = value.is_string ? (struct ast_type){ .kind = AST_STRING, .bytes = check->string_bytes } :
		value.is_pointer ? (struct ast_type){ .kind = AST_POINTER, .bytes = 8, .is_user = true } :
		(struct ast_type){ .kind = AST_INTEGER, .bytes = value.bytes, .is_signed = value.is_signed };
	return 0;
}

int check_argument(struct check *check, struct ast_expr *expr)
{
	switch (check->unit->kind) {
	case PROBE_TRACEPOINT:
		return tracepoint_argument(check, expr);
	case PROBE_RAWTRACEPOINT:
	case PROBE_KPROBE:
	case PROBE_FENTRY:
	case PROBE_FEXIT:
		return parameter_argument(check, expr);
	case PROBE_EVENT:
		return event_argument(check, expr);
	default:
		return check_fail(check, expr->place, "%s probes have no args with names",
			kind_name(check->unit->kind));
	}
}

/* ---- built-ins --------------------------------------------------------------------------------- */

static int check_arg(struct check *check, struct ast_expr *expr)
{
	struct ast_type type = expr->builtin->type;

	type.is_user = check_is_user_code(check);
	expr->type = type;
	if (check->unit->kind != PROBE_TRACEPOINT)
		return 0;
	if (!is_syscall(check, "sys_enter_"))
		return check_fail(check, expr->place,
			"a tracepoint's arguments are args.NAME; arg0 to arg5 are "
			"those of a system call");
	if (expr->number >= SYSCALL_ARGUMENTS_MAX)
		return check_fail(check, expr->place, "a system call has no arg%u",
			(unsigned int)expr->number);
	type.is_user = true;
	from_context(expr, SYSCALL_ARGUMENTS + 8 * (uint32_t)expr->number, type);
	return 0;
}

/* The result of a function as BTF has it, if it is the same for all targets. */
static int function_result(struct check *check, struct ast_expr *expr)
{
	const bool is_exact = check->unit->kind == PROBE_FEXIT;
	struct types_function function;
	struct ast_type type = check_integer(true), result;

	for (const struct ast_target *target = check->unit->targets; target && check->types;
		target = target->next) {
		if (types_function(check->types, target->name, &function))
			continue;
		result = check_kernel_type(check, function.result.type, false);
		if (is_exact && !check_is_number(&result))
			return check_fail(check, expr->place, "%s returns nothing", target->name);
		if (target == check->unit->targets && check_is_number(&result))
			type = result;
		else if (type.kind != result.kind || type.bytes != result.bytes || type.btf != result.btf)
			type = check_integer(true);
	}
	expr->type = type;
	return 0;
}

static int check_retval(struct check *check, struct ast_expr *expr)
{
	if (check->unit->kind == PROBE_TRACEPOINT) {
		if (!is_syscall(check, "sys_exit_"))
			return check_fail(check, expr->place,
				"a tracepoint has no retval, unless a system call ends");
		from_context(expr, SYSCALL_ARGUMENTS, check_integer(true));
		return 0;
	}
	if (check->unit->kind == PROBE_URETPROBE) {
		expr->type = check_integer(true);
		expr->type.is_user = true;
		return 0;
	}
	return function_result(check, expr);
}

static int check_curtask(struct check *check, struct ast_expr *expr)
{
	expr->type = expr->builtin->type;
	if (check->types)
		expr->type.btf = types_find(check->types, TYPES_STRUCT, "task_struct");
	return 0;
}

int check_builtin(struct check *check, struct ast_expr *expr)
{
	const struct builtin_row *row = expr->builtin;
	const enum ast_probe_kind kind = check->unit->kind;
	const uint64_t number = expr->number;

	if (row->kinds && !(row->kinds & KIND_BIT(kind)))
		return row->id == BUILTIN_ARG ?
			check_fail(check, expr->place, "%s probes have no 'arg%u'", kind_name(kind),
				(unsigned int)number) :
			check_fail(check, expr->place, "%s probes have no '%s'", kind_name(kind), row->name);
	switch (row->id) {
	case BUILTIN_ARG:
		return check_arg(check, expr);
	case BUILTIN_RETVAL:
		return check_retval(check, expr);
	case BUILTIN_CURTASK:
		return check_curtask(check, expr);
	case BUILTIN_CPID:
		if (!check->options->child)
			return check_fail(check, expr->place,
				"cpid is the process of -c, which was not given");
		check_set_number(expr, (uint64_t)check->options->child, false);
		return 0;
	default:
		break;
	}
	expr->type = row->type;
	if (row->type.kind == AST_INTEGER)
		expr->type.bytes = 8;
	if (row->id == BUILTIN_FUNC && check_is_user_code(check))
		expr->type = (struct ast_type){ .kind = AST_USYM, .bytes = 16 };
	if (row->type.kind == AST_KSTACK || row->type.kind == AST_USTACK) {
		expr->number = number ? number : AST_FRAMES_MAX;
		expr->type.count = (uint32_t)expr->number;
	}
	return 0;
}

int check_stack_call(struct check *check, struct ast_expr *expr)
{
	const struct builtin_row *row = builtin_find(expr->text, strlen(expr->text));
	int64_t frames = 0;
	int ret;

	if (row->id != BUILTIN_KSTACK && row->id != BUILTIN_USTACK)
		return check_fail(check, expr->place, "%s is not a function", row->name);
	if (expr->count > 1 || (expr->count && expr->args->kind == AST_NAME))
		return ast_fail(check->ast, expr->place, EOPNOTSUPP, check->err,
			"modes of stacks are not supported; %s(N) takes a number of frames", row->name);
	ret = expr->count ? check_known_number(check, expr->args, &frames) : 0;
	if (ret)
		return ret;
	if (expr->count && (frames < 1 || frames > AST_FRAMES_MAX))
		return check_fail(check, expr->place, "a stack has 1 to %u frames", AST_FRAMES_MAX);
	expr->kind = AST_BUILTIN;
	expr->builtin = row;
	expr->number = (uint64_t)frames;
	return check_builtin(check, expr);
}
