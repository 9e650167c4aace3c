/* SPDX-License-Identifier: MIT */
/*
 * Counts the cycles of each CPU in user space and in the kernel, without samples, by its PMU. One thread at
 * a time; a reading interrupts the CPU twice.
 */
#ifndef KPROFS_SYS_CYCLES_H
#define KPROFS_SYS_CYCLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct cycles;

/*
 * Begins to count on the CPUs below `cpus` that are online; the others join when they are read. Returns 0,
 * -EOPNOTSUPP if the machine has no such counters, -EACCES or -EPERM if they are not allowed, or another
 * -errno, with a sentence.
 */
int cycles_open(unsigned int cpus, struct cycles **cycles, struct err *err);
/* NULL is allowed. */
void cycles_close(struct cycles *cycles);

struct cycles_count {
	uint64_t user, kernel; /* since the open, without what the CPU did before it joined; they only grow */
};

void cycles_read(struct cycles *cycles, unsigned int cpu, bool online, struct cycles_count *count);

#endif
