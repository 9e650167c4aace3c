/* SPDX-License-Identifier: MIT */
/* The frames of a sample as places: see profile_frames.h. */
#include "capture/profile_frames.h"

#include "kprof/records.h"

/*
 * Whether a return address is outside of all code: a program without frame pointers has other
 * values where the kernel expects return addresses. Memory of a JIT is in a mapping like all
 * executable memory. If no mapping of the process is known, the address is taken for code.
 */
static bool is_no_code(const struct profile_frames_task *task, uint32_t place)
{
	return g_array_index(task->list, struct profile_place, place).file == PROCESSES_NONE &&
	       processes_has_mappings(task->processes, task->life);
}

void profile_frames_read(struct profile_frames *frames, const struct profile_frames_task *task,
	const struct decode_record *record, uint16_t num_traces, bool user, bool innermost_only)
{
	bool innermost = true, caller;
	uint32_t place;
	uint16_t i;

	frames->count = 0;
	frames->cut = false;
	for (i = 0; i < num_traces && !(innermost_only && frames->count); i++) {
		uint64_t address = decode_frame(record, i);

		if (address == KPROF_CONTEXT_USER) {
			user = true;
			innermost = true;
			continue;
		}
		caller = !innermost;
		if (user && caller && !address)
			break;
		if (caller && address)
			address--;
		innermost = false;
		place = profile_places_find(task->places, user ? task->life : task->section, !user, address,
			task->time_ns);
		if (user && caller && is_no_code(task, place)) {
			frames->cut = true;
			break;
		}
		frames->places[frames->count++] = place;
	}
}
