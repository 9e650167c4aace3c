/* SPDX-License-Identifier: MIT */
/* The profiler of a mount, as its kpctl shows it and takes words. */
#ifndef KPROFS_CMD_CONTROL_H
#define KPROFS_CMD_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct control {
	char *event; /* the events that are set, as kpctl takes them */
	char *stack; /* the same of stacks */
	bool running;
};

/* -errno of open(2) and read(2); control_clear() frees what is in it. */
int control_read(const char *dir, struct control *control, struct err *err);
void control_clear(struct control *control);

/* One write of these lines; what is refused is told with the reason that kperr gives. */
int control_write(const char *dir, const char *lines, struct err *err);

/* The number in a row of kpstat; 0 where there is none. */
uint64_t control_stat(const char *dir, const char *name);

#endif
