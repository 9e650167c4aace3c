/* SPDX-License-Identifier: MIT */
/* Readings of the trace: see reading.h. */
#include "trace/reading.h"

#include <errno.h>

#include "base/atomic.h"
#include "trace/trace_records.h"
#include "trace/measure.h"
#include "trace/merge.h"
#include "trace/snapshot.h"
#include "trace/clock_map.h"

/* Bytes that one call makes. */
#define PIECE_BYTES 32768
/* Bytes of text for a byte of a pool: a plain event of 24 bytes makes some 70. */
#define TEXT_OF_BYTE 4
/* i: invariant; a: atomic, relaxed: sums that nothing else depends on */
struct readings {
	struct readings *all;		/* i: of all users; NULL if these are */
	uid_t uid;			/* i: else of this one */
	struct trace *trace;		/* i */
	struct producers *producers;	/* i */
	struct kernel *kernel;		/* i: NULL if there are no kernel events */
	struct clock_map *clock_map;       /* i */
	struct snapshot_budget *budget; /* i */
	void (*settle)(void *arg);	/* i: NULL if nothing does */
	void *settle_arg;		/* i */
	_Atomic uint64_t newest;	/* a: size of the newest reading of all CPUs; 0 if none */
	_Atomic uint64_t left_out, overwritten, unknown; /* a */
};

struct reading {
	struct readings *readings;
	struct snapshot *snapshot;
	struct merge *merge;
	struct trace_records *records;
	uint64_t size;
	bool begun;
};

struct readings *readings_create(struct trace *trace, struct producers *producers, struct kernel *kernel,
	uint64_t max_bytes, uid_t owner)
{
	struct readings *readings = g_new0(struct readings, 1);

	readings->trace = trace;
	readings->producers = producers;
	readings->kernel = kernel;
	readings->clock_map = clock_map_create();
	readings->budget = snapshot_budget_create(max_bytes, owner);
	return readings;
}

struct readings *readings_create_of(struct readings *all, uid_t uid)
{
	struct readings *readings = g_new0(struct readings, 1);

	readings->all = all;
	readings->uid = uid;
	readings->producers = all->producers;
	readings->clock_map = all->clock_map;
	readings->budget = all->budget;
	return readings;
}

void readings_destroy(struct readings *readings)
{
	if (!readings)
		return;
	if (readings->all) {
		g_free(readings);
		return;
	}
	clock_map_destroy(readings->clock_map);
	snapshot_budget_destroy(readings->budget);
	g_free(readings);
}

void readings_on_settle(struct readings *readings, void (*settle)(void *arg), void *arg)
{
	readings->settle = settle;
	readings->settle_arg = arg;
}

void readings_settle(struct readings *readings)
{
	if (readings->settle)
		readings->settle(readings->settle_arg);
}

struct clock_map *readings_clock_map(struct readings *readings)
{
	return readings->clock_map;
}

struct snapshot_budget *readings_budget(struct readings *readings)
{
	return readings->budget;
}

struct trace *readings_trace(struct readings *readings)
{
	return readings->trace;
}

struct producers *readings_producers(struct readings *readings)
{
	return readings->producers;
}

struct kernel *readings_kernel(struct readings *readings)
{
	return readings->kernel;
}

/* The memory of the rings of kernel events, 0 if there are none. */
static uint64_t ring_memory(struct readings *readings)
{
	struct rings *rings = readings->kernel ? kernel_get_rings(readings->kernel) : NULL;
	uint64_t bytes = 0;

	if (rings) {
		bytes = (uint64_t)rings_bytes(rings) * rings_cpus(rings);
		kernel_put_rings(readings->kernel, rings);
	}
	return bytes;
}

bool readings_have_programs(struct readings *readings)
{
	g_autoptr(GPtrArray) all = producers_all(readings->producers);

	return all->len > 0 || ring_memory(readings);
}

uint64_t readings_size(struct readings *readings)
{
	g_autoptr(GPtrArray) all = producers_all(readings->producers);
	uint64_t newest = atomic_read_relaxed(&readings->newest),
		 bytes = trace_bytes(readings->trace), rings = ring_memory(readings);
	guint i;

	if ((all->len || rings) && newest)
		return newest;
	bytes += rings * TEXT_OF_BYTE;
	for (i = 0; i < all->len; i++) {
		const struct producer *producer = g_ptr_array_index(all, i);

		bytes += (uint64_t)producer->reader.layout.pool_bytes * TEXT_OF_BYTE;
	}
	return bytes;
}

void readings_print_stats(struct readings *readings, struct stats *stats)
{
	struct clock_map_copy *clock = clock_map_copy(readings->clock_map);

	stats_text(stats, clock_map_copy_frequency(clock) ? "counter" : "monotonic", "trace.clock");
	clock_map_copy_free(clock);
	stats_u64(stats, atomic_read_relaxed(&readings->left_out), "trace.left_out");
	stats_u64(stats, atomic_read_relaxed(&readings->overwritten),
		"trace.overwritten_during_read");
	stats_u64(stats, atomic_read_relaxed(&readings->unknown), "trace.unknown");
}

/* The producers that it reads. */
static GPtrArray *list_producers(const struct readings *readings)
{
	GPtrArray *list = producers_all(readings->producers);
	guint i;

	for (i = list->len; readings->all && i-- > 0;)
		if (((const struct producer *)g_ptr_array_index(list, i))->uid != readings->uid)
			g_ptr_array_remove_index(list, i);
	return list;
}

int readings_take(struct readings *readings, uid_t reader, const struct cancel *cancel,
	struct snapshot **snapshot)
{
	struct snapshot *s = snapshot_create(readings->budget, reader,
		list_producers(readings), readings->kernel,
		producers_cleared_ns(readings->producers));
	int ret;

	readings_settle(readings);
	ret = snapshot_take(s, readings->clock_map, readings->trace, cancel);
	if (ret) {
		snapshot_destroy(s);
		return ret;
	}
	if (readings->all)
		readings = readings->all; /* kpstat has its counts */
	atomic_add_relaxed(&readings->left_out, s->left_out);
	atomic_add_relaxed(&readings->overwritten, s->overwritten);
	*snapshot = s;
	return 0;
}

/* ---- one reading ----------------------------------------------------------------------------- */

/* What precedes the first item: the header, and the numbers of missing events. */
static void append_beginning(const struct reading *reading, const struct merge_item *first,
	GString *out)
{
	const struct snapshot *snapshot = reading->snapshot;
	struct clock_map_anchor now;

	clock_map_copy_anchor(snapshot->clock, &now);
	trace_records_begin(reading->records, snapshot->clock, out);
	trace_records_append_missing(reading->records, first, now.monotonic_ns, snapshot->left_out,
		KPROF_TRACE_LEFT_OUT, out);
	trace_records_append_missing(reading->records, first, now.monotonic_ns,
		snapshot->overwritten, KPROF_TRACE_LOST, out);
}

static int measure(struct reading *reading, const struct trace_records_cpu *cpu,
	const struct cancel *cancel)
{
	struct snapshot *snapshot = reading->snapshot;
	g_autoptr(GString) beginning = g_string_new(NULL);
	uint64_t left_out = snapshot->left_out;
	struct measured measured;
	struct merge_item first;
	int ret = measure_snapshot(snapshot, cpu, cancel, &measured);

	if (ret)
		return ret;
	atomic_add_relaxed(&reading->readings->unknown, measured.unknown);
	atomic_add_relaxed(&reading->readings->left_out, snapshot->left_out - left_out);
	reading->merge = merge_create(snapshot);
	if (!reading->merge)
		return -ENOMEM;
	append_beginning(reading, merge_next(reading->merge, &first) ? &first : NULL, beginning);
	reading->size = measured.bytes + beginning->len;
	merge_restart(reading->merge);
	return 0;
}

int reading_create(struct readings *readings, uid_t reader, const struct trace_records_cpu *cpu,
	const struct cancel *cancel, struct reading **reading)
{
	struct snapshot *snapshot;
	struct reading *r;
	int ret = readings_take(readings, reader, cancel, &snapshot);

	if (ret)
		return ret;
	snapshot_find_names(snapshot, cancel);
	r = g_new0(struct reading, 1);
	r->readings = readings;
	r->snapshot = snapshot;
	r->records = trace_records_create(cpu);
	ret = measure(r, cpu, cancel);
	if (ret) {
		reading_destroy(r);
		return ret;
	}
	if (cpu->cpu == TRACE_RECORDS_TEXT)
		atomic_write_relaxed(&readings->newest, r->size);
	*reading = r;
	return 0;
}

int readings_take_shown(struct readings *readings, uid_t reader, const struct cancel *cancel,
	struct snapshot **snapshot)
{
	const struct trace_records_cpu all = { .cpu = TRACE_RECORDS_TEXT };
	struct reading *reading;
	int ret = reading_create(readings, reader, &all, cancel, &reading);

	if (ret)
		return ret;
	*snapshot = reading->snapshot;
	reading->snapshot = NULL;
	reading_destroy(reading);
	return 0;
}

void reading_destroy(struct reading *reading)
{
	if (!reading)
		return;
	merge_destroy(reading->merge);
	trace_records_destroy(reading->records);
	snapshot_destroy(reading->snapshot);
	g_free(reading);
}

uint64_t reading_size(const struct reading *reading)
{
	return reading->size;
}

bool reading_next(struct reading *reading, GString *out)
{
	size_t until = out->len + PIECE_BYTES;
	struct merge_item item;

	while (out->len < until) {
		bool more = merge_next(reading->merge, &item);

		if (!reading->begun)
			append_beginning(reading, more ? &item : NULL, out);
		reading->begun = true;
		if (!more)
			return false;
		trace_records_append(reading->records, &item, out);
	}
	return true;
}

void reading_restart(struct reading *reading)
{
	reading->begun = false;
	merge_restart(reading->merge);
}
