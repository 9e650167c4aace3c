/* SPDX-License-Identifier: MIT */
/*
 * Following the trace: what comes after a moment, gathered time and again, each time up to a
 * moment.
 *
 * A follower has a place of its own in each chunk of each program, so followers don't disturb each
 * other, and one that is slow loses only what programs have overwritten by then. What it lost is
 * known from the programs' own counts: begun less seen less still to come.
 *
 * An event that is begun and not finished holds up the rest of its chunk for two gatherings; then
 * it is counted as lost and passed. So does one whose meaning its program has not told yet.
 *
 * One thread at a time for each. Gathering blocks for as long as copying takes.
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
 * From now on, for `reader` (a user id). Blocks for as long as copying all that is there takes.
 * -EINTR: cancelled.
 */
int follow_create(struct readings *readings, uid_t reader, const struct trace_records_cpu *cpu,
	const struct cancel *cancel, struct follow **follow);
void follow_destroy(struct follow *follow);

/*
 * Looks for what has come since; to be called when follow_next has nothing more. True: something.
 */
bool follow_gather(struct follow *follow);

/*
 * Appends the next piece of what was gathered, in bounded time; nothing, where it comes upon
 * nothing to show in that time. False: nothing is left.
 */
bool follow_next(struct follow *follow, GString *out);

/* Whether follow_next would return true. */
bool follow_has_more(const struct follow *follow);

/* Events that were lost so far, whether or not said in the text yet. */
uint64_t follow_lost(const struct follow *follow);

#endif
