/* SPDX-License-Identifier: MIT */
/* Numbers as users write them, and the constants between units. */
#ifndef KPROFS_BASE_UNITS_H
#define KPROFS_BASE_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define NSEC_PER_SEC 1000000000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_USEC 1000ULL
#define KIB 1024ULL
#define MIB (1024ULL * 1024ULL)
#define GIB (1024ULL * MIB)

/*
 * Parses an unsigned number in C syntax (10, 0x1f, 017), without sign, blanks and other characters.
 * Returns -EINVAL if text is not such a number, -ERANGE if it does not fit.
 */
int units_parse_u64(const char *text, uint64_t *value);

/*
 * Parses a list of CPUs as Linux writes it ("0-3,8") into a bitmap of `bits` bits (bits/8 rounded
 * up bytes, set to zero first). Returns -EINVAL if the text is not a list or the end of a range is
 * below its start, -ERANGE if a number is not below `bits`.
 */
int units_parse_cpulist(const char *text, unsigned char *bitmap, unsigned int bits);

/* Returns `value` rounded up to a power of two, or 0 if that does not fit in 64 bits. */
uint64_t units_round_up_pow2(uint64_t value);

#endif
