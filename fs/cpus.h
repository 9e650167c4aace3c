/* SPDX-License-Identifier: MIT */
/* The CPUs that are present when the server starts, by number. Constant after that. */
#ifndef KPROFS_FS_CPUS_H
#define KPROFS_FS_CPUS_H

struct cpus;

/* If the kernel's list cannot be read, CPU 0 is taken as the only one present. */
struct cpus *cpus_create(void);
/* Harmless for NULL. */
void cpus_destroy(struct cpus *cpus);

/* Returns the number of CPUs, at least one. */
unsigned int cpus_count(const struct cpus *cpus);
/* Returns the number of the i-th CPU, in ascending order. */
unsigned int cpus_number(const struct cpus *cpus, unsigned int i);

#endif
