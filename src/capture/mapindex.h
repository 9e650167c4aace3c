/* SPDX-License-Identifier: MIT */
/*
 * Which mapping held an address at a time: an index over the mappings of one program in one
 * process.
 *
 * Mappings replace each other in time and may overlap in any way, a thousand at one address too
 * (libraries that are loaded and unloaded). The address space is cut at every begin and end; over
 * the pieces stands a segment tree, each node of which lists the mappings that cover it whole, in
 * order of time. A lookup reads the nodes above one piece and searches each by time: O(log^2 n),
 * whatever the input; memory O(n log n).
 *
 * Thread-safe once made.
 */
#ifndef KPROFS_CAPTURE_MAPINDEX_H
#define KPROFS_CAPTURE_MAPINDEX_H

#include <stdint.h>

struct mapindex_mapping {
	uint64_t time_ns;
	uint64_t start;
	uint64_t end; /* the first address behind it */
	uint64_t offset; /* of start, bytes into the file */
	uint32_t owner; /* the caller's: which process */
	uint32_t file;  /* the caller's: which file */
};

struct mapindex;

/* The mappings stay the caller's, sorted by time; of two of one time the later one counts. */
struct mapindex *mapindex_create(const struct mapindex_mapping *mappings, uint32_t count);
void mapindex_destroy(struct mapindex *index);

/*
 * The latest mapping with time_ns <= time that covers the address, NULL where there is none. The
 * answer is the same for all times from *from to *to - 1.
 */
const struct mapindex_mapping *mapindex_find(const struct mapindex *index, uint64_t address,
	uint64_t time, uint64_t *from, uint64_t *to);

/* The earliest mapping that covers the address. */
const struct mapindex_mapping *mapindex_find_earliest(const struct mapindex *index,
	uint64_t address);

#endif
