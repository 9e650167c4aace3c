/* SPDX-License-Identifier: MIT */
/*
 * The user registers that are sampled, and the position of each in a sample: in ascending order
 * of the bits of the mask, whose numbers are the kernel's (asm/perf_regs.h). See perf.h.
 */
#include <elf.h>

#if defined(__x86_64__) || defined(__aarch64__)
#include <asm/perf_regs.h>
#endif

#include "sys/perf.h"

#if defined(__x86_64__)

/* ax, bx, cx, dx, si, di, bp, sp, ip; r8 to r15 */
#define MASK 0xff01ffu

_Static_assert(PERF_REG_X86_IP == 8 && PERF_REG_X86_R8 == 16 && PERF_REG_X86_R15 == 23, "MASK");

static const struct perf_user_regs these = {
	.mask = MASK,
	.machine = EM_X86_64,
	.count = 17,
	/* ax, dx, cx, bx, si, di, bp, sp, r8 to r15, ip */
	.order = { 0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8 },
};

#elif defined(__aarch64__)

/* x0 to x30, sp, pc: DWARF's order too, which has no number for pc */
#define MASK 0x1ffffffffu

_Static_assert(PERF_REG_ARM64_SP == 31 && PERF_REG_ARM64_PC == 32, "MASK");

static const struct perf_user_regs these = {
	.mask = MASK,
	.machine = EM_AARCH64,
	.count = 33,
	.order = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
		23, 24, 25, 26, 27, 28, 29, 30, 31, 32 },
};

#endif

const struct perf_user_regs *perf_user_regs(void)
{
#ifdef MASK
	return &these;
#else
	return NULL;
#endif
}
