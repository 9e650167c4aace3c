/* SPDX-License-Identifier: MIT */
/*
 * A number as printf(3) prints it, for a conversion of a producer's format. Formatting takes some
 * microseconds at most, whatever width and precision are. Called from any thread; does not block.
 */
#ifndef KPROFS_TRACE_NUMBER_H
#define KPROFS_TRACE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#include <kprof/ring_abi.h>

#include "ring/args.h"

/*
 * Larger widths and precisions are cut to this: a format of a few bytes could ask for thousands of
 * digits, and the C library takes some 20 ns a digit.
 */
#define NUMBER_WIDTH_MAX 256

/* Width, precision, and the rest of a number: a double has up to 309 digits before its point. */
#define NUMBER_TEXT_MAX (2 * NUMBER_WIDTH_MAX + 400u)

/*
 * word: an integer (douxX), or the bytes of a double (all other letters). A width of 0 is none, a
 * precision below zero is none; neither is above NUMBER_WIDTH_MAX. Returns the number of bytes; the
 * text may not end in a NUL.
 */
size_t number_format(char text[NUMBER_TEXT_MAX], const struct args_conversion *c, uint64_t word);

#endif
