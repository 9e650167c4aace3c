/* SPDX-License-Identifier: MIT */
/* The program that records a tracepoint. */
#ifndef KPROFS_KERNEL_POINTPROGRAM_H
#define KPROFS_KERNEL_POINTPROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/emit.h"
#include "bpf/program.h"
#include "kernel/filter.h"
#include "kernel/point.h"
#include "kernel/rawpoint.h"

struct pointprogram_spec {
	const struct point *point;
	const struct rawpoint *raw; /* NULL: the program copies the kernel's record. With stacks NULL */
	uint32_t id;		    /* of its records */
	uint8_t generation;	    /* emit_task(); 0: it always records */
	const struct filter *filter; /* NULL if there is none; only needed during the call */
	bool stacks;
};

/*
 * Loads the program. It is attached to the tracepoint, or with `raw` as one of tracing. The caller closes the
 * descriptor. `loaded` is what it was loaded as.
 */
int pointprogram_load(const struct emit_machine *machine, const struct pointprogram_spec *spec, int *program,
	struct program_spec *loaded, struct err *err);

/* Times that the kernel did not run the program or its stub, since another one was running; 0 for -1. */
uint64_t pointprogram_missed(int program);

#endif
