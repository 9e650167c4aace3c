/* SPDX-License-Identifier: MIT */
/* Counts of events, read from the pools: a part of producers.c. */
#include <unistd.h>

#include "base/units.h"
#include "sys/clock.h"
#include "producers/producers_state.h"

/* More than any producer reaches; sums of sums of these do not wrap. */
#define TICKETS_MAX (1ull << 40)
#define DROPPED_MAX (1ull << 48)
/*
 * How often a pool is read before its producer is called corrupt: numbers change while they are
 * copied.
 */
#define READ_TRIES 16
/* To write or drop an event takes some ns of a CPU: the most that each CPU can count in one ns. */
#define EVENTS_PER_NS 1
/*
 * A tolerance for clocks that were set, and for the time from the memfd's timestamp to the first
 * event.
 */
#define AGE_SPARE_NS NSEC_PER_SEC

/* Events reserved and not committed; only of threads that write no more. */
static uint64_t count_torn(const struct ring_reader *reader, const struct ring_index *index)
{
	uint64_t torn = 0;

	for (uint32_t i = 0; i < reader->layout.slot_count; i++) {
		const struct kprof_slot *slot = &index->slots[i];
		uint64_t reserved = KPROF_RESERVED(slot->base, slot->pos);

		if (slot->state != KPROF_SLOT_FREE && reserved > slot->done)
			torn += reserved - slot->done;
	}
	return torn;
}

/*
 * Events reserved in a slot. A copy that is made while its thread changes chunk may pair the new
 * base with the old position; the new base alone was the number at that moment.
 */
static uint64_t count_reserved(const struct ring_index *index, uint32_t i)
{
	const struct kprof_slot *slot = &index->slots[i];

	if (slot->base != index->slots_before[i].base)
		return slot->base;
	return KPROF_RESERVED(slot->base, slot->pos);
}

uint64_t producers_read_tickets(const struct ring_reader *reader)
{
	uint64_t tickets;

	if (pread(reader->fd, &tickets, sizeof(tickets), offsetof(struct kprof_pool, tickets)) !=
		(ssize_t)sizeof(tickets))
		return 0;
	return tickets;
}

/* The most events that all CPUs can have counted since the pool was made. */
static uint64_t count_max(const struct producer_entry *entry)
{
	uint64_t age_ns = clock_monotonic_ns() - entry->made_ns + AGE_SPARE_NS;

	return age_ns * EVENTS_PER_NS * entry->public.producers->cpus;
}

/*
 * Why the counts are impossible (static text), or NULL. Each number is checked alone first, so that
 * the sums do not wrap. Tickets are read last: all events in the index have lower ones.
 */
static const char *find_corruption(const struct producer_entry *entry,
	const struct ring_index *index, const struct producer_stats *before,
	const struct producer_stats *now)
{
	const struct ring_reader *reader = &entry->public.reader;
	uint64_t tickets = producers_read_tickets(reader), reserved_max;

	if (tickets > TICKETS_MAX)
		return "chunk count out of range";
	reserved_max = tickets * (reader->layout.chunk_bytes / sizeof(struct kprof_record));
	for (uint32_t i = 0; i < reader->layout.slot_count; i++) {
		const struct kprof_slot *slot = &index->slots[i];
		uint64_t reserved = count_reserved(index, i);

		if (slot->state == KPROF_SLOT_FREE)
			continue;
		if (reserved > reserved_max)
			return "event count out of range";
		if (slot->done > reserved)
			return "more events committed than reserved";
		if (slot->dropped > DROPPED_MAX)
			return "dropped event count out of range";
	}
	if (now->written > reserved_max)
		return "event count out of range";
	if (now->dropped > 2 * DROPPED_MAX)
		return "dropped event count out of range";
	if (now->written > count_max(entry) || now->dropped > count_max(entry))
		return "more events than the age of its pool allows";
	if (now->written < before->written || now->dropped < before->dropped)
		return "an event count has decreased";
	return NULL;
}

/* Returns false if the pool cannot be read. */
static bool read_stats(const struct ring_reader *reader, struct ring_index *index,
	struct producer_stats *stats)
{
	struct ring_totals totals;

	if (ring_index_copy(reader, index) || ring_totals(reader, index, &totals))
		return false;
	*stats = (struct producer_stats){
		.dropped = totals.dropped, .torn = count_torn(reader, index)};
	for (uint32_t i = 0; i < reader->layout.slot_count; i++)
		if (index->slots[i].state != KPROF_SLOT_FREE)
			stats->written += count_reserved(index, i);
	stats->held = MIN(totals.held, stats->written);
	return true;
}

/* Cleared events that are still in the pool. */
static uint64_t count_cleared(const struct producer_entry *entry, const struct ring_index *index)
{
	uint64_t count = 0;

	for (uint32_t i = 0; entry->cleared && i < entry->public.reader.layout.chunk_count; i++)
		if (entry->cleared[i].ticket && entry->cleared[i].ticket == index->heads[i].ticket)
			count += entry->cleared[i].count;
	return count;
}

/* Divides `written` into held, overwritten and cleared events. The lock is held. */
static void divide(const struct producer_entry *entry, const struct ring_index *index,
	struct producer_stats *stats)
{
	uint64_t lost = stats->written - stats->held, cleared = entry->stats.cleared;
	uint64_t still = MIN(count_cleared(entry, index), MIN(cleared, stats->held));

	stats->cleared = cleared;
	stats->held -= still;
	stats->overwritten = lost - MIN(lost, cleared - still);
}

void producers_count_gone(const struct producer_entry *entry, const struct producer_stats *stats)
{
	struct producers *producers = entry->public.producers;

	producers->gone.written += stats->written;
	producers->gone.dropped += stats->dropped;
	producers->gone.torn += stats->torn;
	producers->gone.overwritten += stats->overwritten;
	producers->gone.cleared += stats->cleared;
	if (entry->forgotten == FORGOTTEN_CLEARED)
		producers->gone.cleared += stats->held;
	else
		producers->gone.overwritten += stats->held;
}

/* The differences since `before`; some may be negative, and wrap. */
static struct producer_stats difference(
	const struct producer_stats *now, const struct producer_stats *before)
{
	return (struct producer_stats){
		.written = now->written - before->written,
		.overwritten = now->overwritten - before->overwritten,
		.dropped = now->dropped - before->dropped,
		.torn = now->torn - before->torn,
		.held = now->held - before->held,
		.cleared = now->cleared - before->cleared,
	};
}

/*
 * If two threads refresh at once, the later counts are stored. Returns false if another thread has
 * stored later ones. The lock is held.
 */
static bool store_stats(struct producer_entry *entry, const struct producer_stats *stats)
{
	struct producer_stats more = difference(stats, &entry->stats);

	if (stats->written < entry->stats.written || stats->dropped < entry->stats.dropped)
		return false;
	if (entry->forgotten)
		producers_count_gone(entry, &more);
	entry->stats = *stats;
	return true;
}

/* Counts all events of the index as cleared. The lock is held. */
static void clear_held(struct producer_entry *entry, const struct ring_index *index)
{
	const struct ring_reader *reader = &entry->public.reader;
	struct ring_extent extent;

	entry->stats.cleared += entry->stats.held;
	entry->stats.held = 0;
	entry->clears++;
	if (!entry->cleared)
		entry->cleared = g_new0(struct producer_cleared_chunk, reader->layout.chunk_count);
	for (uint32_t i = 0; i < reader->layout.chunk_count; i++) {
		bool holds = ring_extent_find(reader, index, i, &extent);

		entry->cleared[i] = (struct producer_cleared_chunk){
			.ticket = holds ? extent.head.ticket : 0,
			.count = holds ? extent.count : 0,
		};
	}
}

/* The counts that were stored before stay, and are not updated again. The lock is held. */
static void mark_corrupt(struct producer_entry *entry, const char *corruption)
{
	struct producers *producers = entry->public.producers;

	/* relaxed: it is never reset, and the text is constant */
	if (atomic_read_relaxed(&entry->corruption))
		return;
	atomic_write_relaxed(&entry->corruption, corruption);
	producers->corrupt++;
	if (producers->on_corrupt)
		producers->on_corrupt(producers->on_corrupt_arg);
}

/* Reads and checks the counts. Returns false if the pool cannot be read; the stored counts stay. */
static bool read_checked(const struct producer_entry *entry, struct ring_index *index,
	const struct producer_stats *before, struct producer_stats *now, const char **corruption)
{
	bool done;
	int i = 0;

	do {
		done = read_stats(&entry->public.reader, index, now);
		*corruption = done ? find_corruption(entry, index, before, now) : NULL;
	} while (*corruption && ++i < READ_TRIES);
	return done;
}

/* Events of the pool that are reserved and cannot be read, as a reader of the pool counts them. */
static uint64_t count_missing(const struct ring_reader *reader, const struct ring_index *index)
{
	g_autofree char *scratch = g_malloc(2 * KPROF_CHUNK_BYTES_MAX);
	uint64_t missing = 0;

	for (uint32_t i = 0; i < reader->layout.chunk_count; i++) {
		struct ring_extent extent;
		struct ring_record record;
		struct ring_walk walk;
		enum ring_item item;
		uint32_t found = 0;

		if (!ring_extent_find(reader, index, i, &extent) ||
			ring_extent_copy(reader, &extent, 0, scratch))
			continue;
		ring_walk_begin(&walk, &extent, scratch, 0);
		while ((item = ring_walk_next(&walk, &record)) != RING_END)
			found += item == RING_EVENT;
		missing += extent.count - MIN(found, extent.count);
	}
	return missing;
}

/*
 * A thread that was killed between the commit of an event and slot.done has left a whole event that
 * count_torn() counts. What was torn and has been overwritten is counted there, too. This reads the
 * whole pool, but only if a thread was killed within an event.
 */
void producers_find_committed(struct producer_entry *entry)
{
	const struct ring_reader *reader = &entry->public.reader;
	g_autofree struct ring_index *index = g_new(struct ring_index, 1);
	uint64_t torn, missing;

	if (ring_index_copy(reader, index))
		return;
	torn = count_torn(reader, index);
	if (!torn)
		return;
	missing = count_missing(reader, index);
	pthread_mutex_lock(&entry->public.producers->lock);
	entry->uncounted = torn - MIN(missing, torn);
	pthread_mutex_unlock(&entry->public.producers->lock);
}

/* Returns false if another thread stored later counts. */
static bool refresh(struct producer_entry *entry, bool clears)
{
	g_autofree struct ring_index *index = g_new(struct ring_index, 1);
	struct producers *producers = entry->public.producers;
	struct producer_stats before, now;
	unsigned int clears_before;
	const char *corruption;
	bool stored = true;

	if (atomic_read_relaxed(&entry->corruption)) /* relaxed: see mark_corrupt */
		return true;
	pthread_mutex_lock(&producers->lock);
	before = entry->stats; /* copied before the pool is read: what is there then is no less */
	clears_before = entry->clears;
	pthread_mutex_unlock(&producers->lock);
	if (!read_checked(entry, index, &before, &now, &corruption))
		return true;
	pthread_mutex_lock(&producers->lock);
	now.torn -= MIN(now.torn, entry->uncounted);
	if (corruption) {
		mark_corrupt(entry, corruption);
	} else {
		divide(entry, index, &now);
		/* if another thread has cleared meanwhile, our counts are obsolete */
		stored = entry->clears != clears_before || store_stats(entry, &now);
		if (stored && clears && entry->clears == clears_before)
			clear_held(entry, index);
	}
	pthread_mutex_unlock(&producers->lock);
	return stored;
}

void producers_refresh(struct producer_entry *entry)
{
	refresh(entry, false);
}

void producers_clear_stats(struct producer_entry *entry)
{
	for (int i = 0; i < READ_TRIES && !refresh(entry, true); i++)
		;
}

const char *producer_take_corruption(struct producer *producer)
{
	struct producer_entry *entry = entry_of(producer);
	const char *corruption =
		atomic_read_relaxed(&entry->corruption); /* relaxed: see mark_corrupt */

	if (!corruption || entry->corruption_taken)
		return NULL;
	entry->corruption_taken = true;
	return corruption;
}

void producers_on_corrupt(struct producers *producers, void (*on_corrupt)(void *arg), void *arg)
{
	pthread_mutex_lock(&producers->lock);
	producers->on_corrupt = on_corrupt;
	producers->on_corrupt_arg = arg;
	pthread_mutex_unlock(&producers->lock);
}

static void add_stats(struct producers_totals *totals, const struct producer_stats *stats)
{
	totals->written += stats->written;
	totals->overwritten += stats->overwritten;
	totals->dropped += stats->dropped;
	totals->torn += stats->torn;
	totals->cleared += stats->cleared;
}

/*
 * Pools are read without the lock, those of exited producers too: a producer that closed its socket
 * may still write. The sums are made under one lock, so no producer is missing or counted twice.
 */
void producers_total(struct producers *producers, struct producers_totals *totals)
{
	GPtrArray *all = producers_all(producers);

	for (guint i = 0; i < all->len; i++)
		producers_refresh(g_ptr_array_index(all, i));
	g_ptr_array_free(all, TRUE);
	pthread_mutex_lock(&producers->lock);
	*totals = (struct producers_totals){
		.attached = producers->attached,
		.exited = producers->exited,
		.pool_bytes = producers->bytes,
		.exited_bytes = producers->exited_bytes,
		.ever = producers->last_serial,
		.refused = producers->refused,
		.corrupt = producers->corrupt,
	};
	add_stats(totals, &producers->gone);
	for (GList *link = producers->all.head; link; link = link->next) {
		struct producer_entry *entry = link->data;
		struct producer_stats stats = entry->stats;

		totals->slow_clocks += entry->public.reader.layout.clock != KPROF_CLOCK_COUNTER;
		if (!entry->exited)
			stats.torn = 0; /* uncommitted events may still be committed */
		add_stats(totals, &stats);
	}
	pthread_mutex_unlock(&producers->lock);
}
