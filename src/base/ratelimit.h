/* SPDX-License-Identifier: MIT */
/*
 * Limits how often something happens: `most` times at once, then once in each interval. Callers
 * lock.
 */
#ifndef KPROFS_BASE_RATELIMIT_H
#define KPROFS_BASE_RATELIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct ratelimit {
	unsigned int most; /* at once */
	uint64_t interval_ns;
	unsigned int left;
	uint64_t since_ns; /* when `left` was computed */
};

void ratelimit_init(struct ratelimit *limit, unsigned int most, uint64_t interval_ns, uint64_t now_ns);

/* Returns true and counts one if it may happen now more than `reserve` times. */
bool ratelimit_take(struct ratelimit *limit, unsigned int reserve, uint64_t now_ns);

#endif
