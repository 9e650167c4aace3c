/* SPDX-License-Identifier: MIT */
/* The size of a reading of the trace: see measure.h. */
#include "trace/measure.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/atomic.h"
#include "base/parallel.h"
#include "producers/fair_share.h"
#include "trace/merge.h"

/*
 * Bytes of text that a byte may make at most, for one pool and for all together: a kprof_backtrace,
 * whose addresses of 8 bytes are a line each, makes 10. TEXT_SPARE is added for small pools.
 */
#define TEXT_OF_BYTE_MAX 16
#define TEXT_OF_ALL_BYTE_MAX 8
#define TEXT_SPARE ((uint64_t)64 << 10)

/*
 * From this many bytes of chunks on, several threads measure them: that takes some ms.
 */
#define PARALLEL_BYTES ((uint64_t)1 << 20)
/*
 * How often the snapshot is measured. The last time is by one thread, which cannot disagree with
 * another one about an id that is defined meanwhile.
 */
#define ROUNDS 2

/* The length of the events of one chunk. */
struct chunk_length {
	uint64_t bytes, unknown;
	bool known;
};

/*
 * The chunks are measured from the newest of the last producer to the oldest of the first one.
 *
 * i: invariant while threads measure; l: protected by the lock; a: atomic, relaxed: the threads may
 * see it late
 */
struct measuring {
	struct snapshot *snapshot;		/* i */
	const struct trace_records_cpu *cpu;	/* i */
	const struct cancel *cancel;		/* i: only the first thread may ask */
	const struct fair_share *shares;	/* i: of each producer, by its place in the snapshot */
	pthread_mutex_t lock;			/* a leaf */
	struct chunk_length *lengths;		/* l: of each chunk */
	guint left;				/* l: chunks that no thread has taken */
	const struct producer *producer;	/* l: of the last chunk that was taken */
	guint program;				/* l: its place in the snapshot */
	uint64_t sum;				/* l: of the lengths of its chunks so far */
	GHashTable *unknown;			/* l: what the threads found; as in struct snapshot */
	_Atomic bool cancelled;			/* a */
};

/* One thread's part. */
struct measurer {
	struct measuring *measuring;
	struct trace_records *records;
	uint64_t bytes;
	bool may_ask;
};

static const struct snapshot_chunk *chunk_at(const struct snapshot *snapshot, guint i)
{
	return &g_array_index(snapshot->chunks, struct snapshot_chunk, i);
}

/*
 * How much text each producer of the snapshot may make: a multiple of the memory that it is made
 * from. If that is too much for all together, users get equal parts, as they do of the memory.
 */
static struct fair_share *divide_text(const struct snapshot *snapshot)
{
	GPtrArray *producers = snapshot->producers;
	struct fair_share *shares = g_new0(struct fair_share, producers->len + 1);
	guint i, k = 0;

	for (i = 0; i < producers->len; i++) {
		const struct producer *producer = g_ptr_array_index(producers, i);

		shares[i].uid = producer->uid;
		shares[i].wants = TEXT_SPARE;
		/* chunks are by program, in the same order */
		for (; k < snapshot->chunks->len && chunk_at(snapshot, k)->producer == producer; k++)
			shares[i].wants +=
				(uint64_t)chunk_at(snapshot, k)->extent.end * TEXT_OF_BYTE_MAX;
	}
	fair_share_divide(shares, producers->len,
		snapshot_budget_max(snapshot->budget) * TEXT_OF_ALL_BYTE_MAX);
	return shares;
}

static bool add_length(void *arg, const struct merge_item *item)
{
	struct measurer *measurer = arg;
	struct measuring *measuring = measurer->measuring;

	measurer->bytes += trace_records_measure(measurer->records, item);
	if (measurer->may_ask && cancel_requested(measuring->cancel))
		atomic_write_relaxed(&measuring->cancelled, true);
	return !atomic_read_relaxed(&measuring->cancelled);
}

/* ---- what the threads do --------------------------------------------------------------------- */

/* With the lock held: the next chunk is of another producer. */
static void change_producer(struct measuring *measuring, const struct producer *producer)
{
	GPtrArray *producers = measuring->snapshot->producers;

	measuring->producer = producer;
	measuring->sum = 0;
	while (g_ptr_array_index(producers, measuring->program) != producer)
		measuring->program--;
}

/*
 * Takes the next chunk, *i. Chunks that are older than what there is room for are passed over
 * unmeasured: that could take long. The sum is only of chunks that are newer than the next one, so
 * none is passed over for which there is room.
 */
static bool take_chunk(struct measuring *measuring, guint *i)
{
	bool taken = false;

	pthread_mutex_lock(&measuring->lock);
	while (!taken && measuring->left && !atomic_read_relaxed(&measuring->cancelled)) {
		const struct producer *producer;

		*i = --measuring->left;
		producer = chunk_at(measuring->snapshot, *i)->producer;
		if (producer != measuring->producer)
			change_producer(measuring, producer);
		taken = measuring->sum <= measuring->shares[measuring->program].gets;
	}
	pthread_mutex_unlock(&measuring->lock);
	return taken;
}

static void put_length(struct measuring *measuring, guint i, const struct chunk_length *length)
{
	pthread_mutex_lock(&measuring->lock);
	measuring->lengths[i] = *length;
	if (chunk_at(measuring->snapshot, i)->producer == measuring->producer)
		measuring->sum += length->bytes;
	pthread_mutex_unlock(&measuring->lock);
}

static void add_unknown(struct measuring *measuring, GHashTable *unknown)
{
	GHashTableIter iter;
	gpointer key;

	pthread_mutex_lock(&measuring->lock);
	g_hash_table_iter_init(&iter, unknown);
	while (g_hash_table_iter_next(&iter, &key, NULL))
		g_hash_table_add(measuring->unknown, g_memdup2(key, sizeof(gint64)));
	pthread_mutex_unlock(&measuring->lock);
}

static void measure_chunks(void *arg, unsigned int n)
{
	struct measuring *measuring = arg;
	struct measurer measurer = { measuring, trace_records_create(measuring->cpu), 0, n == 0 };
	struct merge_walk walk;
	guint i;

	merge_walk_init(&walk, measuring->snapshot);
	while (take_chunk(measuring, &i)) {
		struct chunk_length length;
		const uint64_t bytes = measurer.bytes, unknown = walk.sums.unknown;

		length.known = merge_walk_chunk(&walk, i, add_length, &measurer);
		length.bytes = measurer.bytes - bytes;
		length.unknown = walk.sums.unknown - unknown;
		put_length(measuring, i, &length);
	}
	add_unknown(measuring, walk.unknown);
	merge_walk_fini(&walk);
	trace_records_destroy(measurer.records);
}

/* ---- the result ------------------------------------------------------------------------------ */

static bool is_defined(const struct snapshot *snapshot, gint64 key)
{
	for (guint i = 0; i < snapshot->producers->len; i++) {
		const struct producer *producer = g_ptr_array_index(snapshot->producers, i);

		if (producer->serial == (uint64_t)key >> 16)
			return producer_event(producer, (uint16_t)key);
	}
	return false;
}

/*
 * Moves the unknown ids to the snapshot. Returns false if one of them was defined meanwhile: some
 * thread may have measured events of it.
 */
static bool keep_unknown(struct measuring *measuring)
{
	struct snapshot *snapshot = measuring->snapshot;
	bool agreed = true;
	GHashTableIter iter;
	gpointer key;

	g_hash_table_iter_init(&iter, measuring->unknown);
	while (g_hash_table_iter_next(&iter, &key, NULL)) {
		agreed = agreed && !is_defined(snapshot, *(gint64 *)key);
		g_hash_table_iter_steal(&iter);
		g_hash_table_add(snapshot->unknown, key);
	}
	return agreed;
}

static uint64_t add_chunk_sizes(const struct snapshot *snapshot)
{
	uint64_t bytes = 0;

	for (guint i = 0; i < snapshot->chunks->len; i++)
		bytes += chunk_at(snapshot, i)->extent.end;
	return bytes;
}

static int measure_all(struct measuring *measuring)
{
	struct snapshot *snapshot = measuring->snapshot;
	/* a program and its events are described once in the records of a CPU: by one thread */
	const bool together = measuring->cpu->cpu == TRACE_RECORDS_TEXT &&
			      add_chunk_sizes(snapshot) >= PARALLEL_BYTES;
	bool agreed = false;

	for (int round = 1; !agreed && round <= ROUNDS; round++) {
		const unsigned int threads = together && round < ROUNDS ? parallel_threads() : 1;

		measuring->left = snapshot->chunks->len;
		measuring->producer = NULL;
		measuring->program = snapshot->producers->len - 1;
		measuring->sum = 0;
		memset(measuring->lengths, 0, measuring->left * sizeof(*measuring->lengths));
		parallel_run(SNAPSHOT_THREADS, threads, measure_chunks, measuring);
		/* this thread may have had none of the chunks */
		if (atomic_read_relaxed(&measuring->cancelled) ||
			cancel_requested(measuring->cancel))
			return -EINTR;
		agreed = keep_unknown(measuring) || threads == 1;
	}
	return 0;
}

/*
 * Adds the lengths of a producer's chunks, from its newest one (number *end - 1) to its oldest. A
 * chunk that does not fit into `most`, and older ones, are left out.
 */
static void add_program(struct measuring *measuring, const struct producer *producer, guint *end,
	uint64_t most, struct measured *measured)
{
	struct snapshot *snapshot = measuring->snapshot;
	guint too_old;

	for (; *end && chunk_at(snapshot, *end - 1)->producer == producer; --*end) {
		const struct chunk_length *length = &measuring->lengths[*end - 1];

		if (!length->known || length->bytes > most)
			break;
		most -= length->bytes;
		measured->bytes += length->bytes;
		measured->unknown += length->unknown;
	}
	too_old = *end;
	while (*end && chunk_at(snapshot, *end - 1)->producer == producer)
		--*end;
	if (*end < too_old)
		snapshot_leave_out(snapshot, *end, too_old);
}

static uint64_t measure_messages(struct measuring *measuring)
{
	struct measurer measurer = { measuring, trace_records_create(measuring->cpu), 0, true };
	struct merge_walk walk;

	merge_walk_init(&walk, measuring->snapshot);
	merge_walk_messages(&walk, add_length, &measurer);
	merge_walk_fini(&walk);
	trace_records_destroy(measurer.records);
	return measurer.bytes;
}

/* By one thread, after the programs' events: see merge_walk_cpu(). */
static int measure_kernel(struct measuring *measuring, struct measured *measured)
{
	struct measurer measurer = { measuring, trace_records_create(measuring->cpu), 0, true };
	struct merge_walk walk;
	bool more = true;

	merge_walk_init(&walk, measuring->snapshot);
	for (guint i = 0; more && i < measuring->snapshot->kernel->len; i++)
		more = merge_walk_cpu(&walk, i, add_length, &measurer);
	measured->bytes += measurer.bytes;
	measured->unknown += walk.sums.unknown;
	merge_walk_fini(&walk);
	trace_records_destroy(measurer.records);
	return more ? 0 : -EINTR;
}

int measure_snapshot(struct snapshot *snapshot, const struct trace_records_cpu *cpu,
	const struct cancel *cancel, struct measured *measured)
{
	const GPtrArray *producers = snapshot->producers;
	g_autofree struct fair_share *shares = divide_text(snapshot);
	g_autofree struct chunk_length *lengths =
		g_try_new(struct chunk_length, snapshot->chunks->len + 1);
	struct measuring measuring = {
		.snapshot = snapshot,
		.cpu = cpu,
		.cancel = cancel,
		.shares = shares,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.lengths = lengths,
		.unknown = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
	};
	guint end = snapshot->chunks->len;
	int ret = lengths ? 0 : -ENOMEM;

	for (guint i = 0; cpu->cpu != TRACE_RECORDS_TEXT && i < producers->len; i++)
		shares[i].gets = UINT64_MAX;
	*measured = (struct measured){ 0 };
	if (!ret) {
		measured->bytes = measure_messages(&measuring);
		ret = measure_all(&measuring);
	}
	if (!ret)
		ret = measure_kernel(&measuring, measured);
	for (guint i = producers->len; !ret && i-- > 0;)
		add_program(&measuring, g_ptr_array_index(producers, i), &end, shares[i].gets,
			measured);
	g_hash_table_unref(measuring.unknown);
	pthread_mutex_destroy(&measuring.lock);
	return ret;
}
