/* SPDX-License-Identifier: MIT */
/*
 * Names of the addresses that programs of probes/ count and print. The first printing collects the
 * addresses, then all are symbolized at once (symbolizer/symbols.h), and the second printing has the
 * names. One thread at a time; it may block for some 100 ms.
 */
#ifndef KPROFS_FS_PROBE_NAMES_H
#define KPROFS_FS_PROBE_NAMES_H

#include <stdbool.h>

#include "probes/value.h"

struct probe_names;

struct probe_names *probe_names_create(void);
void probe_names_destroy(struct probe_names *names);
/* For printing, before and after probe_names_resolve(). */
struct value_names probe_names_values(struct probe_names *names);
/*
 * Finds the names of what was asked for so far; false if nothing was. cancel_fd: readable if it shall
 * end, -1 for never. What is not found is printed as a number.
 */
bool probe_names_resolve(struct probe_names *names, int cancel_fd);

/* The same where further addresses come later: those that were found stay for a while. */
extern const struct value_names_ops probe_names_ops;

#endif
