/* SPDX-License-Identifier: MIT */
/*
 * The sampled threads, each once: those without COMM and FORK records get the names of their
 * processes. For perfdata_survey.c only. One thread at a time.
 */
#ifndef KPROFS_FORMATS_PERFDATA_PERFDATA_THREADS_H
#define KPROFS_FORMATS_PERFDATA_PERFDATA_THREADS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/decode.h"
#include "capture/pair_map.h"

/* The last sample of a CPU; CPUs may share an entry. */
#define PERFDATA_THREADS_LAST 64
struct perfdata_threads_last {
	uint32_t pid;
	uint16_t cpu;
	bool known; /* its thread is in the list */
};

/* The first sample of a thread. */
struct perfdata_threads_first {
	uint32_t section;
	uint32_t pid, tid; /* as in the capture */
	uint64_t time_ns;
};

struct perfdata_threads {
	GArray *firsts; /* struct perfdata_threads_first, one for each pid and tid */

	struct pair_map sampled; /* pid, tid: is in firsts */
	struct pair_map tasks;   /* of this section: cpu, process -> thread */
	struct perfdata_threads_last last[PERFDATA_THREADS_LAST];
};

void perfdata_threads_init(struct perfdata_threads *threads);
void perfdata_threads_fini(struct perfdata_threads *threads);

void perfdata_threads_begin_section(struct perfdata_threads *threads);
void perfdata_threads_take_task(
	struct perfdata_threads *threads, const struct kprof_rec_task *task);
void perfdata_threads_take_sample(struct perfdata_threads *threads, uint32_t section,
	const struct kprof_rec_trace *trace);

#endif
