/* SPDX-License-Identifier: MIT */
/* Filters of kernel events as instructions. */
#include "kernel/filter.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "base/nearest.h"
#include "kernel/filter_state.h"
#include "probes/expr_code.h"

static const char *const builtins[FILTER_FIELDS] = { "pid", "tid", "comm", "uid", "cpu" };

static int resolve(void *arg, const char *name, enum ast_type_kind *type, uint64_t *value, struct err *err)
{
	const struct filter *filter = arg;
	char near[NEAREST_TEXT_MAX];
	struct nearest nearest;

	nearest_init(&nearest, name);
	/* fields first: those of an event may be named pid or comm, as those of sched_wakeup */
	for (uint32_t i = 0; i < filter->count; i++) {
		if (strcmp(name, filter->fields[i].name) == 0) {
			*value = FILTER_FIELDS + i;
			*type = filter->fields[i].source == FILTER_TEXT ? AST_STRING : AST_INTEGER;
			return filter->fields[i].source == FILTER_REFUSED ?
				err_set(err, EINVAL, "the field '%s' can't be compared", name) : 0;
		}
		nearest_offer(&nearest, filter->fields[i].name);
	}
	for (uint32_t i = 0; i < FILTER_FIELDS; i++) {
		if (strcmp(name, builtins[i]) == 0) {
			*value = i;
			*type = i == FILTER_COMM ? AST_STRING : AST_INTEGER;
			return 0;
		}
		nearest_offer(&nearest, builtins[i]);
	}
	return err_set(err, ENOENT, "the event has no field '%s'%s", name,
		nearest_text(&nearest, near, sizeof(near)));
}

/* A text that the field has no room for would never be found in it. */
static int check_text(void *arg, const struct ast_expr *name, const struct ast_expr *literal,
	struct err *err)
{
	const struct filter *filter = arg;
	const uint32_t room = name->number == FILTER_COMM ? KERNEL_COMM_BYTES :
		filter->fields[name->number - FILTER_FIELDS].bytes;

	if (strlen(literal->text) < room)
		return 0;
	return expr_fail(filter->expr, literal, EINVAL, err, "'%s' has at most %u bytes", name->text,
		room - 1);
}

int filter_create(const char *text, const struct filter_field *fields, uint32_t count,
	struct filter **filter, struct err *err)
{
	struct filter *made = g_new0(struct filter, 1);
	int ret;

	made->fields = g_new0(struct filter_field, count + 1);
	made->count = count;
	for (uint32_t i = 0; i < count; i++) {
		made->fields[i] = fields[i];
		made->fields[i].name = g_strdup(fields[i].name);
	}
	ret = expr_parse(text, &made->expr, err);
	if (!ret)
		ret = expr_check(made->expr, resolve, made, err);
	if (!ret)
		ret = expr_each_text(made->expr, check_text, made, err);
	if (ret) {
		filter_destroy(made);
		return ret;
	}
	*filter = made;
	return 0;
}

void filter_destroy(struct filter *filter)
{
	if (!filter)
		return;
	for (uint32_t i = 0; i < filter->count; i++)
		g_free((char *)filter->fields[i].name);
	g_free(filter->fields);
	expr_destroy(filter->expr);
	g_free(filter);
}

/* ---- instructions ------------------------------------------------------------------------------ */

struct filtering {
	const struct filter *filter;
	struct emit *emit;
	const struct filter_frame *frame;
};

/* Extends R0, whose value has so many bytes, by its sign or by 0; 0 bytes stand for 8. */
static void extend(struct code *code, const struct filter_field *field)
{
	if (!field->bytes || field->bytes >= 8)
		return;
	code_alu_imm(code, BPF_LSH, BPF_REG_0, 64 - (int32_t)field->bytes * 8);
	code_alu_imm(code, field->is_signed ? BPF_ARSH : BPF_RSH, BPF_REG_0,
		64 - (int32_t)field->bytes * 8);
}

static int size_of(uint32_t bytes)
{
	return bytes == 1 ? BPF_B : bytes == 2 ? BPF_H : bytes == 4 ? BPF_W : BPF_DW;
}

static void load_field(struct filtering *filtering, const struct filter_field *field)
{
	struct code *code = &filtering->emit->code;

	switch (field->source) {
	case FILTER_RECORD:
		code_load(code, size_of(field->bytes), BPF_REG_0, filtering->emit->record,
			filtering->emit->record_at + (int)field->offset);
		if (field->is_signed)
			extend(code, field);
		return;
	case FILTER_ARGUMENT:
		code_load(code, BPF_DW, BPF_REG_0, BPF_REG_10,
			filtering->frame->args + (int)field->offset * 8);
		extend(code, field);
		return;
	case FILTER_RESULT:
		code_load(code, BPF_DW, BPF_REG_0, BPF_REG_10, filtering->frame->result);
		extend(code, field);
		return;
	case FILTER_DURATION:
		code_load(code, BPF_DW, BPF_REG_0, BPF_REG_10, filtering->frame->duration);
		return;
	case FILTER_TEXT:
	case FILTER_REFUSED:
		return; /* expr_check() allows no number of it */
	}
}

/* R0 = the value of a name that is a number. */
static void load_name(void *arg, struct code *code, uint64_t name)
{
	struct filtering *filtering = arg;
	const struct emit_machine *machine = filtering->emit->machine;

	switch (name) {
	case FILTER_PID:
		code_load(code, BPF_W, BPF_REG_0, BPF_REG_8, machine->task_tgid);
		return;
	case FILTER_TID:
		code_load(code, BPF_W, BPF_REG_0, BPF_REG_8, machine->task_pid);
		return;
	case FILTER_UID:
		code_call(code, BPF_FUNC_get_current_uid_gid);
		code_alu32(code, BPF_MOV, BPF_REG_0, BPF_REG_0);
		return;
	case FILTER_CPU:
		code_call(code, BPF_FUNC_get_smp_processor_id);
		return;
	default:
		load_field(filtering, &filtering->filter->fields[name - FILTER_FIELDS]);
	}
}

static void compare_name(void *arg, struct code *code, uint64_t name, const char *text)
{
	const struct filtering *filtering = arg;
	const struct emit *emit = filtering->emit;
	const struct filter_field *field;

	if (name == FILTER_COMM) {
		expr_code_compare(code, BPF_REG_8, emit->machine->task_comm, text);
		return;
	}
	field = &filtering->filter->fields[name - FILTER_FIELDS];
	expr_code_compare(code, emit->record, emit->record_at + (int)field->offset, text);
}

void filter_emit(const struct filter *filter, struct emit *emit, const struct filter_frame *frame)
{
	struct filtering filtering = { filter, emit, frame };
	const struct expr_names names = { load_name, compare_name, &filtering };

	expr_code_value(filter->expr, &names, &emit->code);
	code_jump_if_imm(&emit->code, BPF_JEQ, BPF_REG_0, 0, emit->out);
}

/* ---- values of a call under way ---------------------------------------------------------------- */

/* What an expression is: a number, or not known. */
struct filter_value {
	bool known;
	uint64_t number;
};

static const struct filter_value unknown = { false, 0 };

static struct filter_value value_of(uint64_t number)
{
	return (struct filter_value){ true, number };
}

static struct filter_value value_of_name(const struct filter *filter, const struct filter_call *call,
	const struct ast_expr *node)
{
	const struct filter_field *field;
	uint64_t number;

	if (node->number == FILTER_PID)
		return value_of(call->pid);
	if (node->number == FILTER_TID)
		return value_of(call->tid);
	if (node->number < FILTER_FIELDS)
		return unknown;
	field = &filter->fields[node->number - FILTER_FIELDS];
	if (field->source != FILTER_ARGUMENT)
		return unknown;
	number = call->args[field->offset];
	return value_of(field->is_signed && field->bytes == 4 ? (uint64_t)(int64_t)(int32_t)number :
		number);
}

/* As the instructions do it: a division by 0 gives 0, its rest the number. */
static uint64_t calculate(int operator, uint64_t a, uint64_t b)
{
	switch (operator) {
	case AST_EQUAL: return a == b;
	case AST_NOT_EQUAL: return a != b;
	case '<': return (int64_t)a < (int64_t)b;
	case '>': return (int64_t)a > (int64_t)b;
	case AST_LESS_EQUAL: return (int64_t)a <= (int64_t)b;
	case AST_GREATER_EQUAL: return (int64_t)a >= (int64_t)b;
	case '|': return a | b;
	case '^': return a ^ b;
	case '&': return a & b;
	case '+': return a + b;
	case '-': return a - b;
	case '*': return a * b;
	case '/': return b ? a / b : 0;
	case '%': return b ? a % b : a;
	case AST_SHIFT_LEFT: return a << (b & 63);
	default: return a >> (b & 63);
	}
}

static struct filter_value value_of_node(const struct filter *filter, const struct filter_call *call,
	const struct ast_expr *node);

static struct filter_value value_of_text(const struct filter_call *call, const struct ast_expr *node)
{
	const struct ast_expr *name = node->left->kind == AST_NAME ? node->left : node->right;
	const char *text = node->left->kind == AST_NAME ? node->right->text : node->left->text;
	bool same;

	if (name->number != FILTER_COMM)
		return unknown;
	same = strlen(text) < KERNEL_COMM_BYTES && strncmp(text, call->comm, KERNEL_COMM_BYTES) == 0;
	return value_of(same == (node->operator == AST_EQUAL));
}

static struct filter_value value_of_both(const struct filter *filter, const struct filter_call *call,
	const struct ast_expr *node)
{
	const bool is_or = node->operator == AST_OR;
	struct filter_value a, b;

	if (node->left->type.kind == AST_STRING)
		return value_of_text(call, node);
	a = value_of_node(filter, call, node->left);
	b = value_of_node(filter, call, node->right);
	if (node->operator == AST_OR || node->operator == AST_AND) {
		/* one side may decide alone */
		if ((a.known && !a.number == !is_or) || (b.known && !b.number == !is_or))
			return value_of(is_or);
		return a.known && b.known ? value_of(!is_or) : unknown;
	}
	return a.known && b.known ? value_of(calculate(node->operator, a.number, b.number)) : unknown;
}

static struct filter_value value_of_node(const struct filter *filter, const struct filter_call *call,
	const struct ast_expr *node)
{
	struct filter_value value;

	switch (node->kind) {
	case AST_NUMBER:
		return value_of(node->number);
	case AST_NAME:
		return value_of_name(filter, call, node);
	case AST_UNARY:
		value = value_of_node(filter, call, node->right);
		value.number = node->operator == '-' ? -value.number :
			node->operator == '~' ? ~value.number : !value.number;
		return value;
	case AST_BINARY:
		return value_of_both(filter, call, node);
	default:
		break; /* a literal is only within value_of_text() */
	}
	return unknown;
}

bool filter_holds(const struct filter *filter, const struct filter_call *call)
{
	struct filter_value value = value_of_node(filter, call, expr_root(filter->expr));

	return value.known && value.number;
}
