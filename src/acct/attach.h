/* SPDX-License-Identifier: MIT */
/*
 * The measuring programs while they are attached, with their maps. Attaching and detaching take tens of
 * milliseconds: only in the thread kp-times.
 *
 * Private to src/acct.
 */
#ifndef KPROFS_ACCT_ATTACH_H
#define KPROFS_ACCT_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "acct/cells.h"
#include "base/err.h"

struct attach;

/*
 * Begins measuring. Returns 0, -EOPNOTSUPP, -EPERM, -ENOMEM or another -errno with a sentence; then nothing
 * is attached. The cells are valid until attach_close(). divided: system calls are measured too; counted:
 * cycles are.
 */
int attach_open(bool divided, bool counted, struct attach **attach, struct err *err);
/* Ends it. NULL is allowed. */
void attach_close(struct attach *attach);

struct cell *attach_cells(struct attach *attach, unsigned int *cpus);
/* The cycles of one CPU; nothing if they are not counted. Reading interrupts it. */
void attach_read_cycles(
	const struct attach *attach, unsigned int cpu, bool online, struct exact_times *times);
bool attach_is_counted(const struct attach *attach);
bool attach_is_divided(const struct attach *attach);
/* Lets the CPU add the time in progress; an offline one is left out. */
void attach_look(struct attach *attach, unsigned int cpu);
/* The same if the CPU has changed no state since the last attach_ask(); whether it was asked. One thread. */
bool attach_ask(struct attach *attach, unsigned int cpu);
/* CLOCK_MONOTONIC, when it began. */
uint64_t attach_since_ns(const struct attach *attach);
/* The descriptor of the table of tasks (struct task_entry by thread). */
int attach_tasks(const struct attach *attach);

#endif
