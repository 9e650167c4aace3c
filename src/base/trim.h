/* SPDX-License-Identifier: MIT */
/* Freed memory that the C library keeps. */
#ifndef KPROFS_BASE_TRIM_H
#define KPROFS_BASE_TRIM_H

/*
 * Returns to the kernel what free(3) kept for later calls. Takes up to some milliseconds, and waits for a
 * thread that does the same. Any thread, under any lock.
 */
void trim_memory(void);

#endif
