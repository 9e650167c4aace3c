/* SPDX-License-Identifier: MIT */
/*
 * Records of system calls (record.h) as text: arguments by name, result and duration. The tables do not
 * change once they are made, so that any threads may use them at the same time.
 */
#ifndef KPROFS_KERNEL_CALLTEXT_H
#define KPROFS_KERNEL_CALLTEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/callargs.h"
#include "kernel/record.h"

struct calltext;

/* One system call. */
struct calltext_call {
	const char *name; /* NULL: there is none of this number */
	size_t count;
	struct callarg args[CALLARGS_MAX];
	struct callarg result;
};

struct calltext *calltext_create(void);
void calltext_destroy(struct calltext *calltext);

/* The call of a number, of 32-bit programs if `compat`; NULL if there is none. */
const struct calltext_call *calltext_call(
	const struct calltext *calltext, uint32_t number, bool compat);

/* Appends "syscall:NAME", or "syscall:NUMBER" for a call that has no name here. */
void calltext_print_label(
	const struct calltext *calltext, const struct kernel_record *record, GString *out);

/*
 * Appends what a line has behind the label, such as
 * `dfd=AT_FDCWD filename="/etc/passwd" flags=O_RDONLY = 3 (4.2 us)`.
 * A text that was not readable is an address. Without a result, " = ..." is left out; if the entry was not
 * recorded, "?" stands for the arguments. `bytes` bounds the record, whose bytes need not be valid.
 */
void calltext_print(const struct calltext *calltext, const struct kernel_record *record, size_t bytes,
	GString *out);

/*
 * The copied text of argument `index` of a record: its bytes without the NUL, NULL if it has none. *cut: it
 * fills all the room that a text has, so that the rest of it is not known.
 */
const char *calltext_string(const struct kernel_record *record, size_t bytes, unsigned int index,
	size_t *length, bool *cut);

#endif
