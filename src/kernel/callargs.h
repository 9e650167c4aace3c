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

/* Appends a value as text; of CALLARG_TEXT the address. */
void callargs_print(const struct callarg *arg, uint64_t value, bool compat, GString *out);

/*
 * Appends a text between double quotes, with C's escapes; bytes other than printable ASCII are octal. A
 * text that was cut ends in "...
 */
void callargs_print_text(const char *text, size_t bytes, bool cut, GString *out);

/*
 * Appends the result of a call: a number or an address as its kind says, and of an error -1, its name and
 * what it means; "?" and the name of an error with which the kernel repeats the call itself.
 */
void callargs_print_result(const struct callarg *result, int64_t value, GString *out);
/* The name of an error that the kernel returned (1 to 4095), NULL if it has none. */
const char *callargs_error_name(int error);

#endif
