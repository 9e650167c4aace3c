/* SPDX-License-Identifier: MIT */
/*
 * The names of system calls by number and back, their arguments, and which of these are texts. A table
 * does not change once it is made, so that any threads may read it.
 */
#ifndef KPROFS_KERNEL_CALLNAMES_H
#define KPROFS_KERNEL_CALLNAMES_H

#include <stddef.h>
#include <stdint.h>

/* Numbers of system calls are below this on every machine. */
#define CALLNAMES_NUMBERS 1024u

/* Beside the bit of an argument that is the address of a socket; none of its call is a text. */
#define CALLNAMES_ADDRESS 0x80u

struct callnames {
	const char *names[CALLNAMES_NUMBERS]; /* NULL where there is none */
	const char *args[CALLNAMES_NUMBERS];  /* as callargs.h takes them; NULL where there is no name */
	/* by bits: arguments that are texts, or the one that is an address, and CALLNAMES_ADDRESS */
	uint8_t texts[CALLNAMES_NUMBERS];
};

/* The calls of this machine's own programs. */
void callnames_init(struct callnames *callnames);
/* Those of 32-bit programs, which have other numbers. Empty on machines other than x86_64. */
void callnames_init_compat(struct callnames *callnames);
/* The number of a system call, or -ENOENT. */
int callnames_find(const struct callnames *callnames, const char *name);

/* For callnames*.c: one call of the list. */
struct callnames_row {
	const char *name;
	const char *number; /* the digits, or the name of a constant that this machine does not have */
	const char *args;
};
/* Adds the rows that have a number; a later row replaces an earlier one of the same number. */
void callnames_add(struct callnames *callnames, const struct callnames_row *rows, size_t count);

#define CALLNAMES_TEXT(x) #x
#define CALLNAMES_NUMBER(x) CALLNAMES_TEXT(x)
#define CALL(call, args) { #call, CALLNAMES_NUMBER(__NR_##call), args },

#endif
