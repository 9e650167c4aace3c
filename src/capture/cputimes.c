/* SPDX-License-Identifier: MIT */
/* The times of the CPUs during the runs of a capture: see cputimes.h. */
#include "capture/cputimes.h"

struct cputimes_row {
	struct cputimes_sum before; /* of the runs before the current one */
	bool is_set;
	uint32_t section; /* of the current run */
	struct kprof_rec_cpu_times current;
};

void cputimes_init(struct cputimes *times)
{
	times->rows = g_array_new(FALSE, TRUE, sizeof(struct cputimes_row));
}

void cputimes_fini(struct cputimes *times)
{
	g_array_free(times->rows, TRUE);
}

/* The numbers of a capture are not trusted. */
static void add(uint64_t *to, uint64_t value)
{
	if (__builtin_add_overflow(*to, value, to))
		*to = UINT64_MAX;
}

static void add_record(struct cputimes_sum *sum, const struct kprof_rec_cpu_times *r)
{
	if (r->time_ns > r->since_ns)
		add(&sum->measured_ns, r->time_ns - r->since_ns);
	add(&sum->ns[CPUTIMES_USER], r->user_ns);
	add(&sum->ns[CPUTIMES_KERN], r->kern_ns);
	add(&sum->ns[CPUTIMES_IRQ], r->irq_ns);
	add(&sum->ns[CPUTIMES_IDLE], r->idle_ns);
	add(&sum->ns[CPUTIMES_STEAL], r->steal_ns);
}

void cputimes_add(struct cputimes *times, uint32_t section, const struct kprof_rec_cpu_times *record)
{
	struct cputimes_row *row;

	if (record->cpu >= CPUTIMES_CPUS_MAX)
		return;
	if (record->cpu >= times->rows->len)
		g_array_set_size(times->rows, record->cpu + 1);
	row = &g_array_index(times->rows, struct cputimes_row, record->cpu);
	if (row->is_set && row->section == section) {
		/* an earlier run, or an older record of this one: records are repeated */
		if (record->since_ns < row->current.since_ns ||
			(record->since_ns == row->current.since_ns &&
				record->time_ns < row->current.time_ns))
			return;
		if (record->since_ns > row->current.since_ns)
			add_record(&row->before, &row->current);
	} else if (row->is_set) {
		add_record(&row->before, &row->current);
	}
	row->is_set = true;
	row->section = section;
	row->current = *record;
}

uint32_t cputimes_cpus(const struct cputimes *times)
{
	return times->rows->len;
}

bool cputimes_sum(const struct cputimes *times, uint32_t cpu, struct cputimes_sum *sum)
{
	const struct cputimes_row *row;

	if (cpu >= times->rows->len)
		return false;
	row = &g_array_index(times->rows, struct cputimes_row, cpu);
	if (!row->is_set)
		return false;
	*sum = row->before;
	add_record(sum, &row->current);
	return true;
}
