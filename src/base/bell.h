/* SPDX-License-Identifier: MIT */
/*
 * An eventfd by which one thread wakes another that waits for descriptors. It is readable from
 * bell_ring() until bell_take() or bell_wait().
 */
#ifndef KPROFS_BASE_BELL_H
#define KPROFS_BASE_BELL_H

#include <stdbool.h>

/* Returns the descriptor, which the caller closes with close(2), or -errno. */
int bell_open(void);

/* Rings the bell. Can be called from any thread and from signal handlers; never blocks. */
void bell_ring(int bell);

/* Takes all rings since the last call. Returns false if there was none. Never blocks. */
bool bell_take(int bell);

/* The same, but blocks until there is a ring. */
void bell_wait(int bell);

#endif
