/* SPDX-License-Identifier: MIT */
/*
 * The probes that a program can name here, one a line, with the names and types of their arguments where
 * these are known. Some 10 ms for one kind, 1 s for all functions of a kernel. Any thread.
 */
#ifndef KPROFS_PROBES_LISTING_H
#define KPROFS_PROBES_LISTING_H

struct targets;

typedef int listing_each(void *arg, const char *line);

/*
 * Calls each() for the probes whose names match a pattern with '*' and '?' (NULL: all), "kprobe:vfs_*",
 * until it returns other than 0, and returns that. A line is "NAME" or "NAME TYPE ARGUMENT, TYPE ARGUMENT".
 */
int listing_run(const struct targets *targets, const char *pattern, listing_each *each, void *arg);

#endif
