/* SPDX-License-Identifier: MIT */
/*
 * One step from a function to its caller, in a copy of registers and stack.
 *
 * Pure arithmetic: nothing is read but what the struct points to, whatever a row says. Thread-safe.
 */
#ifndef KPROFS_SYMBOLIZER_UNWIND_H
#define KPROFS_SYMBOLIZER_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/unwind_row.h"

struct unwind {
	uint16_t machine;	/* EM_ of ELF */
	uint8_t count, pc, sp, fp; /* numbers of registers: how many, and which is what */
	uint64_t regs[UNWIND_ROW_REGS_MAX];
	uint64_t known; /* a bit for each register whose value is known */
	const uint8_t *stack; /* the caller's */
	uint64_t stack_at;    /* its address in the program */
	uint32_t stack_bytes;
};

/*
 * Begins with a copy: regs by DWARF's numbers, the program counter last; the stack begins at the
 * stack pointer and stays the caller's. False: no machine that we know, or not its registers.
 */
bool unwind_begin(struct unwind *unwind, uint16_t machine, const uint64_t *regs, unsigned int count,
	const uint8_t *stack, uint32_t stack_bytes);

static inline uint64_t unwind_pc(const struct unwind *unwind)
{
	return unwind->regs[unwind->pc];
}

enum unwind_result {
	UNWIND_CALLER, /* it is now there */
	UNWIND_END,    /* the function has no caller */
	UNWIND_LOST,   /* what would be needed is not in the copy, or makes no sense */
};

enum unwind_result unwind_step(struct unwind *unwind, const struct unwind_row *row);

/* Where there is no row: by the frame pointer, if it points into the copy. */
enum unwind_result unwind_step_by_frame_pointer(struct unwind *unwind);

#endif
