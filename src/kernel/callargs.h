/* SPDX-License-Identifier: MIT */
/*
 * The arguments of system calls: their names and kinds, and how a value is written, after the example of
 * strace(1). Thread-safe; nothing here blocks or fails.
 *
 * The text of a call in callnames.list.h has an item for each argument, NAME:KIND, and may begin with
 * =KIND for its result. The kinds:
 *
 *	d  int, also if no kind is given     n  unsigned long or size_t      p  an address
 *	u  unsigned int                      x  hexadecimal                  s  a text
 *	l  long or loff_t                    o  octal: a mode                other words: callflags.h
 *	c  a mode that the kernel reads only if the flags before it create a file
 *	a  the address of a socket, whose length is the next argument
 */
#ifndef KPROFS_KERNEL_CALLARGS_H
#define KPROFS_KERNEL_CALLARGS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALLARGS_MAX 6u

enum callarg_kind {
	CALLARG_INT,
	CALLARG_UNSIGNED,
	CALLARG_LONG,
	CALLARG_SIZE,
	CALLARG_HEX,
	CALLARG_ADDRESS,
	CALLARG_OCTAL,
	CALLARG_CREATE_MODE,
	CALLARG_TEXT,
	CALLARG_SOCKET_ADDRESS,
	CALLARG_FLAGS, /* names of constants: `flags` has them */
};

struct callflags;

struct callarg {
	const char *name;
	size_t name_bytes;
	enum callarg_kind kind;
	const struct callflags *flags; /* CALLARG_FLAGS; else NULL */
};

/*
 * Splits the text of a call: returns the number of arguments. A kind that does not exist is CALLARG_HEX.
 * The names point into `text`.
 */
size_t callargs_parse(const char *text, struct callarg args[CALLARGS_MAX], struct callarg *result);

/*
 * The value without the bytes of its register that do not belong to it: an int is extended by its
 * sign. `compat`: an argument of a 32-bit program.
 */
uint64_t callargs_value(const struct callarg *arg, uint64_t value, bool compat);

/* Whether a result is an error (-4095 to -1). */
bool callargs_is_error(int64_t result);
/* Whether it is one with which the kernel repeats the call after a signal, so that programs do not see it. */
bool callargs_is_repeated(int64_t result);
/* "ENOENT", or the number of an error that has no name. To be freed. */
char *callargs_error_name(int error);
/* "No such file or directory". */
const char *callargs_error_text(int error);

#endif
