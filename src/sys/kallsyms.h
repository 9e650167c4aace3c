/* SPDX-License-Identifier: MIT */
/* Functions of the running kernel by name, from /proc/kallsyms and tracefs. Thread-safe. */
#ifndef KPROFS_SYS_KALLSYMS_H
#define KPROFS_SYS_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

/* The longest name of a module of the kernel, with its NUL. */
#define KALLSYMS_MODULE_MAX 64

/*
 * Looks for a function in `path`, /proc/kallsyms if it is NULL, which takes some 100 ms. `module` is "" for
 * the kernel itself. -ENOENT if there is none.
 */
int kallsyms_find(const char *path, const char *name, char module[KALLSYMS_MODULE_MAX]);
/* The address of any symbol of the kernel; -ENOENT, also if addresses are hidden. Some 100 ms. */
int kallsyms_address(const char *path, const char *name, uint64_t *address);
/* Whether ftrace can be attached to a function: -ENOENT if not, or why that is not known. Some 10 ms. */
int kallsyms_traceable(const char *name);

#endif
