/* SPDX-License-Identifier: MIT */
/*
 * Tracepoints of the scheduler whose record a program makes itself, from the arguments that a raw tracepoint
 * has. It is the same record as the kernel's, some 50 ns cheaper: these are the most frequent tracepoints.
 */
#ifndef KPROFS_KERNEL_RAWPOINT_H
#define KPROFS_KERNEL_RAWPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/emit.h"
#include "bpf/types.h"
#include "kernel/point.h"

/* Enough for any of them: the fields of the record, without the kernel's header. */
#define RAWPOINT_BODY_MAX 128u

struct rawpoint {
	const struct rawpoint_kind *kind;
	const struct types *types;
	uint32_t attach_type_id; /* program_spec.attach_type_id */
};

/* Whether there is a kind with this name: "sched:sched_switch". */
bool rawpoint_has(const char *name);
/*
 * Finds what the record is made of. -EOPNOTSUPP if the kernel's arguments or fields are not those that are
 * known; then its own record is to be used. The types must stay open while the rawpoint is used.
 */
int rawpoint_find(const char *name, const struct point *point, const struct types *types,
	struct rawpoint *raw);
/*
 * Instructions that make the record on the stack, which emit->record names then. R6 is the context; R0 to
 * R5 are lost.
 */
void rawpoint_emit(const struct rawpoint *raw, const struct point *point, struct emit *emit);

#endif
