/* SPDX-License-Identifier: MIT */
/*
 * The slow path of the writer: begin, end, changes of chunk. See write.h and ring_abi.h.
 *
 * Choice of the next chunk. chunk_since has one word for each chunk: 0 while a thread holds it,
 * else the number at which it was given back, counted over the pool (unused chunks have the
 * lowest), and flags. A thread that needs a chunk scans for the lowest number and takes it with one
 * compare-and-exchange. A scan of 128 words costs less than the rest of a change of chunk. Unlike a
 * queue or a list it has no state in which a thread that is stopped half-way blocks the others.
 * Slots are taken in the same way.
 *
 * A flight recorder never runs out of chunks: there are as many chunks as slots, and a thread gives
 * its full chunk back before it takes the next, so no thread ever has two. A scan reads one word
 * after the other while chunks change hands, so it may find none; then a thread has given one back
 * meanwhile, which `given` shows, and the scan is repeated. The only chunks that cannot be taken
 * are those with an uncommitted record. tests/race/chunks.pml is this, for a model checker.
 *
 * Everything here runs with signals blocked, so that a handler of this thread sees the change as
 * one step; a handler of another thread counts as another thread.
 */
#include "ring/write.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* in chunk_since */
#define SINCE_PARTIAL (1ull << 63) /* has room for another thread */
#define SINCE_UNSURE (1ull << 62)  /* may hold a record that its thread will still commit */
#define SINCE_NUMBER (SINCE_UNSURE - 1)
/* in slot_since: a thread ends the writer of one that no longer exists */
#define SINCE_REAPING (1ull << 61)

/*
 * Scans for a chunk examine at most this many times the number of chunks: each scan but the first
 * follows a chunk that another thread has given back.
 */
#define SCAN_ROUNDS 8u

#define RUN_UNITS ((uint32_t)sizeof(struct kprof_run) / 8)

#ifdef RING_TEST_POINTS
void (*ring_test_hook)(enum ring_test_point point);
#endif

uint64_t ring_clock_ns(int64_t offset_ns)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + (uint64_t)offset_ns;
}

/*
 * The raw system call: no handler may run between here and unblock_signals, not even one of the C
 * library.
 */
static void block_signals(uint64_t *saved)
{
	uint64_t all = ~0ull;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, saved, sizeof(all));
}

static void unblock_signals(const uint64_t *saved)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, saved, NULL, sizeof(*saved));
}

size_t ring_pool_private_bytes(const struct kprof_pool *layout)
{
	return layout->slot_count * (sizeof(struct ring_writer) + sizeof(_Atomic uint64_t)) +
		layout->chunk_count * 4 * sizeof(_Atomic uint64_t);
}

void ring_pool_init(struct ring_pool *pool, const struct kprof_pool *layout, void *shared,
	void *private_memory, int64_t clock_offset_ns)
{
	char *base = shared;

	memset(pool, 0, sizeof(*pool));
	memcpy(shared, layout, sizeof(*layout));
	pool->layout = *layout;
	pool->shared = shared;
	pool->slots = (void *)(base + layout->slot_offset);
	pool->heads = (void *)(base + layout->head_offset);
	pool->data = base + layout->data_offset;
	pool->clock_offset_ns = clock_offset_ns;
	pool->writers = private_memory;
	pool->chunk_since = (void *)(pool->writers + layout->slot_count);
	pool->slot_since = pool->chunk_since + layout->chunk_count;
	pool->chunk_serial = (void *)(pool->slot_since + layout->slot_count);
	pool->chunk_ticket = pool->chunk_serial + layout->chunk_count;
	pool->chunk_word = pool->chunk_ticket + layout->chunk_count;
	pool->pid = getpid();
	/* relaxed: no other thread has the pool yet */
	for (uint32_t i = 0; i < layout->chunk_count; i++)
		atomic_write_relaxed(&pool->chunk_since[i], i + 1);
	for (uint32_t i = 0; i < layout->slot_count; i++)
		atomic_write_relaxed(&pool->slot_since[i], i + 1);
	atomic_write_relaxed(&pool->since, layout->chunk_count + layout->slot_count);
}

/* ---- taking and giving back, in private memory ----------------------------------------------- */

static uint64_t next_since(struct ring_pool *pool)
{
	return atomic_add_relaxed(&pool->since, 1) + 1; /* only has to be unique and to grow */
}

static char *chunk_data(struct ring_pool *pool, uint32_t index)
{
	return pool->data + (size_t)index * pool->layout.chunk_bytes;
}

/*
 * Stores the word of a chunk's head, in private memory and for readers. The chunk is the caller's.
 */
static void set_word(struct ring_pool *pool, uint32_t index, uint64_t word)
{
	/* relaxed: released with chunk_since; until then only this thread reads it */
	atomic_write_relaxed(&pool->chunk_word[index], word);
	atomic_write_release(SHARED_64(&pool->heads[index].word), word); /* F */
}

/* Whether every record of the chunk is committed. Its thread has stopped adding to it. */
static bool all_committed(struct ring_pool *pool, uint32_t index)
{
	const char *data = chunk_data(pool, index);
	/* relaxed, both: if another thread takes the chunk meanwhile, our exchange fails */
	uint64_t ticket = atomic_read_relaxed(&pool->chunk_ticket[index]);
	uint32_t end = KPROF_CHUNK_END(atomic_read_relaxed(&pool->chunk_word[index]));

	for (uint32_t at = 0; at < end;) {
		uint64_t word;
		uint32_t units;

		if (end - at < 2) /* no record is that short: another process has written here */
			return false;
		/* acquire: pairs with D of the thread that the record may still belong to */
		word = atomic_read_acquire(SHARED_64(data + (size_t)at * 8 + 8));
		units = KPROF_HEAD_UNITS(word);
		if (KPROF_HEAD_TAG(word) != KPROF_TAG(ticket, at) || units < 2)
			return false;
		at += units;
	}
	return true;
}

/*
 * Whether no uncommitted record can be left in a chunk that was given back with an event
 * uncommitted: by a handler, or after a handler left by longjmp.
 */
static bool is_settled(struct ring_pool *pool, uint32_t index)
{
	uint64_t word = atomic_read_relaxed(&pool->chunk_word[index]);
	struct ring_writer *writer = &pool->writers[KPROF_CHUNK_SLOT(word)];

	return atomic_read_relaxed(&writer->serial) !=
			atomic_read_relaxed(&pool->chunk_serial[index]) ||
		!atomic_read_acquire(&writer->live) || all_committed(pool, index);
}

/* May a chunk be overwritten whose since is this? Discard: only untouched or cleared ones. */
static bool may_overwrite(struct ring_pool *pool, uint32_t index)
{
	uint64_t ticket;

	if (pool->layout.mode == KPROF_MODE_OVERWRITE)
		return true;
	/* relaxed: a thread that takes the chunk meanwhile makes the exchange below fail */
	ticket = atomic_read_relaxed(&pool->chunk_ticket[index]);
	return ticket == 0 || ticket <= atomic_read_relaxed(&pool->clear_ticket);
}

/*
 * The chunk that was given back first, after number `after`, among those with `flag` (0 for all). Its
 * word goes to *since. false if there is none.
 */
static bool find_oldest(struct ring_pool *pool, uint64_t after, uint64_t flag, uint32_t *index,
	uint64_t *since)
{
	uint64_t best = ~0ull;

	for (uint32_t i = 0; i < pool->layout.chunk_count; i++) {
		/* acquire: pairs with the release in give_back */
		uint64_t word = atomic_read_acquire(&pool->chunk_since[i]);
		uint64_t number = word & SINCE_NUMBER;

		if (number <= after || number >= best || (word & flag) != flag)
			continue;
		if (!flag && !may_overwrite(pool, i))
			continue;
		best = number;
		*index = i;
		*since = word;
	}
	return best != ~0ull;
}

/* Takes a chunk that its last thread left with room for `units` and a RUN record. */
static bool take_partial(struct ring_pool *pool, uint32_t units, uint32_t *index)
{
	uint64_t after = 0, since, word;

	for (uint32_t rounds = pool->layout.chunk_count; rounds > 0; rounds--) {
		if (!find_oldest(pool, after, SINCE_PARTIAL, index, &since))
			return false;
		after = since & SINCE_NUMBER;
		/* relaxed: if another thread changes it meanwhile, the exchange fails */
		word = atomic_read_relaxed(&pool->chunk_word[*index]);
		if (KPROF_CHUNK_END(word) + RUN_UNITS + units > pool->layout.chunk_bytes / 8)
			continue;
		if (atomic_cas_acq_rel(&pool->chunk_since[*index], &since, 0))
			return true;
	}
	return false;
}

/* Takes the chunk that has been free for longest. */
static bool take_oldest(struct ring_pool *pool, uint32_t *index)
{
	uint64_t after = 0, since, given = atomic_read_acquire(&pool->given); /* before the scan */

	for (uint32_t rounds = SCAN_ROUNDS * pool->layout.chunk_count; rounds > 0; rounds--) {
		if (!find_oldest(pool, after, 0, index, &since)) {
			/* chunks that the scan saw taken were taken after `given` moved */
			uint64_t now = atomic_read_acquire(&pool->given); /* before the next scan */

			if (now == given)
				return false;
			given = now;
			after = 0;
		} else if ((since & SINCE_UNSURE) && !is_settled(pool, *index)) {
			after = since & SINCE_NUMBER;
		} else if (atomic_cas_acq_rel(&pool->chunk_since[*index], &since, 0)) {
			return true;
		}
	}
	return false;
}

/* Takes a chunk: one to continue (*append), or one to begin anew. */
static bool take_chunk(struct ring_pool *pool, uint32_t units, bool partial, uint32_t *index,
	bool *append)
{
	*append = partial && take_partial(pool, units, index);
	return *append || take_oldest(pool, index);
}

/* ---- what readers see ------------------------------------------------------------------------ */

/* The position of the writer; relaxed: its own. The offset is cut to the size of a chunk. */
static uint64_t read_pos(struct ring_pool *pool, struct ring_writer *writer, uint32_t *offset)
{
	uint64_t pos = atomic_read_relaxed(SHARED_64(&writer->slot->pos));
	uint32_t units = pool->layout.chunk_bytes / 8;

	*offset = KPROF_POS_OFFSET(pos) < units ? KPROF_POS_OFFSET(pos) : units;
	return pos;
}

/*
 * Closes the head of the writer's chunk at pos, after which the next event of the slot is
 * `reserved`. Returns the flags for make_available.
 */
static uint64_t close_head(struct ring_pool *pool, struct ring_writer *writer, uint32_t end,
	uint64_t reserved, bool ending)
{
	uint32_t index = writer->chunk_index, units = pool->layout.chunk_bytes / 8;
	uint64_t word = atomic_read_relaxed(&pool->chunk_word[index]), flags = 0; /* ours */

	if (ending && units - end >= units / 4)
		flags |= SINCE_PARTIAL;
	set_word(pool, index,
		KPROF_CHUNK_WORD(flags & SINCE_PARTIAL ? KPROF_CHUNK_PARTIAL : KPROF_CHUNK_FULL,
			writer->index, end,
			KPROF_CHUNK_COUNT(word) + (reserved - writer->stretch)));
	/* if another process has written this count, the chunk is reused too early, no more */
	if (!ending && reserved != atomic_read_relaxed(SHARED_64(&writer->slot->done)) &&
		!all_committed(pool, index))
		flags |= SINCE_UNSURE;
	return flags;
}

/*
 * Leaves the writer without a chunk: a position without room. The old chunk belongs to no thread
 * until make_available gets the returned flags.
 */
static uint64_t leave_chunk(struct ring_pool *pool, struct ring_writer *writer, bool ending)
{
	uint64_t pos, reserved, flags;
	uint32_t end;

	pos = read_pos(pool, writer, &end);
	reserved = KPROF_RESERVED(writer->stretch, pos);
	flags = close_head(pool, writer, end, reserved, ending);
	RING_TEST_POINT(POINT_OLD_GIVEN_BACK);
	/* after F: a reader that sees no position sees the head closed */
	atomic_write_release(SHARED_64(&writer->slot->pos),
		KPROF_POS(pool->layout.chunk_bytes / 8, 0ull, reserved & KPROF_COUNT_MASK));
	writer->holds = 0;
	return flags;
}

static void make_available(struct ring_pool *pool, uint32_t index, uint64_t flags)
{
	/* release: head and data before, for the thread that takes it */
	atomic_write_release(&pool->chunk_since[index], next_since(pool) | flags);
	atomic_add_release(&pool->given, 1); /* after that, and before this thread takes another */
}

static uint64_t next_ticket(struct ring_pool *pool)
{
	uint64_t ticket;

	do {
		/* relaxed, both: only has to be unique; readers find no ticket above tickets */
		atomic_add_relaxed(SHARED_64(&pool->shared->tickets), 1);
		ticket = atomic_add_relaxed(&pool->tickets, 1) + 1;
	} while ((ticket & KPROF_TICKET_MASK) == 0);
	return ticket;
}

static void write_run(struct ring_writer *writer, char *at, uint64_t ticket, uint32_t offset)
{
	struct kprof_run run = {
		.record.stamp = ring_stamp(writer),
		.serial = atomic_read_relaxed(&writer->serial), /* relaxed, both: its own */
		.base = writer->stretch,
		.first = writer->first,
		.dropped = writer->dropped,
		.tid = atomic_read_relaxed(&writer->tid),
		.slot = writer->index,
	};

	memcpy(at, &run, sizeof(run));
	/* D: as for all records of a chunk */
	atomic_write_release(SHARED_64(at + offsetof(struct kprof_record, head)),
		KPROF_HEAD(RUN_UNITS, 0, KPROF_ID_RUN, KPROF_CPU_UNKNOWN,
			KPROF_TAG(ticket, offset)));
}

/* Makes a taken chunk the writer's. */
static void open_head(struct ring_pool *pool, struct ring_writer *writer, uint32_t index,
	bool append)
{
	struct kprof_slot *slot = writer->slot;
	struct kprof_chunk *head = &pool->heads[index];
	/* relaxed, both: the chunk has been ours since it was taken */
	uint64_t word = atomic_read_relaxed(&pool->chunk_word[index]);
	uint64_t ticket = append ? atomic_read_relaxed(&pool->chunk_ticket[index]) : next_ticket(pool);
	uint32_t offset = append ? KPROF_CHUNK_END(word) : 0, ignored;
	uint64_t reserved = KPROF_RESERVED(writer->stretch, read_pos(pool, writer, &ignored));

	/* in this order, so that the head is valid if the thread is killed between two steps */
	set_word(pool, index,
		KPROF_CHUNK_WORD(KPROF_CHUNK_HELD, writer->index, offset,
			append ? KPROF_CHUNK_COUNT(word) : 0));
	RING_TEST_POINT(POINT_NEXT_HELD);
	if (!append) {
		atomic_write_relaxed(&pool->chunk_ticket[index], ticket); /* as in set_word */
		atomic_write_release(SHARED_64(&head->begun), ring_stamp(writer));
		atomic_write_release(SHARED_64(&head->ticket), ticket);
		atomic_fence_release(); /* A */
	}
	RING_TEST_POINT(POINT_NEXT_TICKET);
	writer->stretch = reserved;
	atomic_write_relaxed(&pool->chunk_serial[index],
		atomic_read_relaxed(&writer->serial)); /* released with since */
	write_run(writer, chunk_data(pool, index) + (size_t)offset * 8, ticket, offset);
	RING_TEST_POINT(POINT_NEXT_RUN_WRITTEN);
	writer->chunk = chunk_data(pool, index);
	writer->chunk_index = index;
	writer->holds = 1;
	/* base before pos: KPROF_RESERVED() is the same after each step */
	atomic_write_release(SHARED_64(&slot->base), reserved);
	atomic_write_relaxed(SHARED_32(&slot->chunk), index);
	/* B */
	atomic_write_release(SHARED_64(&slot->pos),
		KPROF_POS(offset + RUN_UNITS, ticket, reserved & KPROF_COUNT_MASK));
	RING_TEST_POINT(POINT_NEXT_PUBLISHED);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* The slot that has been free for longest; its word goes to *since. false if there is none. */
static bool find_slot(struct ring_pool *pool, uint32_t *index, uint64_t *since)
{
	*since = 0;
	for (uint32_t i = 0; i < pool->layout.slot_count; i++) {
		/* acquire: pairs with the release in free_slot */
		uint64_t word = atomic_read_acquire(&pool->slot_since[i]);

		if (word == 0 || word == SINCE_REAPING || (*since != 0 && word >= *since))
			continue;
		*since = word;
		*index = i;
	}
	return *since != 0;
}

/* Takes it; repeats the scan as take_oldest does. */
static bool take_slot(struct ring_pool *pool, uint32_t *index)
{
	uint64_t since, now, given = atomic_read_acquire(&pool->given); /* before the scan */

	for (uint32_t rounds = SCAN_ROUNDS * pool->layout.slot_count; rounds > 0; rounds--) {
		if (find_slot(pool, index, &since)) {
			if (atomic_cas_acq_rel(&pool->slot_since[*index], &since, 0))
				return true;
			continue;
		}
		now = atomic_read_acquire(&pool->given);
		if (now == given)
			return false;
		given = now;
	}
	return false;
}

static void free_slot(struct ring_pool *pool, uint32_t index)
{
	/* release: the slot's numbers before, for the thread that takes it */
	atomic_write_release(&pool->slot_since[index], next_since(pool));
	atomic_add_release(&pool->given, 1); /* after that, and before this thread takes another */
}

/* The numbers of the slot continue those of its last thread. */
static void open_slot(struct ring_pool *pool, struct ring_writer *writer, struct kprof_slot *slot)
{
	/* relaxed: no thread has the slot */
	uint64_t reserved = KPROF_RESERVED(writer->stretch, atomic_read_relaxed(SHARED_64(&slot->pos)));
	uint64_t serial = atomic_add_relaxed(&pool->serial, 1) + 1;
	uint32_t tid = (uint32_t)syscall(SYS_gettid);

	writer->stretch = writer->first = reserved;
	/* relaxed, both: released with live */
	atomic_write_relaxed(&writer->serial, serial);
	atomic_write_relaxed(&writer->tid, tid);
	atomic_write_release(&writer->live, 1);
	/* the sums are right after each step; relaxed: state is released last */
	atomic_write_relaxed(SHARED_64(&slot->first), reserved);
	atomic_write_relaxed(SHARED_64(&slot->first_dropped), writer->dropped);
	atomic_write_relaxed(SHARED_64(&slot->done), reserved);
	atomic_write_relaxed(SHARED_64(&slot->base), reserved);
	/* an offset at the end: no room for anything */
	atomic_write_relaxed(SHARED_64(&slot->pos),
		KPROF_POS(pool->layout.chunk_bytes / 8, 0ull, reserved & KPROF_COUNT_MASK));
	atomic_write_relaxed(SHARED_32(&slot->tid), tid);
	atomic_write_relaxed(SHARED_64(&slot->serial), serial);
	atomic_write_release(SHARED_32(&slot->state), KPROF_SLOT_LIVE);
}

struct ring_writer *ring_writer_begin(struct ring_pool *pool)
{
	struct ring_writer *writer;
	uint64_t signals;
	uint32_t index = 0;

	block_signals(&signals);
	if (!take_slot(pool, &index)) {
		unblock_signals(&signals);
		return NULL;
	}
	writer = &pool->writers[index];
	writer->index = index;
	writer->clock = pool->layout.clock;
	writer->clock_offset_ns = pool->clock_offset_ns;
	writer->holds = 0;
	writer->chunk = pool->data; /* whatever pos is, an event is stored within the pool */
	open_slot(pool, writer, &pool->slots[index]);
	writer->slot = &pool->slots[index];
	atomic_write_relaxed(&writer->units, pool->layout.chunk_bytes / 8);
	/*
	 * pairs with ring_pool_leave: that runs later and stops this writer, or the caller sees the
	 * other pool
	 */
	atomic_fence_full();
	unblock_signals(&signals);
	return writer;
}

/* Gives back what the writer has. The caller is its thread, or that thread no longer exists. */
static void end_writer(struct ring_pool *pool, struct ring_writer *writer)
{
	struct kprof_slot *slot = writer->slot;
	uint32_t chunk = writer->chunk_index;
	bool held = writer->holds;
	uint64_t flags = held ? leave_chunk(pool, writer, true) : 0;

	/* release: what it wrote before, for is_settled */
	atomic_write_release(&writer->live, 0);
	atomic_write_release(SHARED_32(&slot->state), KPROF_SLOT_ENDED);
	writer->slot = NULL;
	atomic_write_relaxed(&writer->units, 0);
	if (held)
		make_available(pool, chunk, flags);
	free_slot(pool, writer->index);
}

void ring_writer_end(struct ring_pool *pool, struct ring_writer *writer)
{
	uint64_t signals;

	block_signals(&signals);
	if (writer->slot)
		end_writer(pool, writer);
	unblock_signals(&signals);
}

unsigned ring_pool_reap(struct ring_pool *pool)
{
	unsigned reaped = 0;
	uint64_t signals;

	block_signals(&signals);
	for (uint32_t i = 0; i < pool->layout.slot_count; i++) {
		struct ring_writer *writer = &pool->writers[i];
		uint64_t in_use = 0;

		if (!atomic_read_acquire(&writer->live) ||
			syscall(SYS_tgkill, pool->pid, atomic_read_relaxed(&writer->tid), 0) == 0 ||
			errno != ESRCH)
			continue;
		/* one reaper for each slot, and none if its thread has just ended it */
		if (!atomic_cas_acq_rel(&pool->slot_since[i], &in_use, SINCE_REAPING))
			continue;
		if (atomic_read_relaxed(&writer->live) && writer->slot) {
			end_writer(pool, writer);
			reaped++;
		} else {
			free_slot(pool, i);
		}
	}
	unblock_signals(&signals);
	return reaped;
}

void ring_pool_leave(struct ring_pool *pool)
{
	atomic_fence_full(); /* the other pool is set before: see ring_writer_begin */
	for (uint32_t i = 0; i < pool->layout.slot_count; i++)
		atomic_write_relaxed(&pool->writers[i].units, 0);
}

void ring_pool_starved(struct ring_pool *pool)
{
	/* relaxed: a counter. Threads share it, which is why not every event uses it. */
	atomic_add_relaxed(SHARED_64(&pool->shared->starved), 1);
}

/* ---- changing chunks ------------------------------------------------------------------------- */

/* Signals are blocked. false if the event is to be dropped. */
static bool change_chunk(struct ring_pool *pool, struct ring_writer *writer, uint32_t units)
{
	bool held = writer->holds, discard = pool->layout.mode == KPROF_MODE_DISCARD, append;
	uint32_t old = writer->chunk_index, index;

	RING_TEST_POINT(POINT_SWITCHING);
	/*
	 * the old one first: see the top. In mode discard the writer keeps its own chunk, where a
	 * smaller record may still fit, until there is another
	 */
	if (held && !discard)
		make_available(pool, old, leave_chunk(pool, writer, false));
	if (!take_chunk(pool, units, !held || discard, &index, &append))
		return false;
	RING_TEST_POINT(POINT_NEXT_CHOSEN);
	if (held && discard)
		make_available(pool, old, leave_chunk(pool, writer, false));
	open_head(pool, writer, index, append);
	return true;
}

bool ring_writer_switch(struct ring_pool *pool, struct ring_writer *writer, uint32_t units)
{
	uint64_t signals;
	uint32_t offset;
	bool room;

	if (!writer->slot)
		return false;
	block_signals(&signals);
	/* a handler may have changed chunk since the caller read pos */
	read_pos(pool, writer, &offset);
	room = offset + units <= pool->layout.chunk_bytes / 8 || change_chunk(pool, writer, units);
	if (!room) {
		writer->dropped++;
		local_inc_release(&writer->slot->dropped);
	}
	unblock_signals(&signals);
	return room;
}
