/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: a corrupt pool, which also changes while it is read.
 *
 * The input is a list of changes to a pool that a real writer filled: when (before reading, or at
 * one of the reader's own steps), where, and which bytes. Invariants: every record is inside of the
 * copy, timestamps do not decrease within a chunk, a walk ends, sums do not go below zero.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/poolchanges.h"
#include "tests/race/fixture.h"

static void walk_chunk(const struct ring_reader *reader, const struct ring_extent *extent,
	uint32_t from)
{
	/* of just the size that is promised, so that a step too far is seen */
	char *buffer = malloc(2 * (size_t)reader->layout.chunk_bytes);
	struct ring_record record;
	struct ring_walk walk;
	enum ring_item item;
	uint64_t stamp = 0, items = 0, sum = 0;

	if (ring_extent_copy(reader, extent, from, buffer) == 0) {
		ring_walk_begin(&walk, extent, buffer, from);
		while ((item = ring_walk_next(&walk, &record)) != RING_END) {
			FUZZ_CHECK(++items <= extent->end / 8);
			if (item != RING_EVENT)
				continue;
			FUZZ_CHECK(record.stamp >= stamp);
			stamp = record.stamp;
			FUZZ_CHECK(record.args >= buffer + from + sizeof(struct kprof_record));
			FUZZ_CHECK(record.args + record.args_bytes <= buffer + extent->end);
			FUZZ_CHECK(record.id < KPROF_ID_RECORDS && record.flags < 16);
			for (uint32_t i = 0; i < record.args_bytes; i++)
				sum += (unsigned char)record.args[i];
		}
	}
	free(buffer);
	(void)sum;
}

static void read_pool(int fd)
{
	struct ring_index *index = calloc(1, sizeof(*index));
	struct ring_totals totals;
	struct ring_reader reader;
	const char *why = NULL;

	if (ring_reader_open(fd, &reader, &why) != 0) {
		FUZZ_CHECK(why && *why);
		free(index);
		return;
	}
	FUZZ_CHECK(ring_index_copy(&reader, index) == 0);
	for (uint32_t i = 0; i < reader.layout.chunk_count; i++) {
		struct ring_extent extent;

		if (!ring_extent_find(&reader, index, i, &extent))
			continue;
		FUZZ_CHECK(extent.end <= reader.layout.chunk_bytes);
		walk_chunk(&reader, &extent, 0);
		walk_chunk(&reader, &extent, extent.end / 16 * 8);
		walk_chunk(&reader, &extent, extent.end);
	}
	if (ring_totals(&reader, index, &totals) == 0)
		FUZZ_CHECK(totals.held <= totals.reserved &&
			totals.overwritten <= totals.reserved);
	free(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fixture f;
	struct ring_writer *writer;
	struct ring_room room;

	ring_test_hook = NULL;
	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	writer = ring_writer_begin(&f.pool);
	for (uint64_t i = 0; i < 8 * 300; i++)
		fixture_write(&f, writer, (uint32_t)(2 + i % 5), &i, (uint32_t)(i % 2));
	/* one is uncommitted: the reader copies twice */
	FUZZ_CHECK(ring_reserve(writer, 3, &room));
	poolchanges_begin(f.fd, data, size);
	ring_test_hook = poolchanges_on_point;
	read_pool(f.fd);
	ring_test_hook = NULL;
	fixture_close(&f);
	return 0;
}

static void add(GByteArray *out, uint8_t phase, size_t offset, uint64_t value)
{
	struct change change = {phase, 7, (uint16_t)(offset / 8)};

	g_byte_array_append(out, (const uint8_t *)&change, sizeof(change));
	g_byte_array_append(out, (const uint8_t *)&value, sizeof(value));
}

bool fuzz_seed(unsigned int number, GByteArray *out)
{
	/* 7 chunks: slots at 4096, heads at 4992, data at 8192 */
	const size_t slot = 4096, head = 4096 + 7 * 128, data = 8192;

	switch (number) {
	case 0:
		return true; /* the pool as it is */
	case 1:
		add(out, 0, offsetof(struct kprof_pool, slot_offset), 0x00000400fffffff8ull);
		return true;
	case 2:
		add(out, 0, slot, ~0ull);
		add(out, 0, head + offsetof(struct kprof_chunk, word), ~0ull);
		return true;
	case 3:
		add(out, 0, head, 1);
		add(out, 0, head + 64, 1);
		return true;
	case 4:
		add(out, 0, data + 8, KPROF_HEAD(0xfff, 0xf, 0xffff, 0xffff, 0));
		return true;
	case 5: /* while it is read */
		add(out, 1, head, 77);
		add(out, 2, data + 56 + 8, 0);
		add(out, 3, data + 56 + 16 + 8, ~0ull);
		return true;
	case 6: /* a stamp far ahead, then one behind */
		add(out, 0, data + 56, ~0ull);
		add(out, 0, data + 56 + 16, 0);
		return true;
	default:
		return false;
	}
}
