/* SPDX-License-Identifier: MIT */
/*
 * How a snapshot is taken: see snapshot.h. If there is much to copy, the thread that takes it starts
 * others for that; they end before snapshot_take() returns.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/atomic.h"
#include "base/parallel.h"
#include "kernel/begun.h"
#include "sys/clock.h"
#include "producers/fair_share.h"
#include "trace/snapshot.h"

/* How often the copy of a pool is begun, if much of it is overwritten meanwhile. */
#define POOL_TRIES 3
/* From this size of all pools on, several threads copy them: it takes about 1 ms then. */
#define PARALLEL_BYTES ((uint64_t)1 << 20)

/* ---- one pool -------------------------------------------------------------------------------- */

/* Twice the size of a chunk is needed only to find uncommitted records. */
#define SCRATCH_BYTES (2 * KPROF_CHUNK_BYTES_MAX)

/* State that is needed only while a snapshot is taken. */
struct snapshot_taking {
	struct snapshot *snapshot;
	struct clock_map *clock_map;
	const struct cancel *cancel;
	struct ring_index *index;
	char *scratch;	  /* SCRATCH_BYTES */
	struct growing *extents; /* of struct ring_extent, of the current pool */
	uint64_t granted; /* bytes of the budget that are not used yet */
};

static int compare_tickets(gconstpointer a, gconstpointer b)
{
	const struct ring_extent *x = a, *y = b;

	return (x->head.ticket > y->head.ticket) - (x->head.ticket < y->head.ticket);
}

/* The chunks that the pool holds by its index, oldest first. */
static int find_extents(struct snapshot_taking *taking, const struct producer *producer)
{
	const struct ring_reader *reader = &producer->reader;
	struct ring_extent extent;
	uint32_t i;
	int ret = ring_index_copy(reader, taking->index);

	growing_cut(taking->extents, 0);
	for (i = 0; i < reader->layout.chunk_count && !ret; i++)
		if (ring_extent_find(reader, taking->index, i, &extent))
			ret = growing_add(taking->extents, &extent);
	growing_sort(taking->extents, compare_tickets);
	return ret;
}

/*
 * Allocates the copy of a chunk, chunk->data. Returns -ESTALE if the chunk was overwritten during
 * the copy. Called by several threads, each with its own scratch.
 */
static int copy_data(struct snapshot_chunk *chunk, char *scratch)
{
	const struct ring_extent *extent = &chunk->extent;
	char *data = g_try_malloc(extent->end);
	char *to = extent->uncommitted ? scratch : data;
	int ret = data ? ring_extent_copy(&chunk->producer->reader, extent, 0, to) : -ENOMEM;

	if (ret) {
		g_free(data);
		return ret;
	}
	if (to != data)
		memcpy(data, to, extent->end);
	chunk->data = data;
	return 0;
}

/* Takes ownership of the chunk's data. */
static int add_copied(struct snapshot_taking *taking, const struct snapshot_chunk *chunk)
{
	int ret = snapshot_add(taking->snapshot, chunk);

	if (ret)
		g_free(chunk->data);
	else
		taking->granted -= chunk->extent.end;
	return ret;
}

static int copy_chunk(struct snapshot_taking *taking, const struct producer *producer,
	const struct ring_extent *extent)
{
	struct snapshot_chunk chunk = { .producer = producer, .extent = *extent };
	int ret = copy_data(&chunk, taking->scratch);

	return ret ? ret : add_copied(taking, &chunk);
}

struct pool_sums {
	uint64_t left_out, overwritten;
	uint32_t stale;
};

/* ret: of the copy of a chunk that holds so many events */
static void count_copied(struct pool_sums *sums, uint32_t events, int ret)
{
	if (ret == -ESTALE) {
		sums->overwritten += events;
		sums->stale++;
	} else if (ret) {
		sums->left_out += events;
	}
}

static void add_sums(struct snapshot *snapshot, const struct pool_sums *sums)
{
	snapshot->left_out += sums->left_out;
	snapshot->overwritten += sums->overwritten;
}

/* Whether so much of a pool was overwritten meanwhile that it is copied again. */
static bool is_worn(const struct pool_sums *sums, guint chunks)
{
	return sums->stale > chunks / 4;
}

/* The index of the first extent of the newest ones that are together at most `bytes`. */
static guint find_newest(const struct snapshot_taking *taking, uint64_t bytes)
{
	guint i = taking->extents->len;

	for (; i > 0; i--) {
		uint32_t end = g_array_index(taking->extents, struct ring_extent, i - 1).end;

		if (end > bytes)
			break;
		bytes -= end;
	}
	return i;
}

static struct pool_sums copy_extents(
	struct snapshot_taking *taking, const struct producer *producer, uint64_t share)
{
	struct pool_sums sums = { 0 };
	guint first = find_newest(taking, MIN(share, taking->granted)), i;

	for (i = 0; i < taking->extents->len; i++) {
		const struct ring_extent *extent =
			&g_array_index(taking->extents, struct ring_extent, i);

		count_copied(&sums, extent->count,
			i < first ? -ENOMEM : copy_chunk(taking, producer, extent));
	}
	return sums;
}

/* Frees the chunks from the given one on; their bytes can be used again. */
static void drop_chunks(struct snapshot_taking *taking, guint first)
{
	struct growing *chunks = taking->snapshot->chunks;
	guint i;

	for (i = first; i < chunks->len; i++)
		taking->granted += g_array_index(chunks, struct snapshot_chunk, i).extent.end;
	snapshot_cut(taking->snapshot, first);
}

/* share: bytes that the producer may use of what is granted. */
static void copy_pool(struct snapshot_taking *taking, const struct producer *producer,
	uint64_t share, int tries)
{
	guint first = taking->snapshot->chunks->len;
	struct pool_sums sums = { 0 };
	int i;

	for (i = 0; i < tries; i++) {
		drop_chunks(taking, first);
		if (find_extents(taking, producer))
			return;
		sums = copy_extents(taking, producer, share);
		if (!is_worn(&sums, taking->extents->len))
			break;
	}
	add_sums(taking->snapshot, &sums);
}

/* ---- when the budget is too small ------------------------------------------------------------ */

/*
 * fair_share.h decides which producer gets how much. What remains, less than a chunk of each, goes
 * to the newest chunks. The age of a chunk is what its producer wrote, so it decides nothing else.
 */
struct snapshot_aged {
	guint program; /* its index in the snapshot's producers */
	uint64_t begun_ns;
	uint32_t bytes;
};

static int compare_ages(gconstpointer a, gconstpointer b)
{
	const struct snapshot_aged *x = a, *y = b;

	return (x->begun_ns < y->begun_ns) - (x->begun_ns > y->begun_ns);
}

/* When the chunk was begun, as its producer wrote it, but not later than now. */
static uint64_t begun_ns(const struct producer *producer, const struct ring_extent *extent,
	const struct clock_map_copy *clock)
{
	uint64_t ns = producer->reader.layout.clock == KPROF_CLOCK_COUNTER
			      ? clock_map_copy_ns(clock, extent->head.begun)
			      : extent->head.begun;

	return MIN(ns, clock_monotonic_ns());
}

/* Rounds a share down to whole chunks. The other chunks are added to `rest`. */
static void take_whole(struct snapshot_taking *taking, guint program, struct fair_share *share,
	const struct clock_map_copy *clock, struct growing *rest)
{
	const struct producer *producer = g_ptr_array_index(taking->snapshot->producers, program);
	guint first, i;

	find_extents(taking, producer); /* no extents if it fails */
	first = find_newest(taking, share->gets);
	share->gets = 0;
	for (i = 0; i < taking->extents->len; i++) {
		const struct ring_extent *extent =
			&g_array_index(taking->extents, struct ring_extent, i);
		const struct snapshot_aged aged = {
			program, begun_ns(producer, extent, clock), extent->end};

		/* without memory for `rest`, the producer gets its own share only */
		if (i < first)
			(void)growing_add(rest, &aged);
		else
			share->gets += extent->end;
	}
}

static void share_rest(struct fair_share *shares, struct growing *rest, uint64_t bytes)
{
	guint i;

	growing_sort(rest, compare_ages);
	for (i = 0; i < rest->len; i++) {
		const struct snapshot_aged *aged = &g_array_index(rest, struct snapshot_aged, i);

		if (aged->bytes > bytes)
			return;
		bytes -= aged->bytes;
		shares[aged->program].gets += aged->bytes;
	}
}

/* The share of each producer. */
static struct fair_share *divide_granted(struct snapshot_taking *taking)
{
	GPtrArray *producers = taking->snapshot->producers;
	struct fair_share *shares = g_new0(struct fair_share, producers->len);
	struct growing *rest = growing_create(sizeof(struct snapshot_aged));
	struct clock_map_copy *clock = clock_map_copy(taking->clock_map);
	uint64_t left = taking->granted;
	guint i, k;

	for (i = 0; i < producers->len; i++) {
		const struct producer *producer = g_ptr_array_index(producers, i);

		shares[i].uid = producer->uid;
		if (find_extents(taking, producer))
			continue;
		for (k = 0; k < taking->extents->len; k++)
			shares[i].wants +=
				g_array_index(taking->extents, struct ring_extent, k).end;
	}
	fair_share_divide(shares, producers->len, taking->granted);
	for (i = 0; i < producers->len; i++) {
		take_whole(taking, i, &shares[i], clock, rest);
		left -= shares[i].gets;
	}
	share_rest(shares, rest, left);
	growing_destroy(rest);
	clock_map_copy_free(clock);
	return shares;
}

/* ---- by several threads ---------------------------------------------------------------------- */

/* A chunk that is to be copied, or was. */
struct snapshot_job {
	struct snapshot_chunk chunk;
	bool granted; /* bytes for it were taken from taking->granted; else it is not copied */
	int ret;      /* of the copy */
};

/*
 * The threads take the chunks in the order in which they lie in the snapshot, by program and age. The
 * index of a pool is copied by the thread that takes its first chunk.
 *
 * l: protected by the lock; a: atomic, relaxed: the threads may see it late
 */
struct snapshot_copying {
	pthread_mutex_t lock;		/* a leaf */
	struct snapshot_taking *taking; /* l */
	const struct fair_share *shares; /* i: NULL if there is room for all */
	struct growing *jobs;		/* l: of struct snapshot_job */
	guint *ends;			/* l: of each pool's jobs, by program */
	guint program;			/* l: the number of pools in `jobs` */
	guint next;			/* l: the next job to be taken */
	_Atomic bool cancelled;		/* a */
};

/* With the lock held: adds the chunks of the next pool. Those for which there is no room are not copied. */
static void add_pool(struct snapshot_copying *copying)
{
	struct snapshot_taking *taking = copying->taking;
	const guint program = copying->program++;
	const struct producer *producer = g_ptr_array_index(taking->snapshot->producers, program);
	const uint64_t share = copying->shares ? copying->shares[program].gets : UINT64_MAX;
	guint first, i;

	if (find_extents(taking, producer))
		growing_cut(taking->extents, 0);
	first = find_newest(taking, MIN(share, taking->granted));
	for (i = 0; i < taking->extents->len; i++) {
		const struct ring_extent *extent =
			&g_array_index(taking->extents, struct ring_extent, i);
		const struct snapshot_job job = { { .producer = producer, .extent = *extent },
			i >= first, i < first ? -ENOMEM : 0 };

		if (growing_add(copying->jobs, &job))
			taking->snapshot->left_out += extent->count;
		else if (job.granted)
			taking->granted -= extent->end;
	}
	copying->ends[program] = copying->jobs->len;
}

static bool take_job(struct snapshot_copying *copying, guint *at, struct snapshot_job *job)
{
	const guint programs = copying->taking->snapshot->producers->len;
	bool taken = false;

	pthread_mutex_lock(&copying->lock);
	while (!taken && !atomic_read_relaxed(&copying->cancelled)) {
		if (copying->next < copying->jobs->len) {
			*at = copying->next++;
			*job = g_array_index(copying->jobs, struct snapshot_job, *at);
			taken = job->granted;
		} else if (copying->program < programs) {
			add_pool(copying);
		} else {
			break;
		}
	}
	pthread_mutex_unlock(&copying->lock);
	return taken;
}

static void copy_jobs(void *arg, unsigned int n)
{
	struct snapshot_copying *copying = arg;
	g_autofree char *own = n ? g_try_malloc(SCRATCH_BYTES) : NULL;
	char *scratch = n ? own : copying->taking->scratch;
	struct snapshot_job job;
	guint at;

	if (!scratch)
		return; /* the other threads copy all */
	while (take_job(copying, &at, &job)) {
		job.ret = copy_data(&job.chunk, scratch);
		pthread_mutex_lock(&copying->lock);
		g_array_index(copying->jobs, struct snapshot_job, at) = job;
		pthread_mutex_unlock(&copying->lock);
		/* only the thread that takes the snapshot may ask */
		if (!n && cancel_requested(copying->taking->cancel))
			atomic_write_relaxed(&copying->cancelled, true);
	}
}

/* Adds the copies of one pool to the snapshot. A pool that was overwritten meanwhile is copied again. */
static void add_jobs(struct snapshot_copying *copying, guint program)
{
	struct snapshot_taking *taking = copying->taking;
	struct snapshot_job *jobs = &g_array_index(copying->jobs, struct snapshot_job, 0);
	const guint begin = program ? copying->ends[program - 1] : 0, end = copying->ends[program];
	struct pool_sums sums = { 0 };
	bool worn;
	guint i;

	for (i = begin; i < end; i++) {
		count_copied(&sums, jobs[i].chunk.extent.count, jobs[i].ret);
		if (jobs[i].granted)
			taking->granted += jobs[i].chunk.extent.end;
	}
	worn = is_worn(&sums, end - begin);
	for (i = begin; i < end; i++) {
		if (worn)
			g_free(jobs[i].chunk.data);
		else if (jobs[i].chunk.data && add_copied(taking, &jobs[i].chunk))
			sums.left_out += jobs[i].chunk.extent.count;
	}
	if (worn)
		copy_pool(taking, g_ptr_array_index(taking->snapshot->producers, program),
			copying->shares ? copying->shares[program].gets : UINT64_MAX,
			POOL_TRIES - 1);
	else
		add_sums(taking->snapshot, &sums);
}

static int copy_together(struct snapshot_taking *taking, const struct fair_share *shares)
{
	const guint programs = taking->snapshot->producers->len;
	struct snapshot_copying copying = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.taking = taking,
		.shares = shares,
		.jobs = growing_create(sizeof(struct snapshot_job)),
		.ends = g_new0(guint, programs),
	};
	bool cancelled;
	guint i;

	parallel_run(SNAPSHOT_THREADS, parallel_threads(), copy_jobs, &copying);
	/* this thread may have had none of the chunks */
	cancelled = atomic_read_relaxed(&copying.cancelled) || cancel_requested(taking->cancel);
	if (cancelled)
		for (i = 0; i < copying.jobs->len; i++)
			g_free(g_array_index(copying.jobs, struct snapshot_job, i).chunk.data);
	else
		for (i = 0; i < programs; i++)
			add_jobs(&copying, i);
	growing_destroy(copying.jobs);
	g_free(copying.ends);
	pthread_mutex_destroy(&copying.lock);
	return cancelled ? -EINTR : 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

static uint64_t add_pool_sizes(const GPtrArray *producers)
{
	uint64_t bytes = 0;
	guint i;

	for (i = 0; i < producers->len; i++) {
		const struct producer *producer = g_ptr_array_index(producers, i);

		bytes += (uint64_t)producer->reader.layout.chunk_count *
			producer->reader.layout.chunk_bytes;
	}
	return bytes;
}

static int copy_messages(struct snapshot *snapshot, struct trace *trace)
{
	struct trace_cursor cursor;
	struct snapshot_message message;
	int ret = 0;

	trace_cursor_init(trace, &cursor);
	while (!ret && trace_next(trace, &cursor, &message.time_ns, snapshot->text)) {
		message.end = snapshot->text->len;
		ret = growing_add(snapshot->messages, &message);
	}
	return cursor.no_memory ? -ENOMEM : ret;
}

static int copy_one_by_one(struct snapshot_taking *taking, const struct fair_share *shares)
{
	GPtrArray *producers = taking->snapshot->producers;
	guint i;

	for (i = 0; i < producers->len; i++) {
		copy_pool(taking, g_ptr_array_index(producers, i),
			shares ? shares[i].gets : UINT64_MAX, POOL_TRIES);
		if (cancel_requested(taking->cancel))
			return -EINTR;
	}
	return 0;
}

static int copy_pools(struct snapshot_taking *taking)
{
	struct snapshot *snapshot = taking->snapshot;
	uint64_t need = add_pool_sizes(snapshot->producers);
	g_autofree struct fair_share *shares = NULL;
	int ret;

	taking->granted = snapshot_budget_take(snapshot->budget, snapshot->reader, need);
	snapshot->bytes = taking->granted;
	if (taking->granted < need)
		shares = divide_granted(taking);
	if (need >= PARALLEL_BYTES)
		ret = copy_together(taking, shares);
	else
		ret = copy_one_by_one(taking, shares);
	snapshot_budget_return(snapshot->budget, snapshot->reader, taking->granted);
	snapshot->bytes -= taking->granted;
	return ret;
}

/*
 * The rings of all CPUs; what finds no room in the budget is left out. The calls under way are listed
 * before: of those that return meanwhile the rings have the record, and it is shown alone.
 */
static void copy_rings(struct snapshot *snapshot)
{
	struct rings *rings = snapshot->source ? kernel_get_rings(snapshot->source) : NULL;
	g_autoptr(GArray) begun = g_array_new(FALSE, FALSE, sizeof(struct begun_thread));
	struct rings_copy *copy;

	if (rings) {
		kernel_list_begun(snapshot->source, begun);
		kernel_gather(snapshot->source);
	}
	for (uint32_t cpu = 0; rings && cpu < rings_cpus(rings); cpu++)
		if (snapshot_copy_ring(snapshot, rings, cpu, 0, true, &copy))
			snapshot->left_out += rings_held(rings, cpu);
	snapshot_add_begun(snapshot, begun);
	if (rings)
		kernel_put_rings(snapshot->source, rings);
}

int snapshot_take(struct snapshot *snapshot, struct clock_map *clock_map, struct trace *trace,
	const struct cancel *cancel)
{
	struct snapshot_taking taking = {
		.snapshot = snapshot,
		.clock_map = clock_map,
		.cancel = cancel,
		.index = g_new(struct ring_index, 1),
		.scratch = g_malloc(SCRATCH_BYTES),
		.extents = growing_create(sizeof(struct ring_extent)),
	};
	int ret = 0;

	if (trace)
		ret = copy_messages(snapshot, trace);
	if (!ret)
		ret = copy_pools(&taking);
	if (!ret)
		copy_rings(snapshot);
	/* after the records: see clock_map.h */
	clock_map_refresh(clock_map, false);
	snapshot->clock = clock_map_copy(clock_map);
	growing_destroy(taking.extents);
	g_free(taking.scratch);
	g_free(taking.index);
	return ret;
}
