/* SPDX-License-Identifier: MIT */
/*
 * A number as printf(3) prints it, for a conversion that a stranger wrote. It takes some microseconds
 * at most, whatever width and precision are. Any thread; nothing blocks.
 */
#ifndef KPROFS_TRACE_NUMBER_H
#define KPROFS_TRACE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#include <kprof/ring_abi.h>

#include "ring/args.h"

/*
 * More of a width or a precision is not shown: a format of a few bytes could ask for thousands, and the
 * C library takes some 20 ns a digit.
 */
#define NUMBER_WIDTH_MAX 256

/* Width, precision, and what a number may need besides: a double has up to 309 digits before its point. */
#define NUMBER_TEXT_MAX (2 * NUMBER_WIDTH_MAX + 400u)

/*
 * word: an integer (douxX), or the bytes of a double (all other letters). A width of 0 is none, a
 * precision below zero is none; neither is above NUMBER_WIDTH_MAX. Returns how many bytes; no NUL is
 * promised.
 */
size_t number_format(char text[NUMBER_TEXT_MAX], const struct args_conversion *c, uint64_t word);

#endif
