/* SPDX-License-Identifier: MIT */
/* The threads whose events are recorded. */
#include "kernel/pidprogram.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf/map.h"
#include "bpf/program.h"

/* The programs, one for each tracepoint whose arguments they have in their context. */
enum pidprogram_kind { PIDPROGRAM_FORK, PIDPROGRAM_EXEC, PIDPROGRAM_FREE, PIDPROGRAM_KINDS };

struct pidprogram {
	int programs[PIDPROGRAM_KINDS];
	int links[PIDPROGRAM_KINDS];
};

/* What the instructions need. */
struct pidprogram_making {
	struct code code;
	const struct emit_machine *machine;
	uint32_t lost_at;
	int key, value; /* on the stack */
};

/* Stores the number of the task that argument `index` of the tracepoint is. R6 is the context. */
static void load_tid(struct pidprogram_making *making, int index)
{
	struct code *code = &making->code;

	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_6, index * 8);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_1, making->machine->task_pid);
	code_store(code, BPF_W, BPF_REG_10, making->key, BPF_REG_1);
}

/* The map and the key as arguments of a helper. */
static void load_map(struct pidprogram_making *making)
{
	struct code *code = &making->code;

	code_map(code, BPF_REG_1, making->machine->chosen);
	code_mov(code, BPF_REG_2, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_2, making->key);
}

/* sched_process_fork(parent, child): also of threads. The child is followed as its parent is. */
static void make_fork(struct pidprogram_making *making)
{
	struct code *code = &making->code;
	int out = code_label(code);

	load_tid(making, 0);
	load_map(making);
	code_call(code, BPF_FUNC_map_lookup_elem);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, out);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_0, 0);
	code_store(code, BPF_DW, BPF_REG_10, making->value, BPF_REG_1);
	load_tid(making, 1);
	load_map(making);
	code_mov(code, BPF_REG_3, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_3, making->value);
	code_mov_imm(code, BPF_REG_4, 0);
	code_call(code, BPF_FUNC_map_update_elem);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, out);
	code_map_value(code, BPF_REG_1, making->machine->control, making->lost_at);
	code_mov_imm(code, BPF_REG_2, 1);
	code_atomic(code, BPF_W, BPF_ADD, BPF_REG_1, 0, BPF_REG_2);
	code_place(code, out);
}

/* sched_process_exec(task, ...): what was to be recorded from here on is. */
static void make_exec(struct pidprogram_making *making)
{
	struct code *code = &making->code;
	int out = code_label(code);

	load_tid(making, 0);
	load_map(making);
	code_call(code, BPF_FUNC_map_lookup_elem);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, out);
	code_store_imm(code, BPF_W, BPF_REG_0, 0, EMIT_CHOSEN);
	code_place(code, out);
}

/* sched_process_free(task): later than its last event. */
static void make_free(struct pidprogram_making *making)
{
	load_tid(making, 0);
	load_map(making);
	code_call(&making->code, BPF_FUNC_map_delete_elem);
}

static const struct {
	const char *name, *tracepoint;
	void (*make)(struct pidprogram_making *making);
} kinds[PIDPROGRAM_KINDS] = {
	[PIDPROGRAM_FORK] = { "kp_fork", "sched_process_fork", make_fork },
	[PIDPROGRAM_EXEC] = { "kp_exec", "sched_process_exec", make_exec },
	[PIDPROGRAM_FREE] = { "kp_free", "sched_process_free", make_free },
};

const struct map_spec pidprogram_map = { .type = BPF_MAP_TYPE_HASH, .name = "kp_chosen", .key_bytes = 4,
	.value_bytes = 4, .entries = PIDPROGRAM_THREADS_MAX };

static int attach_one(struct pidprogram *program, int i, struct pidprogram_making *making,
	const struct types *types, struct err *err)
{
	struct program_spec spec = { .name = kinds[i].name, .type = BPF_PROG_TYPE_TRACING,
		.attach = BPF_TRACE_RAW_TP };
	struct types_function tracepoint;
	int ret = types_tracepoint(types, kinds[i].tracepoint, &tracepoint);

	if (ret)
		return err_set(err, EOPNOTSUPP, "this kernel has no tracepoint '%s'", kinds[i].tracepoint);
	spec.attach_type_id = tracepoint.type;
	making->key = code_stack(&making->code, 8);
	making->value = code_stack(&making->code, 8);
	code_mov(&making->code, BPF_REG_6, BPF_REG_1);
	kinds[i].make(making);
	code_return(&making->code, 0);
	ret = code_finish(&making->code, err);
	if (!ret)
		ret = program_load(&spec, &making->code, &program->programs[i], err);
	if (!ret)
		ret = program_attach_tracing(program->programs[i], &program->links[i], err);
	return ret;
}

int pidprogram_attach(const struct emit_machine *machine, const struct types *types, uint32_t lost_at,
	struct pidprogram **program, struct err *err)
{
	struct pidprogram *made = malloc(sizeof(*made));
	int ret = 0;

	if (!made)
		return err_set(err, ENOMEM, "there is no memory for the programs");
	for (int i = 0; i < PIDPROGRAM_KINDS; i++)
		made->programs[i] = made->links[i] = -1;
	for (int i = 0; i < PIDPROGRAM_KINDS && !ret; i++) {
		struct pidprogram_making making = { .machine = machine, .lost_at = lost_at };

		code_init(&making.code);
		ret = attach_one(made, i, &making, types, err);
		code_fini(&making.code);
	}
	if (ret)
		pidprogram_detach(made);
	else
		*program = made;
	return ret;
}

_Static_assert(PIDPROGRAM_LINKS == PIDPROGRAM_KINDS, "each has a link");

void pidprogram_links(const struct pidprogram *program, int links[PIDPROGRAM_LINKS])
{
	for (int i = 0; i < PIDPROGRAM_LINKS; i++)
		links[i] = program->links[i];
}

void pidprogram_detach(struct pidprogram *program)
{
	if (!program)
		return;
	for (int i = 0; i < PIDPROGRAM_KINDS; i++) {
		if (program->links[i] >= 0)
			close(program->links[i]);
		if (program->programs[i] >= 0)
			close(program->programs[i]);
	}
	free(program);
}
