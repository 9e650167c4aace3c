/* SPDX-License-Identifier: MIT */
/* Symbolizes the places of a profile, file by file: see symbolize.h. */
#include "capture/symbolize.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "symbolizer/proto.h"

/* i: invariant once the threads run; (lock): under the lock, a leaf */
struct symbolize {
	const struct profile *profile; /* i */
	struct symbols *symbols;       /* i */
	const struct symbols_how *how; /* i */
	uint32_t *order;               /* i: the places, sorted by file */
	uint32_t *ends;                /* i: where the places of each file end in `order` */
	struct symbols_place *places;  /* those of one file are written by one thread */
	uint32_t *files;               /* i: files with places, in the order of their turn */
	uint32_t count;                /* i: of files */
	size_t arena_max;              /* i */
	pthread_mutex_t lock;
	uint32_t next; /* (lock) of files */
};

/* One thread. */
struct symbolize_thread {
	struct symbolize *symbolize;
	struct symbols_arena *arena;
};

/* ---- queries --------------------------------------------------------------------------------- */

static enum symbols_kind kind_of(const struct processes_file *file)
{
	if (file->kernel != PROCESSES_NONE)
		return SYMBOLS_KERNEL;
	if (file->process != PROCESSES_NONE)
		return SYMBOLS_JIT;
	return strcmp(file->path, "[vdso]") == 0 ? SYMBOLS_VDSO : SYMBOLS_ELF;
}

void symbolize_describe(const struct processes *processes, const struct processes_file *file,
	struct symbolize_query *query)
{
	uint32_t running = file->kernel != PROCESSES_NONE ? file->kernel : file->ran_on, i;
	const struct processes_kernel *kernel;

	query->file = (struct symbols_file){
		.kind = kind_of(file),
		.path = file->path,
		.build_id = file->build_id,
		.build_id_length = file->build_id_length,
		.id = file->id,
		.mapped_ns = file->mapped_ns,
		.mappings = query->mappings,
		.mapping_count = file->mapping_count,
	};
	if (query->file.kind == SYMBOLS_JIT)
		query->file.jitdump = processes_jitdump(processes, file->process);
	for (i = 0; i < file->mapping_count; i++) /* the last one first */
		query->mappings[i] =
			file->mappings[(file->mapping_next + PROCESSES_FILE_MAPPINGS - 1 - i) %
					PROCESSES_FILE_MAPPINGS];
	if (running != PROCESSES_NONE) {
		kernel = processes_kernel(processes, running);
		query->kernel = (struct symbols_kernel){
			kernel->build_id, kernel->build_id_length, kernel->start };
		query->file.kernel = &query->kernel;
	}
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Places without a file, which can't be symbolized, come after all files. */
static void order_by_file(struct symbolize *a)
{
	const struct profile *profile = a->profile;
	uint32_t files = processes_file_count(profile->processes), i, sum = 0;

	a->order = g_new(uint32_t, profile->places->len + 1);
	a->ends = g_new0(uint32_t, files + 1);
	for (i = 0; i < profile->places->len; i++)
		a->ends[MIN(profile_place(profile, i)->file, files)]++;
	for (i = 0; i <= files; i++) {
		uint32_t count = a->ends[i];

		a->ends[i] = sum;
		sum += count;
	}
	for (i = 0; i < profile->places->len; i++)
		a->order[a->ends[MIN(profile_place(profile, i)->file, files)]++] = i;
}

static uint32_t first_of(const struct symbolize *a, uint32_t file)
{
	return file ? a->ends[file - 1] : 0;
}

/* The kernel first, since it takes longest. */
static void list_files(struct symbolize *a)
{
	uint32_t files = processes_file_count(a->profile->processes), i;
	int kernel;

	a->files = g_new(uint32_t, files + 1);
	for (kernel = 1; kernel >= 0; kernel--) {
		for (i = 0; i < files; i++) {
			const struct processes_file *file =
				processes_file(a->profile->processes, i);

			if ((file->kernel != PROCESSES_NONE) == kernel &&
				first_of(a, i) < a->ends[i])
				a->files[a->count++] = i;
		}
	}
}

/* ---- one file -------------------------------------------------------------------------------- */

/* Cancelled: the remaining files are skipped. */
static void give_up(struct symbolize *a)
{
	pthread_mutex_lock(&a->lock);
	a->next = a->count;
	pthread_mutex_unlock(&a->lock);
}

/* With source lines if there is time for them, else without. */
static void resolve_in_time(struct symbolize_thread *thread, const struct symbols_file *query,
	const uint64_t *offsets, size_t count, struct symbols_place *found)
{
	struct symbolize *a = thread->symbolize;
	struct symbols_how how = *a->how;
	int ret = -ETIMEDOUT;

	how.arena_max = a->arena_max;
	if (symbols_arena_bytes(thread->arena) >= how.arena_max)
		return;
	if (!how.deadline_ns || proto_now_ns() < how.deadline_ns)
		ret = symbols_resolve(
			a->symbols, query, offsets, count, &how, thread->arena, found);
	if (ret == -ETIMEDOUT) {
		/* source lines that take too long are left out, as are those that don't exist */
		how.flags = 0;
		how.deadline_ns = 0;
		ret = symbols_resolve(
			a->symbols, query, offsets, count, &how, thread->arena, found);
	}
	if (ret == -ECANCELED)
		give_up(a);
}

static void resolve_offsets(struct symbolize_thread *thread, const struct processes_file *file,
	const uint64_t *offsets, size_t count, struct symbols_place *found)
{
	struct symbolize_query query;

	symbolize_describe(thread->symbolize->profile->processes, file, &query);
	resolve_in_time(thread, &query.file, offsets, count, found);
}

static void resolve_file(struct symbolize_thread *thread, uint32_t file)
{
	const struct symbolize *a = thread->symbolize;
	const uint32_t *order = a->order + first_of(a, file);
	uint32_t count = a->ends[file] - first_of(a, file), i;
	g_autofree uint64_t *offsets = g_new(uint64_t, count);
	g_autofree struct symbols_place *found = g_new0(struct symbols_place, count);

	for (i = 0; i < count; i++)
		offsets[i] = profile_place(a->profile, order[i])->offset;
	resolve_offsets(thread, processes_file(a->profile->processes, file), offsets, count, found);
	for (i = 0; i < count; i++)
		a->places[order[i]] = found[i];
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool next_file(struct symbolize *a, uint32_t *file)
{
	bool more;

	pthread_mutex_lock(&a->lock);
	more = a->next < a->count;
	if (more)
		*file = a->files[a->next++];
	pthread_mutex_unlock(&a->lock);
	return more;
}

static void *resolve_files(void *arg)
{
	struct symbolize_thread *thread = arg;
	uint32_t file;

	while (next_file(thread->symbolize, &file))
		resolve_file(thread, file);
	return NULL;
}

static void *run_thread(void *arg)
{
	pthread_setname_np(pthread_self(), "kp-names");
	return resolve_files(arg);
}

/* The thread blocks all signals: the caller's threads handle them. */
static int start_thread(pthread_t *id, struct symbolize_thread *thread)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(id, NULL, run_thread, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

void symbolize_places(const struct profile *profile, struct symbols *symbols,
	const struct symbols_how *how, struct symbols_place *places,
	struct symbols_arena *arenas[SYMBOLIZE_THREADS])
{
	struct symbolize a = {.profile = profile, .symbols = symbols, .how = how, .places = places};
	struct symbolize_thread symbolizers[SYMBOLIZE_THREADS];
	pthread_t threads[SYMBOLIZE_THREADS];
	uint32_t count, started, i;

	pthread_mutex_init(&a.lock, NULL);
	order_by_file(&a);
	list_files(&a);
	count = MIN(MIN(symbols_lanes(symbols), SYMBOLIZE_THREADS), a.count);
	a.arena_max = count ? SYMBOLIZE_BYTES_MAX / count : 0;
	for (i = 0; i < count; i++) {
		arenas[i] = symbols_arena_create();
		symbolizers[i] = (struct symbolize_thread){&a, arenas[i]};
	}
	/* this thread is one of them; if the others can't be started, it does all the work */
	for (started = 0; started + 1 < count; started++)
		if (start_thread(&threads[started], &symbolizers[started + 1]) != 0)
			break;
	if (count)
		resolve_files(&symbolizers[0]);
	for (i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_destroy(&a.lock);
	g_free(a.order);
	g_free(a.ends);
	g_free(a.files);
}
