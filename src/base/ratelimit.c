/* SPDX-License-Identifier: MIT */
/* Rate limits: see ratelimit.h. */
#include "base/ratelimit.h"

void ratelimit_init(struct ratelimit *limit, unsigned int most, uint64_t interval_ns, uint64_t now_ns)
{
	*limit = (struct ratelimit){ most, interval_ns, most, now_ns };
}

bool ratelimit_take(struct ratelimit *limit, unsigned int reserve, uint64_t now_ns)
{
	/* the caller may have read the clock before another caller that took the lock first */
	const uint64_t passed_ns = now_ns > limit->since_ns ? now_ns - limit->since_ns : 0;
	const uint64_t more = passed_ns / limit->interval_ns;

	if (more) {
		limit->left = more < limit->most - limit->left ? limit->left + (unsigned int)more
							       : limit->most;
		limit->since_ns += more * limit->interval_ns;
	}
	if (limit->left <= reserve)
		return false;
	limit->left--;
	return true;
}
