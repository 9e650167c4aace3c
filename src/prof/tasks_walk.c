/* SPDX-License-Identifier: MIT */
/*
 * Tasks: the results of a walk of /proc. A run begins with a walk. The state from the previous run
 * may have changed since, as no records were received. Each object has the number of the walk in
 * whose run it was last known to exist. So unchanged objects are recognised and need no new
 * records, however often the profiler is started and stopped, and ended ones are found.
 */
#include "prof/tasks_state.h"

#include <string.h>

#include "base/units.h"

/*
 * How much two reports of one start may differ: /proc counts in ticks, and perf reports a fork a
 * little later. No pid is reused so soon. If the clocks diverge (the machine was suspended), it
 * is treated as another process.
 */
#define SAME_START_NS (100 * NSEC_PER_MSEC)

bool tasks_is_same(const struct process *p, uint64_t start_ns)
{
	const uint64_t known_ns = p->start_ns ? p->start_ns : p->fork_ns;

	if (!known_ns || !start_ns)
		return false;
	return known_ns > start_ns ? known_ns - start_ns <= SAME_START_NS
				   : start_ns - known_ns <= SAME_START_NS;
}

/* kept: p is known from before this walk, and its changes since then were not seen. */
static void set_program(struct tasks *t, struct process *p, uint64_t time_ns, const char *path,
	bool kept)
{
	struct program *program = tasks_current_program(p);

	if (!kept && !path[0])
		return;
	if (!kept && !program->path) {
		/* it is new, or perf reported it first, but no mapping */
		program->path = interned_new(t->strings, path);
		program->stamp = tasks_touch(t, p);
	} else if (strcmp(program->path ? program->path : "", path) && program->time_ns < time_ns) {
		tasks_begin_program(t, p, time_ns, path[0] ? path : NULL); /* its exec was missed */
	}
}

void tasks_add_process(struct tasks *t, uint64_t time_ns, uint32_t pid, uint64_t start_ns,
	const char *path)
{
	struct process *p;
	bool watched, kept; /* by perf in this run; known from before */

	pthread_mutex_lock(&t->lock);
	p = tasks_find_process(t, pid);
	watched = p && p->seen_walk == t->walk;
	kept = p && !watched && tasks_is_same(p, start_ns);
	if (p && !watched && !kept)
		tasks_end_process(t, p);
	p = tasks_need_process(t, time_ns, pid);
	set_program(t, p, time_ns, path, kept);
	if (!watched || p->known_since_ns == UINT64_MAX)
		p->known_since_ns = time_ns;
	p->seen_walk = t->walk;
	tasks_confirm_process(t, p);
	p->start_ns = start_ns;
	p->orphan = false;
	pthread_mutex_unlock(&t->lock);
}

void tasks_add_thread(struct tasks *t, uint64_t time_ns, uint32_t pid, uint32_t tid,
	const char *name)
{
	struct process *p;
	struct thread *thread;

	pthread_mutex_lock(&t->lock);
	p = tasks_need_process(t, time_ns, pid);
	thread = tasks_need_thread(t, time_ns, p, tid);
	if (!thread->comm_ns ||
		(thread->seen_walk != t->walk && strcmp(thread->name ? thread->name : "", name))) {
		tasks_set_name(t, thread, time_ns, name);
		tasks_touch_thread(t, thread);
	}
	thread->seen_walk = t->walk;
	pthread_mutex_unlock(&t->lock);
}

bool tasks_take_orphan(struct tasks *t, uint32_t *pid)
{
	GHashTableIter iter;
	struct process *p;
	bool found = false;

	pthread_mutex_lock(&t->lock);
	g_hash_table_iter_init(&iter, t->living);
	while (!found && g_hash_table_iter_next(&iter, NULL, (gpointer *)&p))
		found = p->orphan;
	if (found) {
		p->orphan = false;
		*pid = p->pid;
	}
	pthread_mutex_unlock(&t->lock);
	return found;
}

/* ---- what a walk did not see ----------------------------------------------------------------- */

void tasks_begin_walk(struct tasks *t)
{
	pthread_mutex_lock(&t->lock);
	t->walk++;
	t->walk_stamp = atomic_read_relaxed(&t->stamp);
	pthread_mutex_unlock(&t->lock);
}

void tasks_doubt(struct tasks *t)
{
	GHashTableIter iter;
	struct process *p;

	pthread_mutex_lock(&t->lock);
	g_hash_table_iter_init(&iter, t->living);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&p))
		p->known_since_ns = UINT64_MAX;
	pthread_mutex_unlock(&t->lock);
}

static void end_threads(struct tasks *t, struct process *p, uint64_t time_ns)
{
	GList *link = p->threads.head;
	bool any = false;
	guint left;

	/* each that ends moves to the end of the list */
	for (left = p->threads.length; left; left--) {
		struct thread *thread = link->data;

		link = link->next;
		if (thread->ended || thread->seen_walk == t->walk)
			continue;
		tasks_end_thread(t, thread, time_ns);
		any = true;
	}
	if (any && !p->living)
		tasks_end_process(t, p);
}

static void end_mappings(struct tasks *t, struct process *p)
{
	struct program *program = tasks_current_program(p);
	guint i;

	for (i = 0; i < program->set->mappings->len; i++) {
		const struct mapping *m = g_ptr_array_index(program->set->mappings, i);

		if (m->ended || m->seen_walk == t->walk)
			continue;
		tasks_own_mappings(program);
		tasks_end_mapping(t, p, program, i);
	}
}

void tasks_end_walk(struct tasks *t, uint64_t time_ns)
{
	GHashTableIter iter;
	struct process *p;
	GPtrArray *all = g_ptr_array_new();
	guint i;

	pthread_mutex_lock(&t->lock);
	g_hash_table_iter_init(&iter, t->living);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&p))
		g_ptr_array_add(all, p);
	for (i = 0; i < all->len; i++) {
		p = g_ptr_array_index(all, i);
		if (p->seen_walk == t->walk) {
			end_mappings(t, p);
			end_threads(t, p, time_ns);
		} else {
			tasks_end_process(t, p);
		}
	}
	pthread_mutex_unlock(&t->lock);
	g_ptr_array_free(all, TRUE);
}
