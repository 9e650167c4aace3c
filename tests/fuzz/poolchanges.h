/* SPDX-License-Identifier: MIT */
/*
 * What the fuzz targets of pools share: an input that is a list of changes to a pool's memory, some
 * before it is read, the others at the reader's own steps, one phase each. One thread; included once a
 * program.
 */
#ifndef KPROFS_TESTS_FUZZ_POOLCHANGES_H
#define KPROFS_TESTS_FUZZ_POOLCHANGES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "ring/testpoint.h"
#include "tests/fuzz/fuzz.h"

#define POOL_BYTES 65536u
#define PHASES 4u

/* One change, as it stands in the input; then `bytes` + 1 bytes. */
struct change {
	uint8_t phase; /* modulo PHASES */
	uint8_t bytes; /* modulo 16 */
	uint16_t at;   /* in 8 bytes */
};

static struct {
	const uint8_t *data;
	size_t size;
	int fd;
	uint32_t phase;
} poolchanges;

/* Makes the changes of one phase. */
static void poolchanges_apply(uint32_t phase)
{
	size_t at = 0;

	while (poolchanges.size - at > sizeof(struct change)) {
		struct change change;
		size_t bytes, offset;

		memcpy(&change, poolchanges.data + at, sizeof(change));
		at += sizeof(change);
		bytes = change.bytes % 16 + 1u;
		if (bytes > poolchanges.size - at)
			bytes = poolchanges.size - at;
		offset = change.at % (POOL_BYTES / 8) * 8u;
		if (bytes > POOL_BYTES - offset)
			bytes = POOL_BYTES - offset;
		if (change.phase % PHASES == phase)
			FUZZ_CHECK(pwrite(poolchanges.fd, poolchanges.data + at, bytes,
					(off_t)offset) == (ssize_t)bytes);
		at += bytes;
	}
}

/* Makes those of before the reading. */
static void poolchanges_begin(int fd, const uint8_t *data, size_t size)
{
	poolchanges.data = data;
	poolchanges.size = size;
	poolchanges.fd = fd;
	poolchanges.phase = 0;
	poolchanges_apply(0);
}

/* For ring_test_hook. */
static void poolchanges_on_point(enum ring_test_point point)
{
	if (point >= POINT_INDEX_COPIED && poolchanges.phase + 1 < PHASES)
		poolchanges_apply(++poolchanges.phase);
}

#endif
