/* SPDX-License-Identifier: MIT */
/*
 * Programs at functions of the kernel. fentry and fexit have one program for each function; what is written
 * as kprobe is attached so too as long as there are few, since that costs least for each call and misses no
 * return. Many are attached by one link of ftrace, or one by one as perf's kprobes where that is not there.
 */
#include "probes/attach_state.h"

#include <errno.h>

#include "bpf/function_way.h"
#include "bpf/types.h"

/* Functions of a rule by fentry and fexit: each takes some 20 ms, and 200 ms until it is detached. */
#define TRAMPOLINES_MAX 16u

static bool is_at_return(const struct attaching *attaching)
{
	return attaching->unit->kind == PROBE_KRETPROBE || attaching->unit->kind == PROBE_FEXIT;
}

/* A target by fentry or fexit. */
int attach_function(struct attaching *attaching)
{
	const bool at_return = is_at_return(attaching);
	const struct types *types = attaching->machine->types;
	const char *name = attaching->target->name;
	struct gen_source source = attach_source(attaching, at_return ? GEN_FUNCTION_EXIT : GEN_FUNCTION);
	struct types_function function;
	struct program_spec spec;
	int program, link, ret;

	if (!types || types_function(types, name, &function))
		return err_set(attaching->err, EOPNOTSUPP, "this kernel does not describe the function '%s'",
			name);
	spec = function_way_spec(FUNCTION_FENTRY, at_return, "kp_probe", function.type, -1);
	source.params = types_slot(&function, function.count);
	source.pointers = attach_pointers(&function);
	ret = attach_load(attaching, &source, &spec, &program);
	if (!ret)
		ret = function_way_attach(FUNCTION_FENTRY, program, name, 0, at_return, &link,
			attaching->err);
	if (!ret)
		attach_keep_link(attaching, link);
	return ret;
}

static int attach_registers(struct attaching *attaching, enum function_way way)
{
	const bool at_return = is_at_return(attaching);
	const struct program_spec spec = function_way_spec(way, at_return, "kp_probe", 0, -1);
	const struct ast_target *target = attaching->target;
	struct gen_source source = attach_source(attaching, GEN_REGISTERS);
	int program, link, ret = attach_load(attaching, &source, &spec, &program);

	if (!ret)
		ret = function_way_attach(way, program, target->name, target->probe->offset, at_return, &link,
			attaching->err);
	if (!ret)
		attach_keep_link(attaching, link);
	return ret;
}

static int attach_by(struct attaching *attaching, enum function_way way)
{
	return way == FUNCTION_FENTRY ? attach_function(attaching) : attach_registers(attaching, way);
}

/* One target, by the first way from `first` on that the kernel takes. A note has what refused the others. */
static int attach_one(struct attaching *attaching, enum function_way first)
{
	static const enum function_way next[FUNCTION_WAYS] = { [FUNCTION_FENTRY] = FUNCTION_FPROBE,
		[FUNCTION_FPROBE] = FUNCTION_KPROBE, [FUNCTION_KPROBE] = FUNCTION_WAYS };
	g_autoptr(GString) refusals = g_string_new(NULL);
	struct err why, *const err = attaching->err;
	int ret = 0;

	attaching->err = &why;
	for (enum function_way way = first; way != FUNCTION_WAYS; way = next[way]) {
		const struct attach_mark mark = attach_mark(attaching);

		why.text[0] = '\0';
		ret = attach_by(attaching, way);
		if (!ret && way != first)
			attach_note(attaching, "%s is probed by %s; %s", attaching->target->text,
				function_way_name(way), refusals->str);
		if (!ret)
			break;
		attach_back(attaching, mark);
		g_string_append_printf(refusals, "%sby %s: %s", refusals->len ? "; " : "",
			function_way_name(way), why.text);
	}
	attaching->err = err;
	if (!ret)
		return 0;
	return err_set(err, -ret, "'%s' can't be probed; %s", attaching->target->name, refusals->str);
}

/* ---- many -------------------------------------------------------------------------------------- */

/* All targets of the unit by one link. */
static int attach_together(struct attaching *attaching)
{
	const bool at_return = is_at_return(attaching);
	const struct program_spec spec = function_way_spec(FUNCTION_FPROBE, at_return, "kp_probe", 0, -1);
	const uint32_t count = attaching->unit->target_count;
	g_autofree const char **names = g_new(const char *, count);
	g_autofree uint64_t *cookies = g_new(uint64_t, count);
	const struct program_functions functions = { .names = names, .cookies = cookies, .count = count };
	struct gen_source source = attach_source(attaching, GEN_REGISTERS);
	uint32_t i = 0;
	int program, link, ret;

	for (const struct ast_target *target = attaching->unit->targets; target; target = target->next, i++) {
		names[i] = target->name;
		cookies[i] = target->number;
	}
	source.by_cookie = true;
	ret = attach_load(attaching, &source, &spec, &program);
	if (!ret)
		ret = program_attach_kprobe_multi(program, &functions, at_return, &link, attaching->err);
	if (!ret)
		attach_keep_link(attaching, link);
	return ret;
}

static bool has_offsets(const struct ast_unit *unit)
{
	for (const struct ast_target *target = unit->targets; target; target = target->next)
		if (target->probe->offset)
			return true;
	return false;
}

/* Of the whole rule: its targets may be in several units. */
static uint32_t count_in_rule(const struct attaching *attaching)
{
	uint32_t count = 0;

	for (const struct ast_unit *unit = attaching->env->ast->units; unit; unit = unit->next)
		if (unit->rule == attaching->unit->rule && unit->kind == attaching->unit->kind)
			count += unit->target_count;
	return count;
}

/* Returns whether all targets are attached by one link; otherwise a note has the reason. */
static bool try_together(struct attaching *attaching, uint32_t count)
{
	const struct attach_mark mark = attach_mark(attaching);
	struct err why = { "" }, *const err = attaching->err;
	int ret;

	attaching->err = &why;
	ret = attach_together(attaching);
	attaching->err = err;
	if (!ret)
		return true;
	attach_back(attaching, mark);
	attach_note(attaching, "%u functions of a rule are probed one by one by kprobes, some 10 ms each; by "
		"ftrace: %s", count, why.text);
	return false;
}

int attach_kprobes(struct attaching *attaching)
{
	const uint32_t count = count_in_rule(attaching);
	const bool offsets = has_offsets(attaching->unit), many = !offsets && count > TRAMPOLINES_MAX;
	int ret = 0;

	if (many && try_together(attaching, count))
		return 0;
	for (const struct ast_target *target = attaching->unit->targets; target && !ret;
		target = target->next) {
		attaching->target = target;
		ret = attach_one(attaching, offsets || many ? FUNCTION_KPROBE : FUNCTION_FENTRY);
	}
	return ret;
}
