/* SPDX-License-Identifier: MIT */
/*
 * Follows the trace: each gathering takes what was written since the previous one, up to a given
 * moment.
 *
 * A follower keeps its own position in each chunk of each producer. So followers don't disturb each
 * other, and a slow one loses only what producers have overwritten by then. The number of lost
 * events is computed from the producers' counts: events begun, less events read, less events that
 * are still to be read.
 *
 * The records after an uncommitted one in its chunk wait for two gatherings; then it is counted as
 * lost and skipped. An event whose meaning its producer has not sent yet is treated in the same
 * way.
 *
 * One thread at a time for each follower. Gathering blocks for as long as copying takes.
 */
#ifndef KPROFS_TRACE_FOLLOW_H
#define KPROFS_TRACE_FOLLOW_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cancel.h"

struct follow;
struct trace_records_cpu;
struct readings;

/*
 * Follows from now on, for `reader` (a user id). Blocks for as long as copying the whole trace
 * takes. Returns -EINTR if it was cancelled.
 */
int follow_create(struct readings *readings, uid_t reader, const struct trace_records_cpu *cpu,
	const struct cancel *cancel, struct follow **follow);
void follow_destroy(struct follow *follow);

/*
 * Gathers what was written since the last call; to be called when follow_next has nothing more.
 * True: there is something to show.
 */
bool follow_gather(struct follow *follow);

/*
 * Appends the next piece of what was gathered, in bounded time. It appends nothing if it finds
 * nothing to show in that time. False: nothing is left.
 */
bool follow_next(struct follow *follow, GString *out);

/* Whether follow_next would return true. */
bool follow_has_more(const struct follow *follow);

/* Events that were lost so far, also those that the output does not report yet. */
uint64_t follow_lost(const struct follow *follow);

#endif
