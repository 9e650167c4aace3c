/* SPDX-License-Identifier: MIT */
/*
 * The word `only` of kpctl: an expression about the task that is sampled (probes/expr.h). Samples of tasks
 * for which it does not hold are not wanted.
 *
 * Programs in the kernel check it: those of perf events (only_filter.h) and those of offcpu
 * (offcpu_code.h). Where there are none, one cgroup alone can be chosen by the kernel's own events for
 * cgroups. The control thread makes and changes it.
 */
#ifndef KPROFS_PROF_ONLY_H
#define KPROFS_PROF_ONLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/code.h"
#include "bpf/types.h"
#include "probes/expr.h"
#include "sys/cgroup.h"

struct only;

/*
 * proc: as in profiler_paths. Returns -EINVAL with the column, -ENOENT if a cgroup does not exist,
 * -EOPNOTSUPP if processes or cgroups can't be compared in the server's namespaces.
 */
int only_create(const char *text, const char *proc, struct only **only, struct err *err);
/* NULL is allowed. */
void only_destroy(struct only *only);
const char *only_text(const struct only *only);

/* Finds the cgroups again, which may have been removed and made anew. The errors of only_create(). */
int only_find_cgroups(struct only *only, struct err *err);
/* The path of the cgroup, if the expression says no more than that a task is in it; else NULL. */
const char *only_cgroup(const struct only *only);

/* What an expression may name: ast_expr.number of a name. */
enum only_name { ONLY_PID, ONLY_TID, ONLY_PPID, ONLY_UID, ONLY_GID, ONLY_CPU, ONLY_COMM, ONLY_CGROUP };

const struct ast_expr *only_root(const struct only *only);
/* The cgroup that a literal names, which is compared with ONLY_CGROUP. */
const struct cgroup *only_cgroup_of(const struct only *only, const struct ast_expr *literal);

/* Where the kernel keeps what an expression may name, as offsets. */
struct only_fields {
	int pid, tgid, comm, parent, cred; /* in task_struct */
	int uid, gid;			   /* in cred */
	/* in task_struct, css_set, and in cgroup and kernfs_node */
	int css_set, cgroup, level, ancestors, kernfs, id;
	bool has_ids; /* `ancestors` are numbers and not pointers: before Linux 6.1 */
};

/* -EOPNOTSUPP with a sentence if this kernel lacks one of them. */
int only_fields_init(struct only_fields *fields, const struct types *types, struct err *err);
/* The same from the types of the running kernel, which takes some 20 ms; or an error of types_open(). */
int only_fields_find(struct only_fields *fields, struct err *err);

/* R0 = the value of a name that is a number, of the task at a register. R1 to R5 are lost. */
void only_emit_name(const struct only_fields *fields, enum only_name name, int task, struct code *code);
/*
 * R0 = other than 0 if the task in R8, of which the verifier knows the type, is wanted. It is the one that
 * runs, or another one. R1 to R5 are lost.
 */
void only_emit(const struct only *only, const struct only_fields *fields, bool is_current,
	struct code *code);

#endif
