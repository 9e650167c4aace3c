/* SPDX-License-Identifier: MIT */
/* The frames of a sample, or of a task that woke one, as places. One thread at a time. */
#ifndef KPROFS_CAPTURE_PROFILE_FRAMES_H
#define KPROFS_CAPTURE_PROFILE_FRAMES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/decode.h"
#include "capture/profile_places.h"

struct profile_frames {
	uint32_t count;
	bool cut; /* the stack ends at a return address outside of code */
	uint32_t places[UINT16_MAX]; /* innermost first */
};

/* The task that the frames are of. */
struct profile_frames_task {
	struct profile_places *places;
	const GArray *list; /* that of the places */
	const struct processes *processes;
	uint32_t section, life;
	uint64_t time_ns;
};

/*
 * Reads `num_traces` frames of a record. The first address in the kernel, and the first in user space, is
 * the instruction pointer. The others are return addresses, which may be after the end of the
 * calling function: one less is in the call. A return address in user space that is outside of code
 * ends the stack: what follows is no caller either. A program marks the end of its stack with 0.
 * user: the frames begin in user space. innermost_only: only the first one is wanted.
 */
void profile_frames_read(struct profile_frames *frames, const struct profile_frames_task *task,
	const struct decode_record *record, uint16_t num_traces, bool user, bool innermost_only);

#endif
