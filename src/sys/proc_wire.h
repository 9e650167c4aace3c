/* SPDX-License-Identifier: MIT */
/*
 * Records about processes (proc.h) as bytes, which the helper process that reads /proc sends to the
 * server. Both are of the same release and on the same machine.
 */
#ifndef KPROFS_SYS_PROC_WIRE_H
#define KPROFS_SYS_PROC_WIRE_H

#include <stddef.h>

#include "sys/proc.h"

/*
 * The most bytes that one of the functions below writes: those of a path in which each byte is
 * written as four.
 */
#define PROC_WIRE_MAX (80 + 4 * 4096 + 16)

/* Write one record to `out`, which has room for PROC_WIRE_MAX. Return its bytes, a multiple of 8. */
size_t proc_wire_process(void *out, const struct proc_process *process);
size_t proc_wire_thread(void *out, const struct proc_thread *thread);
size_t proc_wire_mapping(void *out, const struct proc_mapping *mapping);
/* Its mappings could not be read in time. */
size_t proc_wire_unreadable(void *out, pid_t pid);

/*
 * Calls the visitor for each record, in order, and `unreadable` for each process that could not be
 * read; those that are NULL are not called. Returns 0, -EBADMSG if a record is not valid, or the
 * value of a callback if it is not 0.
 */
int proc_wire_read(const void *bytes, size_t size, const struct proc_visitor *visitor,
	int (*unreadable)(void *arg, pid_t pid));

#endif
