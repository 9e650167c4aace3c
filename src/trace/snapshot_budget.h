/* SPDX-License-Identifier: MIT */
/*
 * The bound on the memory of all copies of the trace together, which all readings share.
 * Thread-safe; nothing blocks.
 */
#ifndef KPROFS_TRACE_SNAPSHOT_BUDGET_H
#define KPROFS_TRACE_SNAPSHOT_BUDGET_H

#include <stdint.h>
#include <sys/types.h>

/* Copies of all readings together, unless the mount says otherwise. */
#define SNAPSHOT_BYTES_DEFAULT ((uint64_t)64 << 20)
#define SNAPSHOT_BYTES_MIN ((uint64_t)1 << 20)
#define SNAPSHOT_BYTES_MAX ((uint64_t)4 << 30)

struct snapshot_budget;
/*
 * Root and `owner` may use all of max_bytes. Of other users each may use half of it, and all
 * together three fourths.
 */
struct snapshot_budget *snapshot_budget_create(uint64_t max_bytes, uid_t owner);
void snapshot_budget_destroy(struct snapshot_budget *budget);
uint64_t snapshot_budget_max(const struct snapshot_budget *budget);
uint64_t snapshot_budget_used(struct snapshot_budget *budget);
/* Takes as much of `bytes` as is available to the reader, a user id. Returns how much that is. */
uint64_t snapshot_budget_take(struct snapshot_budget *budget, uid_t reader, uint64_t bytes);
/* Gives back bytes that this reader has taken. */
void snapshot_budget_return(struct snapshot_budget *budget, uid_t reader, uint64_t bytes);

#endif
