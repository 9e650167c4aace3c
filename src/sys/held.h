/* SPDX-License-Identifier: MIT */
/*
 * Processes whose mmap lock is held for long. A user can keep it held for as long as a FUSE server of that
 * user does not answer. The kernel takes that lock of each process that maps a file to attach a uprobe there,
 * and until it has it, no process of the machine can fork: such a process is looked for before.
 */
#ifndef KPROFS_SYS_HELD_H
#define KPROFS_SYS_HELD_H

#include <sys/types.h>

/* So long a process keeps others waiting until it counts as held: the kernel itself takes less. */
#define HELD_MS 200u

/*
 * Sets *pid to a process whose lock is held now, or to 0. Another process reads what needs the lock, and is
 * killed if it waits. Some us for each process of the machine; blocks for some HELD_MS if there is one.
 * Returns 0, -ETIMEDOUT if the processes could not be read in HELD_ALL_MS, or -errno of fork(2). Any thread.
 */
int held_find(pid_t *pid);

#define HELD_ALL_MS 2000u

#endif
