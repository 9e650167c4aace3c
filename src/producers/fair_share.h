/* SPDX-License-Identifier: MIT */
/*
 * Divides an amount that is less than the sum of the demands, so that no user and no producer is
 * starved.
 *
 * First among users, then the part of a user among their producers. A demand below an equal part is
 * met, and the rest of the part goes to the others (max-min fairness). If the oldest demand were
 * served first, one producer that writes fast, or is corrupt, would get all of it.
 *
 * Pure functions, any thread.
 */
#ifndef KPROFS_PRODUCERS_FAIR_SHARE_H
#define KPROFS_PRODUCERS_FAIR_SHARE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fair_share {
	uid_t uid;
	uint64_t wants;
	uint64_t gets; /* out: at most `wants`; the sum of all is at most `room` */
};

/*
 * This part of each limit, 1/FAIR_SHARE_ROOT, is root's: many user ids, which one user may have, can
 * use up the rest together, and must not keep root's producers out.
 */
#define FAIR_SHARE_ROOT 16

/*
 * Fills `gets` of each; the order of `shares` does not change. Root gets its part of `room` at least,
 * if it wants that much.
 */
void fair_share_divide(struct fair_share *shares, size_t count, uint64_t room);

/* How much of `all` can be taken by this user: root may take all, others all but root's part. */
uint64_t fair_share_limit(uid_t uid, uint64_t all);
/*
 * The quota of one user for something that is held for long: three fourths of what other users
 * leave of that limit, at most `user_most`. So many users must take their whole quota before a new
 * user finds nothing left. Root may take all that is left, up to `user_most`.
 */
uint64_t fair_share_quota(uid_t uid, uint64_t all, uint64_t user_most, uint64_t others);

#endif
