/* SPDX-License-Identifier: MIT */
/* The samples of a profile sorted by time: see timeline.h. */
#include "formats/timeline.h"

#include <errno.h>
#include <stdlib.h>

#include "capture/table.h"
#include "formats/summary.h"

#define NO_TRACK UINT32_MAX /* of a cell that is left out */

/* Cancellation is checked once for this many records, which take well below a millisecond. */
#define CANCEL_RECORDS 1024

struct timeline_builder {
	const struct view_input *input;
	struct timeline *timeline;
	uint16_t left_out; /* enum profile_cell_flags */
	uint32_t *track_of; /* by cell */
	struct table table; /* of tracks */
};

/* ---- records other than samples -------------------------------------------------------------- */

static uint64_t thread_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

static void keep_name(struct timeline *timeline, const struct decode_record *r)
{
	uint64_t *key = g_new(uint64_t, 1);

	*key = thread_key(r->comm.pid, r->comm.tid);
	g_hash_table_replace(timeline->names, key, g_strdup(r->text));
}

/*
 * The last name of each thread. In concatenated captures threads have the names
 * of their processes, since a thread id may be of different threads in each.
 */
static int read_records(struct timeline_builder *b)
{
	struct timeline *timeline = b->timeline;
	struct decode_record r;
	struct decoder decoder;
	int clocks = 0, ret;

	decode_init_pread(&decoder, b->input->capture_fd, 0);
	while ((ret = decode_next(&decoder, &r, NULL)) > 0 || ret == -EBADMSG) {
		if (decoder.records % CANCEL_RECORDS == 0 && view_cancelled(b->input))
			break;
		if (ret < 0)
			continue;
		clocks += r.type == KPROF_REC_CLOCK;
		if (r.type == KPROF_REC_COMM && r.comm.pid != r.comm.tid)
			keep_name(timeline, &r);
	}
	decode_fini(&decoder);
	if (clocks > 1)
		g_hash_table_remove_all(timeline->names);
	return ret > 0 ? -EINTR : 0;
}

/* ---- tracks ---------------------------------------------------------------------------------- */

static bool equal_track(const void *items, uint32_t i, const void *key)
{
	const struct timeline_track *a = (const struct timeline_track *)items + i, *b = key;

	return a->life == b->life && a->tid == b->tid && a->event == b->event;
}

static uint32_t intern_track(struct timeline_builder *b, const struct profile_cell *cell)
{
	const struct profile *profile = b->input->profile;
	GArray *tracks = b->timeline->tracks;
	struct timeline_track key = {
		.life = cell->life,
		.boot = profile_boot(profile, cell),
		.pid = processes_pid(profile->processes, cell->life),
		.tid = cell->tid,
		.event = cell->event,
		.flags = cell->flags,
		.process = cell->name,
		.host = boots_count(profile->boots) > 1 ? profile_host(profile, cell) : NULL,
	};
	uint32_t hash = table_hash((uint64_t)cell->life << 32 | cell->tid, cell->event);
	uint32_t i = table_intern(&b->table, tracks, hash, equal_track, &key);
	struct timeline_track *track = &g_array_index(tracks, struct timeline_track, i);
	uint64_t thread = thread_key(key.pid, key.tid);

	if (!track->thread)
		track->thread = g_hash_table_lookup(b->timeline->names, &thread);
	if (!track->thread)
		track->thread = cell->name;
	return i;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_tracks(const void *a, const void *b)
{
	const struct timeline_track *x = a, *y = b;
	int order = compare_numbers(x->pid, y->pid);

	order = order ? order : compare_numbers(x->boot, y->boot);
	order = order ? order : compare_numbers(x->life, y->life);
	order = order ? order : compare_numbers(x->tid, y->tid);
	return order ? order : compare_numbers(x->event, y->event);
}

/* Makes the tracks, sorted, and track_of for each cell. */
static void make_tracks(struct timeline_builder *b)
{
	const struct profile *profile = b->input->profile;
	GArray *tracks = b->timeline->tracks;
	uint32_t i;

	for (i = 0; i < profile->cells->len; i++) {
		const struct profile_cell *cell = profile_cell(profile, i);

		if (!(cell->flags & b->left_out))
			intern_track(b, cell);
	}
	g_array_sort(tracks, compare_tracks);
	table_fini(&b->table);
	for (i = 0; i < tracks->len; i++) {
		struct timeline_track *track = &g_array_index(tracks, struct timeline_track, i);

		table_add(&b->table, table_hash((uint64_t)track->life << 32 | track->tid,
			track->event), i);
		if (i && track[-1].pid == track->pid)
			track->generation = track[-1].generation + (track[-1].life != track->life);
	}
	for (i = 0; i < profile->cells->len; i++) {
		const struct profile_cell *cell = profile_cell(profile, i);

		b->track_of[i] = cell->flags & b->left_out
			? NO_TRACK : intern_track(b, cell);
	}
}

/* ---- samples --------------------------------------------------------------------------------- */

static int compare_moments(const void *a, const void *b, void *arg)
{
	const struct profile *profile = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int order = compare_numbers(profile_moment(profile, i)->time_ns,
		profile_moment(profile, k)->time_ns);

	return order ? order : compare_numbers(i, k);
}

static void note_times(struct timeline *timeline, uint64_t first_ns, uint64_t last_ns)
{
	timeline->first_ns = MIN(timeline->first_ns, first_ns);
	timeline->last_ns = MAX(timeline->last_ns, last_ns);
}

/*
 * Assigns the samples to their tracks, in two passes: the first counts them, the second enters
 * them.
 */
static void fill_tracks(struct timeline_builder *b)
{
	const struct profile *profile = b->input->profile;
	struct timeline *timeline = b->timeline;
	struct timeline_track *tracks = (struct timeline_track *)timeline->tracks->data;
	uint32_t i, track, sum = 0;

	for (i = 0; i < profile->moments->len; i++) {
		track = b->track_of[profile_moment(profile, i)->cell];
		if (track != NO_TRACK)
			tracks[track].count++;
	}
	for (track = 0; track < timeline->tracks->len; track++) {
		tracks[track].first = sum;
		sum += tracks[track].count;
		tracks[track].count = 0;
	}
	timeline->samples = sum;
	timeline->order = g_new(uint32_t, sum + 1);
	for (i = 0; i < profile->moments->len; i++) {
		track = b->track_of[profile_moment(profile, i)->cell];
		if (track != NO_TRACK)
			timeline->order[tracks[track].first + tracks[track].count++] = i;
	}
}

static int sort_tracks(struct timeline_builder *b)
{
	struct timeline *timeline = b->timeline;
	uint32_t i;

	timeline->first_ns = UINT64_MAX;
	for (i = 0; i < timeline->tracks->len; i++) {
		const struct timeline_track *track = timeline_track(timeline, i);

		if (view_cancelled(b->input))
			return -EINTR;
		g_qsort_with_data(timeline->order + track->first, (gint)track->count,
			sizeof(uint32_t), compare_moments, (gpointer)timeline->profile);
		note_times(timeline, timeline_moment(timeline, track, 0)->time_ns,
			timeline_moment(timeline, track, track->count - 1)->time_ns);
	}
	timeline->wall_ns = boots_wall_ns(timeline->profile->boots);
	if (timeline->wall_ns)
		timeline->wall_ns += timeline->first_ns;
	return 0;
}

static int build(struct timeline_builder *b)
{
	int ret = read_records(b);

	if (ret)
		return ret;
	make_tracks(b);
	if (!b->timeline->tracks->len)
		return b->input->annotations ? 0 : -ENODATA;
	fill_tracks(b);
	return sort_tracks(b);
}

int timeline_create(
	const struct view_input *input, bool all, struct timeline **result, struct err *err)
{
	struct timeline *timeline = g_new0(struct timeline, 1);
	struct timeline_builder b = {
		.input = input,
		.timeline = timeline,
		.left_out = all ? 0 : PROFILE_IDLE | PROFILE_OWN,
	};
	int ret;

	timeline->profile = input->profile;
	timeline->tracks = g_array_new(FALSE, FALSE, sizeof(struct timeline_track));
	timeline->names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	b.track_of = g_new(uint32_t, input->profile->cells->len + 1);
	ret = build(&b);
	g_free(b.track_of);
	table_fini(&b.table);
	if (!ret) {
		*result = timeline;
		return 0;
	}
	timeline_destroy(timeline);
	if (ret == -EINTR)
		return err_set(err, EINTR, "the view was cancelled");
	return summary_refuse(input->profile, input->source, err);
}

void timeline_destroy(struct timeline *timeline)
{
	if (!timeline)
		return;
	g_array_free(timeline->tracks, TRUE);
	g_hash_table_destroy(timeline->names);
	g_free(timeline->order);
	g_free(timeline);
}
