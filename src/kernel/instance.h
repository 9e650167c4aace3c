/* SPDX-License-Identifier: MIT */
/*
 * Kernel events without bpf(2): an instance of tracefs whose events are taken when the trace is read, and put
 * as records (bpf/record.h) into rings of the server's own memory, so that all readers have one form.
 *
 * Texts of system calls are addresses in these records. Functions block for the kernel's locks of tracing.
 */
#ifndef KPROFS_KERNEL_INSTANCE_H
#define KPROFS_KERNEL_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/rings.h"
#include "kernel/point.h"

struct instance;

/* kb: of one CPU, in the kernel and again here. `path` is a tracefs to use instead (tests). */
int instance_create(const char *path, uint32_t kb, struct instance **instance, struct err *err);
/* Removes it from the kernel. NULL is allowed. The rings are the caller's. */
void instance_destroy(struct instance *instance);
struct rings *instance_rings(struct instance *instance);

/*
 * Records the tracepoint SUBSYSTEM:NAME with this id, those for which the filter holds, in the words of
 * tracefs, if it is not NULL; `point` is NULL to stop it, else it must stay. -EOPNOTSUPP if the kernel
 * refuses the filter.
 */
int instance_set_point(struct instance *instance, const char *name, const struct point *point, uint32_t id,
	const char *filter, struct err *err);
/* The same for system calls; with `on` false none is recorded. */
int instance_set_calls(struct instance *instance, bool on, const char *filter, struct err *err);
/* The switch above all. */
void instance_enable(struct instance *instance, bool on);

/* Takes what the kernel has so far, and counts what it has overwritten. Thread-safe. */
void instance_gather(struct instance *instance);

#endif
