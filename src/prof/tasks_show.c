/* SPDX-License-Identifier: MIT */
/*
 * Tasks: what readers of a capture of one user's tasks may see. Perf reports the mappings and names of all
 * tasks, also of a setuid program that the user runs; only samples are known to be the user's. So of a
 * process is shown what was reported before a sample of it, in the program that was sampled.
 */
#include "prof/tasks_state.h"

#include "base/units.h"

/* /proc has the start of a process in ticks, rounded down. */
#define TICK_NS (10 * NSEC_PER_MSEC)

/* How many times of losses are held; the oldest are merged into one. */
#define GAPS_MAX 256

void tasks_hide(struct tasks *t)
{
	t->by_pid = g_hash_table_new(NULL, NULL);
	t->gaps = g_array_new(FALSE, FALSE, sizeof(struct tasks_gap));
}

void tasks_fini_hidden(struct tasks *t)
{
	if (!t->by_pid)
		return;
	g_hash_table_destroy(t->by_pid);
	g_array_free(t->gaps, TRUE);
}

/* ---- losses ---------------------------------------------------------------------------------- */

void tasks_lose(struct tasks *t, uint64_t from_ns, uint64_t to_ns)
{
	struct tasks_gap gap = { from_ns, to_ns };

	pthread_mutex_lock(&t->lock);
	while (t->gaps->len) {
		const struct tasks_gap *last = &g_array_index(t->gaps, struct tasks_gap, t->gaps->len - 1);

		if (last->to_ns < gap.from_ns && t->gaps->len < GAPS_MAX)
			break;
		gap.from_ns = MIN(gap.from_ns, last->from_ns);
		g_array_set_size(t->gaps, t->gaps->len - 1);
	}
	g_array_append_val(t->gaps, gap);
	pthread_mutex_unlock(&t->lock);
}

/* Whether records may have been lost between two times. */
static bool has_gap(const struct tasks *t, uint64_t one_ns, uint64_t other_ns)
{
	const uint64_t from_ns = MIN(one_ns, other_ns), to_ns = MAX(one_ns, other_ns);
	guint i;

	for (i = t->gaps->len; i-- > 0;) {
		const struct tasks_gap *gap = &g_array_index(t->gaps, struct tasks_gap, i);

		if (gap->to_ns <= from_ns)
			return false;
		if (gap->from_ns < to_ns)
			return true;
	}
	return false;
}

void tasks_confirm(struct tasks *t, uint64_t time_ns)
{
	pthread_mutex_lock(&t->lock);
	t->confirm_ns = time_ns;
	pthread_mutex_unlock(&t->lock);
}

void tasks_confirm_process(struct tasks *t, struct process *p)
{
	if (t->by_pid)
		tasks_current_program(p)->confirmed_ns = t->confirm_ns;
}

/* Whether the process is known to have had the program at time_ns. */
static bool is_sure(const struct tasks *t, const struct program *program, uint64_t time_ns)
{
	const uint64_t known_ns = program->confirmed_ns && program->confirmed_ns <= time_ns
		? MAX(program->confirmed_ns, program->time_ns) : program->time_ns;

	return !has_gap(t, known_ns, time_ns);
}

/* ---- processes ------------------------------------------------------------------------------- */

void tasks_hide_process(struct tasks *t, struct process *p)
{
	const struct process *older;

	if (!t->by_pid)
		return;
	older = g_hash_table_lookup(t->by_pid, GUINT_TO_POINTER(p->pid));
	p->older_id = older ? older->id : 0;
	g_hash_table_insert(t->by_pid, GUINT_TO_POINTER(p->pid), p);
}

void tasks_forget_pid(struct tasks *t, const struct process *p)
{
	struct process *older;

	if (!t->by_pid || g_hash_table_lookup(t->by_pid, GUINT_TO_POINTER(p->pid)) != p)
		return;
	older = g_hash_table_lookup(t->by_id, &p->older_id);
	if (older)
		g_hash_table_insert(t->by_pid, GUINT_TO_POINTER(p->pid), older);
	else
		g_hash_table_remove(t->by_pid, GUINT_TO_POINTER(p->pid));
}

/*
 * When the process began, at the latest. Of one that no fork and no walk has reported that is the first
 * record of it: at the exec of a setuid program Linux reports an exit of the process, which goes on.
 */
static uint64_t begin_time(const struct process *p)
{
	const struct program *first = g_ptr_array_index(p->programs, 0);

	if (p->fork_ns)
		return p->fork_ns;
	return p->start_ns ? p->start_ns + TICK_NS : first->time_ns;
}

/* The process that had the pid at time_ns; NULL if unknown. */
static struct process *find_process(struct tasks *t, uint32_t pid, uint64_t time_ns)
{
	struct process *p = g_hash_table_lookup(t->by_pid, GUINT_TO_POINTER(pid));

	while (p && begin_time(p) > time_ns)
		p = g_hash_table_lookup(t->by_id, &p->older_id);
	return p;
}

/* The program that the process had at time_ns. One that a walk of /proc found may have had it before. */
static struct program *find_program(const struct process *p, uint64_t time_ns)
{
	struct program *first = g_ptr_array_index(p->programs, 0);
	guint i;

	for (i = p->programs->len; i-- > 0;) {
		struct program *program = g_ptr_array_index(p->programs, i);

		if (program->time_ns <= time_ns)
			return program;
	}
	return p->fork_ns || !p->start_ns ? NULL : first;
}

/* The newest time of what is known of the program and of the threads. */
static uint64_t newest_time(const struct process *p, const struct program *program)
{
	uint64_t newest_ns = program->time_ns;
	GList *link;
	guint i;

	for (i = 0; i < program->set->mappings->len; i++)
		newest_ns = MAX(newest_ns,
			((struct mapping *)g_ptr_array_index(program->set->mappings, i))->time_ns);
	for (link = p->threads.head; link; link = link->next)
		newest_ns = MAX(newest_ns, ((struct thread *)link->data)->comm_ns);
	return newest_ns;
}

bool tasks_shows_thread(const struct tasks *t, const struct process *p, uint64_t time_ns)
{
	const struct program *program = t->by_pid ? find_program(p, time_ns) : NULL;

	return !t->by_pid || (program && tasks_shows(t, program, time_ns));
}

bool tasks_comes_into_view(const struct program *program, uint64_t time_ns, uint64_t since)
{
	return since < program->show_stamp &&
		(!program->before_stamp || since < program->before_stamp || time_ns > program->before_ns);
}

/* The program is shown up to time_ns. Readers look at the process again only if there is more. */
static void show_program(struct tasks *t, struct process *p, struct program *program, uint64_t time_ns)
{
	if (!program->show_stamp || p->stamp != p->seen_stamp || p->newest_ns > program->shown_ns) {
		program->before_ns = program->shown_ns;
		program->before_stamp = program->show_stamp;
		program->show_stamp = p->show_stamp = p->seen_stamp = tasks_touch(t, p);
		if (!program->first_stamp)
			program->first_stamp = program->show_stamp;
		p->newest_ns = newest_time(p, program);
	}
	/* a walk may have found it after the sample: it is the program that was sampled */
	program->shown_ns = MAX(time_ns, program->time_ns);
}

void tasks_show(struct tasks *t, uint32_t pid, uint64_t time_ns)
{
	struct program *program;
	struct process *p;

	pthread_mutex_lock(&t->lock);
	p = find_process(t, pid, time_ns);
	program = p ? find_program(p, time_ns) : NULL;
	if (program && (time_ns > program->shown_ns || !program->show_stamp) && is_sure(t, program, time_ns))
		show_program(t, p, program, time_ns);
	pthread_mutex_unlock(&t->lock);
}
