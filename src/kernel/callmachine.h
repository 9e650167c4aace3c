/* SPDX-License-Identifier: MIT */
/* What the programs of system calls share: their maps, and what the server sets in them. */
#ifndef KPROFS_KERNEL_CALLMACHINE_H
#define KPROFS_KERNEL_CALLMACHINE_H

#include <stdint.h>

#include "bpf/emit.h"
#include "kernel/callnames.h"

/* What the server sets and programs read, in one array map that is shared: one byte each. */
struct call_control {
	uint8_t calls[CALLNAMES_NUMBERS]; /* the generation of the programs that record it, or 0 */
	uint8_t texts[CALLNAMES_NUMBERS]; /* which of its arguments are texts, as in callnames.h */
	uint8_t stacks[CALLNAMES_NUMBERS]; /* whether its records have stacks */
	uint8_t compat;                   /* whether calls of 32-bit programs are */
	uint8_t enabled;                  /* the switch above all */
	uint8_t reserved[2];
	uint32_t threads_lost; /* of those that are chosen, not followed for want of room */
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
