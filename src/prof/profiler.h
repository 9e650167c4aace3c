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
#include "bpf/samples.h"
#include "prof/budget.h"
#include "prof/capture.h"
#include "prof/profiler_hooks.h"

struct profiler;
struct profiler_image;
struct cursor;

/* Paths of the kernel's files, for tests with fixtures. NULL members: the real ones. */
struct profiler_paths {
	const char *proc;	   /* "/proc" */
	const char *sys;	   /* "/sys" */
	/* kprof-symbols; by default the one next to this program, otherwise the installed one */
	const char *symbols;
	struct capture_pool *memory; /* for its capture; NULL: memory of its own */
};

enum profiler_mode {
	PROFILER_DISCARD,   /* if full, new samples are dropped and counted */
	PROFILER_OVERWRITE, /* if full, the oldest are removed (flight recorder) */
};

/* The budget for the profilers of this machine: 1/32 of its memory for captures, as much for rings. */
struct budget *profiler_budget_create(void);

/*
 * Copies hooks and paths; the caller keeps the ownership of the strings, which must outlive the
 * profiler, as must the budget. Returns -ENOSPC if the budget has no room for another capture.
 */
int profiler_create(const struct profiler_hooks *hooks, const struct profiler_paths *paths,
	struct budget *budget, struct profiler **profiler, struct err *err);
/*
 * Samples tasks of this user only from now on, in user space, as sample_owner.h says; processes of others,
 * the kernel and its addresses are in no record. any_rate: its events may have any period. Called before
 * anything else.
 */
void profiler_restrict(struct profiler *profiler, uid_t uid, gid_t gid, bool any_rate);
/*
 * No run goes on, and no command follows: gives back what is captured, and its part of the budget, and closes
 * the files of state=. If a cursor is open, which reads to the end, what is held stays until the profiler is
 * destroyed.
 */
void profiler_release(struct profiler *profiler);
/* Stops a run; every cursor must have been closed. */
void profiler_destroy(struct profiler *profiler);

/*
 * What a profiler holds at one moment: its capture, which shares its blocks, the records that come before
 * those of the capture, its settings and its counts.
 *
 * Drains the rings and takes the image of what is held then. Its memory is taken from the budget. Returns
 * -ENOSPC, with the sizes, if that has no room. Control thread only; takes as long as a drain and an open of
 * kpdata.
 */
int profiler_take_image(struct profiler *profiler, struct profiler_image **image, struct err *err);
/* A profiler that is made of it has the default settings. */
void profiler_image_drop_settings(struct profiler_image *image);
/* An image of which no profiler was made. NULL is allowed. */
void profiler_image_free(struct profiler_image *image);
/*
 * Creates a profiler, as profiler_create(), that holds the capture of the image and has its settings. It is
 * stopped, and goes on from there if it is started. Takes the image, also if it fails.
 */
int profiler_create_of_image(const struct profiler_hooks *hooks, const struct profiler_paths *paths,
	struct profiler_image *image, struct profiler **profiler, struct err *err);

/*
 * The same of what the files of a session have, in memory of that pool; the settings are the default ones.
 * Returns -ENOENT if it has no files, or holds nothing. *err, which is empty at first, also says what is
 * damaged, and is left out.
 */
int profiler_read_image(struct capture_pool *pool, struct disk *disk, const char *session,
	struct budget *budget, struct profiler_image **image, struct err *err);
/*
 * From now on what it holds is in files of a session (capture_keep_files()), once, before the first command.
 * The files stay when it is destroyed, unless profiler_forget_files() was called before.
 */
void profiler_keep_files(struct profiler *profiler, struct disk *disk, const char *session);
void profiler_forget_files(struct profiler *profiler);

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
 * Samples only tasks for which an expression holds (only.h), "all" for all of them; also while it runs.
 */
int profiler_set_only(struct profiler *profiler, const char *text, struct err *err);
/*
 * Adds an event by its text, `probe:NAME`: the samples that a program of probes/ takes. They are taken while
 * the profiler runs; if it does not, it is started, with such events only, until the last of them is removed.
 * A run that goes on has other events some ms later. *samples is the profiler's, until it is removed.
 */
int profiler_add_program(struct profiler *profiler, const char *text, const struct samples **samples,
	struct err *err);
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
 * Replaces what is held by records that were saved: whole and valid ones, none larger than a run of the
 * capture, the first one a CLOCK. Readers get them as they are. Returns -EBUSY while it runs, -ENOSPC if
 * they exceed prof_qlimit, also packed. Until `clear` no run starts.
 */
int profiler_load(struct profiler *profiler, const uint8_t *records, size_t size, struct err *err);
/*
 * Makes a start that is in progress fail with -EINTR; nothing else is affected. Can be called from
 * any thread.
 */
void profiler_interrupt(struct profiler *profiler);

/* Removes the event of a program that no longer takes samples; any thread. */
void profiler_remove_program(struct profiler *profiler, const char *text);

/* ---- queries: any thread --------------------------------------------------------------------- */

bool profiler_running(struct profiler *profiler);
/* Whether what is held was loaded. Its times are those of other runs and machines. */
bool profiler_is_loaded(const struct profiler *profiler);
/* Whether its times are of this machine's clock: it was not loaded, nor captured before the last boot. */
bool profiler_is_of_this_boot(const struct profiler *profiler);
/* prof_qlimit in bytes. */
uint64_t profiler_capacity(struct profiler *profiler);
/*
 * Returns whether it is not running and has memory that profiler_trim() would free, which a clear
 * keeps for the next start.
 */
bool profiler_has_spare(struct profiler *profiler);
/* The text of kpctl: the words that restore the state, one a line. */
void profiler_print_settings(struct profiler *profiler, GString *out);
/* The profiler's rows of kpstat. */
void profiler_print_stats(struct profiler *profiler, struct stats *stats);
/* Bytes of the records held now. */
uint64_t profiler_held_bytes(struct profiler *profiler);
/* The memory for them, to which prof_qlimit applies. */
uint64_t profiler_memory_bytes(struct profiler *profiler);
/* The length of the runs since the last clear in ns; the current one counts until now. */
uint64_t profiler_runs_ns(struct profiler *profiler);
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
/* Whether samples are held, and a run since the last clear has the wakers of times away (offcpu:waker). */
bool profiler_has_wakers(struct profiler *profiler);

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
