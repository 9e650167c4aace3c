/* SPDX-License-Identifier: MIT */
/*
 * What a tracepoint is for the readers of the trace: a format as those of programs' events, which names and
 * types its arguments; and the arguments of one record for this format. calltext.h is the same for calls.
 */
#ifndef KPROFS_KERNEL_DESCRIBE_H
#define KPROFS_KERNEL_DESCRIBE_H

#include <glib.h>

#include "kernel/point.h"
#include "bpf/record.h"

/* A tracepoint's format: "prev_comm=%s prev_pid=%ld ...". To be freed. */
char *describe_point_format(const struct point *point);
/* Appends the arguments of a record, as ring_abi.h has them. */
void describe_point(const struct point *point, const struct kernel_record *record, uint32_t bytes,
	GString *args);

#endif
