/* SPDX-License-Identifier: MIT */
/* Callbacks by which a profiler and its sampler notify the program that they are part of. */
#ifndef KPROFS_PROF_PROFILER_HOOKS_H
#define KPROFS_PROF_PROFILER_HOOKS_H

#include <glib.h>

struct profiler;
struct userwatch;

struct profiler_hooks {
	/*
	 * New bytes can be read, or a run ended (end of file): parked reads should be tried
	 * again. Called by the sampler thread or by the thread of a command; must not call the
	 * profiler.
	 */
	void (*data_ready)(void *arg);
	/*
	 * The same after a drain by the sampler thread. It may read from cursors: the records are
	 * in this CPU's cache, and no other thread has to wake. Long work here delays the next
	 * drain.
	 */
	void (*data_drained)(void *arg);
	/*
	 * CPUs went online or offline: call profiler_cpus_changed() from the control thread soon.
	 * Called by the sampler thread; must not call the profiler.
	 */
	void (*cpus_changed)(void *arg);
	/* A run starts: the times of the CPUs count from now on. Called by the thread of a command. */
	void (*times_begin)(void *arg);
	/*
	 * Appends the times since then to an array of struct kprof_rec_cpu_times: one for each CPU,
	 * with the number of the CPU and its times, or none if there is no source of times. Called
	 * by any thread, without a lock of the profiler.
	 */
	void (*times_read)(void *arg, GArray *times);
	struct userwatch *userwatch; /* tells when processes get another user; NULL: only walks of /proc do */
	void *arg;
	/*
	 * Set by the profiler, for its sampler: with `profiler`, in each drain, when all is known that the
	 * samples that follow refer to.
	 */
	void (*tasks_known)(struct profiler *profiler);
	struct profiler *profiler;
};

#endif
