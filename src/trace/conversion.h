/* SPDX-License-Identifier: MIT */
/* Functions that formatting an argument and measuring it share. */
#ifndef KPROFS_TRACE_CONVERSION_H
#define KPROFS_TRACE_CONVERSION_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring/args.h"
#include "trace/arguments.h"
#include "trace/number.h"

/* The value in the type that the program used: the higher bytes are ignored. */
static inline uint64_t conversion_narrow(const struct args_conversion *c, uint64_t word)
{
	bool is_signed = c->letter == 'd';

	switch (c->bytes) {
	case 1:
		return is_signed ? (uint64_t)(int64_t)(int8_t)word : (uint8_t)word;
	case 2:
		return is_signed ? (uint64_t)(int64_t)(int16_t)word : (uint16_t)word;
	case 4:
		return is_signed ? (uint64_t)(int64_t)(int32_t)word : (uint32_t)word;
	default:
		return word;
	}
}

/* A width or precision that is an argument, clamped to what formats may have. */
static inline int32_t conversion_take_star(struct arguments *args)
{
	uint64_t word;

	if (!arguments_take_word(args, &word))
		return ARGS_NONE;
	return CLAMP((int32_t)word, -(int32_t)KPROF_WIDTH_MAX, (int32_t)KPROF_WIDTH_MAX);
}

/*
 * Takes width and precision that are arguments, and limits them. The precision of a string stays: it only
 * makes the text shorter.
 */
static inline void conversion_complete(struct args_conversion *c, struct arguments *args)
{
	if (c->width == ARGS_STAR) {
		c->width = conversion_take_star(args);
		if (c->width < 0) {
			c->minus = true;
			c->width = -c->width;
		}
	}
	if (c->precision == ARGS_STAR) {
		c->precision = conversion_take_star(args);
		if (c->precision < 0)
			c->precision = ARGS_NONE;
	}
	c->width = MIN(c->width, NUMBER_WIDTH_MAX);
	if (c->letter != 's')
		c->precision = MIN(c->precision, NUMBER_WIDTH_MAX);
}

#endif
