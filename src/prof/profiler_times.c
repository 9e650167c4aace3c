/* SPDX-License-Identifier: MIT */
/*
 * The times of the CPUs during runs, as records for the readers of kpdata. They are not in the queue,
 * where they could be dropped: each reader gets them among its own records. Their source belongs to
 * another module (profiler_hooks.h).
 */
#include "prof/profiler_state.h"
#include "sys/clock.h"

/* The runs whose times are kept: on a machine of 2048 CPUs these are less than a MiB for a reader. */
#define RUNS_KEPT 8

/* The times of the current run until now. */
static GArray *read_times(const struct profiler *p, uint64_t since_ns)
{
	GArray *times = g_array_new(FALSE, FALSE, sizeof(struct kprof_rec_cpu_times));
	const uint64_t now = clock_monotonic_ns();
	guint i;

	p->hooks.times_read(p->hooks.arg, times);
	for (i = 0; i < times->len; i++) {
		struct kprof_rec_cpu_times *row = &g_array_index(times, struct kprof_rec_cpu_times, i);

		row->since_ns = since_ns;
		row->time_ns = now;
	}
	return times;
}

static void begin(struct profiler *p)
{
	p->times_since_ns = clock_monotonic_ns();
	p->hooks.times_begin(p->hooks.arg);
}

void profiler_times_begin(struct profiler *p)
{
	pthread_mutex_lock(&p->lock);
	begin(p);
	pthread_mutex_unlock(&p->lock);
}

/* Forgets the oldest runs. Under the lock. */
static void keep_newest(GArray *times)
{
	guint i, runs = 0;

	for (i = times->len; i--;) {
		const struct kprof_rec_cpu_times *row =
			&g_array_index(times, struct kprof_rec_cpu_times, i);

		if (i + 1 == times->len || row->since_ns != row[1].since_ns)
			runs++;
		if (runs > RUNS_KEPT) {
			g_array_remove_range(times, 0, i + 1);
			return;
		}
	}
}

void profiler_times_end(struct profiler *p)
{
	g_autoptr(GArray) times = read_times(p, p->times_since_ns);

	pthread_mutex_lock(&p->lock);
	if (times->len)
		g_array_append_vals(p->times, times->data, times->len);
	keep_newest(p->times);
	p->runs_ns += clock_monotonic_ns() - p->times_since_ns;
	p->times_since_ns = 0;
	atomic_add_relaxed(&p->header_stamp, 1);
	pthread_mutex_unlock(&p->lock);
}

void profiler_times_clear(struct profiler *p)
{
	pthread_mutex_lock(&p->lock);
	g_array_set_size(p->times, 0);
	p->runs_ns = 0;
	if (p->times_since_ns)
		begin(p);
	pthread_mutex_unlock(&p->lock);
}

uint64_t profiler_times_length(const struct profiler *p)
{
	return p->runs_ns + (p->times_since_ns ? clock_monotonic_ns() - p->times_since_ns : 0);
}

void profiler_times_copy(struct profiler *p, GArray *times)
{
	GArray *now = NULL;
	uint64_t since;

	pthread_mutex_lock(&p->lock);
	since = p->times_since_ns;
	pthread_mutex_unlock(&p->lock);
	if (since)
		now = read_times(p, since);
	pthread_mutex_lock(&p->lock);
	g_array_append_vals(times, p->times->data, p->times->len);
	if (now && p->times_since_ns == since) /* the run has not ended meanwhile */
		g_array_append_vals(times, now->data, now->len);
	pthread_mutex_unlock(&p->lock);
	if (now)
		g_array_free(now, TRUE);
}

void profiler_times_encode(struct profiler *p, struct record_buf *buf)
{
	GArray *times = g_array_new(FALSE, FALSE, sizeof(struct kprof_rec_cpu_times));
	guint i;

	profiler_times_copy(p, times);
	for (i = 0; i < times->len; i++)
		record_cpu_times(buf, &g_array_index(times, struct kprof_rec_cpu_times, i));
	g_array_free(times, TRUE);
}
