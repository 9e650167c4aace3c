/* SPDX-License-Identifier: MIT */
/* Kernel lockdown: what the kernel forbids root too. Thread-safe. */
#ifndef KPROFS_SYS_LOCKDOWN_H
#define KPROFS_SYS_LOCKDOWN_H

#include <stdbool.h>

/* What would allow it, for sentences. */
#define LOCKDOWN_REMEDY "start the kernel with lockdown=integrity or lockdown=none"

/*
 * Whether the kernel's memory is to stay confidential: programs may not read it, there are no kprobes, and
 * most of tracefs can't be opened. Also false if it is not known, without securityfs. path: of the file that
 * tells it, NULL for the kernel's.
 */
bool lockdown_is_confidential(const char *path);

#endif
