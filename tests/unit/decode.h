/* SPDX-License-Identifier: MIT */
/*
 * A decoder of kpdata for tests, written from the description of the format. It shares no code with
 * what is tested. Include after cmocka.h: malformed data fails the test.
 */
#ifndef KPROFS_TESTS_DECODE_H
#define KPROFS_TESTS_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct decoded {
	uint64_t type;
	const uint8_t *payload;
	size_t size;
	size_t bytes; /* with the envelope */
};

static inline uint64_t decode_bytes(const uint8_t *p, unsigned int count)
{
	uint64_t value = 0;
	unsigned int i;

	for (i = 0; i < count; i++)
		value |= (uint64_t)p[i] << (8 * i);
	return value;
}

static inline uint16_t decode_u16(const struct decoded *r, size_t offset)
{
	assert_true(offset + 2 <= r->size);
	return (uint16_t)decode_bytes(r->payload + offset, 2);
}

static inline uint32_t decode_u32(const struct decoded *r, size_t offset)
{
	assert_true(offset + 4 <= r->size);
	return (uint32_t)decode_bytes(r->payload + offset, 4);
}

static inline uint64_t decode_u64(const struct decoded *r, size_t offset)
{
	assert_true(offset + 8 <= r->size);
	return decode_bytes(r->payload + offset, 8);
}

/* The text that fills the rest of a record from `offset`. */
static inline const char *decode_text(const struct decoded *r, size_t offset)
{
	assert_true(offset < r->size);
	assert_int_equal(r->payload[r->size - 1], 0);
	assert_int_equal(strlen((const char *)r->payload + offset), r->size - offset - 1);
	return (const char *)r->payload + offset;
}

/* false: cut within it */
static inline bool decode_varint(const uint8_t *data, size_t len, size_t *at, uint64_t *value)
{
	unsigned int shift;

	*value = 0;
	for (shift = 0; *at < len && shift < 64; shift += 7) {
		const uint8_t byte = data[(*at)++];

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* The record at data + at; false where no whole one is left. */
static inline bool decode_whole(const uint8_t *data, size_t len, size_t at, struct decoded *r)
{
	const size_t start = at;
	uint64_t size;

	*r = (struct decoded){ 0 };
	if (!decode_varint(data, len, &at, &r->type) || !decode_varint(data, len, &at, &size) ||
		size > len - at)
		return false;
	r->payload = data + at;
	r->size = size;
	r->bytes = at - start + size;
	return true;
}

/* Walks whole records: starts with *at 0, false at the end; a cut record fails the test. */
static inline bool decode_next(const uint8_t *data, size_t len, size_t *at, struct decoded *r)
{
	*r = (struct decoded){ 0 };
	if (*at == len)
		return false;
	if (!decode_whole(data, len, *at, r))
		fail_msg("no whole record at byte %zu of %zu", *at, len);
	*at += r->bytes;
	return true;
}

#endif
