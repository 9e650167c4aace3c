/* SPDX-License-Identifier: MIT */
/* Whether the task that runs belongs to one user: see sample_owner.h. */
#include "prof/sample_owner.h"

#include <stddef.h>

/* The lowest bits of the flags of a memory, and their value if it is dumpable (SUID_DUMP_USER). */
#define DUMPABLE_MASK 3
#define DUMPABLE 1

/* User namespaces are followed up to the one that is a child of the first, at most this many. */
#define NAMESPACES_MAX 8

int sample_owner_init(struct sample_owner *owner, const struct types *types, struct err *err)
{
	const struct types_row rows[] = {
		{ "task_struct", "mm", &owner->task_mm },
		{ "task_struct", "real_cred", &owner->task_cred },
		{ "mm_struct", "flags", &owner->mm_flags },
		{ "cred", "uid", &owner->ids[0] },
		{ "cred", "euid", &owner->ids[1] },
		{ "cred", "suid", &owner->ids[2] },
		{ "cred", "gid", &owner->groups[0] },
		{ "cred", "egid", &owner->groups[1] },
		{ "cred", "sgid", &owner->groups[2] },
		{ "cred", "cap_permitted", &owner->permitted },
		{ "cred", "user_ns", &owner->ns },
		{ "user_namespace", "level", &owner->ns_level },
		{ "user_namespace", "parent", &owner->ns_parent },
		{ "user_namespace", "owner", &owner->ns_owner },
	};

	return types_offsets(types, rows, sizeof(rows) / sizeof(rows[0]), err);
}

/* Goes to `refused` unless the 4 bytes at R7 + offset are `value`. */
static void need(struct code *code, int offset, uint32_t value, int refused)
{
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_7, offset);
	code_mov_imm64(code, BPF_REG_2, value);
	code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_2, refused);
}

/* R7 is the credentials. */
static void check_capabilities(const struct sample_owner *owner, uid_t uid, struct code *code, int refused)
{
	const int first = code_label(code), child = code_label(code), out = code_label(code);

	code_load(code, BPF_DW, BPF_REG_3, BPF_REG_7, owner->ns);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_3, 0, refused);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_3, owner->ns_level);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, first);
	for (int i = 0; i < NAMESPACES_MAX; i++) {
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 1, child);
		code_load(code, BPF_DW, BPF_REG_3, BPF_REG_3, owner->ns_parent);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_3, 0, refused);
		code_load(code, BPF_W, BPF_REG_1, BPF_REG_3, owner->ns_level);
	}
	code_jump(code, refused);
	/* its capabilities are in a namespace over which the user has all of them */
	code_place(code, child);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_3, owner->ns_owner);
	code_mov_imm64(code, BPF_REG_2, uid);
	code_jump_if(code, BPF_JNE, BPF_REG_1, BPF_REG_2, refused);
	code_jump(code, out);
	code_place(code, first);
	need(code, owner->permitted, 0, refused);
	need(code, owner->permitted + 4, 0, refused);
	code_place(code, out);
}

void sample_owner_emit(const struct sample_owner *owner, const struct sample_user *user, struct code *code,
	int refused)
{
	code_call(code, BPF_FUNC_get_current_task_btf);
	code_load(code, BPF_DW, BPF_REG_7, BPF_REG_0, owner->task_cred);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_7, 0, refused);
	for (int i = 0; i < 3; i++) {
		need(code, owner->ids[i], user->uid, refused);
		need(code, owner->groups[i], user->gid, refused);
	}
	/* a thread of the kernel has none */
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_0, owner->task_mm);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_1, 0, refused);
	code_load(code, BPF_W, BPF_REG_1, BPF_REG_1, owner->mm_flags);
	code_alu_imm(code, BPF_AND, BPF_REG_1, DUMPABLE_MASK);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_1, DUMPABLE, refused);
	check_capabilities(owner, user->uid, code, refused);
}
