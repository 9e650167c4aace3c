/* SPDX-License-Identifier: MIT */
/*
 * perf_event_open(2) and its ring.
 *
 * Unexpected behaviour of the kernel (seen with Linux 6.18):
 *
 * - A ring that stays full to the end never gets a PERF_RECORD_LOST; only the count of
 *   PERF_FORMAT_LOST (Linux 6.0) shows the loss. PERF_RECORD_LOST counts records of every kind,
 *   PERF_FORMAT_LOST samples only. So the count must be read at each drain.
 * - The descriptor of a CPU that went offline gives no poll event and stays readable; when the
 *   CPU is online again it stays inactive, also after an enable. Close it and open another.
 * - The count is not always the sum of delivered and lost samples (context-switches of idle
 *   tasks).
 * - Software events of one kind (page-faults and page-faults:u), also of other programs, that
 *   sample at the same time share one set of data: every sample but the first carries the id, the
 *   callchain and the like of the first, so an id can be one that this process has never seen.
 *   Counts, lost counts and rings are correct: only a separate ring identifies the event of a
 *   sample. Clocks, tracepoints and hardware events are not affected.
 * - Root may have rings of any size, pinned; other users have kernel.perf_event_mlock_kb for all
 *   their rings together, plus RLIMIT_MEMLOCK.
 * - attr.build_id of one event puts build-ids into the MMAP2 records of all listeners, also of
 *   those that did not set it and have no room for them: a `perf record` at the same time aborts.
 *   So it is never set here, and a record with PERF_RECORD_MISC_MMAP_BUILD_ID comes from another
 *   program's setting.
 * - A tracepoint opened with exclude_kernel matches only where user registers are current: almost
 *   never, except for uprobes.
 *
 * Every function returns 0 or -errno and blocks only for the kernel's own work. The caller closes
 * descriptors with close(2). A ring belongs to one thread at a time; everything else is
 * thread-safe.
 */
#ifndef KPROFS_SYS_PERF_H
#define KPROFS_SYS_PERF_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* ---- descriptors ----------------------------------------------------------------------------- */

/*
 * Opens one event. With pid -1 and a CPU it is for all tasks on that CPU, with a pid and CPU -1 for
 * a task on any CPU. attr->size is ignored, since the call sets it. *fd has CLOEXEC. Errors that
 * callers distinguish: -EACCES, -EPERM (not allowed: perf_event_paranoid, capabilities, seccomp),
 * -ENOENT, -EOPNOTSUPP (no such hardware), -ENODEV (CPU offline), -ESRCH (no such task), -EMFILE,
 * -ENFILE (descriptors), -EINVAL (a bit that this kernel does not know, or values that contradict
 * each other), -ENOSPC, -EBUSY (counters are taken), -ENOMEM, -ENOSYS.
 */
int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int *fd);
/*
 * The same on a CPU for all tasks of a cgroup, of which cgroup_fd is the directory, and of those below it.
 * -EBADF: it is none; -ENOENT: or the kernel's controller perf_event is not in its hierarchy; -EINVAL: this
 * kernel has none (CONFIG_CGROUP_PERF).
 */
int perf_open_cgroup(const struct perf_event_attr *attr, int cgroup_fd, int cpu, int *fd);

int perf_enable(int fd);
int perf_disable(int fd);
/*
 * fd writes its records into the ring of ring_fd from now on. Both must be of one CPU (or one task)
 * and one clock; fd itself must have no ring. ring_fd -1 ends it.
 */
int perf_set_output(int fd, int ring_fd);
/* The number that PERF_SAMPLE_IDENTIFIER carries: it identifies the events of one ring. */
int perf_id(int fd, uint64_t *id);

struct perf_count {
	uint64_t value; /* events counted since the last reset */
	uint64_t lost;	/* samples that did not fit into the ring, since the open */
	bool has_lost;
};

/*
 * The event must have been opened with read_format 0 or PERF_FORMAT_LOST and nothing else; the size
 * of the result shows which. Returns -EIO if it is neither, or if the event is in an error state.
 */
int perf_read_count(int fd, struct perf_count *count);

/* ---- what this kernel and machine can do ----------------------------------------------------- */

struct perf_features {
	bool has_lost;	   /* PERF_FORMAT_LOST (6.0) */
	bool has_cycles;   /* a PMU that counts cycles and can interrupt: `cycles` can be sampled */
	bool has_kernel;   /* this process may sample kernel addresses */
};

/*
 * Tries events of this thread that are never enabled, at each call. -errno if not even a counter
 * of this thread's own user space can be opened; then *features is unchanged.
 */
int perf_probe(struct perf_features *features);

/*
 * Writes into *err what would make perf_open() succeed after it returned `ret` (-errno), for the
 * user: the sysctl, the capability, the limit. proc as below. Returns ret.
 */
int perf_explain(int ret, const char *proc, struct err *err);

/*
 * The number of a PMU by its name, for attr.type: "kprobe" and "uprobe" have no other. *bit is the one of
 * attr.config that means the return of the function. -ENOENT if this kernel has none.
 */
int perf_pmu_type(const char *name, uint32_t *type, uint32_t *bit);

/* ---- user registers -------------------------------------------------------------------------- */

#define PERF_USER_REGS_MAX 33

struct perf_user_regs {
	uint64_t mask;	  /* for attr.sample_regs_user: what unwinding needs */
	uint16_t machine; /* EM_ of ELF */
	uint8_t count;
	/* by DWARF's number, the program counter last: the index in what perf delivers */
	uint8_t order[PERF_USER_REGS_MAX];
};

/* Those of 64-bit programs on this machine; NULL if this architecture is not supported. */
const struct perf_user_regs *perf_user_regs(void);

/* ---- sysctls --------------------------------------------------------------------------------- */

/*
 * Reads kernel.NAME below `proc`, which is "/proc" if it is NULL. Returns -ENOENT, -EACCES, or
 * -EINVAL if the value is not a number.
 */
int perf_sysctl(const char *proc, const char *name, int64_t *value);

#define PERF_SYSCTL_PARANOID "perf_event_paranoid"	     /* -1 to 3 */
#define PERF_SYSCTL_MAX_RATE "perf_event_max_sample_rate" /* Hz */
#define PERF_SYSCTL_MAX_STACK "perf_event_max_stack"	     /* frames, both sides together */
#define PERF_SYSCTL_MLOCK_KB "perf_event_mlock_kb"	     /* KiB for all rings of a user */

/* ---- the ring -------------------------------------------------------------------------------- */

/* A record's size is a u16, so this holds every record. */
#define PERF_RECORD_MAX 65536

struct perf_ring {
	struct perf_event_mmap_page *page; /* NULL if not mapped */
	const unsigned char *data;
	uint64_t size;	  /* bytes of data, a power of two */
	uint64_t mask;	  /* size - 1 */
	uint64_t head;	  /* what the kernel had written at perf_ring_begin() */
	uint64_t tail;	  /* what has been read */
	uint64_t damaged; /* how often the rest of a drain was discarded */
};

/*
 * Maps the ring of fd: bytes must be a power of two and at least a page, and comes on top of one
 * page of header. -EINVAL, -EPERM (locked memory beyond the limit), -ENOMEM, -ENODEV.
 */
int perf_ring_map(int fd, size_t bytes, struct perf_ring *ring);
/* Does nothing for a zeroed ring and for one that is already unmapped. */
void perf_ring_unmap(struct perf_ring *ring);

/*
 *	kernel (producer)			sampler (consumer)
 *
 *	(A) reads data_tail			(C) reads data_head, acquire
 *	    writes records into free space	    reads the records before it
 *	(B) writes data_head, after them	(D) writes data_tail, release
 *
 * (B) pairs with (C): a record is seen whole. (D) pairs with (A): space is overwritten only after
 * it was read (the kernel's own half is a control dependency and a barrier).
 */

/* Begins a drain: reads the kernel's position. Returns the bytes to read. */
uint64_t perf_ring_begin(struct perf_ring *ring);
/*
 * The next record, contiguous: in the ring itself, or copied to `scratch` (PERF_RECORD_MAX bytes,
 * aligned to 8) where it wraps. Valid until perf_ring_end(). NULL at the end of this drain. A
 * header with an impossible size makes the rest of the drain unreadable: `damaged` is
 * incremented, the rest is skipped, NULL.
 */
const struct perf_event_header *perf_ring_next(struct perf_ring *ring, void *scratch);
/*
 * Returns the space of the records read so far to the kernel. May be called several times in a
 * drain, so that a long one does not keep the ring full.
 */
void perf_ring_end(struct perf_ring *ring);
/* Bytes in the ring now, without beginning a drain. */
uint64_t perf_ring_fill(const struct perf_ring *ring);

#endif
