/* SPDX-License-Identifier: MIT */
/*
 * The binary search of all sorted arrays. Allocates nothing. Thread-safe while nothing changes the array.
 */
#ifndef KPROFS_BASE_BISECT_H
#define KPROFS_BASE_BISECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns whether the element is before the position that `key` describes. */
typedef bool bisect_before(const void *element, const void *key);

/*
 * Returns how many of the `count` elements of `size` bytes are before the position, which is the index of
 * the first one that is not. `before` must be true for the first elements and false for all others.
 */
static inline size_t bisect(
	const void *array, size_t count, size_t size, bisect_before *before, const void *key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (before((const char *)array + middle * size, key))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static inline bool bisect_is_less_u64(const void *element, const void *key)
{
	return *(const uint64_t *)element < *(const uint64_t *)key;
}

/* Returns how many of the sorted values are less than `value`. */
static inline size_t bisect_u64(const uint64_t *values, size_t count, uint64_t value)
{
	return bisect(values, count, sizeof(*values), bisect_is_less_u64, &value);
}

#endif
