/* SPDX-License-Identifier: MIT */
/*
 * The times in which a span of libkprof was open, from the trace of the server: for queries (QUERY_SPAN).
 * Thread-safe.
 */
#ifndef KPROFS_VIEWS_VIEWSPANS_H
#define KPROFS_VIEWS_VIEWSPANS_H

#include <sys/types.h>

#include "base/cancel.h"
#include "capture/intervals.h"

struct readings;

/*
 * Called in the server, for a user who reads the view: both block for as long as it takes to go through the
 * trace. Return 0, -EINTR if it was cancelled, -ENOMEM. The first writes an array of struct interval into an
 * unnamed file and sets *fd to it; the second makes a list of them. The caller closes or destroys it.
 */
int viewspans_write(struct readings *readings, uid_t uid, const char *label, const struct cancel *cancel,
	int *fd);
int viewspans_take(struct readings *readings, uid_t uid, const char *label, const struct cancel *cancel,
	struct intervals **spans);

/* In the process that makes views: reads such a file. -errno; fd stays the caller's */
int viewspans_read(int fd, struct intervals **spans);

#endif
