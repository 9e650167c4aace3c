/* SPDX-License-Identifier: MIT */
/*
 * Following the trace: see follow.h.
 *
 * A gathering takes a moment, the horizon, and then looks at the programs one after the other. What
 * is stamped behind the horizon stays for the next time, so the times of two gatherings don't mix.
 *
 * The books of a program, since the follower knows it: `seen` events were come upon; what a chunk
 * still has to give is its count less what was come upon in it. What the program has begun and is
 * in neither is lost. Counts and chunks are of nearly one moment: an event may be come upon before
 * it is counted (then less seems lost; the next time makes up for it), and when a chunk could not
 * be looked at, nothing is said before the next time.
 */
#include "trace/follow.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/growing.h"
#include "sys/clock.h"
#include "trace/trace_records.h"
#include "trace/merge.h"
#include "producers/producers.h"
#include "trace/reading.h"
#include "trace/snapshot.h"
#include "trace/clock_map.h"
#include "trace/trace.h"

#define PIECE_BYTES 32768
/* How much is looked at for it; most of it may be other CPUs'. */
#define PIECE_EVENTS 4096
/* How often what holds up a chunk is waited for. */
#define PATIENCE 2

/* Where the follower stands in a chunk. */
struct place {
	uint64_t ticket;
	uint32_t at;	    /* bytes from its start */
	uint32_t held_at;   /* where something held it up, */
	uint32_t held;	    /* and so many times */
	uint64_t accounted; /* events come upon or given up, of those that the chunk counts */
	struct kprof_run run;
	uint64_t number, stamp;
};

struct followed {
	struct producer *producer; /* a reference */
	bool present;		   /* in the list of this gathering */
	uint32_t chunks;	   /* places */
	uint64_t begun;		   /* events begun when the follower came to know it */
	uint64_t seen, lost;
	struct place places[];
};

struct follow {
	struct readings *readings;
	uid_t reader;
	struct trace_records *form;
	uint64_t begin_ns;
	GHashTable *programs; /* of struct followed, by the inode of their pool */
	struct ring_index *index;
	char *scratch; /* 2 * KPROF_CHUNK_BYTES_MAX */
	struct trace_cursor messages;
	uint64_t missed; /* messages that are accounted as lost */
	struct snapshot_message carried; /* a message from behind the horizon; its text: */
	GString *carried_text;
	bool carries;
	struct snapshot *snapshot; /* what was gathered */
	struct merge *merge;
	uint64_t gathered; /* events in it */
	uint64_t lost, said;
	bool begun; /* the beginning of the form was said */
};

/*
 * ---- books ------------------------------------------------------------------------------------
 */

static void free_followed(void *data)
{
	struct followed *followed = data;

	producer_put(followed->producer);
	g_free(followed);
}

/* *came: it was not known before. NULL: it can't be followed. */
static struct followed *find_followed(struct follow *follow, struct producer *producer, bool *came)
{
	struct followed *followed;
	struct stat st;
	gint64 key;

	*came = false;
	if (fstat(producer->reader.fd, &st))
		return NULL;
	key = (gint64)st.st_ino;
	followed = g_hash_table_lookup(follow->programs, &key);
	/* of the same memory the same layout is expected; else it begins anew */
	*came = !followed || followed->chunks != producer->reader.layout.chunk_count;
	if (*came) {
		followed = g_malloc0(sizeof(*followed) +
			producer->reader.layout.chunk_count * sizeof(struct place));
		followed->producer = producer_get(producer);
		followed->chunks = producer->reader.layout.chunk_count;
		g_hash_table_insert(follow->programs, g_memdup2(&key, sizeof(key)), followed);
	} else if (followed->producer != producer) { /* it attached again: the memory is the same */
		producer_put(followed->producer);
		followed->producer = producer_get(producer);
	}
	followed->present = true;
	return followed;
}

/* What the program has begun, is not seen and is not to come. */
static void count_lost(struct follow *follow, struct followed *followed, uint64_t to_come)
{
	struct ring_totals totals;
	uint64_t begun, known = followed->seen + followed->lost + to_come;

	if (ring_totals(&followed->producer->reader, follow->index, &totals))
		return;
	begun = totals.reserved + totals.dropped - followed->begun;
	if (begun <= known)
		return;
	followed->lost += begun - known;
	follow->lost += begun - known;
}

/*
 * ---- one chunk --------------------------------------------------------------------------------
 */

/* Whether the reader should wait for what is at this place, once more. */
static bool is_patient(struct place *place, uint32_t at)
{
	if (place->held_at != at || !place->held) {
		place->held_at = at;
		place->held = 0;
	}
	return place->held++ < PATIENCE;
}

/*
 * Goes through the copy up to the horizon, or to what must be waited for. Returns where it stopped;
 * the walk stands there. *seen: events on the way.
 */
static uint32_t walk_until(const struct followed *followed, struct place *place,
	const struct ring_extent *extent, struct ring_walk *walk, uint64_t horizon, uint64_t *seen)
{
	const struct producer_event *meaning;
	struct ring_record record;

	for (;;) {
		struct ring_walk before = *walk;
		enum ring_item item = ring_walk_next(walk, &record);
		bool wait = false;

		if (item == RING_END)
			return walk->at * 8;
		if (item == RING_GAP)
			wait = extent->in_the_air && is_patient(place, before.at * 8);
		else if (item == RING_EVENT && record.stamp > horizon)
			wait = true;
		else if (item == RING_EVENT &&
			merge_look(followed->producer, &record, &meaning) == MERGE_UNKNOWN)
			wait = is_patient(place, before.at * 8);
		if (wait) {
			*walk = before;
			return walk->at * 8;
		}
		*seen += item == RING_EVENT;
	}
}

static void begin_walk(struct ring_walk *walk, const struct place *place,
	const struct ring_extent *extent, const char *data)
{
	ring_walk_begin(walk, extent, data, place->at);
	if (!place->at)
		return;
	walk->run = place->run;
	walk->number = place->number;
	walk->stamp = MAX(walk->stamp, place->stamp);
}

static void keep_walk(struct place *place, const struct ring_walk *walk)
{
	place->run = walk->run;
	place->number = walk->number;
	place->stamp = walk->stamp;
}

/* False: there is no memory for it. */
static bool add_stretch(struct follow *follow, const struct followed *followed,
	const struct place *place, const struct ring_extent *extent, uint32_t end)
{
	struct snapshot_chunk chunk = {
		.producer = followed->producer,
		.extent = *extent,
		.from = place->at,
		.run = place->run,
		.number = place->number,
		.stamp = place->stamp,
	};

	chunk.data = g_try_malloc(end);
	if (!chunk.data)
		return false;
	memcpy(chunk.data + place->at, follow->scratch + place->at, end - place->at);
	chunk.extent.end = end;
	chunk.extent.count = 0; /* the books are kept here */
	if (!snapshot_add(follow->snapshot, &chunk))
		return true;
	g_free(chunk.data);
	return false;
}

/* Takes what is new in a chunk. Returns how many of its events are still to come. */
static uint64_t gather_chunk(struct follow *follow, struct followed *followed,
	const struct ring_extent *extent, uint64_t horizon)
{
	struct place *place = &followed->places[extent->chunk];
	struct ring_walk walk;
	uint64_t seen = 0;
	uint32_t end;

	if (place->ticket != extent->head.ticket) {
		memset(place, 0, sizeof(*place));
		place->ticket = extent->head.ticket;
	}
	if (extent->end > place->at && snapshot_reserve(follow->snapshot, extent->end) == 0) {
		if (ring_extent_copy(&followed->producer->reader, extent, place->at,
			    follow->scratch))
			return 0;
		begin_walk(&walk, place, extent, follow->scratch);
		end = walk_until(followed, place, extent, &walk, horizon, &seen);
		/* else it is for the next time, as where the budget has no room */
		if (!seen || add_stretch(follow, followed, place, extent, end)) {
			place->at = end;
			keep_walk(place, &walk);
			followed->seen += seen;
			follow->gathered += seen;
			place->accounted += seen;
		}
	}
	/* at the end of it nothing is to come: what was not come upon is torn */
	if (place->at >= extent->end)
		place->accounted = MAX(place->accounted, extent->count);
	return extent->count > place->accounted ? extent->count - place->accounted : 0;
}

/*
 * ---- beginnings --------------------------------------------------------------------------------
 */

/* All that is there now was before: the follower's places are at its end. */
static void skip_chunk(struct follow *follow, struct followed *followed,
	const struct ring_extent *extent)
{
	struct place *place = &followed->places[extent->chunk];
	struct ring_record record;
	struct ring_walk walk;

	place->ticket = extent->head.ticket;
	place->at = extent->end;
	place->accounted = extent->count;
	/* who goes on there need not say again whose stretch it is */
	if (!extent->held || ring_extent_copy(&followed->producer->reader, extent, 0, follow->scratch))
		return;
	ring_walk_begin(&walk, extent, follow->scratch, 0);
	while (ring_walk_next(&walk, &record) != RING_END)
		;
	keep_walk(place, &walk);
}

static void skip_all(struct follow *follow, struct followed *followed)
{
	const struct ring_reader *reader = &followed->producer->reader;
	struct ring_totals totals;
	struct ring_extent extent;
	uint32_t i;

	if (ring_index_copy(reader, follow->index) ||
		ring_totals(reader, follow->index, &totals))
		return;
	followed->begun = totals.reserved + totals.dropped;
	for (i = 0; i < reader->layout.chunk_count; i++)
		if (ring_extent_find(reader, follow->index, i, &extent))
			skip_chunk(follow, followed, &extent);
}

/*
 * It has come since. What an old program had lost before we knew it, nobody missed; all that a new
 * one has begun counts.
 */
static void begin_program(struct follow *follow, struct followed *followed)
{
	const struct ring_reader *reader = &followed->producer->reader;
	struct ring_totals totals;

	if (reader->layout.anchor_ns < follow->begin_ns &&
		!ring_index_copy(reader, follow->index) &&
		!ring_totals(reader, follow->index, &totals))
		followed->begun = totals.overwritten + totals.dropped;
}

/*
 * ---- all --------------------------------------------------------------------------------------
 */

/* A chunk that changed while it was looked at says nothing: neither does its program then. */
static bool is_whole(const struct followed *followed, const struct ring_index *index)
{
	uint32_t i;

	for (i = 0; i < followed->producer->reader.layout.chunk_count; i++)
		if (followed->places[i].ticket && !index->heads[i].ticket)
			return false;
	return true;
}

static void gather_program(struct follow *follow, struct followed *followed, uint64_t horizon)
{
	const struct ring_reader *reader = &followed->producer->reader;
	uint64_t to_come = 0;
	struct ring_extent extent;
	uint32_t i;

	if (ring_index_copy(reader, follow->index))
		return;
	for (i = 0; i < reader->layout.chunk_count; i++)
		if (ring_extent_find(reader, follow->index, i, &extent))
			to_come += gather_chunk(follow, followed, &extent, horizon);
	if (is_whole(followed, follow->index))
		count_lost(follow, followed, to_come);
}

/* Appends text, or where there is no memory nothing: -ENOMEM. */
static int append_text(GString *to, const char *text, size_t bytes)
{
	int ret = growing_text(to, bytes);

	if (!ret)
		g_string_append_len(to, text, (gssize)bytes);
	return ret;
}

/* The message that was carried over, or else the next one: its text. */
static bool next_message(struct follow *follow, uint64_t *time_ns)
{
	GString *text = follow->snapshot->text;

	if (follow->carries) {
		follow->carries = false;
		*time_ns = follow->carried.time_ns;
		if (!append_text(text, follow->carried_text->str, follow->carried_text->len))
			return true;
		follow->lost++;
	}
	return trace_next(readings_trace(follow->readings), &follow->messages, time_ns, text);
}

/* Messages up to the horizon; the first one behind it is carried to the next time. */
static void gather_messages(struct follow *follow, uint64_t horizon_ns)
{
	struct snapshot *snapshot = follow->snapshot;
	struct snapshot_message message;
	size_t begin = 0; /* of the text of the message at hand */
	bool more;

	while ((more = next_message(follow, &message.time_ns)) && message.time_ns <= horizon_ns) {
		message.end = snapshot->text->len;
		if (growing_add(snapshot->messages, &message)) {
			g_string_truncate(snapshot->text, begin);
			follow->lost++;
		}
		begin = snapshot->text->len;
	}
	if (more) {
		g_string_truncate(follow->carried_text, 0);
		follow->carries = !append_text(follow->carried_text, snapshot->text->str + begin,
			snapshot->text->len - begin);
		follow->lost += !follow->carries;
		g_string_truncate(snapshot->text, begin);
		follow->carried.time_ns = message.time_ns;
	}
	follow->lost += follow->messages.missed - follow->missed;
	follow->missed = follow->messages.missed;
}

static gboolean is_gone(void *key, void *value, void *arg)
{
	return !((struct followed *)value)->present;
}

/* Programs that have come are followed from their beginning; the form hides what is too old. */
static void gather_programs(struct follow *follow, uint64_t horizon_counter, uint64_t horizon_ns)
{
	GPtrArray *programs = follow->snapshot->producers;
	GHashTableIter iter;
	void *value;
	guint i;

	g_hash_table_iter_init(&iter, follow->programs);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		((struct followed *)value)->present = false;
	for (i = 0; i < programs->len; i++) {
		bool came;
		struct followed *followed =
			find_followed(follow, g_ptr_array_index(programs, i), &came);

		if (came && followed)
			begin_program(follow, followed);
	}
	g_hash_table_iter_init(&iter, follow->programs);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct followed *followed = value;
		bool counter = followed->producer->reader.layout.clock == KPROF_CLOCK_COUNTER;

		if (!followed->present) /* for the last time: its stretches need it as long as we do */
			g_ptr_array_add(programs, producer_get(followed->producer));
		gather_program(follow, followed, counter ? horizon_counter : horizon_ns);
	}
	g_hash_table_foreach_remove(follow->programs, is_gone, NULL);
}

static void drop_gathered(struct follow *follow)
{
	merge_destroy(follow->merge);
	snapshot_destroy(follow->snapshot);
	follow->merge = NULL;
	follow->snapshot = NULL;
}

bool follow_gather(struct follow *follow)
{
	struct producers *producers = readings_producers(follow->readings);
	struct clock_map *stamps = readings_stamps(follow->readings);
	uint64_t horizon_counter, horizon_ns;

	drop_gathered(follow);
	follow->gathered = 0;
	horizon_counter = clock_counter();
	horizon_ns = clock_monotonic_ns();
	follow->snapshot = snapshot_create(readings_budget(follow->readings), follow->reader,
		producers_all(producers), MAX(follow->begin_ns, producers_cleared_ns(producers)));
	gather_programs(follow, horizon_counter, horizon_ns);
	gather_messages(follow, horizon_ns);
	clock_map_refresh(stamps, false);
	follow->snapshot->map = clock_map_map(stamps);
	follow->merge = merge_create(follow->snapshot);
	if (!follow->merge) {
		follow->lost += follow->gathered + follow->snapshot->messages->len;
		drop_gathered(follow);
		return false;
	}
	return follow->snapshot->chunks->len || follow->snapshot->messages->len ||
		follow->lost > follow->said || !follow->begun;
}

bool follow_next(struct follow *follow, GString *out)
{
	size_t until = out->len + PIECE_BYTES;
	struct merge_item item;
	uint32_t events;

	if (!follow->merge)
		return false;
	if (!follow->begun)
		trace_records_begin(follow->form, follow->snapshot->map, out);
	follow->begun = true;
	for (events = 0; out->len < until && events < PIECE_EVENTS; events++) {
		bool more = merge_next(follow->merge, &item);

		if (follow->lost > follow->said)
			trace_records_append_missing(follow->form, more ? &item : NULL,
				clock_monotonic_ns(), follow->lost - follow->said, KPROF_TRACE_LOST,
				out);
		follow->said = follow->lost;
		if (!more) {
			drop_gathered(follow);
			break;
		}
		trace_records_append(follow->form, &item, out);
	}
	return true;
}

bool follow_has_more(const struct follow *follow)
{
	return follow->merge;
}

uint64_t follow_lost(const struct follow *follow)
{
	return follow->lost;
}

/* What all programs hold now is before its beginning. */
static int skip_programs(struct follow *follow, const struct cancel *cancel)
{
	g_autoptr(GPtrArray) programs = producers_all(readings_producers(follow->readings));
	guint i;

	for (i = 0; i < programs->len; i++) {
		bool came;
		struct followed *followed =
			find_followed(follow, g_ptr_array_index(programs, i), &came);

		if (came && followed)
			skip_all(follow, followed);
		if (cancel_requested(cancel))
			return -EINTR;
	}
	return 0;
}

int follow_create(struct readings *readings, uid_t reader, const struct trace_records_cpu *cpu,
	const struct cancel *cancel, struct follow **follow)
{
	struct follow *f = g_new0(struct follow, 1);
	int ret;

	f->readings = readings;
	f->reader = reader;
	f->form = trace_records_create(cpu);
	f->programs = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_followed);
	f->index = g_new(struct ring_index, 1);
	f->scratch = g_malloc(2 * KPROF_CHUNK_BYTES_MAX);
	f->carried_text = g_string_new(NULL);
	f->begun = cpu->cpu == TRACE_RECORDS_TEXT;
	trace_cursor_init_follow(readings_trace(readings), &f->messages);
	f->begin_ns = clock_monotonic_ns();
	ret = skip_programs(f, cancel);
	if (ret)
		follow_destroy(f);
	else
		*follow = f;
	return ret;
}

void follow_destroy(struct follow *follow)
{
	if (!follow)
		return;
	drop_gathered(follow);
	g_hash_table_unref(follow->programs);
	trace_records_destroy(follow->form);
	g_string_free(follow->carried_text, TRUE);
	g_free(follow->index);
	g_free(follow->scratch);
	g_free(follow);
}
