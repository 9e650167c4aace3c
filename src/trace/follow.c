/* SPDX-License-Identifier: MIT */
/*
 * Follows the trace: see follow.h.
 *
 * A gathering notes the current time, the horizon, and then reads the producers one after the
 * other. Events with a later time stay for the next gathering, so the times of two gatherings don't
 * mix.
 *
 * Lost events are counted from when the follower first sees a producer. `seen` events were read.
 * The number of a chunk's events that have not been read yet is its count less the events read from
 * it. Events that the producer has begun and that are in neither number are lost. Counts and chunks
 * are not read at exactly the same moment. So an event may be read before it is counted; the loss
 * is then too small until the next gathering. If a chunk could not be read, no loss is counted
 * until the next gathering.
 */
#include "trace/follow.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/growing.h"
#include "sys/clock.h"
#include "trace/follow_kernel.h"
#include "trace/trace_records.h"
#include "trace/merge.h"
#include "producers/producers.h"
#include "trace/reading.h"
#include "trace/snapshot.h"
#include "trace/clock_map.h"
#include "trace/trace.h"

#define PIECE_BYTES 32768
/* How many events are looked at for one piece: most of them may be of other CPUs. */
#define PIECE_EVENTS 4096
/* How many gatherings wait for an event that holds up its chunk. */
#define WAITS_MAX 2

/* The follower's position in a chunk. */
struct follow_position {
	uint64_t ticket;
	uint32_t at;	    /* bytes from its start */
	uint32_t blocked_at; /* where an event held it up, */
	uint32_t blocked;   /* and how many times */
	uint64_t accounted; /* events read or given up, of those that the chunk counts */
	struct kprof_run run;
	uint64_t number, stamp;
};

struct follow_producer {
	struct producer *producer; /* a reference */
	bool present;		   /* in the list of this gathering */
	uint32_t chunks;	   /* length of positions */
	uint64_t begun;		   /* events begun when the follower first saw it */
	uint64_t seen, lost;
	struct follow_position positions[];
};

struct follow {
	struct readings *readings;
	uid_t reader;
	struct trace_records *records;
	uint64_t begin_ns;
	struct follow_kernel *kernel;
	GHashTable *programs; /* of struct followed, by the inode of their pool */
	struct ring_index *index;
	char *scratch; /* 2 * KPROF_CHUNK_BYTES_MAX */
	struct trace_cursor messages;
	uint64_t missed; /* messages that are counted as lost */
	struct snapshot_message carried; /* a message later than the horizon; its text: */
	GString *carried_text;
	bool carries;
	struct snapshot *snapshot; /* what was gathered */
	struct merge *merge;
	uint64_t gathered; /* events in it */
	uint64_t lost, reported;
	bool begun; /* the header was written */
};

/* ---- counts ---------------------------------------------------------------------------------- */

static void free_followed(void *data)
{
	struct follow_producer *followed = data;

	producer_put(followed->producer);
	g_free(followed);
}

/* Sets *is_new if the producer was not followed before. Returns NULL if it can't be followed. */
static struct follow_producer *find_followed(
	struct follow *follow, struct producer *producer, bool *is_new)
{
	struct follow_producer *followed;
	struct stat st;
	gint64 key;

	*is_new = false;
	if (fstat(producer->reader.fd, &st))
		return NULL;
	key = (gint64)st.st_ino;
	followed = g_hash_table_lookup(follow->programs, &key);
	/* the same pool must have the same layout; else the producer is taken for a new one */
	*is_new = !followed || followed->chunks != producer->reader.layout.chunk_count;
	if (*is_new) {
		followed = g_malloc0(sizeof(*followed) +
			producer->reader.layout.chunk_count * sizeof(struct follow_position));
		followed->producer = producer_get(producer);
		followed->chunks = producer->reader.layout.chunk_count;
		g_hash_table_insert(follow->programs, g_memdup2(&key, sizeof(key)), followed);
	} else if (followed->producer != producer) { /* it attached again with the same pool */
		producer_put(followed->producer);
		followed->producer = producer_get(producer);
	}
	followed->present = true;
	return followed;
}

/* Counts the events that the producer has begun and that are neither seen nor to come. */
static void count_lost(struct follow *follow, struct follow_producer *followed, uint64_t to_come)
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

/* ---- one chunk ------------------------------------------------------------------------------- */

/* Whether to wait once more for the event at `at`. */
static bool may_wait(struct follow_position *position, uint32_t at)
{
	if (position->blocked_at != at || !position->blocked) {
		position->blocked_at = at;
		position->blocked = 0;
	}
	return position->blocked++ < WAITS_MAX;
}

/*
 * Goes through the copy up to the horizon, or to an event that must be waited for. Returns where it
 * stopped, which is also the position of the walk. *seen: events on the way.
 */
static uint32_t walk_until(const struct follow_producer *followed, struct follow_position *position,
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
			wait = extent->uncommitted && may_wait(position, before.at * 8);
		else if (item == RING_EVENT && record.stamp > horizon)
			wait = true;
		else if (item == RING_EVENT &&
			merge_classify(followed->producer, &record, &meaning) == MERGE_UNKNOWN)
			wait = may_wait(position, before.at * 8);
		if (wait) {
			*walk = before;
			return walk->at * 8;
		}
		*seen += item == RING_EVENT;
	}
}

static void begin_walk(struct ring_walk *walk, const struct follow_position *position,
	const struct ring_extent *extent, const char *data)
{
	ring_walk_begin(walk, extent, data, position->at);
	if (!position->at)
		return;
	walk->run = position->run;
	walk->number = position->number;
	walk->stamp = MAX(walk->stamp, position->stamp);
}

static void keep_walk(struct follow_position *position, const struct ring_walk *walk)
{
	position->run = walk->run;
	position->number = walk->number;
	position->stamp = walk->stamp;
}

/* False: there is no memory for it. */
static bool add_stretch(struct follow *follow, const struct follow_producer *followed,
	const struct follow_position *position, const struct ring_extent *extent, uint32_t end)
{
	struct snapshot_chunk chunk = {
		.producer = followed->producer,
		.extent = *extent,
		.from = position->at,
		.run = position->run,
		.number = position->number,
		.stamp = position->stamp,
	};

	chunk.data = g_try_malloc(end);
	if (!chunk.data)
		return false;
	memcpy(chunk.data + position->at, follow->scratch + position->at, end - position->at);
	chunk.extent.end = end;
	chunk.extent.count = 0; /* losses are counted here, not by the merge */
	if (!snapshot_add(follow->snapshot, &chunk))
		return true;
	g_free(chunk.data);
	return false;
}

/* Copies what is new in a chunk. Returns how many of its events are still to come. */
static uint64_t gather_chunk(struct follow *follow, struct follow_producer *followed,
	const struct ring_extent *extent, uint64_t horizon)
{
	struct follow_position *position = &followed->positions[extent->chunk];
	struct ring_walk walk;
	uint64_t seen = 0;
	uint32_t end;

	if (position->ticket != extent->head.ticket) {
		memset(position, 0, sizeof(*position));
		position->ticket = extent->head.ticket;
	}
	if (extent->end > position->at && snapshot_reserve(follow->snapshot, extent->end) == 0) {
		if (ring_extent_copy(&followed->producer->reader, extent, position->at,
			    follow->scratch))
			return 0;
		begin_walk(&walk, position, extent, follow->scratch);
		end = walk_until(followed, position, extent, &walk, horizon, &seen);
		/* else the next gathering tries again, as it does if the budget has no room */
		if (!seen || add_stretch(follow, followed, position, extent, end)) {
			position->at = end;
			keep_walk(position, &walk);
			followed->seen += seen;
			follow->gathered += seen;
			position->accounted += seen;
		}
	}
	/* at its end no event is to come: those that were not read are torn */
	if (position->at >= extent->end)
		position->accounted = MAX(position->accounted, extent->count);
	return extent->count > position->accounted ? extent->count - position->accounted : 0;
}

/* ---- first time ------------------------------------------------------------------------------ */

/* What the chunk holds now was written before the follower began: its position is behind that. */
static void skip_chunk(struct follow *follow, struct follow_producer *followed,
	const struct ring_extent *extent)
{
	struct follow_position *position = &followed->positions[extent->chunk];
	struct ring_record record;
	struct ring_walk walk;

	position->ticket = extent->head.ticket;
	position->at = extent->end;
	position->accounted = extent->count;
	/*
	 * a thread that goes on writing there does not repeat its KPROF_ID_RUN record: read it now
	 */
	if (!extent->held ||
		ring_extent_copy(&followed->producer->reader, extent, 0, follow->scratch))
		return;
	ring_walk_begin(&walk, extent, follow->scratch, 0);
	while (ring_walk_next(&walk, &record) != RING_END)
		;
	keep_walk(position, &walk);
}

static void skip_existing(struct follow *follow, struct follow_producer *followed)
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
 * For a producer that attached after the follower began. Of a program that was started before, the
 * events lost until now don't count; of a newer one all events count.
 */
static void count_begun(struct follow *follow, struct follow_producer *followed)
{
	const struct ring_reader *reader = &followed->producer->reader;
	struct ring_totals totals;

	if (reader->layout.anchor_ns < follow->begin_ns &&
		!ring_index_copy(reader, follow->index) &&
		!ring_totals(reader, follow->index, &totals))
		followed->begun = totals.overwritten + totals.dropped;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* False: a chunk changed while it was read, so the producer's losses can't be counted this time. */
static bool is_whole(const struct follow_producer *followed, const struct ring_index *index)
{
	uint32_t i;

	for (i = 0; i < followed->producer->reader.layout.chunk_count; i++)
		if (followed->positions[i].ticket && !index->heads[i].ticket)
			return false;
	return true;
}

static void gather_program(
	struct follow *follow, struct follow_producer *followed, uint64_t horizon)
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

/* Returns 0, or -ENOMEM if nothing was appended. */
static int append_text(GString *to, const char *text, size_t bytes)
{
	int ret = growing_text(to, bytes);

	if (!ret)
		g_string_append_len(to, text, (gssize)bytes);
	return ret;
}

/* Appends the text of the message that was carried over, or else of the next one. */
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

/* Gathers messages up to the horizon. The first later one is carried over to the next gathering. */
static void gather_messages(struct follow *follow, uint64_t horizon_ns)
{
	struct snapshot *snapshot = follow->snapshot;
	struct snapshot_message message;
	size_t begin = 0; /* of the current message's text */
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

static gboolean is_absent(void *key, void *value, void *arg)
{
	return !((struct follow_producer *)value)->present;
}

/* New producers are followed from their oldest event; the merge hides events before begin_ns. */
static void gather_programs(struct follow *follow, uint64_t horizon_counter, uint64_t horizon_ns)
{
	GPtrArray *programs = follow->snapshot->producers;
	GHashTableIter iter;
	void *value;
	guint i;

	g_hash_table_iter_init(&iter, follow->programs);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		((struct follow_producer *)value)->present = false;
	for (i = 0; i < programs->len; i++) {
		bool is_new;
		struct follow_producer *followed =
			find_followed(follow, g_ptr_array_index(programs, i), &is_new);

		if (is_new && followed)
			count_begun(follow, followed);
	}
	g_hash_table_iter_init(&iter, follow->programs);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct follow_producer *followed = value;
		bool counter = followed->producer->reader.layout.clock == KPROF_CLOCK_COUNTER;

		if (!followed->present) /* once more: the copied chunks need it */
			g_ptr_array_add(programs, producer_get(followed->producer));
		gather_program(follow, followed, counter ? horizon_counter : horizon_ns);
	}
	g_hash_table_foreach_remove(follow->programs, is_absent, NULL);
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
	struct clock_map *clock_map = readings_clock_map(follow->readings);
	uint64_t horizon_counter, horizon_ns;

	drop_gathered(follow);
	follow->gathered = 0;
	horizon_counter = clock_counter();
	horizon_ns = clock_monotonic_ns();
	readings_settle(follow->readings);
	follow->snapshot = snapshot_create(readings_budget(follow->readings), follow->reader,
		producers_all(producers), readings_kernel(follow->readings),
		MAX(follow->begin_ns, producers_cleared_ns(producers)));
	gather_programs(follow, horizon_counter, horizon_ns);
	follow->lost += follow_kernel_gather(follow->kernel, follow->snapshot, horizon_ns, &follow->gathered);
	gather_messages(follow, horizon_ns);
	clock_map_refresh(clock_map, false);
	follow->snapshot->clock = clock_map_copy(clock_map);
	follow->merge = merge_create(follow->snapshot);
	if (!follow->merge) {
		follow->lost += follow->gathered + follow->snapshot->messages->len;
		drop_gathered(follow);
		return false;
	}
	return follow->snapshot->chunks->len || follow->gathered || follow->snapshot->messages->len ||
		follow->lost > follow->reported || !follow->begun;
}

bool follow_next(struct follow *follow, GString *out)
{
	size_t until = out->len + PIECE_BYTES;
	struct merge_item item;
	uint32_t events;

	if (!follow->merge)
		return false;
	if (!follow->begun)
		trace_records_begin(follow->records, follow->snapshot->clock, out);
	follow->begun = true;
	for (events = 0; out->len < until && events < PIECE_EVENTS; events++) {
		bool more = merge_next(follow->merge, &item);

		if (follow->lost > follow->reported)
			trace_records_append_missing(follow->records, more ? &item : NULL,
				clock_monotonic_ns(), follow->lost - follow->reported,
				KPROF_TRACE_LOST, out);
		follow->reported = follow->lost;
		if (!more) {
			drop_gathered(follow);
			break;
		}
		trace_records_append(follow->records, &item, out);
	}
	return true;
}

bool follow_has_more(const struct follow *follow)
{
	return follow->merge;
}

/* What all producers hold now was written before the follower began. */
static int skip_programs(struct follow *follow, const struct cancel *cancel)
{
	g_autoptr(GPtrArray) programs = producers_all(readings_producers(follow->readings));
	guint i;

	for (i = 0; i < programs->len; i++) {
		bool is_new;
		struct follow_producer *followed =
			find_followed(follow, g_ptr_array_index(programs, i), &is_new);

		if (is_new && followed)
			skip_existing(follow, followed);
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
	f->records = trace_records_create(cpu);
	f->programs = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_followed);
	f->index = g_new(struct ring_index, 1);
	f->scratch = g_malloc(2 * KPROF_CHUNK_BYTES_MAX);
	f->carried_text = g_string_new(NULL);
	f->begun = cpu->cpu == TRACE_RECORDS_TEXT;
	trace_cursor_init_follow(readings_trace(readings), &f->messages);
	f->kernel = follow_kernel_create(readings_kernel(readings));
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
	follow_kernel_destroy(follow->kernel);
	g_hash_table_unref(follow->programs);
	trace_records_destroy(follow->records);
	g_string_free(follow->carried_text, TRUE);
	g_free(follow->index);
	g_free(follow->scratch);
	g_free(follow);
}
