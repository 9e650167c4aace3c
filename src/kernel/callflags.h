/* SPDX-License-Identifier: MIT */
/*
 * The names of the constants that arguments of system calls are made of: flags of open, protections,
 * signals and so on, with the values of this machine's kernel. Thread-safe.
 */
#ifndef KPROFS_KERNEL_CALLFLAGS_H
#define KPROFS_KERNEL_CALLFLAGS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A name that is written where (value & mask) is `value`; then these bits are done with. */
struct callflags_row {
	const char *name;
	uint32_t value, mask;
};

struct callflags {
	const char *kind; /* the word in callnames.list.h */
	const struct callflags_row *rows;
	size_t count;
	char rest; /* how bits without a name are written: 'd' as an int, 'x', 'o' */
};

/* NULL if there is no such word. */
const struct callflags *callflags_find(const char *kind, size_t bytes);

/* Appends names with '|' between them; `0` or the number if no name fits. */
void callflags_print(const struct callflags *flags, uint32_t value, GString *out);

/* Whether the value is an int, negative if its highest bit is set. NULL is allowed: false. */
bool callflags_is_int(const struct callflags *flags);
/* Whether open with these flags creates a file, so that it has a mode. */
bool callflags_create(uint32_t open_flags);

/* For callflags*.c. A bit or several, all set; and one value of those that `mask` selects. */
#define CALLFLAGS_BIT(name) { #name, (uint32_t)(name), (uint32_t)(name) }
#define CALLFLAGS_ONE(name, mask) { #name, (uint32_t)(name), (uint32_t)(mask) }
#define CALLFLAGS_ENUM(name) { #name, (uint32_t)(name), UINT32_MAX }
#define CALLFLAGS_SET(kind, rest) { #kind, kind##_rows, G_N_ELEMENTS(kind##_rows), rest }

/* The tables, each with a last row of kind NULL. */
extern const struct callflags callflags_files[];   /* open, stat, mount and their like */
extern const struct callflags callflags_tasks[];   /* memory, processes, signals, clocks */
extern const struct callflags callflags_sockets[]; /* sockets and epoll */

#endif
