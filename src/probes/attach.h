/* SPDX-License-Identifier: MIT */
/*
 * Programs of a unit: made for each of its targets, loaded, and attached. It takes up to some ms for
 * each, and detaching as long: not in a thread that must not wait. One thread at a time for each unit.
 */
#ifndef KPROFS_PROBES_ATTACH_H
#define KPROFS_PROBES_ATTACH_H

#include <glib.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/perf_link.h"
#include "probes/ast.h"
#include "probes/gen.h"
#include "probes/targets.h"

/* What the rest of the server knows. Each may be NULL. */
struct attach_hooks {
	void *arg;
	/* the number of a system call by the name that its tracepoint has, or -ENOENT */
	int (*call_number)(void *arg, const char *name);
	/* a counter by the name that `event` of kpctl takes, each `count` of it; 0: its default rate */
	int (*event)(void *arg, const char *name, uint64_t count, struct perf_link_event *event,
		struct err *err);
};

struct attach_machine {
	const struct targets *targets;
	const struct types *types;
	const struct attach_hooks *hooks;
};

/* Descriptors; -1 where one is not used. */
struct attached {
	GArray *programs, *links, *maps;
	uint32_t probes; /* places that it is attached to */
};

void attached_init(struct attached *attached);
/* Detaches and closes everything. */
void attached_fini(struct attached *attached);

/*
 * Makes, loads and attaches. The programs do nothing until the control map says so (gen.h). After a failure
 * nothing is attached: -EINVAL and others of gen_unit(), -EOPNOTSUPP if the kernel has not what is
 * needed, or what it says.
 */
int attach_unit(const struct attach_machine *machine, struct gen_env *env, const struct ast_unit *unit,
	struct attached *attached, struct err *err);

/* Runs the programs of a unit of BEGIN or END now, in this thread. */
int attach_run(const struct attached *attached);
/* Runs that the kernel left out. */
uint64_t attached_missed(const struct attached *attached, uint64_t *run_ns);

#endif
