/* SPDX-License-Identifier: MIT */
/*
 * The tasks that ended times away from the CPU (AWAY), while a profile is loaded. One thread at a time.
 *
 * In a profile with waker_stacks the stack of such a sample goes on with PROFILE_WAKER_LINE, the stack of the
 * waker with its innermost frame first, so that the innermost frames of both are beside each other, and the
 * waker's name.
 */
#ifndef KPROFS_CAPTURE_PROFILE_WAKERS_H
#define KPROFS_CAPTURE_PROFILE_WAKERS_H

#include "capture/profile_frames.h"
#include "capture/stacks.h"
#include "capture/table.h"

#define PROFILE_WAKER_LINE "--"

/* A task that made others runnable. */
struct profile_waker {
	uint32_t pid, tid;
	const char *name; /* "" if it is not known */
};

struct profile_wakers {
	/* of the profile; the first of its wakers is none */
	GArray *list;
	GStringChunk *strings;
	struct profile_places *places;
	const GArray *place_list;
	struct processes *processes;
	struct stacks *stacks; /* NULL: stacks do not go on */
	/* zeroes at the beginning: */
	struct table table; /* of the list */
	uint32_t last;	    /* of the last AWAY: index into the list; 0 if not known */
	struct profile_frames frames; /* its stack, if it is wanted */
};

/* Frees what was added here. */
void profile_wakers_fini(struct profile_wakers *wakers);

/* Reads an AWAY. */
void profile_wakers_take(struct profile_wakers *wakers, uint32_t section, const struct decode_record *record);

/*
 * The end of the stack of its sample, which has `depth` frames and ended at `node` before; that node if
 * stacks do not go on, or the waker is not known. No stack gets longer than UINT16_MAX: the outermost
 * frames of the waker are left out.
 */
uint32_t profile_wakers_push(const struct profile_wakers *wakers, uint32_t node, uint32_t depth);

#endif
