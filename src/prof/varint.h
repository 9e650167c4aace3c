/* SPDX-License-Identifier: MIT */
/* LEB128, as in kpdata: 7 bits in each byte, the lowest first. */
#ifndef KPROFS_PROF_VARINT_H
#define KPROFS_PROF_VARINT_H

#include <stdint.h>

/* The most bytes of one. */
#define VARINT_MAX 10

/* Returns what follows it. */
static inline uint8_t *varint_put(uint8_t *p, uint64_t value)
{
	while (value >= 0x80) {
		*p++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*p++ = (uint8_t)value;
	return p;
}

/* Returns what follows it. The bytes must be of varint_put(). */
static inline const uint8_t *varint_get(const uint8_t *p, uint64_t *value)
{
	unsigned int shift = 0;

	*value = 0;
	do {
		*value |= (uint64_t)(*p & 0x7f) << shift;
		shift += 7;
	} while (*p++ & 0x80);
	return p;
}

#endif
