/* SPDX-License-Identifier: MIT */
/* The records of some tracepoints, made from their arguments. */
#include "kernel/rawpoint.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

/* Before the name of each kind. */
#define SUBSYSTEM "sched:"
/*
 * Bits of include/linux/sched.h that a record does not name as they are: idle is not running and not
 * counted as load; two states are recorded as "D".
 */
#define STATE_IDLE 0x402
#define STATE_RTLOCK_OR_FROZEN 0x9000

/* A field of the record: that of the struct task_struct which an argument points to. */
struct raw_field {
	const char *name, *argument, *member;
};

/* In place of a member: what sched_switch says of the task that goes. */
static const char state_member[] = "";

static const struct raw_field switch_fields[] = {
	{ "prev_comm", "prev", "comm" },
	{ "prev_pid", "prev", "pid" },
	{ "prev_prio", "prev", "prio" },
	{ "prev_state", "prev", state_member },
	{ "next_comm", "next", "comm" },
	{ "next_pid", "next", "pid" },
	{ "next_prio", "next", "prio" },
	{ NULL, NULL, NULL },
};

static const struct raw_field wakeup_fields[] = {
	{ "comm", "p", "comm" },
	{ "pid", "p", "pid" },
	{ "prio", "p", "prio" },
	{ "target_cpu", "p", "thread_info.cpu" },
	{ NULL, NULL, NULL },
};

struct rawpoint_kind {
	const char *name;
	const struct raw_field *fields;
};

static const struct rawpoint_kind kinds[] = {
	{ SUBSYSTEM "sched_switch", switch_fields },
	{ SUBSYSTEM "sched_waking", wakeup_fields },
	{ SUBSYSTEM "sched_wakeup", wakeup_fields },
	{ SUBSYSTEM "sched_wakeup_new", wakeup_fields },
};

static const struct rawpoint_kind *find_kind(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (strcmp(name, kinds[i].name) == 0)
			return &kinds[i];
	return NULL;
}

bool rawpoint_has(const char *name)
{
	return find_kind(name) != NULL;
}

/* ---- whether the kernel is one that is known ----------------------------------------------------- */

/* The place of an argument in the context; -1 if there is none of this name that is of the class. */
static int find_argument(const struct types_function *tracepoint, const char *name, enum types_class class)
{
	for (uint32_t i = 0; i < tracepoint->count; i++)
		if (strcmp(tracepoint->params[i].name, name) == 0 &&
			tracepoint->params[i].value.class == class)
			return (int)i * 8;
	return -1;
}

static const struct raw_field *find_field(const struct rawpoint_kind *kind, const char *name)
{
	for (const struct raw_field *field = kind->fields; field->name; field++)
		if (strcmp(field->name, name) == 0)
			return field;
	return NULL;
}

/* Whether the argument has the value of this field. */
static bool is_made(const struct raw_field *raw, const struct point_field *field, const struct types *types,
	const struct types_function *tracepoint)
{
	struct types_field member;
	int argument = find_argument(tracepoint, raw->argument, TYPES_POINTER);

	if (argument < 0 || strcmp(tracepoint->params[argument / 8].value.name, "task_struct") != 0)
		return false;
	if (raw->member == state_member)
		return field->kind == POINT_STATE && field->bytes == 8 &&
			find_argument(tracepoint, "preempt", TYPES_INTEGER) >= 0 &&
			find_argument(tracepoint, "prev_state", TYPES_INTEGER) >= 0 &&
			!types_field_of(types, "task_struct", "exit_state", &member, NULL);
	return !types_field_of(types, "task_struct", raw->member, &member, NULL) &&
		member.value.bytes == field->bytes && field->bytes % 4 == 0 &&
		field->kind == (strcmp(raw->member, "comm") == 0 ? POINT_TEXT : POINT_NUMBER);
}

/* The arguments of one of the kinds. */
static int find_tracepoint(const struct types *types, const struct rawpoint_kind *kind,
	struct types_function *tracepoint)
{
	return types_tracepoint(types, kind->name + strlen(SUBSYSTEM), tracepoint);
}

int rawpoint_find(const char *name, const struct point *point, const struct types *types,
	struct rawpoint *raw)
{
	const struct rawpoint_kind *kind = find_kind(name);
	struct types_function tracepoint;
	uint32_t end = POINT_HEADER;

	if (!kind || point->body > RAWPOINT_BODY_MAX || find_tracepoint(types, kind, &tracepoint))
		return -EOPNOTSUPP;
	/* without a gap, since its bytes would have no value */
	for (uint32_t i = 0; i < point->count; i++) {
		const struct point_field *field = &point->fields[i];
		const struct raw_field *known = find_field(kind, field->name);

		if (!known || field->offset != end ||
			!is_made(known, field, types, &tracepoint))
			return -EOPNOTSUPP;
		end += field->bytes;
	}
	if (end != POINT_HEADER + point->body)
		return -EOPNOTSUPP;
	*raw = (struct rawpoint){ kind, types, tracepoint.type };
	return 0;
}

/* ---- instructions ------------------------------------------------------------------------------ */

/* R0 = the state of the task in R1 as the record says it. The context is in R6. */
static void make_state(struct emit *emit, const struct types_function *tracepoint, int exit_state)
{
	struct code *code = &emit->code;
	int switched = code_label(code), is_d = code_label(code), usual = code_label(code),
	    done = code_label(code);

	code_mov_imm(code, BPF_REG_0, POINT_STATE_PREEMPTED);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_6, find_argument(tracepoint, "preempt", TYPES_INTEGER));
	code_alu_imm(code, BPF_AND, BPF_REG_2, 1);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_2, 0, switched);
	code_jump(code, done);
	code_place(code, switched);
	code_load(code, BPF_DW, BPF_REG_2, BPF_REG_6, find_argument(tracepoint, "prev_state", TYPES_INTEGER));
	code_jump_if_imm(code, BPF_JSET, BPF_REG_2, STATE_RTLOCK_OR_FROZEN, is_d);
	code_mov_imm(code, BPF_REG_0, POINT_STATE_IDLE);
	code_mov(code, BPF_REG_3, BPF_REG_2);
	code_alu_imm(code, BPF_AND, BPF_REG_3, STATE_IDLE);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_3, STATE_IDLE, done);
	code_jump(code, usual);
	code_place(code, is_d);
	code_mov_imm(code, BPF_REG_0, POINT_STATE_D);
	code_jump(code, done);
	code_place(code, usual);
	code_load(code, BPF_W, BPF_REG_0, BPF_REG_1, exit_state);
	code_alu(code, BPF_OR, BPF_REG_0, BPF_REG_2);
	code_alu_imm(code, BPF_AND, BPF_REG_0, (int32_t)POINT_STATES);
	/* the highest bit of it */
	for (int shift = 1; shift <= 4; shift *= 2) {
		code_mov(code, BPF_REG_2, BPF_REG_0);
		code_alu_imm(code, BPF_RSH, BPF_REG_2, shift);
		code_alu(code, BPF_OR, BPF_REG_0, BPF_REG_2);
	}
	code_mov(code, BPF_REG_2, BPF_REG_0);
	code_alu_imm(code, BPF_RSH, BPF_REG_2, 1);
	code_alu(code, BPF_SUB, BPF_REG_0, BPF_REG_2);
	code_place(code, done);
}

static void make_field(const struct rawpoint *raw, const struct types_function *tracepoint,
	const struct point_field *field, int at, struct emit *emit)
{
	const struct raw_field *known = find_field(raw->kind, field->name);
	const bool is_state = known->member == state_member;
	struct code *code = &emit->code;
	struct types_field member;

	types_field_of(raw->types, "task_struct", is_state ? "exit_state" : known->member, &member, NULL);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_6,
		find_argument(tracepoint, known->argument, TYPES_POINTER));
	if (is_state) {
		make_state(emit, tracepoint, (int)member.offset);
		code_store(code, BPF_DW, BPF_REG_10, at, BPF_REG_0);
		return;
	}
	for (int i = 0; i < (int)field->bytes;) {
		const int size = (int)field->bytes - i >= 8 ? BPF_DW : BPF_W;

		code_load(code, size, BPF_REG_0, BPF_REG_1, (int)member.offset + i);
		code_store(code, size, BPF_REG_10, at + i, BPF_REG_0);
		i += size == BPF_DW ? 8 : 4;
	}
}

void rawpoint_emit(const struct rawpoint *raw, const struct point *point, struct emit *emit)
{
	struct code *code = &emit->code;
	const int record = code_stack(code, (int)point->body) - (int)POINT_HEADER;
	struct types_function tracepoint;

	find_tracepoint(raw->types, raw->kind, &tracepoint);
	for (uint32_t i = 0; i < point->count; i++)
		make_field(raw, &tracepoint, &point->fields[i], record + (int)point->fields[i].offset, emit);
	emit->record = BPF_REG_10;
	emit->record_at = record;
}
