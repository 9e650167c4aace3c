/* SPDX-License-Identifier: MIT */
/*
 * Formats: the supported conversions, and the arguments that they take.
 *
 * One parser for writer and reader. The writer turns a format into a plan of how to store the
 * arguments; the reader walks it conversion by conversion and prints the stored values. Both refuse
 * what is not in the list: %n, wide characters, %m, positional arguments ("%1$d"), the flags ' and
 * I. libc only, no state, no allocation, async-signal-safe.
 *
 *	conversions	d i o u x X c s p f F e E g G a A %
 *	lengths		hh h l ll q j z t, L (stored as a double)
 *	flags		- + space # 0
 *	width, precision up to KPROF_WIDTH_MAX, or * (an int argument)
 */
#ifndef KPROFS_RING_ARGS_H
#define KPROFS_RING_ARGS_H

#include <kprof/attach_abi.h>

#include <stdbool.h>
#include <stdint.h>

/* The kind of an argument; kprof.h has the same numbers. */
enum args_kind {
	ARGS_INT = 1,
	ARGS_DOUBLE = 2,
	ARGS_STRING = 3,
	ARGS_POINTER = 4,
};

/* For a conversion without a width or precision, and for one with *. */
#define ARGS_NONE (-1)
#define ARGS_STAR (-2)

struct args_conversion {
	const char *literal; /* text before the conversion; %% is a conversion with letter '%' */
	uint32_t literal_bytes;
	char letter; /* d o u x X c s p f F e E g G a A %; i is given as d; 0 at the end */
	uint8_t bytes; /* of an integer: 1, 2, 4, 8 */
	bool minus, plus, space, hash, zero;
	int32_t width, precision;
};

/* A walk through a format of `bytes` bytes (no NUL needed). */
struct args_format {
	const char *at, *end;
};

/*
 * Finds the next conversion with the text before it. Returns 1, 0 at the end (the literal is then
 * the rest), or -EINVAL for a conversion that is not in the list; after that the walk must not be
 * used any more.
 */
int args_next(struct args_format *format, struct args_conversion *conversion);

/* The storage of one argument. */
struct args_plan {
	uint8_t kind; /* enum args_kind */
	uint8_t bytes; /* of an integer, by the length in the format; its sign by the letter */
	uint8_t is_signed;
	uint8_t limited; /* a string with a precision: `limit`, or the argument before it */
	uint16_t limit;	 /* ARGS_LIMIT_STAR: the int before */
};
#define ARGS_LIMIT_STAR 0xffff

/*
 * Makes the plan of all arguments of a format. Returns their number, -EINVAL for an unknown
 * conversion, -E2BIG for more than KPROF_ARGS_MAX.
 */
int args_plan(const char *format, uint32_t bytes, struct args_plan plan[KPROF_ARGS_MAX]);

/* FNV-1a, by which a program of probes/ sees whether an event has the format that it was made for. */
uint32_t args_hash(const char *format, uint32_t bytes);

/* A name of an argument, without NUL. A longer word is not used as a name. */
#define ARGS_WORD_MAX 64u
/*
 * The name of a conversion's argument: the word that ends in "=", ":" or a blank, and perhaps a double
 * quote, before it. Returns false if there is none.
 */
bool args_word(const struct args_conversion *conversion, char word[ARGS_WORD_MAX + 1]);

#endif
