/* SPDX-License-Identifier: MIT */
/* Readings of the trace: see reading.h. */
#include "trace/reading.h"

#include <errno.h>

#include "base/atomic.h"
#include "trace/trace_records.h"
#include "trace/merge.h"
#include "trace/snapshot.h"
#include "trace/clock_map.h"

/* How much one call makes. */
#define PIECE_BYTES 32768
/* What a byte of a program's memory is as text: a plain event of 24 bytes makes some 70. */
#define TEXT_OF_BYTE 4

/* i: invariant; a: atomic, relaxed: sums that nothing else depends on */
struct readings {
	struct trace *trace;		/* i */
	struct producers *producers;	/* i */
	struct clock_map *stamps;       /* i */
	struct snapshot_budget *budget; /* i */
	_Atomic uint64_t newest;	/* a: size of the newest reading of all CPUs; 0: none yet */
	_Atomic uint64_t left_out, overtaken, unknown; /* a */
};

struct reading {
	struct readings *readings;
	struct snapshot *snapshot;
	struct merge *merge;
	struct trace_records *form;
	uint64_t size;
	bool begun;
};

struct readings *readings_create(struct trace *trace, struct producers *producers,
	uint64_t max_bytes, uid_t owner)
{
	struct readings *readings = g_new0(struct readings, 1);

	readings->trace = trace;
	readings->producers = producers;
	readings->stamps = clock_map_create();
	readings->budget = snapshot_budget_create(max_bytes, owner);
	return readings;
}

void readings_destroy(struct readings *readings)
{
	if (!readings)
		return;
	clock_map_destroy(readings->stamps);
	snapshot_budget_destroy(readings->budget);
	g_free(readings);
}

struct clock_map *readings_stamps(struct readings *readings)
{
	return readings->stamps;
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

bool readings_have_programs(struct readings *readings)
{
	g_autoptr(GPtrArray) all = producers_all(readings->producers);

	return all->len > 0;
}

uint64_t readings_size(struct readings *readings)
{
	g_autoptr(GPtrArray) all = producers_all(readings->producers);
	uint64_t newest = atomic_read_relaxed(&readings->newest), bytes = trace_bytes(readings->trace);
	guint i;

	if (all->len && newest)
		return newest;
	for (i = 0; i < all->len; i++) {
		const struct producer *producer = g_ptr_array_index(all, i);

		bytes += (uint64_t)producer->reader.layout.pool_bytes * TEXT_OF_BYTE;
	}
	return bytes;
}

void readings_print_stats(struct readings *readings, struct stats *stats)
{
	struct clock_map_map *map = clock_map_map(readings->stamps);

	stats_text(stats, clock_map_map_frequency(map) ? "counter" : "monotonic", "trace.clock");
	clock_map_map_free(map);
	stats_u64(stats, atomic_read_relaxed(&readings->left_out), "trace.left_out");
	stats_u64(stats, atomic_read_relaxed(&readings->overtaken), "trace.overwritten_during_read");
	stats_u64(stats, atomic_read_relaxed(&readings->unknown), "trace.unknown");
}

int readings_take(struct readings *readings, uid_t reader, bool (*cancelled)(void *arg), void *arg,
	struct snapshot **snapshot)
{
	struct snapshot *s = snapshot_create(readings->budget, reader,
		producers_all(readings->producers), producers_cleared_ns(readings->producers));
	int ret = snapshot_take(s, readings->stamps, readings->trace, cancelled, arg);

	if (ret) {
		snapshot_destroy(s);
		return ret;
	}
	atomic_add_relaxed(&readings->left_out, s->left_out);
	atomic_add_relaxed(&readings->overtaken, s->overtaken);
	*snapshot = s;
	return 0;
}

/*
 * ---- one reading ------------------------------------------------------------------------------
 */

/* What stands before the first item: of the form, and what is missing at the beginning. */
static void append_beginning(const struct reading *reading, const struct merge_item *first,
	GString *out)
{
	const struct snapshot *snapshot = reading->snapshot;
	struct clock_map_anchor now;

	clock_map_map_anchor(snapshot->map, &now);
	trace_records_begin(reading->form, snapshot->map, out);
	trace_records_append_missing(reading->form, first, now.monotonic_ns, snapshot->left_out,
		KPROF_TRACE_LEFT_OUT, out);
	trace_records_append_missing(
		reading->form, first, now.monotonic_ns, snapshot->overtaken, KPROF_TRACE_LOST, out);
}

/* What measure() needs besides; lines can be wide, and who opened may have gone. */
struct measuring {
	struct reading *reading;
	bool (*cancelled)(void *arg);
	void *arg;
};

static bool add_length(void *arg, const struct merge_item *item)
{
	struct measuring *measuring = arg;
	struct reading *reading = measuring->reading;

	reading->size += trace_records_measure(reading->form, item);
	return !measuring->cancelled || !measuring->cancelled(measuring->arg);
}

static int measure(struct reading *reading, bool (*cancelled)(void *arg), void *arg)
{
	struct measuring measuring = { reading, cancelled, arg };
	g_autoptr(GString) beginning = g_string_new(NULL);
	struct merge_sums sums;
	struct merge_item first;
	int ret;

	append_beginning(reading, merge_next(reading->merge, &first) ? &first : NULL, beginning);
	reading->size = beginning->len;
	ret = merge_each(reading->merge, add_length, &measuring, &sums);
	atomic_add_relaxed(&reading->readings->unknown, sums.unknown);
	return ret;
}

int reading_create(struct readings *readings, uid_t reader, const struct trace_records_cpu *cpu,
	bool (*cancelled)(void *arg), void *arg, struct reading **reading)
{
	struct snapshot *snapshot;
	struct reading *r;
	int ret = readings_take(readings, reader, cancelled, arg, &snapshot);

	if (ret)
		return ret;
	r = g_new0(struct reading, 1);
	r->readings = readings;
	r->snapshot = snapshot;
	r->merge = merge_create(snapshot);
	r->form = trace_records_create(cpu);
	ret = r->merge ? measure(r, cancelled, arg) : -ENOMEM;
	if (ret) {
		reading_destroy(r);
		return ret;
	}
	if (cpu->cpu == TRACE_RECORDS_TEXT)
		atomic_write_relaxed(&readings->newest, r->size);
	*reading = r;
	return 0;
}

void reading_destroy(struct reading *reading)
{
	if (!reading)
		return;
	merge_destroy(reading->merge);
	trace_records_destroy(reading->form);
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
		trace_records_append(reading->form, &item, out);
	}
	return true;
}

void reading_restart(struct reading *reading)
{
	reading->begun = false;
	merge_restart(reading->merge);
}
