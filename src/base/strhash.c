/* SPDX-License-Identifier: MIT */
/* A keyed hash of texts: see strhash.h. After Aumasson and Bernstein, "SipHash", 2012. */
#include "base/strhash.h"

#include <string.h>
#include <sys/auxv.h>

static uint64_t rotate(uint64_t value, unsigned int bits)
{
	return value << bits | value >> (64 - bits);
}

static void mix(uint64_t *v)
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

/* Little-endian; up to 8 bytes, the others 0. */
static uint64_t load(const unsigned char *from, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)from[i] << (8 * i);
	return value;
}

static void add_word(uint64_t *v, uint64_t word)
{
	v[3] ^= word;
	mix(v);
	v[0] ^= word;
}

uint64_t strhash_bytes(const unsigned char *key, const void *data, size_t bytes)
{
	const uint64_t k0 = load(key, 8), k1 = load(key + 8, 8);
	uint64_t v[] = {
		k0 ^ 0x736f6d6570736575,
		k1 ^ 0x646f72616e646f6d,
		k0 ^ 0x6c7967656e657261,
		k1 ^ 0x7465646279746573,
	};
	const unsigned char *from = data;
	size_t left = bytes;

	for (; left >= 8; left -= 8, from += 8)
		add_word(v, load(from, 8));
	add_word(v, load(from, left) | (uint64_t)bytes << 56);
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		mix(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

unsigned int strhash(const void *text)
{
	static const unsigned char no_key[16];
	/* 16 random bytes from the kernel, of this process since its exec */
	const unsigned char *key = (const unsigned char *)getauxval(AT_RANDOM);

	return (unsigned int)strhash_bytes(key ? key : no_key, text, strlen(text));
}
