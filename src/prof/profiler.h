/* SPDX-License-Identifier: MIT */
/*
 * The profiler behind kpctl and kpdata.
 *
 * A profiler owns its settings, its perf events and one sampler thread while it runs, and a
 * capture. Several can exist. Commands (profiler_start to profiler_set_mode) may block as long as
 * the machine needs (/proc is walked) and must come from one thread at a time, the control thread
 * of the server. Everything else is thread-safe and answers from memory.
 *
 * Errors are those of kprof(5), section kpctl; *err gets the sentence. A command that succeeds
 * with a message for the user (a narrower scope) returns 0 and leaves the sentence in *err as
 * well.
 */
#ifndef KPROFS_PROF_PROFILER_H
#define KPROFS_PROF_PROFILER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"
#include "base/stats.h"
#include "prof/capture.h"
#include "prof/profiler_hooks.h"

struct profiler;
struct cursor;

/* Paths of the kernel's files, for tests with fixtures. NULL members: the real ones. */
struct profiler_paths {
	const char *proc;	   /* "/proc" */
	const char *sys;	   /* "/sys" */
	/* kprof-symbols; by default the one next to this program, otherwise the installed one */
	const char *symbols;
};

enum profiler_mode {
	PROFILER_DISCARD,   /* if full, new samples are dropped and counted */
	PROFILER_OVERWRITE, /* if full, the oldest are removed (flight recorder) */
};

/*
 * Copies hooks and paths; the caller keeps the ownership of the strings, which must outlive the
 * profiler.
 */
int profiler_create(const struct profiler_hooks *hooks, const struct profiler_paths *paths,
	struct profiler **profiler);
/* Stops a run; every cursor must have been closed. */
void profiler_destroy(struct profiler *profiler);

/* ---- commands: control thread only ----------------------------------------------------------- */

int profiler_start(struct profiler *profiler, struct err *err);
int profiler_stop(struct profiler *profiler, struct err *err);
int profiler_flush(struct profiler *profiler, struct err *err);
int profiler_clear(struct profiler *profiler, struct err *err);
int profiler_set_events(struct profiler *profiler, const char *specs, struct err *err);
int profiler_set_cpus(struct profiler *profiler, const char *list, struct err *err);
/* depth: text of the DEPTH argument or NULL */
int profiler_set_stack(struct profiler *profiler, const char *mode, const char *depth,
	struct err *err);
int profiler_set_qlimit_kb(struct profiler *profiler, uint64_t kb, struct err *err);
int profiler_set_cpubufsz_kb(struct profiler *profiler, uint64_t kb, struct err *err);
int profiler_set_mode(struct profiler *profiler, enum profiler_mode mode, struct err *err);
/*
 * Adds one sample of a single kernel address, taken now on this CPU in process pid, with event
 * number 0. It is called for a number that was written to kpdata. Before the first start it also
 * reads the addresses of the kernel and its modules, which takes tens of ms. Returns -ENOSPC if
 * kpdata is full, which is counted as lost, or -EINVAL if the number is a context marker and not an
 * address, which is counted as invalid.
 */
int profiler_add_address(struct profiler *profiler, uint64_t address, uint32_t pid, struct err *err);
/* Frees memory that is kept for the next start. */
void profiler_trim(struct profiler *profiler);
/*
 * Opens events on CPUs that went online, drains and closes those of CPUs that went offline. Does
 * nothing if nothing changed.
 */
void profiler_cpus_changed(struct profiler *profiler);
/*
 * Makes a start that is in progress fail with -EINTR; nothing else is affected. Can be called from
 * any thread.
 */
void profiler_interrupt(struct profiler *profiler);

/* ---- queries: any thread --------------------------------------------------------------------- */

bool profiler_running(struct profiler *profiler);
/*
 * Returns whether it is not running and has memory that profiler_trim() would free, which a clear
 * keeps for the next start.
 */
bool profiler_has_spare(struct profiler *profiler);
/* The text of kpctl: the words that restore the state, one a line. */
void profiler_print_settings(struct profiler *profiler, GString *out);
/* The profiler's rows of kpstat. */
void profiler_print_stats(struct profiler *profiler, struct stats *stats);
/* Bytes of records held now. */
uint64_t profiler_held_bytes(struct profiler *profiler);
/*
 * The bytes that a cursor opened now would read up to the end: its preamble and the records held.
 * Exact while the profiler is stopped; while it runs the size of the preamble may be
 * PREAMBLE_KEPT_MS old.
 */
uint64_t profiler_stream_bytes(struct profiler *profiler);
/*
 * Returns false if no record so far is a copied stack (`stack dwarf`), so that none has to be
 * searched for. Once it is true it stays true, also after a clear. Can be called from any thread.
 */
bool profiler_copied_stacks(struct profiler *profiler);

/* ---- reading kpdata: any thread, one call at a time for each cursor -------------------------- */

/*
 * Creates a cursor at the oldest record, with its own preamble before it. Returns -ENOMEM, or
 * -EMFILE if there are too many.
 */
int profiler_open_cursor(struct profiler *profiler, struct cursor **cursor);
/*
 * The same, but what it reads does not count as read: no record that another reader has yet to
 * read is removed because of it. For the server's own short reads of the capture: while it is
 * open, the blocks that it has not passed stay.
 */
int profiler_open_peek(struct profiler *profiler, struct cursor **cursor);
/*
 * The same for a part of what is held at this moment: blocks without such samples are skipped, and
 * only the processes of the others and their ancestors are announced. The stream then ends, also
 * while it runs.
 */
int profiler_open_part(
	struct profiler *profiler, const struct capture_part *part, struct cursor **cursor);
/* The time of a sample among the newest that are held; 0 if there is none. */
uint64_t profiler_late_time(struct profiler *profiler);
void profiler_close_cursor(struct cursor *cursor);

/*
 * The result of a read of `want` bytes at the cursor, as pieces of pinned memory. While the profiler
 * runs: as many whole records as fit; of a record larger than `want` a part. While it is stopped: `want`
 * bytes, or what is left up to the end. *count is the size of iov on entry and
 * the number of pieces on return. Returns the bytes, 0 if there are none now: then *eof says
 * whether that is the end of file (not running) or the reader should wait. A call that returned
 * bytes must be followed by cursor_end(): taken=true moves the cursor past them, false leaves it.
 */
ssize_t cursor_begin(struct cursor *cursor, size_t want, struct iovec *iov, int *count, bool *eof);
void cursor_end(struct cursor *cursor, bool taken);

/* true if a read would not wait: data or end of file */
bool cursor_readable(struct cursor *cursor);

#endif
