/* SPDX-License-Identifier: MIT */
/*
 * How many reports about strangers' programs are passed on. One thread.
 *
 * A program that is refused over and over must drown neither what is said about other users nor
 * about this one's other programs: who was reported last leaves half of what there is to them.
 */
#ifndef KPROFS_PRODUCERS_REPORTS_H
#define KPROFS_PRODUCERS_REPORTS_H

#include <stdbool.h>
#include <sys/types.h>

struct reports;

/* most: at once about a user's programs; then one a second. */
struct reports *reports_create(unsigned int most);
void reports_destroy(struct reports *reports);

/* Whether another one about this program may be passed on: then it is counted. */
bool reports_may(struct reports *reports, pid_t pid, uid_t uid);

#endif
