/* SPDX-License-Identifier: MIT */
/*
 * The rings of kernel events (record.h): their memory, and copies of it.
 *
 * Programs of the kernel write at any time; no function here makes a system call for an event. Thread-safe:
 * the rings have no state of their own but the numbers that only grow.
 */
#ifndef KPROFS_BPF_RINGS_H
#define KPROFS_BPF_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/record.h"

struct rings;

#define RINGS_KB_MIN 64u
#define RINGS_KB_MAX 65536u
#define RINGS_KB_DEFAULT 1024u

/*
 * Creates one ring for each CPU that can ever be there, of `kb` KiB rounded down to a power of two.
 * -ENOMEM, -EPERM without the right to use bpf(2), -E2BIG if the kernel takes no values of that size.
 */
int rings_create(uint32_t kb, struct rings **rings, struct err *err);
/* The same in memory of this process, which rings_write() fills. -ENOMEM */
int rings_create_private(uint32_t kb, struct rings **rings, struct err *err);
/* The same of a map of another process, whose descriptor is taken. -EINVAL if it is no such map. */
int rings_adopt(int map, struct rings **rings, struct err *err);
/* The memory stays as long as programs use it. NULL is allowed. */
void rings_destroy(struct rings *rings);

/* For programs: the array map, with one value for each CPU. */
int rings_map(const struct rings *rings);
uint32_t rings_cpus(const struct rings *rings);
/* Of the records of one CPU: a power of two. */
uint32_t rings_bytes(const struct rings *rings);
/* The head of a ring of so many bytes, and the value of one CPU with head and slack. */
uint32_t rings_head_bytes(uint32_t bytes);
uint32_t rings_value_bytes(uint32_t bytes);

/*
 * For private rings, one thread at a time for each CPU: writes a record, whose head and number are set here.
 * `bytes` is a multiple of 8, at most KERNEL_RECORD_MAX.
 */
void rings_write(struct rings *rings, uint32_t cpu, struct kernel_record *record, size_t bytes, uint32_t id,
	uint32_t flags);
/* Sets the number of events for which no record was begun. */
void rings_set_missed(struct rings *rings, uint32_t cpu, uint64_t missed);

/* Sums over all CPUs, which only grow. */
struct rings_totals {
	uint64_t recorded;    /* records begun */
	uint64_t overwritten; /* of these, not in the rings any more, without those that were torn */
	uint64_t missed;      /* events without a record */
	uint64_t torn;        /* records that readers found unfinished and gave up */
};
void rings_total(struct rings *rings, struct rings_totals *totals);

/*
 * What one CPU's ring held at one moment. A record that is not finished is a gap here: its time is the
 * position of the next record.
 */
struct rings_copy {
	uint32_t cpu;
	char *data;     /* as in the ring, with slack; only from begin to end; NULL if empty */
	uint64_t begin; /* position of the first record */
	uint64_t end;   /* behind the last one */
	uint32_t mask;
};

/*
 * Copies the records from position `from` on, or those that are still there. Waits 20 ms at most for a
 * record that is being written: then, with `skip`, it and what follows up to the first record of the next
 * chunk are left out and counted as torn. Without `skip`, and if no such record is there yet, the copy ends
 * before it. -ENOMEM; then the copy is empty.
 */
int rings_copy(struct rings *rings, uint32_t cpu, uint64_t from, bool skip, struct rings_copy *copy);
void rings_copy_clear(struct rings_copy *copy);
/* The number of records that the ring of a CPU holds. */
uint64_t rings_held(const struct rings *rings, uint32_t cpu);
/* The position and number of the next record that will be written. */
void rings_position(const struct rings *rings, uint32_t cpu, uint64_t *pos, uint64_t *number);

/* The record at *at, which begins as copy->begin and is moved to the next one; NULL at the end. */
const struct kernel_record *rings_next(const struct rings_copy *copy, uint64_t *at);

#endif
