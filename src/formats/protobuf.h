/* SPDX-License-Identifier: MIT */
/*
 * The part of the Protocol Buffers wire format that pprof.c needs: a message is fields in any
 * order, each a key (number of the field and kind) and a value. Messages are encoded into a byte
 * array. One thread at a time for each array.
 */
#ifndef KPROFS_FORMATS_PROTOBUF_H
#define KPROFS_FORMATS_PROTOBUF_H

#include <glib.h>
#include <stdint.h>
#include <string.h>

#define PROTOBUF_VARINT_MAX 10 /* bytes */

enum protobuf_kind {
	PROTOBUF_VARINT = 0,
	PROTOBUF_BYTES = 2, /* a length, then that many bytes: text, a message, packed numbers */
};

/* Writes a varint to `at`, which has room for PROTOBUF_VARINT_MAX bytes. Returns its length. */
static inline size_t protobuf_encode(uint8_t *at, uint64_t value)
{
	size_t n = 0;

	while (value >= 0x80) {
		at[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	at[n++] = (uint8_t)value;
	return n;
}

static inline void protobuf_add_varint(GByteArray *out, uint64_t value)
{
	uint8_t bytes[PROTOBUF_VARINT_MAX];

	g_byte_array_append(out, bytes, (guint)protobuf_encode(bytes, value));
}

static inline void protobuf_add_key(GByteArray *out, unsigned int field, enum protobuf_kind kind)
{
	protobuf_add_varint(out, (uint64_t)field << 3 | kind);
}

/* A field with value 0 is left out: readers take a missing field for 0. */
static inline void protobuf_add_number(GByteArray *out, unsigned int field, uint64_t value)
{
	if (!value)
		return;
	protobuf_add_key(out, field, PROTOBUF_VARINT);
	protobuf_add_varint(out, value);
}

/* int64: larger values become INT64_MAX. */
static inline void protobuf_add_int64(GByteArray *out, unsigned int field, uint64_t value)
{
	protobuf_add_number(out, field, MIN(value, INT64_MAX));
}

/* Text, or a message. It is written even if it is empty, which matters in a repeated field. */
static inline void protobuf_add_bytes(GByteArray *out, unsigned int field, const void *bytes,
	size_t size)
{
	protobuf_add_key(out, field, PROTOBUF_BYTES);
	protobuf_add_varint(out, size);
	g_byte_array_append(out, bytes, (guint)size);
}

#endif
