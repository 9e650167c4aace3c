/* SPDX-License-Identifier: MIT */
/* The books of all programs: the part of producers.c that reads pools to count. */
#include <unistd.h>

#include "base/units.h"
#include "sys/clock.h"
#include "producers/producers_state.h"

/* More than any program does in its life; sums of sums of these don't wrap. */
#define TICKETS_MAX (1ull << 40)
#define DROPPED_MAX (1ull << 48)
/* How often a pool is read before it is called a liar: numbers move while they are copied. */
#define BOOK_TRIES 16
/* An event, written or dropped, takes some ns of a CPU: what each CPU can count in one. */
#define EVENTS_PER_NS 1
/* For clocks that were set, and the time between a pool's first event and its file's time. */
#define AGE_SPARE_NS NSEC_PER_SEC

/* Reserved and never committed; only of threads that write no more. */
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
 * Events reserved in a slot. A copy made while its thread changes chunk may pair the new base with
 * the old position; the new base alone is a number that was right.
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

/* What all CPUs can have counted since the pool was made. */
static uint64_t find_most(const struct entry *entry)
{
	uint64_t age_ns = clock_monotonic_ns() - entry->made_ns + AGE_SPARE_NS;

	return age_ns * EVENTS_PER_NS * entry->public.producers->cpus;
}

/*
 * What no program can have counted that only counts; NULL: nothing. Each number by itself first, so
 * that the sums don't wrap. Tickets are read last: there are those of all events that were seen.
 */
static const char *find_lie(const struct entry *entry, const struct ring_index *index,
	const struct books *before, const struct books *now)
{
	const struct ring_reader *reader = &entry->public.reader;
	uint64_t tickets = producers_read_tickets(reader), reserved_max;

	if (tickets > TICKETS_MAX)
		return "its memory counts more parts than can be";
	reserved_max = tickets * (reader->layout.chunk_bytes / sizeof(struct kprof_record));
	for (uint32_t i = 0; i < reader->layout.slot_count; i++) {
		const struct kprof_slot *slot = &index->slots[i];
		uint64_t reserved = count_reserved(index, i);

		if (slot->state == KPROF_SLOT_FREE)
			continue;
		if (reserved > reserved_max)
			return "its memory counts more events than can be";
		if (slot->done > reserved)
			return "its memory counts more finished events than begun";
		if (slot->dropped > DROPPED_MAX)
			return "its memory counts more dropped events than can be";
	}
	if (now->written > reserved_max)
		return "its memory counts more events than can be";
	if (now->dropped > 2 * DROPPED_MAX)
		return "its memory counts more dropped events than can be";
	if (now->written > find_most(entry) || now->dropped > find_most(entry))
		return "its memory counts more events than its age allows";
	if (now->written < before->written || now->dropped < before->dropped)
		return "its memory counts fewer events than before";
	return NULL;
}

/* false: it can't be read. */
static bool read_books(const struct ring_reader *reader, struct ring_index *index,
	struct books *books)
{
	struct ring_totals totals;

	if (ring_index_copy(reader, index) || ring_totals(reader, index, &totals))
		return false;
	*books = (struct books){ .dropped = totals.dropped, .torn = count_torn(reader, index) };
	for (uint32_t i = 0; i < reader->layout.slot_count; i++)
		if (index->slots[i].state != KPROF_SLOT_FREE)
			books->written += count_reserved(index, i);
	books->held = MIN(totals.held, books->written);
	return true;
}

/* Of the events that a clear forgot, those that are in the pool still. */
static uint64_t count_cleared(const struct entry *entry, const struct ring_index *index)
{
	uint64_t count = 0;

	for (uint32_t i = 0; entry->cleared && i < entry->public.reader.layout.chunk_count; i++)
		if (entry->cleared[i].ticket && entry->cleared[i].ticket == index->heads[i].ticket)
			count += entry->cleared[i].count;
	return count;
}

/* Divides what was read into what is held, was overwritten, and was cleared. The lock is held. */
static void divide(const struct entry *entry, const struct ring_index *index, struct books *books)
{
	uint64_t lost = books->written - books->held, cleared = entry->books.cleared;
	uint64_t still = MIN(count_cleared(entry, index), MIN(cleared, books->held));

	books->cleared = cleared;
	books->held -= still;
	books->overwritten = lost - MIN(lost, cleared - still);
}

void producers_account(const struct entry *entry, const struct books *books)
{
	struct producers *producers = entry->public.producers;

	producers->gone.written += books->written;
	producers->gone.dropped += books->dropped;
	producers->gone.torn += books->torn;
	producers->gone.overwritten += books->overwritten;
	producers->gone.cleared += books->cleared;
	if (entry->forgotten == FORGOTTEN_CLEARED)
		producers->gone.cleared += books->held;
	else
		producers->gone.overwritten += books->held;
}

/* What has come since; some of it may be negative, and wraps. */
static struct books difference(const struct books *now, const struct books *before)
{
	return (struct books){
		.written = now->written - before->written,
		.overwritten = now->overwritten - before->overwritten,
		.dropped = now->dropped - before->dropped,
		.torn = now->torn - before->torn,
		.held = now->held - before->held,
		.cleared = now->cleared - before->cleared,
	};
}

/* Two may look at once: what the later one saw stands; false: another one did. The lock is held. */
static bool keep_books(struct entry *entry, const struct books *books)
{
	struct books more = difference(books, &entry->books);

	if (books->written < entry->books.written || books->dropped < entry->books.dropped)
		return false;
	if (entry->forgotten)
		producers_account(entry, &more);
	entry->books = *books;
	return true;
}

/* All that was seen in the pool, by the index, is forgotten. The lock is held. */
static void clear_held(struct entry *entry, const struct ring_index *index)
{
	const struct ring_reader *reader = &entry->public.reader;
	struct ring_extent extent;

	entry->books.cleared += entry->books.held;
	entry->books.held = 0;
	entry->clears++;
	if (!entry->cleared)
		entry->cleared = g_new0(struct cleared_chunk, reader->layout.chunk_count);
	for (uint32_t i = 0; i < reader->layout.chunk_count; i++) {
		bool holds = ring_extent_find(reader, index, i, &extent);

		entry->cleared[i] = (struct cleared_chunk){
			.ticket = holds ? extent.head.ticket : 0,
			.count = holds ? extent.count : 0,
		};
	}
}

/* The lock is held. What it counted while that could be believed stands; nothing is added to it. */
static void convict(struct entry *entry, const char *lie)
{
	struct producers *producers = entry->public.producers;

	/* relaxed: it is for good, and the text is constant */
	if (atomic_read_relaxed(&entry->lie))
		return;
	atomic_write_relaxed(&entry->lie, lie);
	producers->liars++;
	if (producers->on_liar)
		producers->on_liar(producers->on_liar_arg);
}

/* false: it can't be read, and has counted what it had when it was read last. */
static bool look(const struct entry *entry, struct ring_index *index, const struct books *before,
	struct books *now, const char **lie)
{
	bool done;
	int i = 0;

	do {
		done = read_books(&entry->public.reader, index, now);
		*lie = done ? find_lie(entry, index, before, now) : NULL;
	} while (*lie && ++i < BOOK_TRIES);
	return done;
}

/* Events of the pool that are begun and can't be read: what a reading of it finds missing. */
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
 * A thread that was killed behind the commit of an event and before it counted that as done has
 * left it whole. And what was torn and has been overwritten since counts for that already. The pool
 * is read for it as a whole, but only where a thread was killed in the middle of an event.
 */
void producers_find_whole(struct entry *entry)
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
	entry->whole = torn - MIN(missing, torn);
	pthread_mutex_unlock(&entry->public.producers->lock);
}

/* false: somebody else saw more meanwhile. */
static bool look_and_keep(struct entry *entry, bool clears)
{
	g_autofree struct ring_index *index = g_new(struct ring_index, 1);
	struct producers *producers = entry->public.producers;
	struct books before, now;
	unsigned int clears_before;
	const char *lie;
	bool kept = true;

	if (atomic_read_relaxed(&entry->lie)) /* relaxed: see convict */
		return true;
	pthread_mutex_lock(&producers->lock);
	before = entry->books; /* taken before the pool is read: what is there then is no less */
	clears_before = entry->clears;
	pthread_mutex_unlock(&producers->lock);
	if (!look(entry, index, &before, &now, &lie))
		return true;
	pthread_mutex_lock(&producers->lock);
	now.torn -= MIN(now.torn, entry->whole);
	if (lie) {
		convict(entry, lie);
	} else {
		divide(entry, index, &now);
		/* of two that clear at once the other one has forgotten what we saw */
		kept = entry->clears != clears_before || keep_books(entry, &now);
		if (kept && clears && entry->clears == clears_before)
			clear_held(entry, index);
	}
	pthread_mutex_unlock(&producers->lock);
	return kept;
}

void producers_look(struct entry *entry)
{
	look_and_keep(entry, false);
}

void producers_clear_books(struct entry *entry)
{
	for (int i = 0; i < BOOK_TRIES && !look_and_keep(entry, true); i++)
		;
}

const char *producer_take_lie(struct producer *producer)
{
	struct entry *entry = entry_of(producer);
	const char *lie = atomic_read_relaxed(&entry->lie); /* relaxed: see convict */

	if (!lie || entry->lie_taken)
		return NULL;
	entry->lie_taken = true;
	return lie;
}

void producers_on_liar(struct producers *producers, void (*on_liar)(void *arg), void *arg)
{
	pthread_mutex_lock(&producers->lock);
	producers->on_liar = on_liar;
	producers->on_liar_arg = arg;
	pthread_mutex_unlock(&producers->lock);
}

static void add_books(struct producers_totals *totals, const struct books *books)
{
	totals->written += books->written;
	totals->overwritten += books->overwritten;
	totals->dropped += books->dropped;
	totals->torn += books->torn;
	totals->cleared += books->cleared;
}

/*
 * Pools are read without the lock, those of the dead too: who closed its descriptor may write
 * still. The sum is made in one go, so no program is missing in it or there twice.
 */
void producers_total(struct producers *producers, struct producers_totals *totals)
{
	GPtrArray *all = producers_all(producers);

	for (guint i = 0; i < all->len; i++)
		producers_look(g_ptr_array_index(all, i));
	g_ptr_array_free(all, TRUE);
	pthread_mutex_lock(&producers->lock);
	*totals = (struct producers_totals){
		.attached = producers->attached,
		.kept = producers->kept,
		.pool_bytes = producers->bytes,
		.kept_bytes = producers->kept_bytes,
		.ever = producers->last_serial,
		.refused = producers->refused,
		.liars = producers->liars,
	};
	add_books(totals, &producers->gone);
	for (GList *link = producers->all.head; link; link = link->next) {
		struct entry *entry = link->data;
		struct books books = entry->books;

		totals->slow_clocks += entry->public.reader.layout.clock != KPROF_CLOCK_COUNTER;
		if (!entry->kept)
			books.torn = 0; /* what is in the air now may still be finished */
		add_books(totals, &books);
	}
	pthread_mutex_unlock(&producers->lock);
}
