/* SPDX-License-Identifier: MIT */
/* Selected samples of a profile: see selection.h. */
#include "tui/selection.h"

static bool is_chosen(const struct profile_cell *cell, const struct selection_choice *choice)
{
	return cell->event == choice->event && !(cell->flags & PROFILE_IDLE) &&
	       (choice->own || !(cell->flags & PROFILE_OWN));
}

struct profile *selection_create(const struct profile *profile, const struct selection_choice *choice)
{
	struct profile *selected = g_memdup2(profile, sizeof(*profile));
	uint32_t i;

	selected->cells = g_array_new(FALSE, FALSE, sizeof(struct profile_cell));
	for (i = 0; i < profile->cells->len; i++) {
		struct profile_cell cell = *profile_cell(profile, i);

		if (!is_chosen(&cell, choice))
			continue;
		if (choice->one_thread && (cell.tid != choice->tid ||
				processes_pid(profile->processes, cell.life) != choice->pid))
			continue;
		cell.flags = 0;
		g_array_append_val(selected->cells, cell);
	}
	return selected;
}

void selection_destroy(struct profile *selected)
{
	if (!selected)
		return;
	g_array_free(selected->cells, TRUE);
	g_free(selected);
}

static gint compare_threads(gconstpointer a, gconstpointer b)
{
	const struct selection_thread *x = a, *y = b;

	if (x->count.weight != y->count.weight)
		return x->count.weight > y->count.weight ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

GArray *selection_threads(const struct profile *profile, const struct selection_choice *choice)
{
	GArray *threads = g_array_new(FALSE, FALSE, sizeof(struct selection_thread));
	g_autoptr(GHashTable) known = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	uint32_t i;

	for (i = 0; i < profile->cells->len; i++) {
		const struct profile_cell *cell = profile_cell(profile, i);
		struct selection_thread thread = {.tid = cell->tid, .process = cell->name};
		gpointer index;
		gint64 key;

		if (!is_chosen(cell, choice))
			continue;
		thread.pid = processes_pid(profile->processes, cell->life);
		key = (gint64)((guint64)thread.pid << 32 | thread.tid);
		if (!g_hash_table_lookup_extended(known, &key, NULL, &index)) {
			index = GUINT_TO_POINTER(threads->len);
			g_hash_table_insert(known, g_memdup2(&key, sizeof(key)), index);
			g_array_append_val(threads, thread);
		}
		profile_add(&g_array_index(threads, struct selection_thread, GPOINTER_TO_UINT(index)).count,
			cell->count.samples, cell->count.weight);
	}
	g_array_sort(threads, compare_threads);
	return threads;
}
