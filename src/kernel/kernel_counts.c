/* SPDX-License-Identifier: MIT */
/* What kernel events count: recorded ones and others. */
#include "kernel/kernel_state.h"

#include "base/atomic.h"
#include "sys/lockdown.h"

/* With the lock held: the switches of which not all missed events are counted. */
static uint64_t count_uncounted(struct kernel *kernel)
{
	uint64_t count = 0;
	GHashTableIter iter;
	void *value;

	g_hash_table_iter_init(&iter, kernel->settings);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		count += ((const struct kernel_setting *)value)->uncounted;
	return count;
}

void kernel_note(struct kernel *kernel, const char *name, GString *out)
{
	const struct kernel_setting *setting;

	pthread_mutex_lock(&kernel->lock);
	setting = g_hash_table_lookup(kernel->settings, name);
	if (setting && setting->without_texts)
		g_string_append(out,
			"it is on without the texts in its records: kernel lockdown (confidentiality) "
			"forbids to read them; " LOCKDOWN_REMEDY);
	if (setting && setting->uncounted && !kernel->noted_uncounted) {
		kernel->noted_uncounted = true;
		g_string_append_printf(out,
			"%s Linux before 6.7 does not count what it leaves out of such an event while "
			"another program runs on the same CPU: trace.kernel.missed lacks that, and "
			"trace.kernel.missed_uncounted has the number of such switches",
			out->len ? "." : "it is on;");
	}
	pthread_mutex_unlock(&kernel->lock);
}

/* With the lock held: what the attached programs have missed. */
static uint64_t count_missed(struct kernel *kernel)
{
	uint64_t missed = kernel->missed + callprogram_missed(kernel->program);
	GHashTableIter iter;
	void *value;

	g_hash_table_iter_init(&iter, kernel->settings);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct kernel_setting *setting = value;

		missed += pointprogram_missed(setting->program) + functionprogram_missed(setting->function);
	}
	return missed;
}

static void total(struct kernel *kernel, struct rings_totals *totals)
{
	struct rings *rings = kernel_get_rings(kernel);

	if (rings)
		kernel_gather(kernel);
	kernel_put_rings(kernel, rings);
	pthread_mutex_lock(&kernel->lock);
	*totals = (struct rings_totals){ 0 };
	if (kernel->rings)
		rings_total(kernel->rings, totals);
	totals->recorded += kernel->former.recorded;
	totals->overwritten += kernel->former.overwritten;
	totals->torn += kernel->former.torn;
	totals->missed += kernel->former.missed + count_missed(kernel);
	pthread_mutex_unlock(&kernel->lock);
}

void kernel_print_stats(struct kernel *kernel, struct stats *stats)
{
	struct rings_totals totals;
	uint64_t bytes = 0, events, lost = 0, uncounted;

	total(kernel, &totals);
	pthread_mutex_lock(&kernel->lock);
	if (kernel->rings)
		bytes = (uint64_t)rings_bytes(kernel->rings) * rings_cpus(kernel->rings);
	if (kernel->control)
		lost = atomic_plain_read_acquire(&kernel->control->threads_lost);
	events = g_hash_table_size(kernel->settings);
	uncounted = count_uncounted(kernel);
	pthread_mutex_unlock(&kernel->lock);
	stats_u64(stats, events, "trace.kernel.events");
	stats_u64(stats, bytes, "trace.kernel.bytes");
	stats_u64(stats, totals.recorded, "trace.kernel.recorded");
	stats_u64(stats, totals.overwritten, "trace.kernel.overwritten");
	stats_u64(stats, totals.missed, "trace.kernel.missed");
	stats_u64(stats, uncounted, "trace.kernel.missed_uncounted");
	stats_u64(stats, totals.torn, "trace.kernel.torn");
	stats_u64(stats, lost, "trace.kernel.threads_lost");
	kernel_keep_print_stats(kernel, stats);
}

uint64_t kernel_overwritten(struct kernel *kernel)
{
	struct rings_totals totals;

	total(kernel, &totals);
	return totals.overwritten + totals.missed + totals.torn;
}
