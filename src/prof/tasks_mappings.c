/* SPDX-License-Identifier: MIT */
/* Tasks: the mappings of programs. */
#include "prof/tasks_state.h"

#include <string.h>

/*
 * Mappings of one program that are kept: ten times as many as large programs have. One that maps
 * and unmaps code for days reports any number, since perf does not report munmap, and each new
 * one is compared with all others. Beyond the limit one is removed: see make_room().
 */
#define MAPPINGS_MAX 4096

/* /proc does not report the generation. */
static bool same_file(const struct tasks_file *a, const struct tasks_file *b)
{
	return !a->inode || !b->inode ||
	       (a->inode == b->inode && a->dev_major == b->dev_major &&
		       a->dev_minor == b->dev_minor &&
		       (!a->generation || !b->generation || a->generation == b->generation));
}

/* An unknown build-id does not make it another mapping. */
static bool same_build_id(const struct mapping *m, const struct tasks_mapping *from)
{
	return !m->build_id_length || !from->build_id_length ||
	       (m->build_id_length == from->build_id_length &&
		       !memcmp(m->build_id, from->build_id, m->build_id_length));
}

static bool same_mapping(const struct mapping *m, const struct tasks_mapping *from)
{
	return m->addr == from->addr && m->size == from->size && m->offset == from->offset &&
	       !strcmp(m->path, from->path) && same_file(&m->file, &from->file) &&
	       same_build_id(m, from);
}

static bool is_covered(const struct mapping *m, const struct tasks_mapping *by)
{
	return m->addr >= by->addr && m->size <= by->size && m->addr - by->addr <= by->size - m->size;
}

/*
 * The identical mapping if it exists already and no newer one covers any part of it; else NULL.
 * If a walk of /proc found it, its time is corrected to perf's, and it is sent to readers again.
 */
static struct mapping *find_same(const struct program *program, uint64_t time_ns,
	const struct tasks_mapping *from)
{
	const GPtrArray *all = program->set->mappings;
	struct mapping *same = NULL;
	guint i;

	for (i = 0; i < all->len; i++) {
		struct mapping *m = g_ptr_array_index(all, i);

		if (!m->ended && tasks_overlap(m, from->addr, from->size))
			same = same_mapping(m, from) && m->time_ns <= time_ns ? m : NULL;
	}
	return same;
}

/* Ends mappings that a new one covers completely. */
static void end_covered(struct tasks *t, struct process *p, struct program *program,
	const struct tasks_mapping *from)
{
	GPtrArray *all = tasks_own_mappings(program);
	guint i;

	for (i = 0; i < all->len; i++) {
		const struct mapping *m = g_ptr_array_index(all, i);

		if (!m->ended && is_covered(m, from))
			tasks_end_mapping(t, p, program, i);
	}
}

static struct mapping *create_mapping(struct tasks *t, uint64_t time_ns,
	const struct tasks_mapping *from)
{
	struct mapping *m = g_new0(struct mapping, 1);

	m->refs = 1;
	m->time_ns = time_ns;
	m->addr = from->addr;
	m->size = from->size;
	m->offset = from->offset;
	m->path = interned_new(t->strings, from->path);
	m->file = from->file;
	if (from->build_id_length && from->build_id_length <= KPROF_BUILD_ID_MAX) {
		m->build_id_length = from->build_id_length;
		memcpy(m->build_id, from->build_id, from->build_id_length);
	}
	return m;
}

static bool is_file(const struct mapping *m)
{
	return m->path[0] == '/' && m->path[1] != '/';
}

/* Removes one mapping: first those that have ended, then generated code, then the oldest. */
static void make_room(GPtrArray *all)
{
	guint i, worst = 0;

	for (i = 0; i < all->len; i++) {
		const struct mapping *m = g_ptr_array_index(all, i);

		if (m->ended) {
			worst = i;
			break;
		}
		if (!is_file(m) && is_file(g_ptr_array_index(all, worst)))
			worst = i;
	}
	g_ptr_array_remove_index(all, worst);
}

static void add_mapping(struct tasks *t, struct process *p, struct program *program,
	struct mapping *m)
{
	GPtrArray *all = tasks_own_mappings(program);

	if (all->len >= MAPPINGS_MAX)
		make_room(all);
	g_ptr_array_add(all, m);
	m->seen_walk = t->walk;
	m->born_runs = t->runs;
	m->stamp = tasks_touch(t, p);
}

/*
 * The mapping is older than the time at which a walk of /proc saw the program, which reported the
 * mappings of that time: samples in between may need it, later state does not change.
 */
static void add_past_mapping(struct tasks *t, uint64_t time_ns, struct process *p,
	struct program *program, const struct tasks_mapping *from)
{
	struct mapping *m = create_mapping(t, time_ns, from);

	add_mapping(t, p, program, m);
	tasks_want_build_id(t, p, m);
	tasks_end_mapping(t, p, program, program->set->mappings->len - 1);
}

void tasks_add_mapping(struct tasks *t, uint64_t time_ns, uint32_t pid,
	const struct tasks_mapping *from)
{
	struct process *p;
	struct program *program;
	struct mapping *m;

	pthread_mutex_lock(&t->lock);
	p = tasks_need_process(t, time_ns, pid);
	program = tasks_current_program(p);
	if (time_ns < program->time_ns) {
		add_past_mapping(t, time_ns, p, program, from);
	} else if ((m = find_same(program, time_ns, from))) {
		m->seen_walk = t->walk;
	} else {
		end_covered(t, p, program, from);
		m = create_mapping(t, time_ns, from);
		add_mapping(t, p, program, m);
		if (!from->build_id_requested)
			tasks_want_build_id(t, p, m);
		/* the kernel maps the program itself before anything else */
		if (!program->path && is_file(m)) {
			program->path = interned_new(t->strings, from->path);
			program->stamp = m->stamp;
		}
	}
	pthread_mutex_unlock(&t->lock);
}
