/* SPDX-License-Identifier: MIT */
/*
 * Several captures as one: the records of each, one behind the other. Each begins with a CLOCK, so that
 * processes, events and times of one do not mix with those of another (capture/processes.h).
 */
#ifndef KPROFS_CMD_INPUT_MERGE_H
#define KPROFS_CMD_INPUT_MERGE_H

#include <stdbool.h>

#include "base/err.h"

/* A merge that is being made. */
struct input_merge {
	int fd; /* of the unnamed file with the records; the caller's */
	bool damaged; /* parts could not be read, which was printed */
};

/* Returns -errno if there is no memory. */
int input_merge_begin(struct input_merge *merge, struct err *err);
/*
 * Appends the whole records that fd has from its position on. What can't be read is printed on standard
 * error. Returns -EINVAL if they do not begin as a capture does, or -errno.
 */
int input_merge_add(struct input_merge *merge, const char *name, int fd, struct err *err);

#endif
