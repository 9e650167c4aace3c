/* SPDX-License-Identifier: MIT */
/*
 * One step from a function to its caller, in a copy of its registers and stack.
 *
 * Arithmetic only: whatever the row contains, only the memory in the struct is read. Thread-safe.
 */
#ifndef KPROFS_SYMBOLIZER_UNWIND_H
#define KPROFS_SYMBOLIZER_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/unwind_row.h"

struct unwind {
	uint16_t machine;	/* EM_ of ELF */
	uint8_t count, pc, sp, fp; /* register numbers: how many, and the special ones */
	uint64_t regs[UNWIND_ROW_REGS_MAX];
	uint64_t known;       /* bit i: the value of register i is known */
	const uint8_t *stack; /* the caller's */
	uint64_t stack_at;    /* its address in the process */
	uint32_t stack_bytes;
};

/*
 * Starts with a copy: regs by DWARF's numbers, the program counter last. The stack begins at the
 * stack pointer; the caller keeps its ownership. Returns false if the machine is not supported or
 * the registers are not those of the machine.
 */
bool unwind_begin(struct unwind *unwind, uint16_t machine, const uint64_t *regs, unsigned int count,
	const uint8_t *stack, uint32_t stack_bytes);

static inline uint64_t unwind_pc(const struct unwind *unwind)
{
	return unwind->regs[unwind->pc];
}

enum unwind_result {
	UNWIND_CALLER, /* the struct now describes the caller */
	UNWIND_END,    /* the function has no caller */
	UNWIND_LOST,   /* data outside the copy would be needed, or the data are inconsistent */
};

enum unwind_result unwind_step(struct unwind *unwind, const struct unwind_row *row);

/* For code without a row: follows the frame pointer, if it points into the copy. */
enum unwind_result unwind_step_by_frame_pointer(struct unwind *unwind);

#endif
