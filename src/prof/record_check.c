/* SPDX-License-Identifier: MIT */
/*
 * Records that come from a file: whether they are whole, so that the functions of record.h can walk them, and
 * their counts.
 */
#include <string.h>

#include "prof/record.h"
#include "prof/tally.h"

/* As decode does: at most ten bytes, within `len`. Returns the bytes, or 0. */
static size_t read_varint(const uint8_t *data, size_t len, uint64_t *value)
{
	size_t i;

	*value = 0;
	for (i = 0; i < len && i < 10; i++) {
		*value |= (uint64_t)(data[i] & 0x7f) << (i < 9 ? 7 * i : 63);
		if (!(data[i] & 0x80))
			return i + 1;
	}
	return 0;
}

/* What is read of a record without looking at its size. */
static size_t least_bytes(uint64_t type)
{
	switch (type) {
	case KPROF_REC_KERN_TRACE:
	case KPROF_REC_USER_TRACE:
		return sizeof(struct kprof_rec_trace);
	case KPROF_REC_LOST:
		return sizeof(struct kprof_rec_lost);
	default:
		return 0;
	}
}

static bool has_its_words(const uint8_t *payload, uint64_t size)
{
	struct kprof_rec_trace trace;

	memcpy(&trace, payload, sizeof(trace));
	return (size - sizeof(trace)) / sizeof(uint64_t) == trace.num_traces &&
		(size - sizeof(trace)) % sizeof(uint64_t) == 0;
}

bool record_are_whole(const uint8_t *data, size_t len)
{
	size_t at = 0, n;
	uint64_t type, size;

	while (at < len) {
		n = read_varint(data + at, len - at, &type);
		if (!n)
			return false;
		at += n;
		n = read_varint(data + at, len - at, &size);
		if (!n)
			return false;
		at += n;
		if (size > len - at || size < least_bytes(type))
			return false;
		if (type == KPROF_REC_KERN_TRACE || type == KPROF_REC_USER_TRACE)
			if (!has_its_words(data + at, size))
				return false;
		at += size;
	}
	return true;
}

/* What was loaded is of no CPU and no event of this machine. */
#define OTHER_CPU UINT32_MAX
#define OTHER_EVENT 0u
/* Reasons that do not exist. */
#define OTHER_REASON (KPROF_LOST_RING_RECORDS + 1u)

void record_tally_loaded(const uint8_t *data, size_t len, enum kprof_lost_reason reason, struct tally *tally)
{
	struct record_counts counts = { 0 };
	struct tally all;
	uint32_t lost_reason;

	tally_init(&all);
	record_count(data, len, &counts);
	record_tally(data, len, reason, &all);
	tally_add(tally, OTHER_CPU, OTHER_EVENT, reason, counts.samples);
	for (lost_reason = KPROF_LOST_RING; lost_reason <= OTHER_REASON; lost_reason++) {
		const uint64_t lost = lost_reason < OTHER_REASON ? tally_sum(&all, lost_reason) : counts.lost;

		tally_add(tally, OTHER_CPU, OTHER_EVENT, lost_reason, lost);
		counts.lost -= lost;
	}
	tally_fini(&all);
}
