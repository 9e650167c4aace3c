/* SPDX-License-Identifier: MIT */
/* The tasks that ended times away from the CPU: see profile_wakers.h. */
#include "capture/profile_wakers.h"

#include "kprof/records.h"

/* The line before the waker's frames, and its name behind them. */
#define TEXTS 2u

void profile_wakers_fini(struct profile_wakers *w)
{
	table_fini(&w->table);
}

static bool equal_waker(const void *items, uint32_t i, const void *key)
{
	const struct profile_waker *a = (const struct profile_waker *)items + i, *b = key;

	return a->pid == b->pid && a->tid == b->tid && a->name == b->name;
}

void profile_wakers_take(struct profile_wakers *w, uint32_t section, const struct decode_record *r)
{
	struct profile_waker waker = { r->away.waker_pid, r->away.waker_tid, NULL };
	struct profile_frames_task task = {
		.places = w->places,
		.list = w->place_list,
		.processes = w->processes,
		.section = section,
		.time_ns = r->away.woken_ns,
	};

	w->last = 0;
	if (waker.pid == KPROF_PID_GONE)
		return;
	waker.name = g_string_chunk_insert_const(w->strings, r->text);
	w->last = table_intern(&w->table, w->list,
		table_hash((uint64_t)waker.pid << 32 | waker.tid, (uintptr_t)waker.name), equal_waker,
		&waker);
	if (!w->stacks)
		return;
	task.life = processes_find_life(w->processes, section, waker.pid, task.time_ns);
	profile_frames_read(&w->frames, &task, r, r->away.num_traces, false, false);
}

uint32_t profile_wakers_push(const struct profile_wakers *w, uint32_t node, uint32_t depth)
{
	uint32_t i;

	if (!w->last || !w->stacks || depth + TEXTS > UINT16_MAX)
		return node;
	node = stacks_push(w->stacks, node, profile_places_text(w->places, PROFILE_WAKER_LINE));
	for (i = 0; i < w->frames.count && depth + TEXTS + i < UINT16_MAX; i++)
		node = stacks_push(w->stacks, node, profile_places_waker(w->places, w->frames.places[i]));
	return stacks_push(w->stacks, node, profile_places_text(w->places,
		g_array_index(w->list, struct profile_waker, w->last).name));
}
