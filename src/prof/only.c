/* SPDX-License-Identifier: MIT */
/* The expression of `only`: see only.h. */
#include "prof/only.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "base/nearest.h"
#include "bpf/record.h"
#include "probes/expr_code.h"
#include "sys/proc.h"

static const struct {
	const char *text;
	enum ast_type_kind type;
	bool is_process; /* a number in the first pid namespace */
} names[] = {
	[ONLY_PID] = { "pid", AST_INTEGER, true },
	[ONLY_TID] = { "tid", AST_INTEGER, true },
	[ONLY_PPID] = { "ppid", AST_INTEGER, true },
	[ONLY_UID] = { "uid", AST_INTEGER, false },
	[ONLY_GID] = { "gid", AST_INTEGER, false },
	[ONLY_CPU] = { "cpu", AST_INTEGER, false },
	[ONLY_COMM] = { "comm", AST_STRING, false },
	[ONLY_CGROUP] = { "cgroup", AST_STRING, false },
};

struct named_cgroup {
	const struct ast_expr *node; /* the literal */
	struct cgroup cgroup;
};

struct only {
	char *text;
	bool foreign; /* not in the first pid namespace */
	struct expr *expr;
	GArray *cgroups; /* of struct named_cgroup */
};

/* ---- the text --------------------------------------------------------------------------------- */

static int resolve(void *arg, const char *name, enum ast_type_kind *type, uint64_t *value, struct err *err)
{
	const struct only *only = arg;
	char near[NEAREST_TEXT_MAX];
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		nearest_offer(&nearest, names[i].text);
		if (strcmp(name, names[i].text) != 0)
			continue;
		if (names[i].is_process && only->foreign)
			return err_set(err, EINVAL, "the server is in a pid namespace of its own, where "
				"'%s' can't be compared", name);
		*type = names[i].type;
		*value = i;
		return 0;
	}
	return err_set(err, ENOENT, "there is no name '%s'%s", name,
		nearest_text(&nearest, near, sizeof(near)));
}

/* A string that is compared with the name. */
static int note_text(void *arg, const struct ast_expr *name, const struct ast_expr *literal, struct err *err)
{
	struct only *only = arg;
	struct named_cgroup named = { .node = literal };

	if (name->number == ONLY_CGROUP)
		g_array_append_val(only->cgroups, named);
	else if (strlen(literal->text) >= KERNEL_COMM_BYTES)
		return expr_fail(only->expr, literal, EINVAL, err,
			"the name of a task has at most %u bytes", KERNEL_COMM_BYTES - 1);
	return 0;
}

int only_find_cgroups(struct only *only, struct err *err)
{
	struct err why = { "" };
	int ret = 0;

	for (guint i = 0; !ret && i < only->cgroups->len; i++) {
		struct named_cgroup *named = &g_array_index(only->cgroups, struct named_cgroup, i);

		ret = cgroup_find(NULL, named->node->text, &named->cgroup, &why);
		if (ret)
			expr_fail(only->expr, named->node, -ret, err, "%s", why.text);
	}
	return ret;
}

int only_create(const char *text, const char *proc, struct only **out, struct err *err)
{
	struct only *only = g_new0(struct only, 1);
	int ret;

	only->text = g_strdup(text);
	only->foreign = !proc_in_first_pid_namespace(proc);
	only->cgroups = g_array_new(FALSE, TRUE, sizeof(struct named_cgroup));
	ret = expr_parse(text, &only->expr, err);
	if (!ret)
		ret = expr_check(only->expr, resolve, only, err);
	if (!ret)
		ret = expr_each_text(only->expr, note_text, only, err);
	if (!ret)
		ret = only_find_cgroups(only, err);
	if (ret) {
		only_destroy(only);
		return ret;
	}
	*out = only;
	return 0;
}

void only_destroy(struct only *only)
{
	if (!only)
		return;
	expr_destroy(only->expr);
	g_array_free(only->cgroups, TRUE);
	g_free(only->text);
	g_free(only);
}

const char *only_text(const struct only *only)
{
	return only->text;
}

const char *only_cgroup(const struct only *only)
{
	const struct ast_expr *root = expr_root(only->expr);

	if (root->kind != AST_BINARY || root->operator != AST_EQUAL || root->left->type.kind != AST_STRING ||
		only->cgroups->len != 1)
		return NULL;
	return g_array_index(only->cgroups, struct named_cgroup, 0).node->text;
}

const struct ast_expr *only_root(const struct only *only)
{
	return expr_root(only->expr);
}

/* By the text of its literal, not by what it says: the tree has it once. */
static const struct cgroup *find_cgroup(const struct only *only, const char *text)
{
	for (guint i = 0; i < only->cgroups->len; i++) {
		const struct named_cgroup *named = &g_array_index(only->cgroups, struct named_cgroup, i);

		if (named->node->text == text)
			return &named->cgroup;
	}
	return NULL;
}

const struct cgroup *only_cgroup_of(const struct only *only, const struct ast_expr *literal)
{
	return find_cgroup(only, literal->text);
}

/* ---- instructions ----------------------------------------------------------------------------- */

int only_fields_init(struct only_fields *fields, const struct types *types, struct err *err)
{
	const struct types_row rows[] = {
		{ "task_struct", "pid", &fields->pid },
		{ "task_struct", "tgid", &fields->tgid },
		{ "task_struct", "comm", &fields->comm },
		{ "task_struct", "real_parent", &fields->parent },
		{ "task_struct", "cred", &fields->cred },
		{ "cred", "uid", &fields->uid },
		{ "cred", "gid", &fields->gid },
		{ "task_struct", "cgroups", &fields->css_set },
		{ "css_set", "dfl_cgrp", &fields->cgroup },
		{ "cgroup", "level", &fields->level },
		{ "cgroup", "kn", &fields->kernfs },
		{ "kernfs_node", "id", &fields->id },
	};
	const int ret = types_offsets(types, rows, G_N_ELEMENTS(rows), err);

	if (ret)
		return ret;
	fields->has_ids = types_offset(types, "cgroup", "ancestors", &fields->ancestors, NULL) != 0;
	return fields->has_ids ? types_offset(types, "cgroup", "ancestor_ids", &fields->ancestors, err) : 0;
}

int only_fields_find(struct only_fields *fields, struct err *err)
{
	struct types *types;
	int ret = types_open(NULL, &types, err);

	if (ret)
		return ret;
	ret = only_fields_init(fields, types, err);
	types_close(types);
	return ret;
}

struct emitting {
	const struct only *only;
	const struct only_fields *fields;
	bool is_current;
};

void only_emit_name(const struct only_fields *fields, enum only_name name, int task, struct code *code)
{
	switch (name) {
	case ONLY_PID:
		code_load(code, BPF_W, BPF_REG_0, task, fields->tgid);
		return;
	case ONLY_TID:
		code_load(code, BPF_W, BPF_REG_0, task, fields->pid);
		return;
	case ONLY_PPID:
		code_load(code, BPF_DW, BPF_REG_0, task, fields->parent);
		code_load(code, BPF_W, BPF_REG_0, BPF_REG_0, fields->tgid);
		return;
	case ONLY_UID:
	case ONLY_GID:
		code_load(code, BPF_DW, BPF_REG_0, task, fields->cred);
		code_load(code, BPF_W, BPF_REG_0, BPF_REG_0, name == ONLY_UID ? fields->uid : fields->gid);
		return;
	case ONLY_CPU:
		code_call(code, BPF_FUNC_get_smp_processor_id);
		return;
	case ONLY_COMM:
	case ONLY_CGROUP:
		return; /* strings */
	}
}

static void load(void *arg, struct code *code, uint64_t name)
{
	const struct emitting *emitting = arg;

	only_emit_name(emitting->fields, (enum only_name)name, BPF_REG_8, code);
}

/* R0 = the 8 bytes at R3 in the kernel's memory, 0 if they can't be read. */
static void read_memory(struct code *code, int scratch)
{
	code_store_imm(code, BPF_DW, BPF_REG_10, scratch, 0);
	code_mov(code, BPF_REG_1, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, BPF_REG_1, scratch);
	code_mov_imm(code, BPF_REG_2, 8);
	code_call(code, BPF_FUNC_probe_read_kernel);
	code_load(code, BPF_DW, BPF_REG_0, BPF_REG_10, scratch);
}

/* R0 = the number of the cgroup of the task in R8, or of the one above it, that has this level; 0 if none. */
static void load_ancestor(const struct only_fields *fields, unsigned int level, struct code *code)
{
	const int mark = code->stack, scratch = code_stack(code, 8);
	int none = code_label(code), done = code_label(code);

	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_8, fields->css_set);
	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_3, fields->cgroup);
	code_load(code, BPF_W, BPF_REG_0, BPF_REG_3, fields->level);
	code_jump_if_imm(code, BPF_JLT, BPF_REG_0, (int32_t)level, none);
	code_alu_imm(code, BPF_ADD, BPF_REG_3, fields->ancestors + (int)level * 8);
	read_memory(code, scratch);
	if (!fields->has_ids) {
		code_mov(code, BPF_REG_3, BPF_REG_0);
		code_alu_imm(code, BPF_ADD, BPF_REG_3, fields->kernfs);
		read_memory(code, scratch);
		code_mov(code, BPF_REG_3, BPF_REG_0);
		code_alu_imm(code, BPF_ADD, BPF_REG_3, fields->id);
		read_memory(code, scratch);
	}
	code_jump(code, done);
	code_place(code, none);
	code_mov_imm(code, BPF_REG_0, 0);
	code_place(code, done);
	code_stack_back(code, mark);
}

static void compare_cgroup(const struct emitting *emitting, struct code *code, const struct cgroup *cgroup)
{
	int is_in = code_label(code);

	if (emitting->is_current) {
		code_mov_imm(code, BPF_REG_1, (int32_t)cgroup->level);
		code_call(code, BPF_FUNC_get_current_ancestor_cgroup_id);
	} else {
		load_ancestor(emitting->fields, cgroup->level, code);
	}
	code_mov(code, BPF_REG_1, BPF_REG_0);
	code_mov_imm64(code, BPF_REG_2, cgroup->id);
	code_mov_imm(code, BPF_REG_0, 1);
	code_jump_if(code, BPF_JEQ, BPF_REG_1, BPF_REG_2, is_in);
	code_mov_imm(code, BPF_REG_0, 0);
	code_place(code, is_in);
}

static void compare(void *arg, struct code *code, uint64_t name, const char *text)
{
	const struct emitting *emitting = arg;
	const struct cgroup *cgroup;

	if (name == ONLY_COMM) {
		expr_code_compare(code, BPF_REG_8, emitting->fields->comm, text);
		return;
	}
	cgroup = find_cgroup(emitting->only, text);
	if (cgroup)
		compare_cgroup(emitting, code, cgroup);
}

void only_emit(const struct only *only, const struct only_fields *fields, bool is_current, struct code *code)
{
	struct emitting emitting = { only, fields, is_current };
	const struct expr_names functions = { load, compare, &emitting };

	expr_code_value(only->expr, &functions, code);
}
