/* SPDX-License-Identifier: MIT */
/* Copies of the trace: see snapshot.h. */
#include "trace/snapshot.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "sys/clock.h"
#include "producers/fair_share.h"

/* How often the copy of a pool is begun, if much of it is overwritten meanwhile. */
#define POOL_TRIES 3

/*
 * What users other than root and the owner may use of the budget: one of them half, all together
 * three fourths, so that no reader keeps root or another user out.
 */
#define USER_BYTES(max) ((max) / 2)
#define OTHERS_BYTES(max) ((max) / 4 * 3)

struct snapshot_budget {
	pthread_mutex_t lock; /* a leaf */
	uint64_t max;	      /* invariant */
	uid_t owner;	      /* invariant: bounded, like root, by max only */
	uint64_t used;	      /* (lock) */
	uint64_t others_used; /* (lock) of that, by users other than root and the owner */
	GHashTable *users;    /* (lock) uid -> struct snapshot_user, of users that use some */
};

struct snapshot_user {
	uint64_t used;
};

struct snapshot_budget *snapshot_budget_create(uint64_t max_bytes, uid_t owner)
{
	struct snapshot_budget *budget = g_new0(struct snapshot_budget, 1);

	pthread_mutex_init(&budget->lock, NULL);
	budget->max = max_bytes;
	budget->owner = owner;
	budget->users = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	return budget;
}

void snapshot_budget_destroy(struct snapshot_budget *budget)
{
	if (!budget)
		return;
	g_hash_table_unref(budget->users);
	pthread_mutex_destroy(&budget->lock);
	g_free(budget);
}

uint64_t snapshot_budget_max(const struct snapshot_budget *budget)
{
	return budget->max;
}

uint64_t snapshot_budget_used(struct snapshot_budget *budget)
{
	uint64_t used;

	pthread_mutex_lock(&budget->lock);
	used = budget->used;
	pthread_mutex_unlock(&budget->lock);
	return used;
}

static bool is_bounded(const struct snapshot_budget *budget, uid_t reader)
{
	return reader != 0 && reader != budget->owner;
}

/* With the lock held. */
static struct snapshot_user *find_user(struct snapshot_budget *budget, uid_t reader)
{
	struct snapshot_user *user = g_hash_table_lookup(budget->users, GUINT_TO_POINTER(reader));

	if (!user) {
		user = g_new0(struct snapshot_user, 1);
		g_hash_table_insert(budget->users, GUINT_TO_POINTER(reader), user);
	}
	return user;
}

/* With the lock held: counts bytes that are taken, or given back if `bytes` is below 0. */
static void count_reader(struct snapshot_budget *budget, uid_t reader, int64_t bytes)
{
	struct snapshot_user *user;

	budget->used += (uint64_t)bytes;
	if (!is_bounded(budget, reader))
		return;
	user = find_user(budget, reader);
	user->used += (uint64_t)bytes;
	budget->others_used += (uint64_t)bytes;
	if (!user->used)
		g_hash_table_remove(budget->users, GUINT_TO_POINTER(reader));
}

/* With the lock held. */
static uint64_t find_room(struct snapshot_budget *budget, uid_t reader)
{
	uint64_t room = budget->max - budget->used;
	const struct snapshot_user *user;

	if (!is_bounded(budget, reader))
		return room;
	user = g_hash_table_lookup(budget->users, GUINT_TO_POINTER(reader));
	room = MIN(room, OTHERS_BYTES(budget->max) - budget->others_used);
	return MIN(room, USER_BYTES(budget->max) - (user ? user->used : 0));
}

/* Takes as much of `bytes` as is available. */
static uint64_t take_budget(struct snapshot_budget *budget, uid_t reader, uint64_t bytes)
{
	uint64_t taken;

	pthread_mutex_lock(&budget->lock);
	taken = MIN(bytes, find_room(budget, reader));
	if (taken)
		count_reader(budget, reader, (int64_t)taken);
	pthread_mutex_unlock(&budget->lock);
	return taken;
}

static void return_budget(struct snapshot_budget *budget, uid_t reader, uint64_t bytes)
{
	pthread_mutex_lock(&budget->lock);
	if (bytes)
		count_reader(budget, reader, -(int64_t)bytes);
	pthread_mutex_unlock(&budget->lock);
}

/* ---- the snapshot ---------------------------------------------------------------------------- */

/* Frees the chunks from this one on. */
static void cut_chunks(struct snapshot *snapshot, guint first)
{
	guint i;

	for (i = first; i < snapshot->chunks->len; i++)
		g_free(g_array_index(snapshot->chunks, struct snapshot_chunk, i).data);
	growing_cut(snapshot->chunks, first);
}

static void clear_copy(void *copy)
{
	rings_copy_clear(copy);
}

struct snapshot *snapshot_create(struct snapshot_budget *budget, uid_t reader,
	GPtrArray *producers, struct kernel *kernel, uint64_t cleared_ns)
{
	struct snapshot *snapshot = g_new0(struct snapshot, 1);

	snapshot->budget = budget;
	snapshot->reader = reader;
	snapshot->producers = producers;
	snapshot->cleared_ns = cleared_ns;
	snapshot->chunks = growing_create(sizeof(struct snapshot_chunk));
	snapshot->text = g_string_new(NULL);
	snapshot->unknown = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	snapshot->messages = growing_create(sizeof(struct snapshot_message));
	snapshot->source = kernel;
	snapshot->kernel = g_array_new(FALSE, FALSE, sizeof(struct rings_copy));
	g_array_set_clear_func(snapshot->kernel, clear_copy);
	snapshot->kernel_events = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	return snapshot;
}

void snapshot_destroy(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	return_budget(snapshot->budget, snapshot->reader, snapshot->bytes);
	cut_chunks(snapshot, 0);
	growing_destroy(snapshot->chunks);
	growing_destroy(snapshot->messages);
	g_string_free(snapshot->text, TRUE);
	g_array_unref(snapshot->kernel);
	g_hash_table_unref(snapshot->kernel_events);
	g_hash_table_unref(snapshot->unknown);
	clock_map_copy_free(snapshot->clock);
	g_ptr_array_unref(snapshot->producers);
	g_free(snapshot);
}

int snapshot_reserve(struct snapshot *snapshot, uint64_t bytes)
{
	uint64_t taken = take_budget(snapshot->budget, snapshot->reader, bytes);

	if (taken < bytes) {
		return_budget(snapshot->budget, snapshot->reader, taken);
		return -ENOMEM;
	}
	snapshot->bytes += bytes;
	return 0;
}

int snapshot_copy_ring(struct snapshot *snapshot, struct rings *rings, uint32_t cpu, uint64_t from,
	bool skip, struct rings_copy **copy)
{
	struct rings_copy made;
	int ret = snapshot_reserve(snapshot, rings_bytes(rings));

	if (!ret)
		ret = rings_copy(rings, cpu, from, skip, &made);
	if (ret)
		return ret;
	g_array_append_val(snapshot->kernel, made);
	*copy = &g_array_index(snapshot->kernel, struct rings_copy, snapshot->kernel->len - 1);
	return 0;
}

int snapshot_add(struct snapshot *snapshot, const struct snapshot_chunk *chunk)
{
	return growing_add(snapshot->chunks, chunk);
}

void snapshot_leave_out(struct snapshot *snapshot, guint first, guint end)
{
	struct snapshot_chunk *all = &g_array_index(snapshot->chunks, struct snapshot_chunk, 0);
	guint len = snapshot->chunks->len, i;

	for (i = first; i < end; i++) {
		snapshot->left_out += all[i].extent.count;
		g_free(all[i].data);
	}
	memmove(&all[first], &all[end], (len - end) * sizeof(*all));
	growing_cut(snapshot->chunks, len - (end - first));
}

/* ---- one pool -------------------------------------------------------------------------------- */

/* State that is needed only while a snapshot is taken. */
struct snapshot_taking {
	struct snapshot *snapshot;
	struct clock_map *clock_map;
	const struct cancel *cancel;
	struct ring_index *index;
	char *scratch;	  /* 2 * KPROF_CHUNK_BYTES_MAX */
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

/* Returns -ESTALE if the chunk was overwritten during the copy. */
static int copy_chunk(struct snapshot_taking *taking, const struct producer *producer,
	const struct ring_extent *extent)
{
	struct snapshot_chunk chunk = {
		.producer = producer, .extent = *extent, .data = g_try_malloc(extent->end)};
	/* twice the size of the chunk is needed only to find uncommitted records */
	char *to = extent->uncommitted ? taking->scratch : chunk.data;
	int ret = chunk.data ? ring_extent_copy(&producer->reader, extent, 0, to) : -ENOMEM;

	if (ret) {
		g_free(chunk.data);
		return ret;
	}
	if (to != chunk.data)
		memcpy(chunk.data, to, extent->end);
	ret = snapshot_add(taking->snapshot, &chunk);
	if (ret) {
		g_free(chunk.data);
		return ret;
	}
	taking->granted -= extent->end;
	return 0;
}

struct pool_sums {
	uint64_t left_out, overwritten;
	uint32_t stale;
};

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
		int ret = i < first ? -ENOMEM : copy_chunk(taking, producer, extent);

		if (ret == -ESTALE) {
			sums.overwritten += extent->count;
			sums.stale++;
		} else if (ret) {
			sums.left_out += extent->count;
		}
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
	cut_chunks(taking->snapshot, first);
}

/* share: bytes that the producer may use of what is granted. */
static void copy_pool(
	struct snapshot_taking *taking, const struct producer *producer, uint64_t share)
{
	guint first = taking->snapshot->chunks->len;
	struct pool_sums sums = { 0 };
	int i;

	for (i = 0; i < POOL_TRIES; i++) {
		drop_chunks(taking, first);
		if (find_extents(taking, producer))
			return;
		sums = copy_extents(taking, producer, share);
		if (sums.stale <= taking->extents->len / 4)
			break;
	}
	taking->snapshot->left_out += sums.left_out;
	taking->snapshot->overwritten += sums.overwritten;
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

static int copy_pools(struct snapshot_taking *taking)
{
	struct snapshot *snapshot = taking->snapshot;
	uint64_t need = add_pool_sizes(snapshot->producers);
	g_autofree struct fair_share *shares = NULL;
	int ret = 0;
	guint i;

	taking->granted = take_budget(snapshot->budget, snapshot->reader, need);
	snapshot->bytes = taking->granted;
	if (taking->granted < need)
		shares = divide_granted(taking);
	for (i = 0; i < snapshot->producers->len && !ret; i++) {
		copy_pool(taking, g_ptr_array_index(snapshot->producers, i),
			shares ? shares[i].gets : UINT64_MAX);
		if (cancel_requested(taking->cancel))
			ret = -EINTR;
	}
	return_budget(snapshot->budget, snapshot->reader, taking->granted);
	snapshot->bytes -= taking->granted;
	return ret;
}

/* The rings of all CPUs; what finds no room in the budget is left out. */
static void copy_rings(struct snapshot *snapshot)
{
	struct rings *rings = snapshot->source ? kernel_get_rings(snapshot->source) : NULL;
	struct rings_copy *copy;

	for (uint32_t cpu = 0; rings && cpu < rings_cpus(rings); cpu++)
		if (snapshot_copy_ring(snapshot, rings, cpu, 0, true, &copy))
			snapshot->left_out += rings_held(rings, cpu);
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
		.scratch = g_malloc(2 * KPROF_CHUNK_BYTES_MAX),
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
