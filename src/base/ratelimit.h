/* SPDX-License-Identifier: MIT */
/* How often something may happen: so many times at once, then once in each interval. Callers lock. */
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

/* Whether it may happen now, and more than `reserve` times: then it is counted. */
bool ratelimit_take(struct ratelimit *limit, unsigned int reserve, uint64_t now_ns);

#endif
