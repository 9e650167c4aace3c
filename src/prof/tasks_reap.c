/* SPDX-License-Identifier: MIT */
/*
 * Tasks: frees ended processes, programs and mappings when no sample can refer to them.
 *
 * An ended object is freed in two steps. Samples of it may still be in rings, so it is in `ending`
 * until the rings have been drained once more, up to their level when its end was known. From then
 * on the last block that can refer to it is known, and it is in `ended` until that block is
 * removed. If no sample was stored since it began, it is freed at once.
 */
#include "prof/tasks_state.h"

#include <string.h>

static void end_thing(struct tasks *t, struct ending ending)
{
	struct ending *e = g_memdup2(&ending, sizeof(ending));

	e->bytes += sizeof(*e);
	atomic_add_relaxed(&t->bytes, e->bytes);
	g_queue_push_tail(&t->ending, e);
}

/* ---- ends ------------------------------------------------------------------------------------ */

#define MAPPING_BYTES (sizeof(struct mapping) + sizeof(void *))

static uint64_t program_bytes(const struct program *program)
{
	uint64_t bytes = sizeof(*program) + sizeof(struct mapping_set) + sizeof(GPtrArray);

	if (program->set->refs == 1)
		bytes += program->set->mappings->len * MAPPING_BYTES;
	return bytes;
}

static uint64_t process_bytes(const struct process *p)
{
	uint64_t bytes = sizeof(*p) + sizeof(GPtrArray) +
		(p->users ? p->users->len * sizeof(struct user_change) : 0);
	guint i;

	for (i = 0; i < p->programs->len; i++)
		bytes += program_bytes(g_ptr_array_index(p->programs, i));
	return bytes;
}

static void forget_tid(struct tasks *t, const struct thread *thread)
{
	if (g_hash_table_lookup(t->tids, GUINT_TO_POINTER(thread->tid)) == thread)
		g_hash_table_remove(t->tids, GUINT_TO_POINTER(thread->tid));
}

void tasks_end_process(struct tasks *t, struct process *p)
{
	GList *link;

	p->ended = true;
	for (link = p->threads.head; p->living && link; link = link->next)
		forget_tid(t, link->data);
	g_hash_table_remove(t->living, GUINT_TO_POINTER(p->pid));
	end_thing(t, (struct ending){
			     .kind = END_PROCESS,
			     .process_id = p->id,
			     .born_runs = p->born_runs,
			     .bytes = process_bytes(p),
		     });
}

void tasks_end_program(struct tasks *t, struct process *p, struct program *program)
{
	end_thing(t, (struct ending){
			     .kind = END_PROGRAM,
			     .process_id = p->id,
			     .born_runs = program->born_runs,
			     .thing = program,
			     .bytes = program_bytes(program),
		     });
}

void tasks_end_thread(struct tasks *t, struct thread *thread, uint64_t time_ns)
{
	struct process *p = thread->process;

	thread->exit_ns = time_ns;
	thread->ended = true;
	tasks_touch_thread(t, thread);
	forget_tid(t, thread);
	p->living--;
	end_thing(t, (struct ending){
			     .kind = END_THREAD,
			     .process_id = p->id,
			     .born_runs = thread->born_runs,
			     .thing = thread,
			     .bytes = sizeof(*thread),
		     });
}

void tasks_end_mapping(struct tasks *t, struct process *p, struct program *program, guint index)
{
	GPtrArray *all = program->set->mappings;
	struct mapping *m = g_ptr_array_index(all, index);

	if (m->refs > 1) { /* other programs have it too, and keep it */
		struct mapping *own = g_memdup2(m, sizeof(*m));

		own->refs = 1;
		interned_get(own->path);
		g_ptr_array_index(all, index) = own;
		tasks_put_mapping(m);
		m = own;
	}
	m->ended = true;
	m->refs++; /* for the struct ending */
	end_thing(t, (struct ending){
			     .kind = END_MAPPING,
			     .process_id = p->id,
			     .born_runs = m->born_runs,
			     .thing = m,
			     .program = program,
			     .bytes = MAPPING_BYTES,
		     });
}

/* ---- forgetting ------------------------------------------------------------------------------ */

static void free_ending(struct ending *e)
{
	if (e->kind == END_MAPPING)
		tasks_put_mapping(e->thing);
	g_free(e);
}

void tasks_free_endings(GQueue *endings)
{
	struct ending *e;

	while ((e = g_queue_pop_head(endings)))
		free_ending(e);
}

static void drop_process(struct tasks *t, struct process *p)
{
	g_queue_unlink(&t->by_change, &p->by_change);
	tasks_forget_pid(t, p);
	g_hash_table_remove(t->by_id, &p->id); /* frees it */
}

static void drop_thread(struct process *p, struct thread *thread)
{
	if (thread->tid == p->pid && thread->fork_ns && thread->fork_ns == p->fork_ns)
		p->fork_missing = true;
	g_queue_unlink(&p->threads, &thread->by_change);
	tasks_free_thread(thread);
}

/* No held block can refer to it any more. */
static void drop_thing(struct tasks *t, struct ending *e)
{
	struct process *p = g_hash_table_lookup(t->by_id, &e->process_id);

	atomic_add_relaxed(&t->bytes, -e->bytes);
	if (p) {
		switch (e->kind) {
		case END_PROCESS:
			drop_process(t, p);
			break;
		case END_PROGRAM:
			g_ptr_array_remove(p->programs, e->thing);
			break;
		case END_THREAD:
			drop_thread(p, e->thing);
			break;
		case END_MAPPING:
			/* the program may have been dropped before, with its mappings */
			if (g_ptr_array_find(p->programs, e->program, NULL))
				g_ptr_array_remove(tasks_own_mappings(e->program), e->thing);
			break;
		}
	}
	free_ending(e);
}

void tasks_settle(struct tasks *t, uint64_t newest_seq, uint64_t runs, uint64_t oldest_seq)
{
	struct ending *e;
	GList *link;

	pthread_mutex_lock(&t->lock);
	t->runs = runs;
	tasks_settle_users(t); /* before the parents of new processes are freed */
	while ((e = g_queue_peek_head(&t->ended)) && e->seq < oldest_seq)
		drop_thing(t, g_queue_pop_head(&t->ended));
	/* what ended before the previous drain: its last samples are in blocks now */
	while ((e = g_queue_peek_head(&t->ending)) && e->waited) {
		g_queue_pop_head(&t->ending);
		e->seq = newest_seq;
		if (e->born_runs != runs)
			g_queue_push_tail(&t->ended, e);
		else
			drop_thing(t, e); /* no record was stored since it began */
	}
	for (link = t->ending.head; link; link = link->next)
		((struct ending *)link->data)->waited = true;
	pthread_mutex_unlock(&t->lock);
}

uint64_t tasks_bytes(struct tasks *t)
{
	return atomic_read_relaxed(&t->bytes);
}
