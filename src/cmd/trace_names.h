/* SPDX-License-Identifier: MIT */
/*
 * Adds the names of functions to the addresses of kprof_backtrace and of kernel events' stacks in the text of
 * kptrace:
 *
 *	[T]:cpuN: prog[PID]:   0xADDRESS FUNCTION+0xN (FILE)
 *	[T]:cpuN: prog[PID] sched:sched_switch:   0xADDRESS FUNCTION+0xN ([kernel.kallsyms])
 *
 * N is the distance of the address from the start of the function. The mappings are those that the process
 * has now, or, if it has ended or the user may not read it, those that a capture has of it. An address
 * without either or without a symbol gets " [unknown]". One thread at a time.
 */
#ifndef KPROFS_CMD_TRACE_NAMES_H
#define KPROFS_CMD_TRACE_NAMES_H

#include <glib.h>
#include <stddef.h>

struct trace_names;

/* capture: the path of a kpdata, which is read when the first address needs it; NULL for none. Copied. */
struct trace_names *trace_names_create(const char *capture);
/*
 * Names of a run that goes on, by the capture that it makes: that is read again for addresses without a name,
 * which takes at most a tenth of the time. Before, flush(arg) brings what the CPUs hold into it.
 */
void trace_names_follow(struct trace_names *names, const char *capture, void (*flush)(void *arg), void *arg);
/* The capture is read again for the next address without a name in any case: the run has ended. */
void trace_names_refresh(struct trace_names *names);
void trace_names_destroy(struct trace_names *names);

/*
 * Appends `text`, which ends at the end of a line, with the names. Blocks while mappings and
 * symbols of processes are read.
 */
void trace_names_append(struct trace_names *names, const char *text, size_t bytes, GString *out);

#endif
