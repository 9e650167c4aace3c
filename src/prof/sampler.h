/* SPDX-License-Identifier: MIT */
/*
 * The sampler: one thread that reads samples from the rings of all CPUs, encodes them and appends
 * them to the capture. It exists during a run.
 *
 * It wakes when half a ring has been written or after SAMPLER_WAKE_MS, whichever is first. One
 * thread is enough: it handles over a million samples a second, and with one thread the order of
 * records and the position of losses stay simple. For each sample it formats nothing, allocates
 * nothing, locks nothing and makes no system call; a run of about 8 KiB is appended under the
 * capture's lock.
 *
 * The control thread adds and removes CPUs, and drains on demand, under the drain lock.
 */
#ifndef KPROFS_PROF_SAMPLER_H
#define KPROFS_PROF_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/stats.h"
#include "prof/capture.h"
#include "prof/profiler_hooks.h"
#include "prof/rings.h"
#include "prof/tasks.h"

/* Samples are in the capture 100 ms after they were taken, the drain included. */
#define SAMPLER_WAKE_MS 95
/* The first drain after a start: the first samples of a run can be read soon. */
#define SAMPLER_FIRST_WAKE_MS 10

struct sampler;

/* kpstat's numbers of one CPU; kept over runs until clear. */
struct sampler_cpu_stats {
	/* how often the kernel stopped an event that took too many samples */
	uint64_t throttled;
	uint64_t throttled_ns;
	uint64_t stacks_cut; /* see struct sampler_stats */
	uint64_t refused;    /* the profiler's: context markers written to kpdata as addresses */
};

/* All since the last clear; each counter is incremented when the event happens. */
struct sampler_stats {
	uint64_t wakeups;	 /* of the thread */
	uint64_t empty;		 /* drains that found no sample */
	uint64_t stacks;	 /* samples with a stack */
	uint64_t stacks_cut;	 /* of those, stacks as long as DEPTH allows: cut or nearly so */
	uint64_t tasks_lost;	 /* records about tasks that found their ring full, or no memory */
	uint64_t damaged;	 /* how often the rest of a ring was invalid and was discarded */
};

/*
 * capture, tasks and config stay the caller's and must outlive the sampler; hooks as in profiler_hooks.h.
 * No thread yet.
 */
struct sampler *sampler_create(const struct rings_config *config, struct capture *capture,
	struct tasks *tasks, const struct profiler_hooks *hooks);
/* Stops the thread if it runs, and closes the remaining rings. */
void sampler_destroy(struct sampler *sampler);

/* ---- control thread -------------------------------------------------------------------------- */

/* Takes ownership of `rings`, which must be for a CPU that the sampler does not have. */
void sampler_add(struct sampler *sampler, struct rings *rings);
/* Drains the CPU and returns its rings, to be read a last time and closed; NULL if not there. */
struct rings *sampler_remove(struct sampler *sampler, unsigned int cpu);
/* The rings of a CPU that the sampler has, for enabling and counting; NULL if not there. */
struct rings *sampler_rings(struct sampler *sampler, unsigned int cpu);

/* Returns -EAGAIN if the thread cannot be created. */
int sampler_start(struct sampler *sampler, struct err *err);
/* Ends the thread; then the rings may be disabled and drained a last time. */
void sampler_stop(struct sampler *sampler);

/* When this returns, what the rings held is in the capture. last: nothing more will come. */
void sampler_drain(struct sampler *sampler, bool last);
/*
 * Drains as above, and then nothing more goes to the capture, and nothing of tasks is forgotten, until
 * sampler_release(), which must follow soon.
 */
void sampler_hold(struct sampler *sampler);
/* Drains again, between the two. */
void sampler_drain_held(struct sampler *sampler);
/* As sampler_rings(), between the two. */
struct rings *sampler_held_rings(struct sampler *sampler, unsigned int cpu);
void sampler_release(struct sampler *sampler);
/* The counters of all rings begin at 0, and what the rings hold is discarded. */
void sampler_clear(struct sampler *sampler);
/*
 * Whether a uevent said since the last call that the CPU went offline: its descriptors will not
 * work again.
 */
bool sampler_take_offline(struct sampler *sampler, unsigned int cpu);
/* Records about tasks were lost since the last call: /proc must be walked again. */
bool sampler_take_tasks_lost(struct sampler *sampler);

/* ---- any thread ------------------------------------------------------------------------------ */

void sampler_get_stats(struct sampler *sampler, struct sampler_stats *stats);
/*
 * Adds those of every CPU that has any to `sums`: from CPU number to an allocated struct
 * sampler_cpu_stats.
 */
void sampler_add_cpu_stats(struct sampler *sampler, GHashTable *sums);
void sampler_get_cpu_stats(struct sampler *sampler, unsigned int cpu,
	struct sampler_cpu_stats *stats);

#endif
