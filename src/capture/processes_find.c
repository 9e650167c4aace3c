/* SPDX-License-Identifier: MIT */
/* The processes of a capture over time, queries: see processes.h. */
#include "capture/processes_state.h"

#include <inttypes.h>

#include "base/bisect.h"

static bool begins_by(const void *life, const void *time)
{
	return ((const struct processes_life *)life)->start <= *(const uint64_t *)time;
}

uint32_t processes_life_at(struct processes *p, uint32_t process, uint64_t time)
{
	const struct processes_span *lives = &AT(p->processes, processes_process, process)->lives;
	size_t begun = bisect(AT(p->lives, processes_life, lives->first), lives->count,
		sizeof(struct processes_life), begins_by, &time);

	return lives->first + (uint32_t)(begun ? begun - 1 : 0);
}

uint32_t processes_find_life(struct processes *p, uint32_t section, uint32_t pid, uint64_t time)
{
	uint32_t process = processes_intern(p, section, pid);
	struct processes_process *owner = AT(p->processes, processes_process, process);

	if (!owner->lives.count)
		processes_make_lives(p, process, 0, 0);
	return processes_life_at(p, process, time);
}

static const struct mapindex *find_index(struct processes *p, struct processes_life *life)
{
	if (!life->index)
		life->index = mapindex_create(life->mappings.count
			? AT(p->mappings, mapindex_mapping, life->mappings.first) : NULL,
			life->mappings.count);
	return life->index;
}

static const struct mapindex_mapping *find_mapping(struct processes *p, uint32_t first,
	uint64_t address, uint64_t time, struct processes_hit *hit)
{
	const struct mapindex_mapping *m;
	struct processes_life *life;
	uint64_t from, to;
	uint32_t i, depth;

	hit->from = 0;
	hit->to = UINT64_MAX;
	for (i = first, depth = 0; i != NONE && depth < ANCESTORS_MAX; i = life->parent, depth++) {
		life = AT(p->lives, processes_life, i);
		m = mapindex_find(find_index(p, life), address, time, &from, &to);
		if (i == first) {
			/* ancestors are looked up at the time of the fork: no more limits */
			hit->from = MAX(from, life->start);
			hit->to = MIN(to, life->end);
		}
		if (m)
			return m;
		time = life->start;
	}
	for (i = first, depth = 0; i != NONE && depth < ANCESTORS_MAX; i = life->parent, depth++) {
		life = AT(p->lives, processes_life, i);
		m = mapindex_find_earliest(find_index(p, life), address);
		if (m)
			return m;
	}
	return NULL;
}

bool processes_has_mappings(const struct processes *p, uint32_t first)
{
	uint32_t i, depth;

	for (i = first, depth = 0; i != NONE && depth < ANCESTORS_MAX; depth++) {
		const struct processes_life *life = AT(p->lives, processes_life, i);

		if (life->mappings.count)
			return true;
		i = life->parent;
	}
	return false;
}

void processes_find_user(struct processes *p, uint32_t life, uint64_t address, uint64_t time,
	struct processes_hit *hit)
{
	const struct mapindex_mapping *m = find_mapping(p, life, address, time, hit);

	hit->file = m ? m->file : NONE;
	hit->offset = m ? m->offset + (address - m->start) : address;
}

void processes_find_kernel(struct processes *p, uint32_t section, uint64_t address, uint64_t time,
	struct processes_hit *hit)
{
	uint32_t life = processes_find_life(p, section, KPROF_PID_KERNEL, time);
	const struct mapindex_mapping *m = find_mapping(p, life, address, time, hit);

	hit->file = m ? m->file : NONE;
	hit->offset = address;
}

static bool is_known_by(const void *name, const void *time)
{
	return ((const struct processes_name *)name)->time_ns <= *(const uint64_t *)time;
}

/* The last name of the process that was announced up to `time`, in this life. */
static const char *find_own_name(struct processes *p, const struct processes_life *life,
	uint64_t time, uint64_t *from, uint64_t *to)
{
	const struct processes_span *names =
		&AT(p->processes, processes_process, life->process)->names;
	const struct processes_name *name = AT(p->names, processes_name, names->first);
	size_t known = bisect(name, names->count, sizeof(*name), is_known_by, &time);

	*from = life->start;
	*to = life->end;
	if (known < names->count)
		*to = MIN(*to, name[known].time_ns);
	if (!known)
		return NULL;
	name += known - 1;
	if (name->time_ns < life->start)
		return NULL;
	*from = name->time_ns;
	return name->text;
}

/* The first name announced later in this life, else its program's; NULL if neither was announced. */
static const char *find_late_name(struct processes *p, const struct processes_life *life)
{
	const struct processes_span *names =
		&AT(p->processes, processes_process, life->process)->names;
	g_autofree char *base = NULL;
	uint32_t i;

	for (i = names->first; i < names->first + names->count; i++) {
		const struct processes_name *name = AT(p->names, processes_name, i);

		if (name->time_ns >= life->start && name->time_ns < life->end)
			return name->text;
	}
	if (!life->program || !*life->program)
		return NULL;
	base = g_path_get_basename(life->program);
	return processes_intern_string(p, base);
}

static const char *make_name(struct processes *p, const struct processes_life *life)
{
	uint32_t pid = AT(p->processes, processes_process, life->process)->pid;
	g_autofree char *text = NULL;

	if (pid == KPROF_PID_KERNEL)
		return processes_intern_string(p, "[idle]");
	if (pid == KPROF_PID_GONE)
		return processes_intern_string(p, "[gone]");
	text = g_strdup_printf("pid %" PRIu32, pid);
	return processes_intern_string(p, text);
}

const char *processes_find_name(struct processes *p, uint32_t first, uint64_t time)
{
	struct processes_life *life = AT(p->lives, processes_life, first);
	uint64_t asked = time, from, to;
	const char *text = NULL;
	uint32_t i, depth;

	if (life->name && time >= life->name_from && time < life->name_to)
		return life->name;
	for (i = first, depth = 0; i != NONE && depth < ANCESTORS_MAX && !text; depth++) {
		const struct processes_life *ancestor = AT(p->lives, processes_life, i);

		text = find_own_name(p, ancestor, asked, &from, &to);
		if (i == first) {
			life->name_from = from;
			life->name_to = to;
		}
		asked = ancestor->start;
		i = ancestor->parent;
	}
	for (i = first, depth = 0; i != NONE && depth < ANCESTORS_MAX && !text; depth++) {
		text = find_late_name(p, AT(p->lives, processes_life, i));
		i = AT(p->lives, processes_life, i)->parent;
	}
	life->name = text ? text : make_name(p, life);
	return life->name;
}

const char *processes_thread_name(const struct processes *p, uint32_t life, uint32_t tid)
{
	const gint64 key =
		(gint64)((uint64_t)AT(p->lives, processes_life, life)->process << 32 | tid);

	return g_hash_table_lookup(p->threads, &key);
}

const char *processes_program(const struct processes *p, uint32_t first)
{
	const char *program = NULL;
	uint32_t i, depth;

	for (i = first, depth = 0; i != NONE && depth < ANCESTORS_MAX && !program; depth++) {
		const struct processes_life *life = AT(p->lives, processes_life, i);

		program = life->program;
		i = life->parent;
	}
	return program;
}

/* A life without a fork follows an earlier one of its process, which has started another program. */
static uint32_t life_before(const struct processes *p, uint32_t i)
{
	const struct processes_life *life = AT(p->lives, processes_life, i);

	if (life->parent != NONE)
		return life->parent;
	return i > AT(p->processes, processes_process, life->process)->lives.first ? i - 1 : NONE;
}

static bool is_user_by(const void *user, const void *time)
{
	return ((const struct processes_user *)user)->time_ns <= *(const uint64_t *)time;
}

/* The users of a process, and how many of them it had by a time. */
static const struct processes_user *find_users(
	const struct processes *p, const struct processes_life *life, uint64_t time, size_t *known,
	size_t *count)
{
	const struct processes_span *span = &AT(p->processes, processes_process, life->process)->users;
	const struct processes_user *users = AT(p->users, processes_user, span->first);

	*count = span->count;
	*known = bisect(users, span->count, sizeof(*users), is_user_by, &time);
	return users;
}

uint32_t processes_user(const struct processes *p, uint32_t first, uint64_t time)
{
	uint32_t later = PROCESSES_NO_USER, i = first, depth;

	for (depth = 0; i != NONE && depth < ANCESTORS_MAX; depth++) {
		const struct processes_life *life = AT(p->lives, processes_life, i);
		size_t known, count;
		const struct processes_user *users = find_users(p, life, time, &known, &count);

		if (known && users[known - 1].time_ns >= life->start)
			return users[known - 1].uid;
		if (later == PROCESSES_NO_USER && known < count && users[known].time_ns < life->end)
			later = users[known].uid;
		time = life->start;
		i = life_before(p, i); /* a process keeps its user when it starts another program */
	}
	return later;
}

bool processes_descends_from(const struct processes *p, uint32_t first, uint32_t pid)
{
	uint32_t i = first, depth;

	for (depth = 0; i != NONE && depth < ANCESTORS_MAX; depth++) {
		if (processes_pid(p, i) == pid)
			return true;
		i = life_before(p, i);
	}
	return false;
}

uint32_t processes_section(const struct processes *p, uint32_t life)
{
	return AT(p->processes, processes_process, AT(p->lives, processes_life, life)->process)
		->section;
}

uint32_t processes_pid(const struct processes *p, uint32_t life)
{
	return AT(p->processes, processes_process, AT(p->lives, processes_life, life)->process)
		->pid;
}

uint32_t processes_file_count(const struct processes *p)
{
	return p->files->len;
}

const struct processes_file *processes_file(const struct processes *p, uint32_t file)
{
	return AT(p->files, processes_file, file);
}

const struct processes_kernel *processes_kernel(const struct processes *p, uint32_t kernel)
{
	return AT(p->kernels, processes_kernel, kernel);
}

const char *processes_jitdump(const struct processes *processes, uint32_t process)
{
	return AT(processes->processes, processes_process, process)->jitdump;
}
