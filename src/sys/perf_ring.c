/* SPDX-License-Identifier: MIT */
/* Reads the ring of a perf event; perf.h has the order of accesses. */
#include "sys/perf.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"

/* The kernel pads every record to this, so a header never wraps. */
#define RECORD_ALIGN 8

int perf_ring_map(int fd, size_t bytes, struct perf_ring *ring)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *base;

	if (bytes < page || bytes & (bytes - 1))
		return -EINVAL;
	base = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	memset(ring, 0, sizeof(*ring));
	ring->page = base;
	ring->data = (const unsigned char *)base + page;
	ring->size = bytes;
	ring->mask = bytes - 1;
	return 0;
}

void perf_ring_unmap(struct perf_ring *ring)
{
	if (ring->page)
		munmap(ring->page, (ring->data - (const unsigned char *)ring->page) + ring->size);
	memset(ring, 0, sizeof(*ring));
}

uint64_t perf_ring_begin(struct perf_ring *ring)
{
	ring->head = atomic_plain_read_acquire(&ring->page->data_head); /* (C) */
	if (ring->head - ring->tail > ring->size) {
		/*
		 * the kernel is never a whole ring ahead: one of the two words was overwritten by
		 * another program
		 */
		ring->tail = ring->head;
		ring->damaged++;
	}
	return ring->head - ring->tail;
}

static const struct perf_event_header *skip_damaged(struct perf_ring *ring)
{
	ring->tail = ring->head;
	ring->damaged++;
	return NULL;
}

const struct perf_event_header *perf_ring_next(struct perf_ring *ring, void *scratch)
{
	uint64_t left = ring->head - ring->tail;
	uint64_t at = ring->tail & ring->mask;
	const struct perf_event_header *header;
	uint64_t size, straight;

	if (!left)
		return NULL;
	header = (const struct perf_event_header *)(ring->data + at);
	if (left < sizeof(*header) || at % RECORD_ALIGN)
		return skip_damaged(ring);
	size = header->size;
	if (size < sizeof(*header) || size > left || size % RECORD_ALIGN)
		return skip_damaged(ring);
	ring->tail += size;
	straight = ring->size - at;
	if (size <= straight)
		return header;
	memcpy(scratch, header, straight);
	memcpy((unsigned char *)scratch + straight, ring->data, size - straight);
	return scratch;
}

void perf_ring_end(struct perf_ring *ring)
{
	atomic_plain_write_release(&ring->page->data_tail, ring->tail); /* (D) */
}

uint64_t perf_ring_fill(const struct perf_ring *ring)
{
	/* relaxed: the number is a hint, no record is read with it */
	return atomic_plain_read_relaxed(&ring->page->data_head) - ring->tail;
}
