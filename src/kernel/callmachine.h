/* SPDX-License-Identifier: MIT */
/* What the programs of system calls share: their maps, and what the server sets in them. */
#ifndef KPROFS_KERNEL_CALLMACHINE_H
#define KPROFS_KERNEL_CALLMACHINE_H

#include <stdint.h>

#include "bpf/emit.h"
#include "kernel/callnames.h"

/* Ids of tracepoints and functions that were ever switched on. */
#define KERNEL_POINTS_MAX 8192u

/* Of a system call, side by side, since its program reads all. */
struct call_settings {
	uint8_t generation; /* of the programs that record it, or 0 */
	uint8_t texts;	    /* which of its arguments are texts or addresses, as in callnames.h */
	uint8_t stacks;	    /* whether its records have stacks */
	uint8_t reserved;
};

/* What the server sets and programs read, in one array map that is shared. */
struct call_control {
	struct call_settings calls[CALLNAMES_NUMBERS];
	uint8_t compat;	  /* whether calls of 32-bit programs are recorded */
	uint8_t enabled;  /* the switch above all */
	uint8_t reserved[2];
	uint32_t threads_lost; /* of those that are chosen, not followed for want of room */
	/* by id: the generation of the program that records the tracepoint or function, or 0 */
	uint8_t points[KERNEL_POINTS_MAX];
};

/* The machine, as these programs need it. Invariant once it is made. */
struct call_machine {
	struct emit_machine emit; /* first */
	int control; /* the array map with the struct call_control */
	int slots, others; /* maps with the calls that threads have begun (begun_code.h) */
	int texts;   /* a map for texts of arguments before their length is known */
	int execs;   /* a map with the paths of programs that threads begin to execute */
};

#endif
