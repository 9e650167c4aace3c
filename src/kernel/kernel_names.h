/* SPDX-License-Identifier: MIT */
/*
 * Names of the addresses that programs of probes/ print: of functions of the kernel and of processes, and of
 * the frames of stacks. They are found before a text of the trace is made, since each part of it may be made
 * several times, and is the same then. One thread at a time for each object.
 */
#ifndef KPROFS_KERNEL_KERNEL_NAMES_H
#define KPROFS_KERNEL_KERNEL_NAMES_H

#include <glib.h>

#include "bpf/rings.h"
#include "probes/value.h"

struct kernel;

/* Before the first reading. `ops` must outlive the kernel. */
void kernel_set_names(struct kernel *kernel, const struct value_names_ops *ops);

struct kernel_names;

/* NULL if the server finds no names. */
struct kernel_names *kernel_names_create(struct kernel *kernel);
/* NULL is allowed. */
void kernel_names_destroy(struct kernel_names *names);

/*
 * Finds those of records in copies of rings, an array of struct rings_copy, within a reading of the kernel's
 * events. NULL is allowed for the names.
 */
void kernel_names_find(struct kernel_names *names, const GArray *copies, int cancel_fd);
/* For printing; without any names if `names` is NULL. */
struct value_names kernel_names_values(const struct kernel_names *names);

#endif
