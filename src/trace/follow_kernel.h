/* SPDX-License-Identifier: MIT */
/* A follower's position in the rings of kernel events: for follow.c. One thread at a time for each. */
#ifndef KPROFS_TRACE_FOLLOW_KERNEL_H
#define KPROFS_TRACE_FOLLOW_KERNEL_H

#include <stdint.h>

struct follow_kernel;
struct kernel;
struct snapshot;

/* Follows from now on; the rings stay as long as they are followed. `kernel` may be NULL. */
struct follow_kernel *follow_kernel_create(struct kernel *kernel);
void follow_kernel_destroy(struct follow_kernel *follow);

/*
 * Adds what was recorded since the last call, up to the horizon, to the snapshot. Returns how many records
 * are missing that were overwritten or torn; *gathered is increased by those that were added.
 */
uint64_t follow_kernel_gather(struct follow_kernel *follow, struct snapshot *snapshot, uint64_t horizon_ns,
	uint64_t *gathered);

#endif
