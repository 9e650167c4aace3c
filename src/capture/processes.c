/* SPDX-License-Identifier: MIT */
/* The processes of a capture over time, adding and sorting: see processes.h. */
#include "capture/processes_state.h"

#include <string.h>

#include "base/strhash.h"

struct processes *processes_create(void)
{
	struct processes *p = g_new0(struct processes, 1);

	p->strings = g_string_chunk_new(16384);
	p->known = g_hash_table_new(strhash, g_str_equal);
	p->processes = g_array_new(FALSE, FALSE, sizeof(struct processes_process));
	p->births = g_array_new(FALSE, FALSE, sizeof(struct processes_birth));
	p->names = g_array_new(FALSE, FALSE, sizeof(struct processes_name));
	p->users = g_array_new(FALSE, FALSE, sizeof(struct processes_user));
	p->lives = g_array_new(FALSE, FALSE, sizeof(struct processes_life));
	p->mappings = g_array_new(FALSE, FALSE, sizeof(struct mapindex_mapping));
	p->labels = g_array_new(FALSE, FALSE, sizeof(struct processes_label));
	p->announced = g_array_new(FALSE, FALSE, sizeof(struct processes_announced));
	p->files = g_array_new(FALSE, FALSE, sizeof(struct processes_file));
	p->kernels = g_array_new(FALSE, FALSE, sizeof(struct processes_kernel));
	p->clocks = g_array_new(FALSE, TRUE, sizeof(struct kprof_rec_clock));
	p->threads = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	return p;
}

void processes_destroy(struct processes *p)
{
	guint i;

	if (!p)
		return;
	for (i = 0; i < p->lives->len; i++)
		mapindex_destroy(AT(p->lives, processes_life, i)->index);
	g_array_free(p->processes, TRUE);
	g_array_free(p->births, TRUE);
	g_array_free(p->names, TRUE);
	g_array_free(p->users, TRUE);
	g_array_free(p->lives, TRUE);
	g_array_free(p->mappings, TRUE);
	g_array_free(p->labels, TRUE);
	g_array_free(p->announced, TRUE);
	g_array_free(p->files, TRUE);
	g_array_free(p->kernels, TRUE);
	g_array_free(p->clocks, TRUE);
	table_fini(&p->process_table);
	table_fini(&p->announced_table);
	table_fini(&p->file_table);
	g_hash_table_destroy(p->known);
	g_string_chunk_free(p->strings);
	g_hash_table_destroy(p->threads);
	g_free(p);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static bool equal_process(const void *items, uint32_t i, const void *key)
{
	const struct processes_process *a = (const struct processes_process *)items + i, *b = key;

	return a->section == b->section && a->pid == b->pid;
}

uint32_t processes_intern(struct processes *p, uint32_t section, uint32_t pid)
{
	struct processes_process key = {.section = section, .pid = pid};

	return table_intern(
		&p->process_table, p->processes, table_hash(pid, section), equal_process, &key);
}

const char *processes_intern_string(struct processes *p, const char *text)
{
	const char *known = g_hash_table_lookup(p->known, text);
	char *copy;

	if (known)
		return known;
	copy = g_string_chunk_insert(p->strings, text);
	g_hash_table_add(p->known, copy);
	return copy;
}

static bool equal_announced(const void *items, uint32_t i, const void *key)
{
	const struct processes_announced *a = (const struct processes_announced *)items + i,
					 *b = key;

	return a->process == b->process && a->address == b->address;
}

static struct processes_announced *intern_announced(
	struct processes *p, uint32_t process, uint64_t address)
{
	struct processes_announced key = {.process = process, .address = address, .mapping = NONE};
	uint32_t i = table_intern(&p->announced_table, p->announced, table_hash(address, process),
		equal_announced, &key);

	return AT(p->announced, processes_announced, i);
}

void processes_add_mapping(struct processes *p, uint32_t section,
	const struct kprof_rec_mmap *mmap, const char *path)
{
	struct mapindex_mapping mapping = {
		.time_ns = mmap->time_ns,
		.start = mmap->addr,
		.end = mmap->addr + mmap->size,
		.offset = mmap->offset,
		.owner = processes_intern(p, section, mmap->pid),
		.file = p->labels->len,
	};
	struct processes_announced *announced = intern_announced(p, mapping.owner, mmap->addr);
	struct processes_label label = { .build_id_length = 0 };

	if (mapping.end < mapping.start)
		mapping.end = UINT64_MAX;
	if (announced->mapping == NONE)
		label = announced->label; /* a build-id that came before the mapping, if any */
	label.path = processes_intern_string(p, path);
	announced->mapping = p->mappings->len;
	g_array_append_val(p->mappings, mapping);
	g_array_append_val(p->labels, label);
}

/*
 * The label of the last mapping of the process at this address; before the first one, a new label.
 */
static struct processes_label *find_label(struct processes *p, uint32_t section, uint32_t pid,
	uint64_t address)
{
	struct processes_announced *announced =
		intern_announced(p, processes_intern(p, section, pid), address);

	return announced->mapping == NONE ? &announced->label
					  : AT(p->labels, processes_label, announced->mapping);
}

void processes_add_build_id(struct processes *p, uint32_t section,
	const struct kprof_rec_build_id *build_id, const uint8_t *bytes)
{
	struct processes_label *label = find_label(p, section, build_id->pid, build_id->addr);

	memcpy(label->build_id, bytes, build_id->length);
	memset(label->build_id + build_id->length, 0, KPROF_BUILD_ID_MAX - build_id->length);
	label->build_id_length = build_id->length;
}

void processes_add_file_id(struct processes *p, uint32_t section,
	const struct kprof_rec_file_id *head, const struct symbols_file_id *id)
{
	find_label(p, section, head->pid, head->addr)->id = *id;
}

void processes_add_clock(struct processes *p, uint32_t section,
	const struct kprof_rec_clock *clock)
{
	if (p->clocks->len <= section)
		g_array_set_size(p->clocks, section + 1); /* cleared */
	*AT(p->clocks, kprof_rec_clock, section) = *clock;
}

void processes_add_program(struct processes *p, uint32_t section,
	const struct kprof_rec_new_process *new_process, const char *path)
{
	struct processes_birth birth = {
		.time_ns = new_process->time_ns,
		.process = processes_intern(p, section, new_process->pid),
		.parent = NONE,
		.program = processes_intern_string(p, path),
	};

	g_array_append_val(p->births, birth);
}

static void add_thread_name(
	struct processes *p, uint32_t process, uint32_t tid, const char *text)
{
	gint64 *key = g_new(gint64, 1);

	*key = (gint64)((uint64_t)process << 32 | tid);
	g_hash_table_replace(p->threads, key, (gpointer)text);
}

void processes_add_name(struct processes *p, uint32_t section,
	const struct kprof_rec_comm *comm, const char *text)
{
	struct processes_name name = { .time_ns = comm->time_ns };

	name.process = processes_intern(p, section, comm->pid);
	name.text = processes_intern_string(p, text);
	if (comm->tid != comm->pid) { /* the name of a thread is not the process's */
		add_thread_name(p, name.process, comm->tid, name.text);
		return;
	}
	g_array_append_val(p->names, name);
}

void processes_add_user(struct processes *p, uint32_t section, const struct kprof_rec_user *record)
{
	const struct processes_user user = {
		.time_ns = record->time_ns,
		.process = processes_intern(p, section, record->pid),
		.uid = record->uid,
	};

	g_array_append_val(p->users, user);
}

void processes_add_fork(struct processes *p, uint32_t section, const struct kprof_rec_fork *fork)
{
	struct processes_birth birth = { .time_ns = fork->time_ns };

	if (fork->pid == fork->parent_pid)
		return; /* a thread */
	birth.process = processes_intern(p, section, fork->pid);
	birth.parent = processes_intern(p, section, fork->parent_pid);
	g_array_append_val(p->births, birth);
}

/* ---- sorting --------------------------------------------------------------------------------- */

static int compare_keys(uint32_t process_a, uint64_t time_a, uint32_t process_b, uint64_t time_b)
{
	if (process_a != process_b)
		return process_a < process_b ? -1 : 1;
	return (time_a > time_b) - (time_a < time_b);
}

static int compare_births(const void *a, const void *b)
{
	const struct processes_birth *x = a, *y = b;

	return compare_keys(x->process, x->time_ns, y->process, y->time_ns);
}

static int compare_names(const void *a, const void *b)
{
	const struct processes_name *x = a, *y = b;

	return compare_keys(x->process, x->time_ns, y->process, y->time_ns);
}

static int compare_users(const void *a, const void *b)
{
	const struct processes_user *x = a, *y = b;

	return compare_keys(x->process, x->time_ns, y->process, y->time_ns);
}

static int compare_mappings(const void *a, const void *b)
{
	const struct mapindex_mapping *x = a, *y = b;

	return compare_keys(x->owner, x->time_ns, y->owner, y->time_ns);
}

static bool equal_file(const void *items, uint32_t i, const void *key)
{
	const struct processes_file *a = (const struct processes_file *)items + i, *b = key;

	return a->path == b->path && a->kernel == b->kernel && a->process == b->process &&
		a->build_id_length == b->build_id_length &&
		memcmp(a->build_id, b->build_id, a->build_id_length) == 0 &&
		memcmp(&a->id, &b->id, sizeof(a->id)) == 0;
}

static uint32_t intern_file(
	struct processes *p, const struct processes_label *label, uint32_t kernel, uint32_t process)
{
	struct processes_file key = {
		.path = label->path,
		.build_id_length = label->build_id_length,
		.kernel = kernel,
		.process = process,
		.ran_on = NONE,
	};
	uint64_t word;

	/* files with the same build-id are the same, whatever their file id */
	if (!label->build_id_length)
		key.id = label->id;
	memcpy(key.build_id, label->build_id, sizeof(key.build_id));
	memcpy(&word, key.build_id, sizeof(word));
	return table_intern(&p->file_table, p->files,
		table_hash((uintptr_t)key.path ^ word ^ key.id.inode, kernel ^ process), equal_file,
		&key);
}

/*
 * The first kernel mapping of a section. A section with the same kernel as the one before shares
 * it.
 */
static uint32_t intern_kernel(struct processes *p, const struct mapindex_mapping *mapping)
{
	const struct processes_label *label = AT(p->labels, processes_label, mapping->file);
	struct processes_kernel kernel = { .start = mapping->start };
	const struct processes_kernel *last;

	memcpy(kernel.build_id, label->build_id, sizeof(kernel.build_id));
	kernel.build_id_length = label->build_id_length;
	if (p->kernels->len) {
		last = AT(p->kernels, processes_kernel, p->kernels->len - 1);
		if (last->start == kernel.start &&
			last->build_id_length == kernel.build_id_length &&
			memcmp(last->build_id, kernel.build_id, sizeof(kernel.build_id)) == 0)
			return p->kernels->len - 1;
	}
	g_array_append_val(p->kernels, kernel);
	return p->kernels->len - 1;
}

/* The kernel of each section, at the index of its process KPROF_PID_KERNEL; NONE for all others. */
static GArray *find_kernels(struct processes *p)
{
	GArray *kernels = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	uint32_t none = NONE;
	guint i;

	for (i = 0; i < p->processes->len; i++)
		g_array_append_val(kernels, none);
	for (i = 0; i < p->mappings->len; i++) {
		const struct mapindex_mapping *m = AT(p->mappings, mapindex_mapping, i);
		uint32_t *kernel = &g_array_index(kernels, uint32_t, m->owner);

		if (AT(p->processes, processes_process, m->owner)->pid != KPROF_PID_KERNEL ||
			*kernel != NONE)
			continue;
		if (strcmp(AT(p->labels, processes_label, m->file)->path, KPROF_PATH_KERNEL) == 0)
			*kernel = intern_kernel(p, m);
	}
	return kernels;
}

/* Modules of a section without a kernel mapping belong to an unknown kernel. */
static uint32_t kernel_of(struct processes *p, const struct mapindex_mapping *mapping,
	const GArray *kernels)
{
	static const struct processes_kernel unknown;
	uint32_t *kernel = &g_array_index(kernels, uint32_t, mapping->owner);

	if (AT(p->processes, processes_process, mapping->owner)->pid != KPROF_PID_KERNEL)
		return NONE;
	if (*kernel == NONE) {
		*kernel = p->kernels->len;
		g_array_append_val(p->kernels, unknown);
	}
	return *kernel;
}

/*
 * The kernel's names for executable memory without a file, where JITs put their code. A program may
 * also be executed from a memfd: then it has a build-id.
 */
static bool is_memory(const struct processes_label *label)
{
	static const char *const names[] = {
		"//anon", "[anon", "[heap]", "[stack]", "/memfd:", "/dev/zero", "/SYSV",
		"/anon_hugepage",
	};
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(names); i++) {
		if (g_str_has_prefix(label->path, names[i]))
			return !label->build_id_length;
	}
	return false;
}

/* The kernel that each section ran on, by its number; NONE: not known. */
static GArray *list_sections(struct processes *p, const GArray *kernels)
{
	GArray *sections = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	uint32_t none = NONE;
	guint i;

	for (i = 0; i < p->processes->len; i++) {
		const struct processes_process *process = AT(p->processes, processes_process, i);

		while (sections->len <= process->section)
			g_array_append_val(sections, none);
		if (process->pid == KPROF_PID_KERNEL)
			g_array_index(sections, uint32_t, process->section) =
				g_array_index(kernels, uint32_t, i);
	}
	return sections;
}

/* Keeps the mappings of the last section: its processes are the most likely to be still running. */
static void add_place_of_file(struct processes_file *file, const struct mapindex_mapping *m,
	uint32_t pid, uint32_t kernel)
{
	struct symbols_mapping mapping = { pid, m->start, m->end };

	if (file->ran_on != kernel) {
		file->ran_on = kernel;
		file->mapping_count = file->mapping_next = 0;
	}
	file->mappings[file->mapping_next] = mapping;
	file->mapping_next = (file->mapping_next + 1) % PROCESSES_FILE_MAPPINGS;
	file->mapping_count = MIN(file->mapping_count + 1, PROCESSES_FILE_MAPPINGS);
}

/* The wall-clock time for a time of the section; 0 if not known. */
static uint64_t wall_time(const struct processes *p, uint32_t section, uint64_t time_ns)
{
	const struct kprof_rec_clock *clock;

	if (section >= p->clocks->len)
		return 0;
	clock = AT(p->clocks, kprof_rec_clock, section);
	return clock->wall_ns ? clock->wall_ns + (time_ns - clock->time_ns) : 0;
}

static void note_time_of_file(struct processes_file *file, uint64_t wall_ns)
{
	if (wall_ns && (!file->mapped_ns || wall_ns < file->mapped_ns))
		file->mapped_ns = wall_ns;
}

/* Whether the last part of the path is jit-NUMBER.dump. */
static bool is_jitdump(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t digits;

	if (!name || !g_str_has_prefix(name, "/jit-"))
		return false;
	name += strlen("/jit-");
	digits = strspn(name, "0123456789");
	return digits && !strcmp(name + digits, ".dump");
}

static void assign_files(struct processes *p)
{
	GArray *kernels = find_kernels(p), *sections = list_sections(p, kernels);
	guint i;

	for (i = 0; i < p->mappings->len; i++) {
		struct mapindex_mapping *m = AT(p->mappings, mapindex_mapping, i);
		struct processes_process *owner = AT(p->processes, processes_process, m->owner);
		const struct processes_label *label = AT(p->labels, processes_label, m->file);
		bool memory = owner->pid != KPROF_PID_KERNEL && is_memory(label);

		if (memory)
			m->offset = m->start;
		m->file = intern_file(p, label, kernel_of(p, m, kernels), memory ? m->owner : NONE);
		add_place_of_file(AT(p->files, processes_file, m->file), m, owner->pid,
			g_array_index(sections, uint32_t, owner->section));
		note_time_of_file(AT(p->files, processes_file, m->file),
			wall_time(p, owner->section, m->time_ns));
		if (is_jitdump(label->path))
			owner->jitdump = AT(p->files, processes_file, m->file)->path;
	}
	g_array_free(kernels, TRUE);
	g_array_free(sections, TRUE);
	g_array_set_size(p->labels, 0);
	g_array_set_size(p->announced, 0);
	table_fini(&p->announced_table);
}

void processes_make_lives(struct processes *p, uint32_t process, guint first, guint end)
{
	struct processes_process *owner = AT(p->processes, processes_process, process);
	struct processes_life life = { .process = process, .parent = NONE, .end = UINT64_MAX };
	guint i;

	owner->lives.first = p->lives->len;
	if (first == end || AT(p->births, processes_birth, first)->parent != NONE)
		g_array_append_val(p->lives, life); /* for the time before the first birth */
	for (i = first; i < end; i++) {
		const struct processes_birth *birth = AT(p->births, processes_birth, i);

		if (i == first ||
			birth->time_ns != AT(p->births, processes_birth, i - 1)->time_ns) {
			life.start = p->lives->len == owner->lives.first ? 0 : birth->time_ns;
			life.parent = NONE;
			life.program = NULL;
			g_array_append_val(p->lives, life);
		}
		if (birth->parent != NONE) /* a process; replaced by its life later */
			AT(p->lives, processes_life, p->lives->len - 1)->parent = birth->parent;
		if (birth->program)
			AT(p->lives, processes_life, p->lives->len - 1)->program = birth->program;
	}
	owner->lives.count = p->lives->len - owner->lives.first;
	for (i = owner->lives.first; i + 1 < p->lives->len; i++)
		AT(p->lives, processes_life, i)->end = AT(p->lives, processes_life, i + 1)->start;
}

/* The arrays are sorted by process and time, and so are the lives: one pass assigns them. */
static void assign_spans(struct processes *p)
{
	guint name = 0, user = 0, mapping = 0, birth = 0, process, i;

	for (process = 0; process < p->processes->len; process++) {
		struct processes_process *owner = AT(p->processes, processes_process, process);
		guint first = birth;

		while (birth < p->births->len &&
			AT(p->births, processes_birth, birth)->process == process)
			birth++;
		processes_make_lives(p, process, first, birth);
		owner->names.first = name;
		while (name < p->names->len &&
			AT(p->names, processes_name, name)->process == process)
			name++;
		owner->names.count = name - owner->names.first;
		owner->users.first = user;
		while (user < p->users->len && AT(p->users, processes_user, user)->process == process)
			user++;
		owner->users.count = user - owner->users.first;
	}
	for (i = 0; i < p->lives->len; i++) {
		struct processes_life *life = AT(p->lives, processes_life, i);

		if (life->parent != NONE)
			life->parent = processes_life_at(p, life->parent, life->start);
		life->mappings.first = mapping;
		while (mapping < p->mappings->len) {
			const struct mapindex_mapping *m =
				AT(p->mappings, mapindex_mapping, mapping);

			if (m->owner != life->process ||
				(m->time_ns >= life->end && life->end != UINT64_MAX))
				break;
			mapping++;
		}
		life->mappings.count = mapping - life->mappings.first;
	}
}

void processes_finish(struct processes *p)
{
	assign_files(p);
	/* g_array_sort is stable: entries of the same time stay in the order of the stream */
	g_array_sort(p->births, compare_births);
	g_array_sort(p->names, compare_names);
	g_array_sort(p->users, compare_users);
	g_array_sort(p->mappings, compare_mappings);
	assign_spans(p);
}


/* A mapping is in at most 2 * log2(n) nodes of an index of n mappings (mapindex.h). */
#define INDEX_DEPTH_MAX 32

size_t processes_bytes(const struct processes *p)
{
	const size_t slot = 2 * sizeof(struct table_slot);
	const size_t mapping = sizeof(struct mapindex_mapping) + sizeof(struct processes_label) +
		sizeof(struct processes_announced) + slot + 2 * INDEX_DEPTH_MAX * sizeof(uint32_t) +
		2 * (sizeof(uint64_t) + sizeof(size_t));

	return p->mappings->len * mapping + p->names->len * sizeof(struct processes_name) +
	       p->users->len * sizeof(struct processes_user) +
	       p->births->len * (sizeof(struct processes_birth) + sizeof(struct processes_life)) +
	       p->processes->len *
		       (sizeof(struct processes_process) + sizeof(struct processes_life) + slot) +
	       p->announced->len * (sizeof(struct processes_announced) + slot);
}
