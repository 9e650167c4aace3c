/* SPDX-License-Identifier: MIT */
/*
 * Adds the names of functions to the addresses of kprof_backtrace and of kernel events' stacks in the text of
 * kptrace:
 *
 *	[T]:cpuN: prog[PID]:   0xADDRESS FUNCTION+0xN (FILE)
 *	[T]:cpuN: prog[PID] sched:sched_switch:   0xADDRESS FUNCTION+0xN ([kernel.kallsyms])
 *
 * N is the distance of the address from the start of the function. The address of a process that
 * has ended, that the user may not read, or without a symbol gets " [unknown]". The mappings are
 * those that the process has now. One thread at a time.
 */
#ifndef KPROFS_CMD_TRACE_NAMES_H
#define KPROFS_CMD_TRACE_NAMES_H

#include <glib.h>
#include <stddef.h>

struct trace_names;

struct trace_names *trace_names_create(void);
void trace_names_destroy(struct trace_names *names);

/*
 * Appends `text`, which ends at the end of a line, with the names. Blocks while mappings and
 * symbols of processes are read.
 */
void trace_names_append(struct trace_names *names, const char *text, size_t bytes, GString *out);

#endif
