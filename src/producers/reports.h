/* SPDX-License-Identifier: MIT */
/*
 * Limits how many reports about refused producers are passed on. Called by the thread of the
 * listener only.
 *
 * A producer that is refused repeatedly must not use up the reports of other users, nor those of
 * other producers of its user: the process that was reported last gets at most half of the reports
 * of its user.
 */
#ifndef KPROFS_PRODUCERS_REPORTS_H
#define KPROFS_PRODUCERS_REPORTS_H

#include <stdbool.h>
#include <sys/types.h>

struct reports;

/* most: reports that are passed on at once about the producers of a user; then one a second. */
struct reports *reports_create(unsigned int most);
void reports_destroy(struct reports *reports);

/* Whether another report about this process may be passed on; if so, it is counted. */
bool reports_may(struct reports *reports, pid_t pid, uid_t uid);

#endif
