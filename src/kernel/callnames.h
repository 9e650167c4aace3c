/* SPDX-License-Identifier: MIT */
/*
 * The names of this machine's system calls, by number and back, and which arguments are texts. The table
 * does not change once it is made, so that any threads may read it.
 */
#ifndef KPROFS_KERNEL_CALLNAMES_H
#define KPROFS_KERNEL_CALLNAMES_H

#include <stdint.h>

/* Numbers of system calls are below this on every machine. */
#define CALLNAMES_NUMBERS 1024u

struct callnames {
	const char *names[CALLNAMES_NUMBERS]; /* NULL where there is none */
	uint8_t texts[CALLNAMES_NUMBERS];     /* by bits: arguments that are texts */
};

void callnames_init(struct callnames *callnames);
/* The number of a system call, or -ENOENT. */
int callnames_find(const struct callnames *callnames, const char *name);

#endif
