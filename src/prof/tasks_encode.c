/* SPDX-License-Identifier: MIT */
/* Tasks: the records for a reader about changes since its last call. */
#include "prof/tasks_state.h"

#include "prof/record.h"

static void encode_file(const struct mapping *m, uint64_t time_ns, uint32_t pid,
	struct record_buf *buf)
{
	const struct kprof_rec_file_id head = {
		.time_ns = time_ns,
		.addr = m->addr,
		.inode = m->file.inode,
		.dev_major = m->file.dev_major,
		.dev_minor = m->file.dev_minor,
		.pid = pid,
	};
	const uint64_t details[3] = { m->file.generation, m->file.size, m->file.mtime_ns };

	record_file_id(buf, &head, details);
}

static void encode_mapping(const struct mapping *m, uint64_t time_ns, uint32_t pid,
	struct record_buf *buf)
{
	const struct kprof_rec_mmap head = {
		.time_ns = time_ns, .addr = m->addr, .size = m->size, .offset = m->offset, .pid = pid
	};

	record_mmap(buf, &head, m->path);
	if (m->build_id_length)
		record_build_id(buf, time_ns, pid, m->addr, m->build_id, m->build_id_length);
	else if (m->file.inode)
		encode_file(m, time_ns, pid, buf);
}

/*
 * A mapping that a walk of /proc found in the parent after the fork: a decoder that looks up the
 * parent's mappings at the time of the fork does not find it.
 */
static bool has_later(const struct program *program)
{
	guint i;

	for (i = 0; i < program->set->mappings->len; i++) {
		const struct mapping *m = g_ptr_array_index(program->set->mappings, i);

		if (m->time_ns > program->time_ns)
			return true;
	}
	return false;
}

/* The parent of p is still encoded with the set that p inherited from it. */
static bool parent_tells(struct tasks *t, const struct process *p, const struct program *program)
{
	const struct process *parent = g_hash_table_lookup(t->by_id, &p->parent_id);
	guint i;

	if (t->by_pid)
		return false; /* what is shown of the parent is another part of it */
	if (p->fork_missing)
		return false; /* without it no FORK names the parent */
	for (i = 0; parent && i < parent->programs->len; i++) {
		const struct program *of = g_ptr_array_index(parent->programs, i);

		if (of->set == program->set)
			return !has_later(program);
	}
	return false;
}

static void encode_program(struct tasks *t, const struct process *p, const struct program *program,
	uint64_t since, struct record_buf *buf)
{
	guint i;

	if (!tasks_shows(t, program, program->time_ns))
		return;
	if (MAX(program->stamp, program->first_stamp) > since && program->path)
		record_new_process(buf, program->time_ns, p->pid, program->path);
	if (program->inherited && parent_tells(t, p, program))
		return;
	for (i = 0; i < program->set->mappings->len; i++) {
		const struct mapping *m = g_ptr_array_index(program->set->mappings, i);

		/*
		 * What was inherited by fork belongs to the process since then. Stamps show what
		 * was inherited, times do not: the parent's mapping may come from a walk of /proc
		 * after the fork.
		 */
		const bool came = m->stamp <= program->born_stamp;
		const uint64_t stamp = came ? program->born_stamp : m->stamp;
		const uint64_t time_ns = came ? program->time_ns : m->time_ns;

		if (tasks_shows(t, program, time_ns) && (MAX(stamp, m->id_stamp) > since ||
				tasks_comes_into_view(program, time_ns, since)))
			encode_mapping(m, time_ns, p->pid, buf);
	}
}

/* FORK or EXIT */
static void encode_event(const struct process *p, const struct thread *thread,
	enum kprof_record_type type, uint64_t time_ns, struct record_buf *buf)
{
	const struct kprof_rec_fork head = {
		.time_ns = time_ns,
		.pid = p->pid,
		.tid = thread->tid,
		.parent_pid = thread->parent_pid,
		.parent_tid = thread->parent_tid,
	};

	record_fork(buf, type, &head);
}

static void encode_thread(struct tasks *t, const struct process *p, const struct thread *thread,
	struct record_buf *buf)
{
	if (thread->fork_ns && tasks_shows_thread(t, p, thread->fork_ns))
		encode_event(p, thread, KPROF_REC_FORK, thread->fork_ns, buf);
	if (thread->name && tasks_shows_thread(t, p, thread->comm_ns))
		record_comm(buf, thread->comm_ns, p->pid, thread->tid, thread->name);
}

static void encode_exit(const struct process *p, const struct thread *thread, struct record_buf *buf)
{
	if (thread->ended)
		encode_event(p, thread, KPROF_REC_EXIT, thread->exit_ns, buf);
}

/* The oldest of the threads that changed after `since`; NULL if none did. */
static GList *find_changed(const struct process *p, uint64_t since)
{
	GList *link = p->threads.tail, *found = NULL;

	for (; link && ((struct thread *)link->data)->stamp > since; link = link->prev)
		found = link;
	return found;
}

static void encode_process(struct tasks *t, const struct process *p, uint64_t since,
	struct record_buf *buf)
{
	GList *changed = find_changed(p, since), *link;
	guint i;

	if (t->by_pid && !p->show_stamp)
		return;
	if (p->show_stamp > since)
		changed = p->threads.head; /* more of each may be shown now */
	for (link = changed; link; link = link->next)
		encode_thread(t, p, link->data, buf);
	tasks_encode_users(t, p, since, buf);
	for (i = 0; i < p->programs->len; i++)
		encode_program(t, p, g_ptr_array_index(p->programs, i), since, buf);
	for (link = changed; link; link = link->next)
		encode_exit(p, link->data, buf);
}

uint64_t tasks_stamp(struct tasks *t)
{
	return atomic_read_relaxed(&t->stamp);
}

uint64_t tasks_encode(struct tasks *t, uint64_t since, struct record_buf *buf)
{
	uint64_t stamp;
	GList *link;

	pthread_mutex_lock(&t->lock);
	stamp = atomic_read_relaxed(&t->stamp);
	link = t->by_change.tail;
	while (link && link->prev && ((struct process *)link->data)->stamp > since)
		link = link->prev;
	for (; link; link = link->next) {
		const struct process *p = link->data;

		if (p->stamp > since)
			encode_process(t, p, since, buf);
	}
	pthread_mutex_unlock(&t->lock);
	return stamp;
}

/* Adds the process and its ancestors to a set of processes. */
static void add_family(struct tasks *t, struct process *p, GHashTable *family)
{
	while (p && g_hash_table_add(family, p))
		p = g_hash_table_lookup(t->by_id, &p->parent_id);
}

void tasks_encode_of(struct tasks *t, GHashTable *pids, struct record_buf *buf)
{
	GHashTable *family = g_hash_table_new(NULL, NULL);
	GList *link;

	pthread_mutex_lock(&t->lock);
	for (link = t->by_change.head; link; link = link->next) {
		struct process *p = link->data;

		if (g_hash_table_contains(pids, GUINT_TO_POINTER(p->pid)))
			add_family(t, p, family);
	}
	for (link = t->by_change.head; link; link = link->next)
		if (g_hash_table_contains(family, link->data))
			encode_process(t, link->data, 0, buf);
	pthread_mutex_unlock(&t->lock);
	g_hash_table_destroy(family);
}
