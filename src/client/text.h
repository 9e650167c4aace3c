/* SPDX-License-Identifier: MIT */
/*
 * Strings among the arguments of an event: measures and copies them, mostly without a call, since
 * most are short. Any thread, any signal handler. Another thread may change the string meanwhile:
 * its length is read once, and no more than that is copied.
 */
#ifndef KPROFS_CLIENT_TEXT_H
#define KPROFS_CLIENT_TEXT_H

#include <kprof/ring_abi.h>

#include <stdint.h>
#include <string.h>

/* the sanitizers report the read beyond the string, which stays within an aligned block */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEXT_NO_BLOCKS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEXT_NO_BLOCKS
#endif
#endif
#if defined(__SSE2__) && !defined(TEXT_NO_BLOCKS)
#define TEXT_BLOCK 16u /* bytes that are compared at a time */
#include <emmintrin.h>
#endif

/* The units in a record of a string of so many bytes, or of KPROF_STRING_NULL. */
static inline uint32_t text_units(uint32_t bytes)
{
	return bytes == KPROF_STRING_NULL ? 1 : (2 + bytes + 7) / 8;
}

#ifdef TEXT_BLOCK
/*
 * Bit i: byte i of the aligned block is 0. An aligned block is within one page, so all of it can be
 * read.
 */
static inline uint32_t text_zeroes(const char *block)
{
	return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(
		_mm_load_si128((const __m128i *)(const void *)block), _mm_setzero_si128()));
}
#endif

#define TEXT_SHORT_MAX                                                                             \
	31u /* the longest that always ends within the two blocks that text_short reads */
#define TEXT_LONG UINT32_MAX /* its result for all others */

/*
 * The length of a short string: one that ends in the block in which it begins or in the next; else
 * TEXT_LONG. Reads no page that strlen would not.
 */
static inline uint32_t text_short(const char *text)
{
#ifdef TEXT_BLOCK
	uint32_t skip = (uint32_t)(uintptr_t)text % TEXT_BLOCK;
	uint32_t zeroes = text_zeroes(text - skip) >> skip;

	if (__builtin_expect(zeroes != 0, 1))
		return (uint32_t)__builtin_ctz(zeroes);
	zeroes = text_zeroes(text - skip + TEXT_BLOCK);
	if (zeroes)
		return TEXT_BLOCK - skip + (uint32_t)__builtin_ctz(zeroes);
#endif
	return TEXT_LONG;
}

/* For at most TEXT_SHORT_MAX bytes: overlapping moves instead of a loop or a call. */
static inline void text_copy_short(char *to, const char *from, uint32_t bytes)
{
	if (bytes >= 16) {
		struct {
			uint64_t words[2];
		} head, tail;

		memcpy(&head, from, 16);
		memcpy(&tail, from + bytes - 16, 16);
		memcpy(to, &head, 16);
		memcpy(to + bytes - 16, &tail, 16);
	} else if (bytes >= 8) {
		uint64_t head, tail;

		memcpy(&head, from, 8);
		memcpy(&tail, from + bytes - 8, 8);
		memcpy(to, &head, 8);
		memcpy(to + bytes - 8, &tail, 8);
	} else if (bytes >= 4) {
		uint32_t head, tail;

		memcpy(&head, from, 4);
		memcpy(&tail, from + bytes - 4, 4);
		memcpy(to, &head, 4);
		memcpy(to + bytes - 4, &tail, 4);
	} else {
		for (uint32_t i = 0; i < bytes; i++)
			to[i] = from[i];
	}
}

/*
 * Hides the range of the size from gcc, which would copy by "rep movs", and that is slow to start.
 */
static inline void text_copy_long(char *to, const char *from, size_t bytes)
{
	__asm__("" : "+r"(bytes));
	memcpy(to, from, bytes);
}

/* Stores a string in a record. Returns where the next argument goes. */
static inline uint64_t *text_store(uint64_t *at, const char *text, uint32_t bytes)
{
	uint32_t units = text_units(bytes);

	at[units - 1] = 0;
	memcpy(at, &(uint16_t){(uint16_t)bytes}, 2);
	if (bytes <= TEXT_SHORT_MAX)
		text_copy_short((char *)at + 2, text, bytes);
	else if (bytes != KPROF_STRING_NULL)
		text_copy_long((char *)at + 2, text, bytes);
	return at + units;
}

#endif
