/* SPDX-License-Identifier: MIT */
/*
 * The lengths of numbers as number.h formats them, without formatting them: a trace has millions of them,
 * and its size is needed when it is opened. Any thread; nothing blocks.
 */
#ifndef KPROFS_TRACE_NUMBER_LENGTH_H
#define KPROFS_TRACE_NUMBER_LENGTH_H

#include <stddef.h>
#include <stdint.h>

#include "ring/args.h"

/* Decimal digits of a value: 1 for 0. */
size_t number_length_decimal(uint64_t value);
/* Hexadecimal digits of a value: 1 for 0. */
size_t number_length_hex(uint64_t value);

/* What number_format() returns for the same conversion and word. */
size_t number_length(const struct args_conversion *c, uint64_t word);

#endif
