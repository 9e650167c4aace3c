/* SPDX-License-Identifier: MIT */
/* Formats of printf(): divided into texts and conversions, for the checker and for what prints. */
#ifndef KPROFS_PROBES_PRINT_FORMAT_H
#define KPROFS_PROBES_PRINT_FORMAT_H

#include <stddef.h>

#define PRINT_FORMAT_WIDTH_MAX 4096

struct print_format_part {
	const char *text; /* a text of `length` bytes ("%%" is one of '%'); of a conversion all of it */
	size_t length;
	char letter;	  /* of a conversion: one of "diuxXocpsr"; else 0 */
	char flags[6];	  /* of "-+ #0" */
	int width, precision; /* -1: none */
};

/*
 * The part at *at, which goes behind it: 1; 0 at the end; -EINVAL for a conversion that there is not.
 * Length modifiers (l, ll, h, z, ...) are left out, since all integers have 64 bits.
 */
int print_format_next(const char **at, struct print_format_part *part);

#endif
