/* SPDX-License-Identifier: MIT */
/* The sampled threads: see perfdata_threads.h. */
#include "formats/perfdata/perfdata_threads.h"

#include <string.h>

void perfdata_threads_init(struct perfdata_threads *threads)
{
	memset(threads, 0, sizeof(*threads));
	threads->firsts = g_array_new(FALSE, FALSE, sizeof(struct perfdata_threads_first));
	pair_map_init(&threads->sampled);
	pair_map_init(&threads->tasks);
}

void perfdata_threads_fini(struct perfdata_threads *threads)
{
	g_array_free(threads->firsts, TRUE);
	pair_map_fini(&threads->sampled);
	pair_map_fini(&threads->tasks);
}

void perfdata_threads_begin_section(struct perfdata_threads *threads)
{
	pair_map_clear(&threads->tasks);
	memset(threads->last, 0, sizeof(threads->last));
}

void perfdata_threads_take_task(struct perfdata_threads *threads, const struct kprof_rec_task *task)
{
	pair_map_set(&threads->tasks, task->cpu, task->pid, task->tid);
	threads->last[task->cpu % PERFDATA_THREADS_LAST].known = false;
}

/* Most samples are of the same thread as the one before on their CPU. */
void perfdata_threads_take_sample(struct perfdata_threads *threads, uint32_t section,
	const struct kprof_rec_trace *trace)
{
	struct perfdata_threads_last *last = &threads->last[trace->cpu % PERFDATA_THREADS_LAST];
	struct perfdata_threads_first first = {
		.section = section,
		.pid = trace->pid,
		.tid = trace->pid,
		.time_ns = trace->time_ns,
	};
	const uint64_t *tid;

	if (last->known && last->pid == trace->pid && last->cpu == trace->cpu)
		return;
	*last = (struct perfdata_threads_last){ trace->pid, trace->cpu, true };
	tid = pair_map_find(&threads->tasks, trace->cpu, trace->pid);
	if (tid)
		first.tid = (uint32_t)*tid;
	if (pair_map_find(&threads->sampled, first.pid, first.tid))
		return;
	pair_map_set(&threads->sampled, first.pid, first.tid, 1);
	g_array_append_val(threads->firsts, first);
}
