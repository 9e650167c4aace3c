/* SPDX-License-Identifier: MIT */
/*
 * Symbolizes addresses: the interface, and the cache of results.
 *
 * Requests come in batches: all addresses of one file at once. A source, a const table of
 * functions, carries them out. remote.h is the source that programs use: it has the file read by
 * other processes. local.h reads the file in this process, for tests. Results for a file whose
 * build-id is known, and for the running kernel, are cached (bounded, least recently used evicted
 * first), so that the next view of the same capture reads no file.
 *
 * Any user may have written the files, so the work is divided among processes:
 *
 *	this process          opens and parses no file of another process. It starts the helpers
 *	  |   |   |           (kprof-symbols ROLE) and exchanges messages with them over
 *	  |   |   |           SOCK_SEQPACKET pairs; the length of each message is checked (proto.h)
 *	  |   |  opener       has privileges, parses nothing. It opens a mapped file by
 *	  |   |               /proc/PID/map_files, a path below /proc/PID/root or the host's root, a
 *	  |   |               separate debug file by its build-id, /proc/kallsyms,
 *	  |   |               /tmp/perf-PID.map or jit-PID.dump; regular files only. It replies
 *	  |   |               with a descriptor, which this process passes on without reading it.
 *	  |   |               An open that takes longer than 2 s (200 ms if it names a process, or if
 *	  |   |               a user may serve the file system) is ended by killing the opener. A
 *	  |   |               file on a file system that a user may serve is copied, so that the
 *	  |   |               parser can't hang
 *	  |  parser           has no privileges: no capability, no open, bounded memory and CPU time.
 *	  |                   Forks a child for each file: a hostile file can give wrong names only to
 *	  |                   itself, and can crash only the child
 *	 fetcher              downloads from debuginfod with the mounting user's rights, only if the
 *	                      options name servers. The environment of the other processes is empty:
 *	                      without DEBUGINFOD_URLS no library in them contacts a server
 *
 *	request  ->  opener: open the file (host's path, map_files, the process's path; the build-id
 *	             decides, so a deleted or replaced file is found, or gets no wrong names)
 *	         ->  parser child: file; it replies with the build-id and what is missing
 *	         ->  opener, fetcher: debug file by build-id  ->  parser child
 *	         ->  parser child: addresses  ->  results
 *
 * unwind_table.h sends its requests to such children too; these keep running for it.
 *
 * If a step fails (no file, another build-id, the opener or parser exited or timed out), the
 * addresses get no result. The helper is started again for the next file. No failure here fails a
 * whole view.
 *
 * Thread-safe. A request blocks while files are read, at most for the time in `struct symbols_how`.
 */
#ifndef KPROFS_SYMBOLIZER_SYMBOLS_H
#define KPROFS_SYMBOLIZER_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stats.h"
#include "symbolizer/symbols_arena.h"

struct symbols_how {
	unsigned int flags;   /* SYMBOLS_LINES */
	int cancel_fd;        /* readable: cancel; -1 if not cancellable */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; with 0 only the single steps are limited */
	size_t arena_max; /* bytes that the arena may grow to; 0 for the maximum size of the results */
};

struct symbols_source {
	/*
	 * Sets places[i] for offsets[i], perhaps without frames, or leaves it unchanged. Returns
	 * those of `flags` that could be satisfied (the file was read, its debug information too),
	 * or -ENOENT if the file is not available, -ECANCELED, -ETIMEDOUT, or -EIO if a helper
	 * failed. Places that were set before an error are valid.
	 */
	int (*resolve)(void *self, const struct symbols_file *file, const uint64_t *offsets,
		size_t count, const struct symbols_how *how, struct symbols_arena *arena,
		struct symbols_place *places);
	/*
	 * A connection to a parser that has the file loaded, for unwind_table.h. The caller closes
	 * it. Errors as above. NULL if not supported.
	 */
	int (*connect)(void *self, const struct symbols_file *file, const struct symbols_how *how);
	/* Starts the processes that requests need; returns at once. May be NULL. */
	void (*prepare)(void *self);
	/* The number of requests that can run at the same time; 0 stands for one. */
	unsigned int lanes;
	/* Adds rows to kpstat. May be NULL. */
	void (*stats)(void *self, struct stats *stats);
	void (*destroy)(void *self);
};

struct symbols;

/* Size of the cache: the names of a few large programs take a tenth of it. */
#define SYMBOLS_CACHE_BYTES (16u << 20)

/* Takes ownership of `self`, the state of the source. cache_bytes: size of the cache, 0 if none. */
struct symbols *symbols_create(const struct symbols_source *source, void *self,
	size_t cache_bytes);
void symbols_destroy(struct symbols *symbols);

/* Starts the processes that requests need, before they are made. Returns at once. */
void symbols_prepare(struct symbols *symbols);

/*
 * Sets each of `places`; without SYMBOLS_LINES each has at most one frame. Returns 0 if all
 * available names are set, or -ECANCELED or -ETIMEDOUT if only those found until then are set.
 */
int symbols_resolve(struct symbols *symbols, const struct symbols_file *file,
	const uint64_t *offsets, size_t count, const struct symbols_how *how,
	struct symbols_arena *arena, struct symbols_place *places);

/* Returns the number of requests that can run at the same time, at least 1. Further ones wait. */
unsigned int symbols_lanes(const struct symbols *symbols);

/* Calls the source's connect(); returns -ENOENT if it has none. */
int symbols_connect(struct symbols *symbols, const struct symbols_file *file,
	const struct symbols_how *how);

/* Adds the rows symbols.* of kpstat. */
void symbols_stats(struct symbols *symbols, struct stats *stats);

#endif
