/* SPDX-License-Identifier: MIT */
/*
 * Whether the task that runs belongs to one user, as a part of a program of the kernel: what ptrace(2)
 * asks for PTRACE_MODE_READ before it lets that user see the memory of the task.
 *
 * Real, effective and saved ids are all the user's; the memory is dumpable, which it is no longer after an
 * exec of a setuid program or of a file that the user may execute and not read; and the task has no
 * capabilities that the user lacks, other than those of a user namespace that the user made.
 */
#ifndef KPROFS_PROF_SAMPLE_OWNER_H
#define KPROFS_PROF_SAMPLE_OWNER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "bpf/code.h"
#include "bpf/types.h"

struct sample_user {
	uid_t uid;
	gid_t gid;
};

/* Offsets in the kernel's structs. */
struct sample_owner {
	int task_mm, task_cred, mm_flags;
	int ids[3], groups[3], permitted, ns; /* in struct cred */
	int ns_level, ns_parent, ns_owner;
};

/* -EOPNOTSUPP with a sentence if the kernel lacks a field. */
int sample_owner_init(struct sample_owner *owner, const struct types *types, struct err *err);

/*
 * Appends instructions that go to the label `refused` unless the current task is that of the user; R0 to
 * R5 and R7 are lost.
 */
void sample_owner_emit(const struct sample_owner *owner, const struct sample_user *user, struct code *code,
	int refused);

#endif
