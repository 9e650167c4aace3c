/* SPDX-License-Identifier: MIT */
/* The calls under way that readers of the trace are shown. */
#include "kernel/kernel_state.h"

#include "kernel/begun.h"
#include "kernel/filter.h"

/*
 * With the lock held: whether a call is recorded since before it began. Of one that was switched on
 * later, or whose filter depends on what it will return, nothing is known.
 */
static bool is_listed(struct kernel *kernel, const struct begun_thread *thread)
{
	const struct kernel_setting *setting, *all = g_hash_table_lookup(kernel->settings, KERNEL_ALL_CALLS);
	const struct filter_call call = { .pid = thread->tgid, .tid = thread->tid, .comm = thread->comm,
		.args = thread->call.args };
	const uint32_t number = thread->call.number;

	if (!kernel->enabled || thread->call.time_ns < kernel->enabled_since_ns)
		return false;
	if (thread->call.flags & KERNEL_RECORD_COMPAT)
		return all && !all->filter && thread->call.time_ns >= kernel->compat_since_ns;
	if (number >= CALLNAMES_NUMBERS || !kernel->callnames.names[number] ||
		thread->call.time_ns < kernel->calls_since_ns[number])
		return false;
	setting = kernel_call_setting(kernel, number);
	return setting && (!setting->filter || filter_holds(setting->filter, &call));
}

void kernel_list_begun(struct kernel *kernel, GArray *threads)
{
	guint kept = 0;

	if (kernel->begun_link < 0)
		return;
	/* one that can't be listed shows when it returns */
	begun_list(kernel->begun_link, threads);
	pthread_mutex_lock(&kernel->lock);
	for (guint i = 0; i < threads->len; i++) {
		const struct begun_thread *thread = &g_array_index(threads, struct begun_thread, i);

		if (is_listed(kernel, thread))
			g_array_index(threads, struct begun_thread, kept++) = *thread;
	}
	pthread_mutex_unlock(&kernel->lock);
	g_array_set_size(threads, kept);
}
