/* SPDX-License-Identifier: MIT */
/* Copies of the trace: see snapshot.h. */
#include "trace/snapshot.h"

#include <errno.h>
#include <string.h>

#include "kernel/begun.h"

void snapshot_cut(struct snapshot *snapshot, guint first)
{
	guint i;

	for (i = first; i < snapshot->chunks->len; i++)
		g_free(g_array_index(snapshot->chunks, struct snapshot_chunk, i).data);
	growing_cut(snapshot->chunks, first);
}

static void clear_copy(void *copy)
{
	rings_copy_clear(copy);
}

struct snapshot *snapshot_create(struct snapshot_budget *budget, uid_t reader,
	GPtrArray *producers, struct kernel *kernel, uint64_t cleared_ns)
{
	struct snapshot *snapshot = g_new0(struct snapshot, 1);

	snapshot->budget = budget;
	snapshot->reader = reader;
	snapshot->producers = producers;
	snapshot->cleared_ns = cleared_ns;
	snapshot->chunks = growing_create(sizeof(struct snapshot_chunk));
	snapshot->text = g_string_new(NULL);
	snapshot->unknown = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	snapshot->messages = growing_create(sizeof(struct snapshot_message));
	snapshot->source = kernel;
	if (kernel)
		kernel_begin_reading(kernel);
	snapshot->kernel = g_array_new(FALSE, FALSE, sizeof(struct rings_copy));
	g_array_set_clear_func(snapshot->kernel, clear_copy);
	snapshot->kernel_events = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	return snapshot;
}

void snapshot_destroy(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	snapshot_budget_return(snapshot->budget, snapshot->reader, snapshot->bytes);
	snapshot_cut(snapshot, 0);
	growing_destroy(snapshot->chunks);
	growing_destroy(snapshot->messages);
	g_string_free(snapshot->text, TRUE);
	g_array_unref(snapshot->kernel);
	g_hash_table_unref(snapshot->kernel_events);
	if (snapshot->has_names)
		kernel_names_destroy(snapshot->names);
	if (snapshot->source)
		kernel_end_reading(snapshot->source);
	g_hash_table_unref(snapshot->unknown);
	clock_map_copy_free(snapshot->clock);
	g_ptr_array_unref(snapshot->producers);
	g_free(snapshot);
}

void snapshot_find_names(struct snapshot *snapshot, const struct cancel *cancel)
{
	if (!snapshot->kernel->len)
		return;
	snapshot->names = kernel_names_create(snapshot->source);
	snapshot->has_names = true;
	kernel_names_find(snapshot->names, snapshot->kernel, cancel ? cancel->cancel_fd : -1);
}

int snapshot_reserve(struct snapshot *snapshot, uint64_t bytes)
{
	uint64_t taken = snapshot_budget_take(snapshot->budget, snapshot->reader, bytes);

	if (taken < bytes) {
		snapshot_budget_return(snapshot->budget, snapshot->reader, taken);
		return -ENOMEM;
	}
	snapshot->bytes += bytes;
	return 0;
}

int snapshot_copy_ring(struct snapshot *snapshot, struct rings *rings, uint32_t cpu, uint64_t from,
	bool skip, struct rings_copy **copy)
{
	struct rings_copy made;
	int ret = snapshot_reserve(snapshot, rings_bytes(rings));

	if (!ret)
		ret = rings_copy(rings, cpu, from, skip, &made);
	if (ret)
		return ret;
	g_array_append_val(snapshot->kernel, made);
	*copy = &g_array_index(snapshot->kernel, struct rings_copy, snapshot->kernel->len - 1);
	return 0;
}

/* Removes from `by_tid` the calls whose return this copy has. */
static void forget_returned(const struct rings_copy *copy, GHashTable *by_tid)
{
	const struct kernel_record *record;
	uint64_t at = copy->begin, ns;

	while ((record = rings_next(copy, &at))) {
		const struct begun_thread *thread;

		if (!kernel_call_duration(record, &ns))
			continue;
		thread = g_hash_table_lookup(by_tid, GUINT_TO_POINTER(record->tid));
		if (thread && thread->call.time_ns == record->time_ns - ns)
			g_hash_table_remove(by_tid, GUINT_TO_POINTER(record->tid));
	}
}

void snapshot_add_begun(struct snapshot *snapshot, GArray *threads)
{
	g_autoptr(GHashTable) by_tid = g_hash_table_new(NULL, NULL);
	struct rings_copy copy;
	guint kept = 0;

	for (guint i = 0; i < threads->len; i++) {
		struct begun_thread *thread = &g_array_index(threads, struct begun_thread, i);

		g_hash_table_insert(by_tid, GUINT_TO_POINTER(thread->tid), thread);
	}
	for (guint i = 0; i < snapshot->kernel->len && threads->len; i++)
		forget_returned(&g_array_index(snapshot->kernel, struct rings_copy, i), by_tid);
	for (guint i = 0; i < threads->len; i++) {
		const struct begun_thread *thread = &g_array_index(threads, struct begun_thread, i);

		if (g_hash_table_contains(by_tid, GUINT_TO_POINTER(thread->tid)))
			g_array_index(threads, struct begun_thread, kept++) = *thread;
	}
	g_array_set_size(threads, kept);
	if (!kept)
		return;
	if (snapshot_reserve(snapshot, begun_copy_bytes(kept)) || begun_copy(threads, &copy))
		snapshot->left_out += kept;
	else
		g_array_append_val(snapshot->kernel, copy);
}

int snapshot_add(struct snapshot *snapshot, const struct snapshot_chunk *chunk)
{
	return growing_add(snapshot->chunks, chunk);
}

void snapshot_leave_out(struct snapshot *snapshot, guint first, guint end)
{
	struct snapshot_chunk *all = &g_array_index(snapshot->chunks, struct snapshot_chunk, 0);
	guint len = snapshot->chunks->len, i;

	for (i = first; i < end; i++) {
		snapshot->left_out += all[i].extent.count;
		g_free(all[i].data);
	}
	memmove(&all[first], &all[end], (len - end) * sizeof(*all));
	growing_cut(snapshot->chunks, len - (end - first));
}
