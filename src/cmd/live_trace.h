/* SPDX-License-Identifier: MIT */
/*
 * Traces a command, or processes: kernel events of them and of what they start, as kptrace shows them. A
 * private server records them, so that the switches of the mounted one are not changed, and nothing stays
 * switched on when kprof ends, however it ends. One at a time; the caller has one thread.
 */
#ifndef KPROFS_CMD_LIVE_TRACE_H
#define KPROFS_CMD_LIVE_TRACE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/record_target.h"

struct live_trace {
	GPtrArray *events;  /* char *: names, patterns of them; empty for all system calls */
	const char *filter; /* NULL for none */
	const char *output; /* NULL for standard error, "-" for standard output */
	bool stack;         /* the stacks of kernel and program, too, with the names of functions */
	bool summary;       /* a table in place of the lines */
	double duration_ms; /* 0: until the end of the command or the processes */
	struct record_target target; /* processes; none for the command alone */
	char **argv;        /* NULL for none */
};

void live_trace_init(struct live_trace *trace);
void live_trace_fini(struct live_trace *trace);

/* Returns the exit status: that of the command, or CMD_NOT_RUN, 126, 127 after an error, which is printed. */
int live_trace_run(struct live_trace *trace);

#endif
