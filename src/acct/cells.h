/* SPDX-License-Identifier: MIT */
/*
 * The memory that the programs in the kernel write and the server reads: one cell for each CPU.
 *
 * A CPU is in one state at each moment. At each change a program of that CPU does
 *
 *	old = exchange(last, now << CELL_STATE_BITS | new state)
 *	ns[state of old] += now - time of old
 *
 * so that the sum of ns is always the time of `last` less `base`, however interrupts nest: one that comes
 * between the clock and the exchange makes one difference negative and the next one larger by as much.
 * Time and state change in one access. A reader checks that sum: it differs while an update is under way.
 *
 * Private to src/acct and its tests.
 */
#ifndef KPROFS_ACCT_CELLS_H
#define KPROFS_ACCT_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acct/exact_times.h"

#define CELL_STATE_BITS 3
/* All that the bits can say, so that programs need no check; those in use are EXACT_STATES. */
#define CELL_STATES 8

/* Waits of 2^i to 2^(i+1) - 1 ns are counted in slot i, longer ones (8 s) in the last. */
#define CELL_WAIT_SLOTS 34

/* All words are written by programs on the CPU of the cell only, except while it is offline. */
struct cell {
	uint64_t last; /* CLOCK_MONOTONIC, ns, of the newest change, and the state since then */
	uint64_t base;
	uint32_t depth;   /* hard interrupts that are nested now */
	uint32_t softirq; /* 1 in a soft interrupt */
	uint64_t under;   /* the state of the task below interrupts: EXACT_TASK or EXACT_USER */
	uint64_t ns[CELL_STATES];
	uint64_t waits;   /* tasks that were switched to after waiting for the CPU, and their times */
	uint64_t wait_ns;
	uint64_t switches;
	uint64_t migrations; /* tasks that were moved to this CPU */
	uint64_t added;      /* entries that were made in the table of tasks */
	uint64_t dropped;    /* tasks for which no entry could be made */
	uint64_t replaced;   /* entries of ended tasks that a new one with the same number has replaced */
	uint64_t wait_slots[CELL_WAIT_SLOTS];
	uint64_t epoch;      /* written by the server: longest waits are those of this epoch */
	uint64_t current;    /* the thread that was switched to last, 0 for the idle task */
	uint64_t padding[9];
};

_Static_assert(sizeof(struct cell) == 512, "no two cells share a line, and the size is a power of 2");

/*
 * Copies a cell as it was at one moment, with the time of the state in progress in it up to now, unless the
 * CPU is offline. If the CPU stands still in the middle of a change, which a hypervisor can do, the copy ends
 * where that change began.
 */
void cells_read(const struct cell *cell, bool online, bool divided, struct exact_times *times);

/*
 * An entry of the table of tasks, whose key is the number of the thread. Written by the programs of sched
 * events, one at a time for each task, since the kernel orders these.
 */
enum task_state {
	TASK_RUNNING,
	TASK_RUNNABLE, /* waits for a CPU */
	TASK_SLEEPING,
	TASK_BLOCKED,  /* uninterruptible */
	TASK_ENDED,
	TASK_UNKNOWN,  /* it has left the CPU, which was not reported */
};

struct task_entry {
	uint64_t since_ns; /* CLOCK_MONOTONIC, of the newest change; what passed until then is in the sums */
	uint32_t state;    /* enum task_state */
	uint32_t process;
	char name[16];
	uint64_t running_ns;
	uint64_t runnable_ns;
	uint64_t sleeping_ns;
	uint64_t blocked_ns;
	uint64_t unknown_ns;  /* between two changes that do not follow each other: one was not reported */
	uint64_t voluntary;   /* switches */
	uint64_t involuntary;
	uint64_t longest_ns;  /* wait for a CPU in `epoch` */
	uint64_t epoch;
	uint64_t cpu;         /* on which it ran last */
};

/*
 * Tasks that the table has room for: some 3 MB of the kernel's memory while it is measured. Further ones take
 * the place of those that did nothing for long; how many is `added` less the entries that are there.
 */
#define TASKS_MAX 16384

/* The table of tasks of one attachment; a member for its own descriptor, which the owner closes. */
struct exact_tasks {
	int fd;
	uint64_t attachment;
	uint64_t since_ns; /* CLOCK_MONOTONIC, when that began */
	uint64_t added, replaced, dropped;
	uint64_t epoch;
};

/* Sets a cell that no program uses yet: in EXACT_TASK since now_ns. */
void cells_begin(struct cell *cell, uint64_t now_ns);

#endif
