/* SPDX-License-Identifier: MIT */
/*
 * By a bell one thread wakes another that waits for descriptors: an eventfd, readable from the time it
 * is rung until that is taken.
 */
#ifndef KPROFS_BASE_BELL_H
#define KPROFS_BASE_BELL_H

#include <stdbool.h>

/* The descriptor, to be closed with close(2); or -errno. */
int bell_open(void);

/* From any thread, and from signal handlers; never blocks. */
void bell_ring(int bell);

/* Takes all rings since the last time; false: there was none. Never blocks. */
bool bell_take(int bell);

/* The same; blocks while there is none. */
void bell_wait(int bell);

#endif
