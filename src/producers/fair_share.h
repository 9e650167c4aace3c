/* SPDX-License-Identifier: MIT */
/*
 * Room that is less than what all want, divided so that nobody is kept out by others.
 *
 * Among users first, and what a user gets among his programs: who wants less than an equal part
 * leaves the rest of it to the others, and nobody gets more than a part while another one wants it.
 * By age, the other way to choose, one program that writes fast, or lies, would have all of it.
 */
#ifndef KPROFS_PRODUCERS_FAIR_SHARE_H
#define KPROFS_PRODUCERS_FAIR_SHARE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fair_share {
	uid_t uid;
	uint64_t wants;
	uint64_t gets; /* out: at most what it wants; all together at most `room` */
};

void fair_share_divide(struct fair_share *shares, size_t count, uint64_t room);

/*
 * What a user may have of something that is held for long, of which there is `all` and others have
 * `others`: three fourths of what these leave, and no more than `user_most`. So it takes many users
 * who want all that they can get before a newcomer finds nothing.
 */
uint64_t fair_share_quota(uint64_t all, uint64_t user_most, uint64_t others);

#endif
