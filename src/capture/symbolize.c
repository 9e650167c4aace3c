/* SPDX-License-Identifier: MIT */
/* The places of a profile, asked about file by file: see asking.h. */
#include "capture/symbolize.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <signal.h>

#include "symbolizer/proto.h"
#include "capture/functions.h"

struct symbolize {
	const struct profile *profile; /* i */
	struct symbols *symbols;       /* i */
	const struct symbols_how *how; /* i */
	uint32_t *order;               /* i: the places, file by file */
	uint32_t *ends;                /* i: where those of each file end in it */
	struct symbols_place *places;  /* each file's are one thread's */
	uint32_t *files;               /* i: those with places, in the order of asking */
	uint32_t count;                /* i: of files */
	size_t arena_max;              /* i */
	pthread_mutex_t lock;
	uint32_t next; /* (lock) of files */
};

/* One thread. */
struct asker {
	struct symbolize *asking;
	struct symbols_arena *arena;
};

/*
 * ---- the order --------------------------------------------------------------------------------
 */

/* Places without a file, which nobody can be asked about, come behind all files. */
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

/*
 * ---- one file ---------------------------------------------------------------------------------
 */

/* Nobody wants the names any more: the files that are left are not asked about. */
static void give_up(struct symbolize *a)
{
	pthread_mutex_lock(&a->lock);
	a->next = a->count;
	pthread_mutex_unlock(&a->lock);
}

/* With lines where there is time for them, else without. */
static void ask_in_time(struct asker *asker, const struct symbols_file *question,
	const uint64_t *offsets, size_t count, struct symbols_place *found)
{
	struct symbolize *a = asker->asking;
	struct symbols_how how = *a->how;
	int ret = -ETIMEDOUT;

	how.arena_max = a->arena_max;
	if (symbols_arena_bytes(asker->arena) >= how.arena_max)
		return;
	if (!how.deadline_ns || proto_now_ns() < how.deadline_ns)
		ret = symbols_resolve(
			a->symbols, question, offsets, count, &how, asker->arena, found);
	if (ret == -ETIMEDOUT) {
		/* what can't be told in time is shown as what can't be told */
		how.flags = 0;
		how.deadline_ns = 0;
		ret = symbols_resolve(
			a->symbols, question, offsets, count, &how, asker->arena, found);
	}
	if (ret == -ECANCELED)
		give_up(a);
}

static void ask_symbols(struct asker *asker, const struct processes_file *file,
	const uint64_t *offsets, size_t count, struct symbols_place *found)
{
	struct functions_question question;

	functions_describe(asker->asking->profile->processes, file, &question);
	ask_in_time(asker, &question.file, offsets, count, found);
}

static void ask_about(struct asker *asker, uint32_t file)
{
	const struct symbolize *a = asker->asking;
	const uint32_t *order = a->order + first_of(a, file);
	uint32_t count = a->ends[file] - first_of(a, file), i;
	g_autofree uint64_t *offsets = g_new(uint64_t, count);
	g_autofree struct symbols_place *found = g_new0(struct symbols_place, count);

	for (i = 0; i < count; i++)
		offsets[i] = profile_place(a->profile, order[i])->offset;
	ask_symbols(asker, processes_file(a->profile->processes, file), offsets, count, found);
	for (i = 0; i < count; i++)
		a->places[order[i]] = found[i];
}

/*
 * ---- all of them ------------------------------------------------------------------------------
 */

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

static void *ask_files(void *arg)
{
	struct asker *asker = arg;
	uint32_t file;

	while (next_file(asker->asking, &file))
		ask_about(asker, file);
	return NULL;
}

static void *run_asker(void *arg)
{
	pthread_setname_np(pthread_self(), "kp-names");
	return ask_files(arg);
}

/* Signals are for the threads of whoever called. */
static int start_asker(pthread_t *thread, struct asker *asker)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(thread, NULL, run_asker, asker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

void symbolize_ask(const struct profile *profile, struct symbols *symbols,
	const struct symbols_how *how, struct symbols_place *places,
	struct symbols_arena *arenas[SYMBOLIZE_THREADS])
{
	struct symbolize a = {.profile = profile, .symbols = symbols, .how = how, .places = places};
	struct asker askers[SYMBOLIZE_THREADS];
	pthread_t threads[SYMBOLIZE_THREADS];
	uint32_t count, started, i;

	pthread_mutex_init(&a.lock, NULL);
	order_by_file(&a);
	list_files(&a);
	count = MIN(MIN(symbols_lanes(symbols), SYMBOLIZE_THREADS), a.count);
	a.arena_max = count ? SYMBOLIZE_BYTES_MAX / count : 0;
	for (i = 0; i < count; i++) {
		arenas[i] = symbols_arena_create();
		askers[i] = (struct asker){&a, arenas[i]};
	}
	/* this thread is the last one; where the others can't be had it does all of it */
	for (started = 0; started + 1 < count; started++)
		if (start_asker(&threads[started], &askers[started + 1]) != 0)
			break;
	if (count)
		ask_files(&askers[0]);
	for (i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_destroy(&a.lock);
	g_free(a.order);
	g_free(a.ends);
	g_free(a.files);
}
