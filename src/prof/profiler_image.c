/* SPDX-License-Identifier: MIT */
/*
 * Images of a profiler: see profiler.h. An image is taken by the control thread. It shares the blocks of the
 * capture, and has a copy of all else.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "prof/profiler_state.h"

/* ---- counts of a run --------------------------------------------------------------------------- */

void profiler_add_counts(const struct run *run, struct rings *rings, unsigned int cpu, struct tally *counts)
{
	struct offcpu_counts offcpu;
	struct profiler_counts count;
	unsigned int i;

	for (i = 0; rings && i < run->config.events.count; i++) {
		const uint32_t number = run->config.numbers[i];

		profiler_read_counts(run, rings, i, &count);
		tally_add(counts, cpu, number, COUNT_KERNEL, count.value);
		/* for each run separately: the rest of a period is lost with its descriptors */
		tally_add(counts, cpu, number, COUNT_DUE, count.due);
		tally_add(counts, cpu, number, COUNT_REFUSED, count.refused);
		if (!rings_read_offcpu(rings, i, &offcpu))
			continue;
		tally_add(counts, cpu, number, COUNT_SHORTER, offcpu.shorter);
		tally_add(counts, cpu, number, COUNT_UNSEEN, offcpu.unseen);
	}
}

void profiler_add_stats(const struct run *run, struct sampler_stats *past, GHashTable *past_cpus)
{
	struct sampler_stats stats;

	sampler_get_stats(run->sampler, &stats);
	past->wakeups += stats.wakeups;
	past->empty += stats.empty;
	past->stacks += stats.stacks;
	past->stacks_cut += stats.stacks_cut;
	past->tasks_lost += stats.tasks_lost;
	past->damaged += stats.damaged;
	sampler_add_cpu_stats(run->sampler, past_cpus);
}

/* ---- images ------------------------------------------------------------------------------------ */

struct profiler_image *profiler_image_create(struct budget *budget)
{
	struct profiler_image *image = g_new0(struct profiler_image, 1);

	image->budget = budget;
	image->known = g_array_new(FALSE, FALSE, sizeof(struct known_event));
	image->past_cpus = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	image->times = g_array_new(FALSE, FALSE, sizeof(struct kprof_rec_cpu_times));
	record_buf_init(&image->preamble);
	tally_init(&image->counts);
	return image;
}

void profiler_image_free(struct profiler_image *image)
{
	if (!image)
		return;
	capture_destroy(image->capture);
	only_destroy(image->settings.only);
	budget_return(image->budget, BUDGET_CAPTURES, image->kb);
	record_buf_fini(&image->preamble);
	tally_fini(&image->counts);
	g_array_free(image->known, TRUE);
	g_array_free(image->times, TRUE);
	g_hash_table_destroy(image->past_cpus);
	g_free(image);
}

void profiler_image_drop_settings(struct profiler_image *image)
{
	image->has_settings = false;
}

/* As `prof_qlimit` counts it. */
int profiler_image_take_memory(struct profiler_image *image, struct err *err)
{
	const uint64_t bytes = capture_memory_bytes(image->capture) + image->preamble.used;
	const uint64_t total_kb = budget_total_kb(image->budget);
	const uint64_t kb = MAX((bytes + KIB - 1) / KIB, profiler_qlimit_least_kb(image->budget));

	if (!budget_take(image->budget, BUDGET_CAPTURES, kb))
		return err_set(err, ENOSPC, "what is held needs %" PRIu64 " KB, and the prof_qlimit of all "
			"sessions leaves %" PRIu64 " of %" PRIu64 " KB: lower one, or remove a session", kb,
			budget_left_kb(image->budget, BUDGET_CAPTURES), total_kb);
	image->kb = kb;
	image->settings.qlimit_kb = kb;
	capture_set_limit(image->capture, kb * KIB);
	return 0;
}

static void copy_past_cpus(GHashTable *to, GHashTable *from)
{
	const struct sampler_cpu_stats *stats;
	GHashTableIter iter;
	gpointer cpu;

	g_hash_table_iter_init(&iter, from);
	while (g_hash_table_iter_next(&iter, &cpu, (gpointer *)&stats))
		g_hash_table_insert(to, cpu, g_memdup2(stats, sizeof(*stats)));
}

/* Settings and counts, except those of the run. */
static void copy_state(struct profiler *p, struct profiler_image *image)
{
	struct only *only = NULL;

	/* without the lock, since it looks for cgroups; one that is gone now names nothing there either */
	if (p->settings.only)
		(void)only_create(only_text(p->settings.only), p->paths.proc, &only, NULL);
	pthread_mutex_lock(&p->lock);
	image->has_settings = true;
	image->other_boot = atomic_read_relaxed(&p->saved_other_boot);
	image->settings = p->settings;
	image->settings.only = only;
	g_array_append_vals(image->known, p->known->data, p->known->len);
	tally_merge(&image->counts, &p->counts);
	image->past = p->past;
	copy_past_cpus(image->past_cpus, p->past_cpus);
	image->offcpu_missed = p->offcpu_missed;
	image->runs_ns = profiler_times_length(p);
	memcpy(image->points_missed, p->points_missed, sizeof(image->points_missed));
	image->is_loaded = profiler_is_loaded(p);
	image->stacks_copied = atomic_read_relaxed(&p->stacks_copied);
	image->has_wakers = atomic_read_relaxed(&p->has_wakers);
	pthread_mutex_unlock(&p->lock);
}

/* What the kernel has counted of a run so far. The sampler is held. */
static void read_counts(const struct run *run, struct tally *counts)
{
	unsigned int cpu;

	tally_clear(counts);
	for (cpu = 0; cpu < CPU_NUMBERS; cpu++)
		if (cpu_in_bitmap(run->cpus, cpu))
			profiler_add_counts(run, sampler_held_rings(run->sampler, cpu), cpu, counts);
}

/*
 * The events of which samples were due between two readings. Returns whether there are any; mark: notes that
 * their number is not known.
 */
static bool find_changed(const struct tally *before, const struct tally *after, GArray *known, bool mark)
{
	bool any = false;
	size_t i;

	for (i = 0; i < after->count; i++) {
		const struct tally_row *row = &after->rows[i];

		if (row->reason != COUNT_DUE ||
			tally_get(before, row->cpu, row->event, COUNT_DUE) == row->count)
			continue;
		any = true;
		if (mark)
			g_array_index(known, struct known_event, row->event - 1).due_unknown = true;
	}
	return any;
}

/*
 * The kernel counts on while the rings are drained. So the counts are those of the records if no sample was
 * due from one reading to the other, with the drain between them. If one was due in every try, the
 * number of undelivered samples is not known.
 */
#define COUNT_TRIES 4

static void drain_and_count(const struct run *run, struct profiler_image *image)
{
	struct tally before, after;
	int tries = 1;

	tally_init(&before);
	tally_init(&after);
	read_counts(run, &before);
	for (;; tries++) {
		sampler_drain_held(run->sampler);
		read_counts(run, &after);
		if (!find_changed(&before, &after, image->known, tries == COUNT_TRIES))
			break;
		if (tries == COUNT_TRIES)
			break;
		tally_clear(&before);
		tally_merge(&before, &after);
	}
	tally_merge(&image->counts, &after);
	tally_fini(&before);
	tally_fini(&after);
}

/* The capture of this moment, and what has been counted until then. */
static void copy_capture(struct profiler *p, struct profiler_image *image)
{
	struct run *run = p->run;

	if (run) {
		sampler_hold(run->sampler);
		drain_and_count(run, image);
	}
	image->capture = capture_copy(p->capture);
	/* what the records that are held refer to exists until the next drain */
	if (!image->is_loaded)
		tasks_encode(p->tasks, 0, &image->preamble);
	if (run)
		sampler_release(run->sampler);
}

int profiler_take_image(struct profiler *p, struct profiler_image **out, struct err *err)
{
	struct profiler_image *image = profiler_image_create(p->budget);
	int ret;

	copy_state(p, image);
	/* a capture that was loaded begins with a preamble of its own */
	if (!image->is_loaded) {
		profiler_times_copy(p, image->times);
		cursor_encode_header(p, &image->preamble);
	}
	copy_capture(p, image);
	if (p->run)
		profiler_add_stats(p->run, &image->past, image->past_cpus);
	ret = profiler_image_take_memory(image, err);
	if (ret) {
		profiler_image_free(image);
		return ret;
	}
	*out = image;
	return 0;
}

/* ---- the other profiler ------------------------------------------------------------------------ */

int profiler_create_of_image(const struct profiler_hooks *hooks, const struct profiler_paths *paths,
	struct profiler_image *image, struct profiler **out, struct err *err)
{
	struct profiler *p = profiler_allocate(hooks, paths, image->budget);

	(void)err;
	p->captured_kb = image->kb;
	if (image->has_settings) {
		p->settings = image->settings;
		image->settings.only = NULL;
	}
	p->settings.qlimit_kb = image->kb;
	p->capture = g_steal_pointer(&image->capture);
	capture_set_overwrite(p->capture, p->settings.mode == PROFILER_OVERWRITE);
	g_array_append_vals(p->known, image->known->data, image->known->len);
	p->counts = image->counts;
	tally_init(&image->counts);
	p->past = image->past;
	copy_past_cpus(p->past_cpus, image->past_cpus);
	g_array_append_vals(p->times, image->times->data, image->times->len);
	p->offcpu_missed = image->offcpu_missed;
	p->runs_ns = image->runs_ns;
	memcpy(p->points_missed, image->points_missed, sizeof(p->points_missed));
	p->stacks_copied = image->stacks_copied;
	p->has_wakers = image->has_wakers;
	p->loaded = image->is_loaded;
	profiler_resolve(p, NULL);
	p->saved = image->preamble;
	record_buf_init(&image->preamble);
	atomic_write_relaxed(&p->saved_other_boot, image->other_boot);
	p->saved_stamp = atomic_read_relaxed(&p->header_stamp);
	image->kb = 0;
	profiler_image_free(image);
	*out = p;
	return 0;
}
