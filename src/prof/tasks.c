/* SPDX-License-Identifier: MIT */
/*
 * Processes over time: see tasks.h for the calls, tasks_state.h for the state. This file has the
 * records of perf; mappings are in tasks_mappings.c, walks of /proc in tasks_walk.c, ended
 * processes and mappings in tasks_reap.c, the records for readers in tasks_encode.c.
 */
#include "prof/tasks_state.h"

#include <string.h>

/* ---- parts ----------------------------------------------------------------------------------- */

void tasks_put_mapping(struct mapping *m)
{
	if (--m->refs)
		return;
	interned_release(m->path);
	g_free(m);
}

static struct mapping_set *create_set(const struct mapping_set *copy)
{
	struct mapping_set *set = g_new0(struct mapping_set, 1);
	guint i;

	set->refs = 1;
	set->mappings = g_ptr_array_new_with_free_func((GDestroyNotify)tasks_put_mapping);
	for (i = 0; copy && i < copy->mappings->len; i++) {
		struct mapping *m = g_ptr_array_index(copy->mappings, i);

		m->refs++;
		g_ptr_array_add(set->mappings, m);
	}
	return set;
}

static void put_set(struct mapping_set *set)
{
	if (--set->refs)
		return;
	g_ptr_array_free(set->mappings, TRUE);
	g_free(set);
}

GPtrArray *tasks_own_mappings(struct program *program)
{
	if (program->set->refs > 1) {
		struct mapping_set *own = create_set(program->set);

		put_set(program->set);
		program->set = own;
	}
	return program->set->mappings;
}

static void free_program(struct program *program)
{
	interned_release(program->path);
	put_set(program->set);
	g_free(program);
}

void tasks_free_thread(struct thread *thread)
{
	interned_release(thread->name);
	g_free(thread);
}

static void free_process(struct process *p)
{
	GList *link;

	while ((link = p->threads.head)) {
		g_queue_unlink(&p->threads, link);
		tasks_free_thread(link->data);
	}
	g_ptr_array_free(p->programs, TRUE);
	if (p->users)
		g_array_free(p->users, TRUE);
	g_free(p);
}

struct process *tasks_find_process(struct tasks *t, uint32_t pid)
{
	return g_hash_table_lookup(t->living, GUINT_TO_POINTER(pid));
}

/* ---- stamps ---------------------------------------------------------------------------------- */

static uint64_t next_stamp(struct tasks *t)
{
	uint64_t stamp = atomic_read_relaxed(&t->stamp) + 1;

	atomic_write_relaxed(&t->stamp, stamp);
	return stamp;
}

uint64_t tasks_touch(struct tasks *t, struct process *p)
{
	p->stamp = next_stamp(t);
	g_queue_unlink(&t->by_change, &p->by_change);
	g_queue_push_tail_link(&t->by_change, &p->by_change);
	return p->stamp;
}

void tasks_touch_thread(struct tasks *t, struct thread *thread)
{
	struct process *p = thread->process;

	thread->stamp = tasks_touch(t, p);
	g_queue_unlink(&p->threads, &thread->by_change);
	g_queue_push_tail_link(&p->threads, &thread->by_change);
}

/* ---- create, destroy ------------------------------------------------------------------------- */

struct tasks *tasks_create(void)
{
	struct tasks *t = g_new0(struct tasks, 1);

	pthread_mutex_init(&t->lock, NULL);
	t->strings = interned_create();
	t->living = g_hash_table_new(NULL, NULL);
	t->tids = g_hash_table_new(NULL, NULL);
	t->by_id = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL,
		(GDestroyNotify)free_process);
	g_queue_init(&t->by_change);
	g_queue_init(&t->ending);
	g_queue_init(&t->ended);
	tasks_init_wanted(t);
	tasks_init_users(t);
	return t;
}

static void free_all(struct tasks *t)
{
	tasks_free_endings(&t->ending);
	tasks_free_endings(&t->ended);
	tasks_clear_wanted(t);
	tasks_clear_users(t);
	g_hash_table_remove_all(t->living);
	if (t->by_pid)
		g_hash_table_remove_all(t->by_pid);
	g_hash_table_remove_all(t->tids);
	g_queue_init(&t->by_change); /* its links are members of the processes */
	g_hash_table_remove_all(t->by_id);
}

void tasks_clear(struct tasks *t)
{
	pthread_mutex_lock(&t->lock);
	free_all(t);
	atomic_write_relaxed(&t->bytes, 0);
	pthread_mutex_unlock(&t->lock);
}

void tasks_destroy(struct tasks *t)
{
	if (!t)
		return;
	free_all(t);
	tasks_fini_wanted(t);
	tasks_fini_users(t);
	g_hash_table_destroy(t->living);
	tasks_fini_hidden(t);
	g_hash_table_destroy(t->tids);
	g_hash_table_destroy(t->by_id);
	interned_destroy(t->strings);
	pthread_mutex_destroy(&t->lock);
	g_free(t);
}

/* ---- processes and threads ------------------------------------------------------------------- */

static struct process *add_process(struct tasks *t, uint32_t pid)
{
	struct process *p = tasks_find_process(t, pid);

	if (p) /* its end was missed */
		tasks_end_process(t, p);
	p = g_new0(struct process, 1);
	p->id = ++t->next_id;
	p->pid = pid;
	p->seen_walk = t->walk;
	p->born_runs = t->runs;
	p->programs = g_ptr_array_new_with_free_func((GDestroyNotify)free_program);
	g_queue_init(&p->threads);
	p->by_change.data = p;
	g_hash_table_insert(t->living, GUINT_TO_POINTER(pid), p);
	g_hash_table_insert(t->by_id, &p->id, p);
	g_queue_push_tail_link(&t->by_change, &p->by_change);
	tasks_hide_process(t, p);
	tasks_adopt_user(t, p);
	return p;
}

/* takes ownership of `set` */
static struct program *add_program(struct tasks *t, struct process *p, uint64_t time_ns,
	const char *path, struct mapping_set *set)
{
	struct program *program = g_new0(struct program, 1);

	program->time_ns = time_ns;
	program->path = path ? interned_new(t->strings, path) : NULL;
	program->set = set;
	program->born_runs = t->runs;
	g_ptr_array_add(p->programs, program);
	program->stamp = program->born_stamp = tasks_touch(t, p);
	return program;
}

/* The living thread of p; NULL if unknown. */
static struct thread *find_thread(struct tasks *t, const struct process *p, uint32_t tid)
{
	struct thread *thread = g_hash_table_lookup(t->tids, GUINT_TO_POINTER(tid));

	return thread && thread->process == p ? thread : NULL;
}

/* The caller calls tasks_touch_thread(). */
static struct thread *add_thread(struct tasks *t, uint64_t time_ns, struct process *p, uint32_t tid)
{
	struct thread *thread = g_hash_table_lookup(t->tids, GUINT_TO_POINTER(tid));

	if (thread) { /* of another process: its end was missed */
		struct process *other = thread->process;

		tasks_end_thread(t, thread, time_ns);
		if (!other->living)
			tasks_end_process(t, other);
	}
	thread = g_new0(struct thread, 1);
	thread->process = p;
	thread->tid = tid;
	thread->seen_walk = t->walk;
	thread->born_runs = t->runs;
	thread->by_change.data = thread;
	g_queue_push_tail_link(&p->threads, &thread->by_change);
	g_hash_table_insert(t->tids, GUINT_TO_POINTER(tid), thread);
	p->living++;
	return thread;
}

struct thread *tasks_need_thread(struct tasks *t, uint64_t time_ns, struct process *p,
	uint32_t tid)
{
	struct thread *thread = find_thread(t, p, tid);

	return thread ? thread : add_thread(t, time_ns, p, tid);
}

void tasks_set_name(struct tasks *t, struct thread *thread, uint64_t time_ns, const char *name)
{
	const char *before = thread->name;

	thread->name = interned_new(t->strings, name);
	interned_release(before); /* after that: the new name may be the same string */
	thread->comm_ns = time_ns;
}

struct process *tasks_need_process(struct tasks *t, uint64_t time_ns, uint32_t pid)
{
	struct process *p = tasks_find_process(t, pid);

	if (!p) {
		p = add_process(t, pid);
		/* it is older than this record: its program and mappings are unknown */
		p->known_since_ns = UINT64_MAX;
		add_program(t, p, time_ns, NULL, create_set(NULL));
	}
	return p;
}

void tasks_begin_program(struct tasks *t, struct process *p, uint64_t time_ns, const char *path)
{
	struct program *before = tasks_current_program(p);

	add_program(t, p, time_ns, path, create_set(NULL));
	tasks_end_program(t, p, before);
}

/*
 * A walk of /proc after time_ns has seen p: it is the process that began then, not an earlier
 * one.
 */
static bool was_walked_since(const struct process *p, uint64_t time_ns)
{
	const struct program *first = g_ptr_array_index(p->programs, 0);

	return !p->fork_ns && first->time_ns >= time_ns;
}

/*
 * Whether what is known of the parent was true at time_ns: not if the walk has not seen it yet,
 * or saw it later only.
 */
static bool knows_parent(const struct tasks *t, const struct process *parent, uint64_t time_ns)
{
	return parent && parent->seen_walk == t->walk && parent->known_since_ns <= time_ns;
}

/*
 * The program that the parent had at time_ns. A walk of /proc may have seen the next one before
 * perf reports a fork in between.
 */
static struct program *program_at(const struct process *parent, uint64_t time_ns)
{
	guint i;

	for (i = parent->programs->len; i-- > 0;) {
		struct program *program = g_ptr_array_index(parent->programs, i);

		if (program->time_ns <= time_ns)
			return program;
	}
	return tasks_current_program(parent);
}

/* m was found after time_ns, at addresses where another mapping was already known by then. */
static bool replaced_later(const GPtrArray *all, const struct mapping *m, uint64_t time_ns)
{
	guint i;

	for (i = 0; m->time_ns > time_ns && i < all->len; i++) {
		const struct mapping *before = g_ptr_array_index(all, i);

		if (before->time_ns <= time_ns && tasks_overlap(before, m->addr, m->size))
			return true;
	}
	return false;
}

/*
 * The set that a child forked at time_ns gets. A walk of /proc may have found the parent's
 * mappings after the fork: those that replaced others are not the child's.
 */
static struct mapping_set *inherit_set(const struct program *from, uint64_t time_ns)
{
	struct mapping_set *set = from->set, *copy = NULL;
	guint i;

	for (i = set->mappings->len; i-- > 0;) {
		if (!replaced_later(set->mappings, g_ptr_array_index(set->mappings, i), time_ns))
			continue;
		if (!copy)
			copy = create_set(set);
		g_ptr_array_remove_index(copy->mappings, i);
	}
	if (copy)
		return copy;
	set->refs++;
	return set;
}

static struct process *fork_process(struct tasks *t, uint64_t time_ns, uint32_t pid,
	struct process *parent)
{
	const bool known = knows_parent(t, parent, time_ns);
	struct program *from = NULL;
	struct process *p = tasks_find_process(t, pid);
	const bool was_walked = p && was_walked_since(p, time_ns);
	struct program *program;

	if (known || (parent && parent->seen_walk == t->walk && parent->known_since_ns == UINT64_MAX))
		from = program_at(parent, time_ns); /* or the known part of it */
	if (!was_walked) {
		p = add_process(t, pid);
		program = add_program(t, p, time_ns, from ? from->path : NULL,
			from ? inherit_set(from, time_ns) : create_set(NULL));
		program->inherited = from != NULL;
	}
	p->fork_ns = time_ns;
	p->parent_id = parent ? parent->id : 0;
	tasks_inherit_user(t, p);
	p->orphan = !known && !was_walked;
	if (p->orphan)
		p->known_since_ns = UINT64_MAX;
	return p;
}

void tasks_fork(struct tasks *t, uint64_t time_ns, uint32_t pid, uint32_t tid,
	uint32_t parent_pid, uint32_t parent_tid)
{
	struct process *p, *parent;
	struct thread *thread;

	pthread_mutex_lock(&t->lock);
	parent = tasks_find_process(t, parent_pid);
	p = pid == parent_pid ? tasks_need_process(t, time_ns, pid)
			      : fork_process(t, time_ns, pid, parent);
	/* the walk of /proc may have seen it first */
	thread = tasks_need_thread(t, time_ns, p, tid);
	thread->seen_walk = t->walk;
	thread->fork_ns = time_ns;
	thread->parent_pid = parent_pid;
	thread->parent_tid = parent_tid;
	if (parent && !thread->name) {
		struct thread *like = find_thread(t, parent, parent_tid);

		if (like && like->name && like->seen_walk == t->walk)
			/* a new task has its parent's name */
			tasks_set_name(t, thread, time_ns, like->name);
	}
	tasks_touch_thread(t, thread);
	pthread_mutex_unlock(&t->lock);
}

void tasks_exit(struct tasks *t, uint64_t time_ns, uint32_t pid, uint32_t tid,
	uint32_t parent_pid, uint32_t parent_tid)
{
	struct process *p;
	struct thread *thread;

	pthread_mutex_lock(&t->lock);
	p = tasks_find_process(t, pid);
	thread = p ? find_thread(t, p, tid) : NULL;
	if (thread) {
		if (!thread->fork_ns) {
			thread->parent_pid = parent_pid;
			thread->parent_tid = parent_tid;
		}
		tasks_end_thread(t, thread, time_ns);
		if (!p->living)
			tasks_end_process(t, p);
	}
	pthread_mutex_unlock(&t->lock);
}

/* An exec leaves one thread, even if the records of the others' ends were lost. */
static void end_other_threads(struct tasks *t, struct process *p, const struct thread *stays,
	uint64_t time_ns)
{
	GList *link = p->threads.head;
	guint left;

	/* each that ends moves to the end of the list */
	for (left = p->threads.length; left; left--) {
		struct thread *thread = link->data;

		link = link->next;
		if (thread != stays && !thread->ended)
			tasks_end_thread(t, thread, time_ns);
	}
}

void tasks_comm(struct tasks *t, uint64_t time_ns, uint32_t pid, uint32_t tid, const char *name,
	bool exec)
{
	struct process *p;
	struct thread *thread;

	pthread_mutex_lock(&t->lock);
	p = tasks_need_process(t, time_ns, pid);
	thread = tasks_need_thread(t, time_ns, p, tid);
	tasks_set_name(t, thread, time_ns, name);
	thread->seen_walk = t->walk;
	if (exec) {
		if (p->living > 1)
			end_other_threads(t, p, thread, time_ns);
		tasks_begin_program(t, p, time_ns, NULL);
		p->known_since_ns = 0;
	}
	tasks_touch_thread(t, thread);
	pthread_mutex_unlock(&t->lock);
}
