/* SPDX-License-Identifier: MIT */
/*
 * Limits how many messages (MARK of attach_abi.h) each user may send: all share the memory of the
 * trace, in which new messages replace old ones. Called by the thread of the listener only.
 */
#ifndef KPROFS_PRODUCERS_MARKS_H
#define KPROFS_PRODUCERS_MARKS_H

#include <stdbool.h>
#include <sys/types.h>

struct marks;

/*
 * `most` is the number that a user may send at once; then one a second is allowed. root and `owner`
 * are not limited, since they can write to kptrace.
 */
struct marks *marks_create(unsigned int most, uid_t owner);
void marks_destroy(struct marks *marks);

/* Returns whether this user may send another one, and counts it if so. */
bool marks_may(struct marks *marks, uid_t uid);

#endif
