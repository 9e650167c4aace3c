/* SPDX-License-Identifier: MIT */
/*
 * Finds the mapping that contained an address at a given time, by an index over the mappings of one
 * life of a process.
 *
 * Mappings replace each other in time and may overlap in any way; there may be a thousand at one
 * address (libraries that are loaded and unloaded). The address space is cut at every begin and
 * end. The pieces are the leaves of a segment tree, each node of which lists the mappings that
 * cover all of it, sorted by time. A lookup reads the nodes above one piece and searches each by
 * time: O(log^2 n) for any input; memory O(n log n).
 *
 * Thread-safe once created.
 */
#ifndef KPROFS_CAPTURE_MAPINDEX_H
#define KPROFS_CAPTURE_MAPINDEX_H

#include <stdint.h>

struct mapindex_mapping {
	uint64_t time_ns;
	uint64_t start;
	uint64_t end; /* the first address after it */
	uint64_t offset; /* of start, bytes into the file */
	uint32_t owner; /* the process; not used here */
	uint32_t file;  /* the file; not used here */
};

struct mapindex;

/*
 * `mappings` is sorted by time, and the caller keeps it. Of two with the same time the later one
 * wins.
 */
struct mapindex *mapindex_create(const struct mapindex_mapping *mappings, uint32_t count);
void mapindex_destroy(struct mapindex *index);

/*
 * The latest mapping with time_ns <= time that covers the address; NULL if none. The result is the
 * same for all times from *from to *to - 1.
 */
const struct mapindex_mapping *mapindex_find(const struct mapindex *index, uint64_t address,
	uint64_t time, uint64_t *from, uint64_t *to);

/* The earliest mapping that covers the address; NULL if there is none. */
const struct mapindex_mapping *mapindex_find_earliest(const struct mapindex *index,
	uint64_t address);

#endif
