/* SPDX-License-Identifier: MIT */
/* The third stage: the frame of a program, its statements, and the memory for values. */
#include "probes/gen_state.h"

#include <errno.h>
#include <glib.h>
#include <stdarg.h>
#include <string.h>

/* Values up to this size are on the stack, until so much of it is in use. */
#define STACK_VALUE_MAX 64u
#define STACK_USED_MAX	352
/* struct gen_counts has 1 << this bytes. */
#define COUNTS_SHIFT 6
_Static_assert(sizeof(struct gen_counts) == 1u << COUNTS_SHIFT, "the counts of a CPU");
/* Processes below the server that are its own: a helper, its parser, and the child for a file. */
#define OWN_GENERATIONS 3

void gen_refuse(struct gen *gen, struct ast_place place, int code, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	if (gen->error)
		return;
	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	gen->error = ast_fail(gen->env->ast, place, code, gen->err, "%s", text);
}

/* ---- memory ------------------------------------------------------------------------------------ */

struct gen_place gen_room(struct gen *gen, uint32_t bytes)
{
	struct gen_place place = { .base = BPF_REG_9, .offset = (int)gen->scratch };

	if (bytes <= STACK_VALUE_MAX && gen->code->stack + (int)bytes <= STACK_USED_MAX) {
		place.base = BPF_REG_10;
		place.offset = code_stack(gen->code, (int)bytes);
		return place;
	}
	gen->scratch += (bytes + 7) / 8 * 8;
	if (gen->scratch > gen->scratch_most)
		gen->scratch_most = gen->scratch;
	if (gen->scratch > GEN_SCRATCH_MAX)
		gen_refuse(gen, gen->unit->rule->place, E2BIG,
			"the rule needs more than %u bytes for its values", GEN_SCRATCH_MAX);
	return place;
}

struct gen_mark gen_mark(const struct gen *gen)
{
	return (struct gen_mark){ .stack = gen->code->stack, .scratch = gen->scratch };
}

void gen_back(struct gen *gen, struct gen_mark mark)
{
	code_stack_back(gen->code, mark.stack);
	gen->scratch = mark.scratch;
}

void gen_address(struct gen *gen, int dst, struct gen_place place)
{
	code_mov(gen->code, dst, place.base);
	code_alu_imm(gen->code, BPF_ADD, dst, place.offset);
}

void gen_load(struct gen *gen, int dst, struct gen_place place, uint32_t at)
{
	code_load(gen->code, BPF_DW, dst, place.base, place.offset + (int)at);
}

void gen_save(struct gen *gen, struct gen_place place, uint32_t at, int src)
{
	code_store(gen->code, BPF_DW, place.base, place.offset + (int)at, src);
}

void gen_zero(struct gen *gen, struct gen_place place, uint32_t bytes)
{
	for (uint32_t at = 0; at < bytes; at += 8)
		code_store_imm(gen->code, BPF_DW, place.base, place.offset + (int)at, 0);
}

void gen_copy(struct gen *gen, struct gen_place place, int src, int offset, uint32_t bytes)
{
	for (uint32_t at = 0; at < bytes; at += 8) {
		code_load(gen->code, BPF_DW, BPF_REG_1, src, offset + (int)at);
		gen_save(gen, place, at, BPF_REG_1);
	}
}

/* An atomic addition waits for all stores before it: as long as ten other instructions. */
void gen_add(struct gen *gen, bool is_alone, int base, int offset)
{
	if (!is_alone) {
		code_atomic(gen->code, BPF_DW, BPF_ADD, base, offset, BPF_REG_1);
		return;
	}
	code_load(gen->code, BPF_DW, BPF_REG_5, base, offset);
	code_alu(gen->code, BPF_ADD, BPF_REG_5, BPF_REG_1);
	code_store(gen->code, BPF_DW, base, offset, BPF_REG_5);
}

void gen_count(struct gen *gen, uint32_t member)
{
	const uint32_t unit_bytes = gen->env->cpus * (uint32_t)sizeof(struct gen_counts);
	struct code *code = gen->code;

	code_call(code, BPF_FUNC_get_smp_processor_id);
	code_alu_imm(code, BPF_AND, BPF_REG_0, (int32_t)gen->env->cpus - 1);
	code_alu_imm(code, BPF_LSH, BPF_REG_0, COUNTS_SHIFT);
	code_map_value(code, BPF_REG_2, gen->env->counts, gen->unit->number * unit_bytes + member);
	code_alu(code, BPF_ADD, BPF_REG_2, BPF_REG_0);
	code_mov_imm(code, BPF_REG_1, 1);
	gen_add(gen, gen->source->is_alone, BPF_REG_2, 0);
}

void gen_leave(struct gen *gen)
{
	/* always: but the kernel refuses programs with instructions that no jump leads to */
	code_mov_imm(gen->code, BPF_REG_0, 0);
	code_jump_if_imm(gen->code, BPF_JEQ, BPF_REG_0, 0, gen->done);
}

/* ---- statements -------------------------------------------------------------------------------- */

static void make_block(struct gen *gen, const struct ast_statement *first);

static struct gen_place local_of(const struct gen *gen, const struct ast_expr *expr)
{
	return gen->locals[expr->local->number];
}

static void assign_local(struct gen *gen, const struct ast_statement *statement)
{
	const struct ast_type *type = &statement->target->local->type;
	struct gen_place place = local_of(gen, statement->target);
	struct gen_mark mark = gen_mark(gen);
	struct gen_place made;

	if (statement->operator) {
		gen_value(gen, statement->value);
		code_mov(gen->code, BPF_REG_1, BPF_REG_0);
		gen_load(gen, BPF_REG_0, place, 0);
		operators_emit(gen->code, statement->operator, type->is_signed);
		gen_save(gen, place, 0, BPF_REG_0);
	} else if (layout_is_word(type)) {
		gen_value(gen, statement->value);
		gen_save(gen, place, 0, BPF_REG_0);
	} else {
		/* the value may be made of the variable itself */
		made = gen_room(gen, layout_bytes(type));
		gen_store(gen, statement->value, type, made);
		gen_copy(gen, place, made.base, made.offset, layout_bytes(type));
		gen_back(gen, mark);
	}
}

static void make_if(struct gen *gen, const struct ast_statement *statement)
{
	int otherwise = code_label(gen->code), end = code_label(gen->code);

	gen_unless(gen, statement->value, otherwise);
	make_block(gen, statement->body);
	code_jump(gen->code, end);
	code_place(gen->code, otherwise);
	make_block(gen, statement->otherwise);
	code_place(gen->code, end);
}

/* Counted, since an empty body makes no instructions: 100 passes within each other 64 times do not end. */
static void make_passes(struct gen *gen, const struct ast_statement *statement)
{
	for (uint64_t i = 0; i < statement->value->number && !gen->error && !gen->code->error; i++) {
		if (gen->unrolled++ == CODE_INSTRUCTIONS_MAX)
			gen_refuse(gen, statement->place, E2BIG, "unroll() has more than %d passes",
				CODE_INSTRUCTIONS_MAX);
		else
			make_block(gen, statement->body);
	}
}

static void make_statement(struct gen *gen, const struct ast_statement *statement)
{
	switch (statement->kind) {
	case AST_EXPRESSION:
		if (statement->value->kind == AST_CALL)
			gen_call(gen, statement->value);
		else
			gen_value(gen, statement->value);
		return;
	case AST_ASSIGN:
		if (statement->target->kind == AST_MAP)
			gen_map_assign(gen, statement);
		else
			assign_local(gen, statement);
		return;
	case AST_IF:
		make_if(gen, statement);
		return;
	case AST_UNROLL:
		make_passes(gen, statement);
		return;
	case AST_RETURN:
		gen_leave(gen);
		return;
	}
}

static void make_block(struct gen *gen, const struct ast_statement *first)
{
	for (const struct ast_statement *statement = first; statement; statement = statement->next) {
		struct gen_mark mark = gen_mark(gen);

		make_statement(gen, statement);
		gen_back(gen, mark);
		if (gen->error || gen->code->error)
			return;
	}
}

/* ---- the frame --------------------------------------------------------------------------------- */

/* The own processes are left out; what the server runs itself, and what counts time, is not. */
static bool leaves_out_own(const struct gen *gen)
{
	return gen->source->context != GEN_NOTHING && gen->unit->kind != PROBE_INTERVAL;
}

/* The server and the processes that it has started, and those have (kprof-symbols). */
static void leave_out_own(struct gen *gen)
{
	const struct emit_machine *machine = gen->env->machine;
	struct code *code = gen->code;
	struct types_field parent;
	int reg = BPF_REG_8;

	code_load(code, BPF_W, BPF_REG_1, BPF_REG_8, machine->task_tgid);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, (int32_t)machine->own, gen->emit->out);
	if (!gen->env->types || types_field_of(gen->env->types, "task_struct", "real_parent", &parent, NULL))
		return;
	for (int i = 0; i < OWN_GENERATIONS; i++) {
		code_load(code, BPF_DW, BPF_REG_2, reg, (int)parent.offset);
		reg = BPF_REG_2;
		code_load(code, BPF_W, BPF_REG_1, reg, machine->task_tgid);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, (int32_t)machine->own, gen->emit->out);
	}
}

/* The number of the system call is looked at first: this runs at each call on the machine. */
static void choose_call(struct gen *gen)
{
	const struct emit_machine *machine = gen->env->machine;
	const struct gen_source *source = gen->source;
	struct code *code = gen->code;
	int native = code_label(code);

	if (source->context == GEN_SYSCALL_ENTER) {
		code_load(code, BPF_DW, BPF_REG_7, BPF_REG_6, 8);
	} else {
		code_load(code, BPF_DW, BPF_REG_7, BPF_REG_6, 0);
		code_load(code, BPF_DW, BPF_REG_7, BPF_REG_7, machine->regs_nr);
	}
	if (source->targets < 0)
		code_jump_if_imm(code, BPF_JNE, BPF_REG_7, source->call, gen->emit->out);
	gen->call_number = code_stack(code, 8);
	code_store(code, BPF_DW, BPF_REG_10, gen->call_number, BPF_REG_7);
	if (source->targets >= 0) {
		code_map(code, BPF_REG_1, source->targets);
		code_mov(code, BPF_REG_2, BPF_REG_10);
		code_alu_imm(code, BPF_ADD, BPF_REG_2, gen->call_number);
		code_call(code, BPF_FUNC_map_lookup_elem);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, gen->emit->out);
		code_load(code, BPF_W, BPF_REG_7, BPF_REG_0, 0);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_7, 0, gen->emit->out);
		code_alu_imm(code, BPF_SUB, BPF_REG_7, 1);
		gen->target = code_stack(code, 8);
		code_store(code, BPF_DW, BPF_REG_10, gen->target, BPF_REG_7);
	}
	code_call(code, BPF_FUNC_get_current_task_btf);
	code_mov(code, BPF_REG_8, BPF_REG_0);
	/* a call of a 32-bit program has another number: of another call */
	if (machine->task_status >= 0) {
		code_load(code, BPF_W, BPF_REG_1, BPF_REG_8, machine->task_status);
		code_alu_imm(code, BPF_AND, BPF_REG_1, 2);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, native);
		code_jump(code, gen->emit->out);
	}
	code_place(code, native);
}

bool gen_is_preempted(const struct ast_unit *unit)
{
	return unit->kind == PROBE_UPROBE || unit->kind == PROBE_URETPROBE || unit->kind == PROBE_USDT ||
		unit->kind == PROBE_EVENT;
}

/* R9 = memory of a free place of this CPU; it is kept on the stack too, for give_scratch(). */
static void take_scratch(struct gen *gen, int scratch)
{
	struct code *code = gen->code;
	int got = code_label(code), place = code_stack(code, 8);

	code_call(code, BPF_FUNC_get_smp_processor_id);
	code_alu_imm(code, BPF_MUL, BPF_REG_0, (int32_t)GEN_SCRATCH_PLACES);
	code_store(code, BPF_DW, BPF_REG_10, place, BPF_REG_0);
	for (uint32_t i = 0; i < GEN_SCRATCH_PLACES; i++) {
		int next = code_label(code);

		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, place);
		code_alu_imm(code, BPF_ADD, BPF_REG_1, (int32_t)i);
		code_store(code, BPF_W, BPF_REG_10, gen->emit->key, BPF_REG_1);
		code_map(code, BPF_REG_1, scratch);
		code_mov(code, BPF_REG_2, BPF_REG_10);
		code_alu_imm(code, BPF_ADD, BPF_REG_2, gen->emit->key);
		code_call(code, BPF_FUNC_map_lookup_elem);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, next);
		code_mov_imm(code, BPF_REG_1, 1);
		code_atomic(code, BPF_DW, BPF_XCHG, BPF_REG_0, 0, BPF_REG_1);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, got);
		code_place(code, next);
	}
	gen_count(gen, offsetof(struct gen_counts, busy));
	code_jump(code, gen->emit->out);
	code_place(code, got);
	code_mov(code, BPF_REG_9, BPF_REG_0);
	code_alu_imm(code, BPF_ADD, BPF_REG_9, GEN_SCRATCH_HEAD);
	code_store(code, BPF_DW, BPF_REG_10, gen->saved_scratch, BPF_REG_9);
	/* from here on the program ends by giving it back */
	gen->out = gen->emit->out;
	gen->emit->out = code_label(code);
}

static void give_scratch(struct gen *gen)
{
	struct code *code = gen->code;

	code_place(code, gen->emit->out);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_10, gen->saved_scratch);
	code_mov_imm(code, BPF_REG_2, 0);
	code_atomic(code, BPF_DW, BPF_XCHG, BPF_REG_1, -(int)GEN_SCRATCH_HEAD, BPF_REG_2);
	gen->emit->out = gen->out;
}

static void begin_program(struct gen *gen, int scratch)
{
	const enum gen_context context = gen->source->context;
	struct code *code = gen->code;

	code_mov(code, BPF_REG_6, BPF_REG_1);
	if (context == GEN_SYSCALL_ENTER || context == GEN_SYSCALL_EXIT) {
		choose_call(gen);
	} else {
		code_call(code, BPF_FUNC_get_current_task_btf);
		code_mov(code, BPF_REG_8, BPF_REG_0);
	}
	if (context != GEN_NOTHING) {
		code_map_value(code, BPF_REG_1, gen->env->control, offsetof(struct gen_control, running));
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_1, 0);
		code_jump_if_imm(code, BPF_JNE, BPF_REG_1, (int32_t)gen->env->serial, gen->emit->out);
	}
	if (leaves_out_own(gen))
		leave_out_own(gen);
	if (leaves_out_own(gen) && gen->env->pid) {
		code_load(code, BPF_W, BPF_REG_1, BPF_REG_8, gen->env->machine->task_tgid);
		code_jump_if_imm(code, BPF_JNE, BPF_REG_1, (int32_t)gen->env->pid, gen->emit->out);
	}
	if (gen->unit->kind == PROBE_EVENT)
		gen_match_event(gen);
	if (gen->source->by_cookie) {
		code_mov(code, BPF_REG_1, BPF_REG_6);
		code_call(code, BPF_FUNC_get_attach_cookie);
		gen->target = code_stack(code, 8);
		code_store(code, BPF_DW, BPF_REG_10, gen->target, BPF_REG_0);
	}
	if (scratch >= 0 && gen_is_preempted(gen->unit))
		take_scratch(gen, scratch);
	if (scratch < 0 || gen_is_preempted(gen->unit))
		return;
	code_store_imm(code, BPF_W, BPF_REG_10, gen->emit->key, 0);
	code_map(code, BPF_REG_1, scratch);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, gen->emit->key);
	code_call(code, BPF_FUNC_map_lookup_elem);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, gen->emit->out);
	code_mov(code, BPF_REG_9, BPF_REG_0);
}

/* A variable that is read before it was set is 0. */
static void make_locals(struct gen *gen)
{
	for (const struct ast_local *local = gen->unit->locals; local; local = local->next) {
		struct gen_place *place = &gen->locals[local->number];

		*place = gen_room(gen, layout_bytes(&local->type));
		gen_zero(gen, *place, layout_bytes(&local->type));
	}
}

static void make_program(struct gen *gen, int scratch)
{
	struct code *code = gen->code;
	int filtered = code_label(code);

	gen->done = code_label(code);
	gen->saved_scratch = code_stack(code, 8);
	begin_program(gen, scratch);
	if (gen->unit->filter) {
		struct gen_mark mark = gen_mark(gen);

		gen_unless(gen, gen->unit->filter, filtered);
		gen_back(gen, mark);
	}
	/* BEGIN and END are no events */
	if (gen->source->context != GEN_NOTHING)
		gen_count(gen, offsetof(struct gen_counts, counted));
	make_locals(gen);
	make_block(gen, gen->unit->body);
	code_place(code, gen->done);
	/* the end of the program follows */
	if (gen->unit->filter) {
		code_jump(code, gen->emit->out);
		code_place(code, filtered);
		gen_count(gen, offsetof(struct gen_counts, filtered));
	}
	if (scratch >= 0 && gen_is_preempted(gen->unit))
		give_scratch(gen);
}

int gen_unit(struct gen_env *env, const struct ast_unit *unit, const struct gen_source *source,
	int scratch, uint32_t *scratch_bytes, struct emit *emit, struct err *err)
{
	g_autofree struct gen_place *locals = g_new0(struct gen_place, unit->local_count + 1);
	struct gen gen = { .env = env, .unit = unit, .source = source, .emit = emit, .code = &emit->code,
		.locals = locals, .err = err, .has_scratch = scratch >= 0 };

	emit_init(emit, env->machine);
	make_program(&gen, scratch);
	*scratch_bytes = gen.scratch_most;
	return gen.error ? gen.error : emit_finish(emit, err);
}
