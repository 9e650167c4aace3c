/* SPDX-License-Identifier: MIT */
/*
 * The third stage: calls that print or act. What is printed is written to the trace's rings as a record
 * of the kernel's events; what only the server can do goes to the ring of actions, which wakes it.
 */
#include "probes/gen_state.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "probes/tables.h"

/* The least that a string is cut to, so that all arguments fit into a record. */
#define STRING_BYTES_MIN 16u
/* Frames of a stack in a record. */
#define FRAMES_MAX 100u
/* Strings of join(), and the bytes of each with its NUL. */
#define JOIN_MAX 15u
#define JOIN_BYTES 128u
/* snapshot(): with a dot and a number of 32 bits behind it, it is the name of a session, of at most 64. */
#define SNAPSHOT_NAME_MAX 53

/* ---- arguments --------------------------------------------------------------------------------- */

static bool is_stack(const struct ast_expr *expr)
{
	return expr->kind == AST_BUILTIN &&
		(expr->builtin->id == BUILTIN_KSTACK || expr->builtin->id == BUILTIN_USTACK);
}

static uint32_t frames_of(const struct ast_expr *expr)
{
	if (!is_stack(expr))
		return 0;
	return expr->type.count && expr->type.count < FRAMES_MAX ? expr->type.count : FRAMES_MAX;
}

static uint32_t part_bytes(const struct ast_type *type, uint32_t frames)
{
	return frames ? (2 + frames) * 8 : layout_bytes(type);
}

/* Strings are cut where a record would be too long. */
static uint32_t string_limit(const struct ast_expr *first)
{
	uint32_t others = 0, strings = 0, room;

	for (const struct ast_expr *arg = first; arg; arg = arg->next) {
		if (arg->type.kind == AST_STRING)
			strings++;
		else
			others += part_bytes(&arg->type, frames_of(arg));
	}
	room = others < OUTPUT_BYTES_MAX ? OUTPUT_BYTES_MAX - others : 0;
	return strings ? room / strings / 8 * 8 : room;
}

static void store_stack(struct gen *gen, const struct ast_expr *expr, uint32_t frames, struct gen_place place)
{
	struct gen_place stack = { .base = place.base, .offset = place.offset + 8 };

	code_load(gen->code, BPF_W, BPF_REG_0, BPF_REG_8, gen->env->machine->task_tgid);
	gen_save(gen, place, 0, BPF_REG_0);
	gen_frames(gen, expr->builtin->id == BUILTIN_USTACK, frames, stack);
}

/* arg0 and so on of a function, and what one of a program has returned. */
static bool is_register(const struct gen *gen, const struct ast_expr *arg)
{
	if (arg->kind != AST_BUILTIN || gen_is_call(gen) || gen->source->context == GEN_RECORD)
		return false;
	return arg->builtin->id == BUILTIN_ARG ||
		(arg->builtin->id == BUILTIN_RETVAL && gen->unit->kind == PROBE_URETPROBE);
}

/* Computes the arguments, which become the parts of the output; *bytes is the size of all. */
static struct gen_place store_arguments(struct gen *gen, const struct ast_expr *call,
	const struct ast_expr *first, struct output *output)
{
	const uint32_t limit = string_limit(first);
	struct gen_place all, place;

	for (const struct ast_expr *arg = first; arg; arg = arg->next) {
		struct ast_type type = arg->type;
		struct output_part *part;

		if (type.kind == AST_STRING && layout_bytes(&type) > limit)
			type.bytes = limit;
		if (arg->kind == AST_BUILTIN && type.kind == AST_INTEGER)
			type.bytes = MIN(type.bytes, arg->builtin->type.bytes);
		part = output_add_part(output, &type, part_bytes(&type, frames_of(arg)), frames_of(arg));
		part->is_register = is_register(gen, arg);
	}
	if (output->bytes > OUTPUT_BYTES_MAX || limit < STRING_BYTES_MIN)
		gen_refuse(gen, call->place, E2BIG, "the arguments of %s() have more than %u bytes",
			call->function->name, OUTPUT_BYTES_MAX);
	/* not on the stack, where the calls on the way need room */
	all = gen_room(gen, output->bytes ? output->bytes : 8);
	for (const struct ast_expr *arg = first; arg && !gen->error; arg = arg->next) {
		const struct output_part *part = output->parts;

		for (const struct ast_expr *before = first; before != arg; before = before->next)
			part++;
		place = (struct gen_place){ .base = all.base, .offset = all.offset + (int)part->offset };
		if (part->frames)
			store_stack(gen, arg, part->frames, place);
		else
			gen_store(gen, arg, &part->type, place);
	}
	return all;
}

/* ---- records ----------------------------------------------------------------------------------- */

static void write_record(struct gen *gen, uint32_t index, const struct output *output, struct gen_place args)
{
	struct emit *emit = gen->emit;
	struct code *code = gen->code;
	const bool in_scratch = args.base == BPF_REG_9;
	int off = code_label(code);

	/* no event is written while the switch above all is off */
	code_map_value(code, BPF_REG_1, emit->machine->control, emit->machine->enabled);
	code_load(code, BPF_B, BPF_REG_1, BPF_REG_1, 0);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, off);
	if (gen->has_scratch)
		code_store(code, BPF_DW, BPF_REG_10, gen->saved_scratch, BPF_REG_9);
	emit_now(emit);
	code_store_imm(code, BPF_DW, BPF_REG_10, emit->flags, 0);
	code_store_imm(code, BPF_DW, BPF_REG_10, emit->bytes, EMIT_BODY + 8 + (int)output->bytes);
	emit_begin(emit);
	code_store_imm(code, BPF_W, BPF_REG_9, EMIT_AT(reserved), (int32_t)gen->env->serial);
	code_store_imm(code, BPF_DW, BPF_REG_9, EMIT_BODY, (int32_t)index);
	if (in_scratch && gen->has_scratch)
		code_load(code, BPF_DW, BPF_REG_7, BPF_REG_10, gen->saved_scratch);
	for (uint32_t at = 0; at < output->bytes; at += 8) {
		code_load(code, BPF_DW, BPF_REG_1, in_scratch ? BPF_REG_7 : BPF_REG_10,
			args.offset + (int)at);
		code_store(code, BPF_DW, BPF_REG_9, EMIT_BODY + 8 + (int)at, BPF_REG_1);
	}
	code_mov_imm(code, BPF_REG_7, KERNEL_ID_PROBE);
	emit_commit(emit);
	if (gen->has_scratch)
		code_load(code, BPF_DW, BPF_REG_9, BPF_REG_10, gen->saved_scratch);
	code_place(code, off);
}

/* What has arguments that were computed now is a record of the trace. */
static void print_now(struct gen *gen, const struct ast_expr *call, const struct ast_expr *first,
	const char *format)
{
	const uint32_t index = gen->env->outputs->items->len;
	struct output *output = outputs_add(gen->env->outputs, call->function->id);
	struct gen_place args;

	output->format = g_strdup(format);
	args = store_arguments(gen, call, first, output);
	if (!gen->error)
		write_record(gen, index, output, args);
}

/* Whether the value of a whole map can be a record: the frames of a stack are the server's to find. */
static bool fits_record(const struct ast_map *map)
{
	return !map->key_count && map->value_kind == AST_PLAIN && !layout_has_stack(&map->value) &&
		layout_bytes(&map->value) <= OUTPUT_BYTES_MAX;
}

/* The plain value of a map without keys, as it is now; nothing is written if it is not set. */
static void print_plain_map(struct gen *gen, const struct ast_expr *call)
{
	const struct ast_expr *map = call->args, *top = map->next, *divisor = top ? top->next : NULL;
	const struct ast_type *type = &map->map->value;
	const uint32_t index = gen->env->outputs->items->len;
	struct output *output = outputs_add(gen->env->outputs, FUNCTION_PRINT);
	struct code *code = gen->code;
	int unset = code_label(code);
	struct gen_place value = gen_room(gen, layout_bytes(type));

	output->map = g_strdup(map->map->name);
	output->divisor = divisor ? divisor->number : 0;
	output_add_part(output, type, layout_bytes(type), 0);
	code_map_value(code, BPF_REG_1, gen->env->maps[map->map->number], 0);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_1, 0);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, unset);
	gen_map_store(gen, map, type, value);
	write_record(gen, index, output, value);
	code_place(code, unset);
}

/* ---- actions ----------------------------------------------------------------------------------- */

/* Wakes the server to do something with a map, an entry of one, or a file. */
static void act(struct gen *gen, uint32_t index, const struct ast_expr *entry)
{
	const uint32_t key_bytes = entry ? gen->env->layouts[entry->map->number].key_bytes : 0;
	struct gen_place place = gen_room(gen, sizeof(struct gen_action) + key_bytes), behind = place, key;
	struct code *code = gen->code;
	int sent = code_label(code);

	if (entry) {
		key = gen_key(gen, entry->map, entry->args);
		behind.offset += (int)sizeof(struct gen_action);
		gen_copy(gen, behind, key.base, key.offset, key_bytes);
	}
	code_call(code, BPF_FUNC_ktime_get_ns);
	gen_save(gen, place, offsetof(struct gen_action, time_ns), BPF_REG_0);
	code_call(code, BPF_FUNC_get_smp_processor_id);
	gen_save(gen, place, offsetof(struct gen_action, cpu), BPF_REG_0);
	code_mov_imm64(code, BPF_REG_1, (uint64_t)index << 32 | gen->env->serial);
	gen_save(gen, place, 0, BPF_REG_1);
	code_map(code, BPF_REG_1, gen->env->actions);
	gen_address(gen, BPF_REG_2, place);
	code_mov_imm(code, BPF_REG_3, (int32_t)(sizeof(struct gen_action) + key_bytes));
	code_mov_imm(code, BPF_REG_4, 0);
	code_call(code, BPF_FUNC_ringbuf_output);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, sent);
	gen_count(gen, offsetof(struct gen_counts, lost));
	code_place(code, sent);
}

static void act_on_map(struct gen *gen, const struct ast_expr *call)
{
	const struct ast_expr *map = call->args, *top = map->next, *divisor = top ? top->next : NULL;
	const uint32_t index = gen->env->outputs->items->len;
	struct output *output = outputs_add(gen->env->outputs, call->function->id);

	output->map = g_strdup(map->map->name);
	output->top = top ? top->number : 0;
	output->divisor = divisor ? divisor->number : 0;
	act(gen, index, map->count ? map : NULL);
}

static void act_on_text(struct gen *gen, const struct ast_expr *call)
{
	const uint32_t index = gen->env->outputs->items->len;
	struct output *output = outputs_add(gen->env->outputs, call->function->id);

	output->format = g_strdup(call->args ? call->args->text : "");
	act(gen, index, NULL);
}

/*
 * join(argv): the strings that an array of pointers names, up to one that is 0. They have the same room
 * in the record, those that are not there are empty.
 */
static void make_join(struct gen *gen, const struct ast_expr *call)
{
	static const struct ast_type part = { .kind = AST_STRING, .bytes = JOIN_BYTES };
	const uint32_t index = gen->env->outputs->items->len;
	struct output *output = outputs_add(gen->env->outputs, FUNCTION_JOIN);
	struct code *code = gen->code;
	struct gen_place all, array, pointer;
	int end = code_label(code);

	output->format = g_strdup(call->args->next ? call->args->next->text : " ");
	for (uint32_t i = 0; i < JOIN_MAX; i++)
		output_add_part(output, &part, JOIN_BYTES, 0);
	array = gen_room(gen, 8);
	pointer = gen_room(gen, 8);
	all = gen_room(gen, output->bytes);
	gen_value(gen, call->args);
	gen_save(gen, array, 0, BPF_REG_0);
	gen_zero(gen, all, output->bytes);
	for (uint32_t i = 0; i < JOIN_MAX; i++) {
		const struct gen_place place = { .base = all.base,
			.offset = all.offset + (int)(i * JOIN_BYTES) };

		gen_load(gen, BPF_REG_3, array, 0);
		code_alu_imm(code, BPF_ADD, BPF_REG_3, (int32_t)i * 8);
		gen_address(gen, BPF_REG_1, pointer);
		code_mov_imm(code, BPF_REG_2, 8);
		gen_read_bytes(gen);
		gen_load(gen, BPF_REG_0, pointer, 0);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, end);
		gen_read_string(gen, -1, JOIN_BYTES, place);
	}
	code_place(code, end);
	write_record(gen, index, output, all);
}

/*
 * sample(): perf adds the stacks. Without room in the ring perf counts the sample as lost; without a perf
 * event, while the profiler is stopped, the program does.
 */
static void make_sample(struct gen *gen, const struct ast_expr *call)
{
	struct gen_place data = gen_room(gen, 8);
	struct code *code = gen->code;
	int done = code_label(code);

	if (!gen->env->samples) {
		gen_refuse(gen, call->place, EOPNOTSUPP, "sample() needs a profiler");
		return;
	}
	samples_emit_check(gen->env->samples, code, done);
	/* before, so that no sample is read that is not counted */
	samples_emit_count(gen->env->samples, 1, code);
	code_store_imm(code, BPF_DW, BPF_REG_10, data.offset, 0);
	code_mov(code, BPF_REG_1, BPF_REG_6);
	code_map(code, BPF_REG_2, samples_outputs(gen->env->samples));
	code_mov_imm64(code, BPF_REG_3, BPF_F_CURRENT_CPU);
	gen_address(gen, BPF_REG_4, data);
	code_mov_imm(code, BPF_REG_5, 8);
	code_call(code, BPF_FUNC_perf_event_output);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, done);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, -ENOSPC, done);
	samples_emit_count(gen->env->samples, -1, code);
	gen_count(gen, offsetof(struct gen_counts, lost));
	code_place(code, done);
}

/* With a dot and a number it must be the name of a session. */
static void make_snapshot(struct gen *gen, const struct ast_expr *call)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
	const char *name = call->args->text;
	const size_t length = strlen(name);

	if (!length || length > SNAPSHOT_NAME_MAX || strspn(name, letters) != length)
		gen_refuse(gen, call->place, EINVAL,
			"snapshot() takes a name of 1 to %d of A-Z a-z 0-9 _ . -", SNAPSHOT_NAME_MAX);
	else
		act_on_text(gen, call);
}

static void make_exit(struct gen *gen)
{
	struct code *code = gen->code;
	const uint32_t index = gen->env->outputs->items->len;

	outputs_add(gen->env->outputs, FUNCTION_EXIT);
	act(gen, index, NULL);
	code_map_value(code, BPF_REG_1, gen->env->control, offsetof(struct gen_control, running));
	code_store_imm(code, BPF_DW, BPF_REG_1, 0, 0);
	gen_leave(gen);
}

void gen_call(struct gen *gen, const struct ast_expr *call)
{
	const bool is_map = call->args && call->args->kind == AST_MAP;

	switch (call->function->id) {
	case FUNCTION_PRINTF:
		print_now(gen, call, call->args->next, call->args->text);
		return;
	case FUNCTION_PRINT:
		if (!is_map || (call->args->count && call->args->map->value_kind == AST_PLAIN))
			print_now(gen, call, call->args, NULL);
		else if (fits_record(call->args->map))
			print_plain_map(gen, call);
		else
			act_on_map(gen, call);
		return;
	case FUNCTION_CLEAR:
	case FUNCTION_ZERO:
		act_on_map(gen, call);
		return;
	case FUNCTION_DELETE:
		gen_map_delete(gen, call);
		return;
	case FUNCTION_TIME:
	case FUNCTION_MARK:
		print_now(gen, call, NULL, call->args ? call->args->text : "");
		return;
	case FUNCTION_CAT:
		act_on_text(gen, call);
		return;
	case FUNCTION_JOIN:
		make_join(gen, call);
		return;
	case FUNCTION_SNAPSHOT:
		make_snapshot(gen, call);
		return;
	case FUNCTION_EXIT:
		make_exit(gen);
		return;
	case FUNCTION_SAMPLE:
		make_sample(gen, call);
		return;
	default:
		gen_refuse(gen, call->place, EOPNOTSUPP, "%s() is not supported yet", call->function->name);
	}
}
