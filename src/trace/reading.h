/* SPDX-License-Identifier: MIT */
/*
 * A reading of the trace: the content of kptrace, or of a cpu/N/trace, at the moment of its open,
 * made piece by piece as it is read.
 *
 * The size is known from the beginning: the lengths of all pieces are added up without making them,
 * which takes a small part of the time that making them takes. So the file has its true size from
 * the open on, however it is read.
 */
#ifndef KPROFS_TRACE_READING_H
#define KPROFS_TRACE_READING_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cancel.h"
#include "base/stats.h"

struct kernel;
struct trace_records_cpu;
struct producers;
struct reading;
struct readings;
struct snapshot;
struct snapshot_budget;
struct clock_map;
struct trace;

/*
 * What all readings of a server share. Thread-safe. The caller keeps ownership of `trace`,
 * `producers` and `kernel`, which may be NULL. owner: the user who mounted; it and root have a part
 * of max_bytes that other readers do not get (snapshot.h).
 */
struct readings *readings_create(struct trace *trace, struct producers *producers, struct kernel *kernel,
	uint64_t max_bytes, uid_t owner);
/*
 * Readings of what the producers of one user hold, without messages and events of the kernel. They share
 * the limit, the clock and the counts of `all`, which outlives them.
 */
struct readings *readings_create_of(struct readings *all, uid_t uid);
void readings_destroy(struct readings *readings);
/*
 * What puts texts into the trace with the time at which they were asked for: `settle` waits a moment until
 * those that were asked for before it are there. Before the first reading.
 */
void readings_on_settle(struct readings *readings, void (*settle)(void *arg), void *arg);
/* Calls it, where a reading or a gathering has chosen the time up to which it goes. */
void readings_settle(struct readings *readings);
struct clock_map *readings_clock_map(struct readings *readings);
struct snapshot_budget *readings_budget(struct readings *readings);
struct trace *readings_trace(struct readings *readings);
struct producers *readings_producers(struct readings *readings);
/* NULL if there are no kernel events. */
struct kernel *readings_kernel(struct readings *readings);

/* Whether any producer has a pool, or there are rings: the trace then is more than messages. */
bool readings_have_programs(struct readings *readings);

/*
 * The size that stat shows of a kptrace that is not open: the messages' bytes; with producers the
 * size of the newest reading, and before the first one more than their memory usually makes.
 */
uint64_t readings_size(struct readings *readings);

/*
 * trace.clock: "counter" or "monotonic"; trace.left_out, trace.overwritten_during_read,
 * trace.unknown.
 */
void readings_print_stats(struct readings *readings, struct stats *stats);

/*
 * Copies what the trace holds now, for a reader (a user id) that shows it in another format. The
 * caller calls snapshot_destroy(). Counts what is left out. Returns -EINTR if it was cancelled.
 * Blocks for as long as copying takes.
 */
int readings_take(struct readings *readings, uid_t reader, const struct cancel *cancel,
	struct snapshot **snapshot);

/*
 * The same without the events that kptrace leaves out because the text of their producer is too
 * long: the text of a producer is bounded in proportion to its memory.
 */
int readings_take_shown(struct readings *readings, uid_t reader, const struct cancel *cancel,
	struct snapshot **snapshot);

/*
 * Takes the snapshot, for lines of all CPUs or records of one. Returns -EINTR if it was cancelled.
 * Blocks for as long as copying takes.
 */
int reading_create(struct readings *readings, uid_t reader, const struct trace_records_cpu *cpu,
	const struct cancel *cancel, struct reading **reading);
void reading_destroy(struct reading *reading);

uint64_t reading_size(const struct reading *reading);

/* Appends the next piece, some tens of KiB at most. False if it was the last one. One thread at a time. */
bool reading_next(struct reading *reading, GString *out);
/* The next piece is the first again; all pieces are the same as before. */
void reading_restart(struct reading *reading);

#endif
