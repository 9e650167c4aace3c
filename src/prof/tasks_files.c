/* SPDX-License-Identifier: MIT */
/*
 * Tasks: the build-ids of mapped files. perf's records identify the mapped file, but do not have
 * its build-id; prof/taskreader.c has the file read. Each file is requested once for all mappings
 * that are reported until the request is taken, and again for later ones, since it may have
 * changed.
 */
#include "prof/tasks_state.h"

#include <string.h>

#include "base/bell.h"

/* Files that wait for a request: a machine that starts another program each ms. */
#define WANTED_MAX 1024
/* Processes that wait for the build-id of one file. */
#define WANTED_PROCESSES_MAX 4096

static guint hash_file(gconstpointer key)
{
	const struct tasks_file *file = key;

	return g_int64_hash(&file->inode) ^ g_int64_hash(&file->generation) ^ file->dev_minor ^
	       file->dev_major << 8;
}

static gboolean equal_files(gconstpointer a, gconstpointer b)
{
	const struct tasks_file *x = a, *y = b;

	return x->inode == y->inode && x->generation == y->generation &&
	       x->dev_major == y->dev_major && x->dev_minor == y->dev_minor;
}

static void free_wanted(struct tasks_wanted *wanted)
{
	g_free(wanted->path);
	g_array_free(wanted->processes, TRUE);
	g_free(wanted);
}

void tasks_init_wanted(struct tasks *t)
{
	t->wanted = g_hash_table_new(hash_file, equal_files);
	g_queue_init(&t->wanted_order);
	t->wanted_fd = -1;
}

void tasks_clear_wanted(struct tasks *t)
{
	struct tasks_wanted *wanted;

	g_hash_table_remove_all(t->wanted);
	while ((wanted = g_queue_pop_head(&t->wanted_order)))
		free_wanted(wanted);
}

void tasks_fini_wanted(struct tasks *t)
{
	tasks_clear_wanted(t);
	g_hash_table_destroy(t->wanted);
}

static struct tasks_wanted *add_wanted(struct tasks *t, const struct process *p,
	const struct mapping *m)
{
	struct tasks_wanted *wanted;

	if (t->wanted_order.length >= WANTED_MAX)
		return NULL;
	wanted = g_new0(struct tasks_wanted, 1);
	wanted->file = m->file;
	wanted->pid = p->pid;
	wanted->addr = m->addr;
	wanted->size = m->size;
	wanted->time_ns = m->time_ns;
	wanted->path = g_strdup(m->path);
	wanted->processes = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	g_hash_table_insert(t->wanted, &wanted->file, wanted);
	g_queue_push_tail(&t->wanted_order, wanted);
	if (t->wanted_order.length == 1)
		bell_ring(t->wanted_fd);
	return wanted;
}

void tasks_want_build_id(struct tasks *t, const struct process *p, const struct mapping *m)
{
	struct tasks_wanted *wanted;

	if (m->build_id_length || !m->file.inode || m->path[0] != '/' || m->path[1] == '/' ||
		t->wanted_fd < 0)
		return;
	wanted = g_hash_table_lookup(t->wanted, &m->file);
	if (!wanted)
		wanted = add_wanted(t, p, m);
	if (wanted && wanted->processes->len < WANTED_PROCESSES_MAX)
		g_array_append_val(wanted->processes, p->id);
	else
		atomic_add_relaxed(&t->missing, 1);
}

/* ---- for the task reader --------------------------------------------------------------------- */

void tasks_watch_wanted(struct tasks *t, int fd)
{
	pthread_mutex_lock(&t->lock);
	t->wanted_fd = fd;
	tasks_clear_wanted(t);
	pthread_mutex_unlock(&t->lock);
}

struct tasks_wanted *tasks_take_wanted(struct tasks *t)
{
	struct tasks_wanted *wanted;

	pthread_mutex_lock(&t->lock);
	wanted = g_queue_pop_head(&t->wanted_order);
	if (wanted)
		g_hash_table_remove(t->wanted, &wanted->file);
	pthread_mutex_unlock(&t->lock);
	return wanted;
}

bool tasks_has_wanted(struct tasks *t)
{
	bool has;

	pthread_mutex_lock(&t->lock);
	has = t->wanted_order.length > 0;
	pthread_mutex_unlock(&t->lock);
	return has;
}

/*
 * Sets the build-id, or without one the size and time, of p's mappings of the file that have no build-id,
 * or had none when p was touched last.
 */
static void set_build_id(struct tasks *t, struct process *p, const struct tasks_wanted *wanted,
	const uint8_t *build_id, uint8_t length)
{
	guint i, j;

	for (i = 0; i < p->programs->len; i++) {
		const struct program *program = g_ptr_array_index(p->programs, i);

		for (j = 0; j < program->set->mappings->len; j++) {
			struct mapping *m = g_ptr_array_index(program->set->mappings, j);

			if (!equal_files(&m->file, &wanted->file) || m->time_ns < wanted->time_ns)
				continue;
			if (m->build_id_length && !m->id_stamp)
				continue; /* was known from the start */
			if (length)
				memcpy(m->build_id, build_id, length);
			m->build_id_length = length;
			m->file.size = wanted->file.size;
			m->file.mtime_ns = wanted->file.mtime_ns;
			m->id_stamp = tasks_touch(t, p);
		}
	}
}

void tasks_settle_wanted(struct tasks *t, struct tasks_wanted *wanted, const uint8_t *build_id,
	uint8_t length, bool missing)
{
	guint i;

	if (length > KPROF_BUILD_ID_MAX)
		length = 0;
	pthread_mutex_lock(&t->lock);
	for (i = 0; (length || wanted->file.mtime_ns) && i < wanted->processes->len; i++) {
		struct process *p = g_hash_table_lookup(t->by_id,
			&g_array_index(wanted->processes, uint64_t, i));

		if (p)
			set_build_id(t, p, wanted, build_id, length);
	}
	if (missing)
		atomic_add_relaxed(&t->missing, 1);
	pthread_mutex_unlock(&t->lock);
	free_wanted(wanted);
}

uint64_t tasks_missing_build_ids(struct tasks *t)
{
	return atomic_read_relaxed(&t->missing);
}
