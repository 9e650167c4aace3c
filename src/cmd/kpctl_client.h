/* SPDX-License-Identifier: MIT */
/* The profiler of a mount, as its kpctl shows it and takes words. */
#ifndef KPROFS_CMD_KPCTL_CLIENT_H
#define KPROFS_CMD_KPCTL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct kpctl_client {
	char *event; /* the events that are set, as kpctl takes them */
	char *stack; /* the same of stacks */
	bool running;
};

/* -errno of open(2) and read(2); kpctl_client_clear() frees what is in it. */
int kpctl_client_read(const char *dir, struct kpctl_client *control, struct err *err);
void kpctl_client_clear(struct kpctl_client *control);

/* One write of these lines; what is refused is told with the reason that kperr gives. */
int kpctl_client_write(const char *dir, const char *lines, struct err *err);

/* The number in a row of kpstat; 0 where there is none. */
uint64_t kpctl_client_stat(const char *dir, const char *name);

#endif
