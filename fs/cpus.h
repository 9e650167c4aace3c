/* SPDX-License-Identifier: MIT */
/* The CPUs that are present when the server starts, by number. Constant after that. */
#ifndef KPROFS_FS_CPUS_H
#define KPROFS_FS_CPUS_H

struct cpus;

/* Where the kernel's list cannot be read, CPU 0 is the one that is present. */
struct cpus *cpus_create(void);
/* Harmless for NULL. */
void cpus_destroy(struct cpus *cpus);

/* How many there are: at least one. */
unsigned int cpus_count(const struct cpus *cpus);
/* The number of the i-th, in ascending order. */
unsigned int cpus_number(const struct cpus *cpus, unsigned int i);

#endif
