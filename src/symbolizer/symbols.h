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
 * How the work is divided among processes, since any user may have written the files:
 *
 *	this process          opens and parses no file of another process. It starts the helpers
 *	  |   |   |           (kprof-symbols ROLE) and exchanges messages with them over
 *	  |   |   |           SOCK_SEQPACKET pairs; the length of each message is checked (proto.h)
 *	  |   |  opener       has privileges, parses nothing. It opens a mapped file by
 *	  |   |               /proc/PID/map_files, a path below /proc/PID/root or the host's root, a
 *	  |   |               separate debug file by its build-id, /proc/kallsyms,
 *	  |   |               /tmp/perf-PID.map; regular files only. It replies with a descriptor,
 *	  |   |               which this process passes on without reading it. An open that takes
 *	  |   |               longer than 2 s (200 ms if it names a process, or if a user may serve
 *	  |   |               the file system) is ended by killing the opener. A file on a file
 *system |   |               that a user may serve is copied, so that the parser can't hang | parser
 *has no privileges: no capability, no open, bounded memory and CPU time. |                   Forks
 *a child for each file: a hostile file can give wrong names only to |                   itself, and
 *can crash only the child fetcher              downloads from debuginfod with the mounting user's
 *rights, only if the options name servers. The environment of the other processes is empty: without
 *DEBUGINFOD_URLS no library in them contacts a server
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

/*
 * Frames of one address: the function, and the functions inlined into it. Deeper ones are left out.
 */
#define SYMBOLS_FRAMES_MAX 48

/* Bytes of a name or a path without its NUL; longer ones are cut. */
#define SYMBOLS_TEXT_MAX 1023

enum symbols_kind {
	SYMBOLS_ELF,    /* a file; offsets are bytes into it */
	SYMBOLS_KERNEL, /* the kernel or a module; offsets are addresses */
	SYMBOLS_VDSO,   /* the vDSO; offsets are bytes from its start */
	SYMBOLS_JIT,    /* memory without a file; offsets are addresses in the process */
};

/* A kernel, as it was when addresses of it were recorded. */
struct symbols_kernel {
	const uint8_t *build_id;
	size_t build_id_length; /* bytes; 0: not known */
	uint64_t start;		/* address of its text */
};

/* Where a file was mapped. */
struct symbols_mapping {
	uint32_t pid; /* as this process sees it */
	uint64_t start;
	uint64_t end; /* the address after its last byte */
};

/* Identity of the mapped file. Unknown members are 0; if the inode is 0, all are unknown. */
struct symbols_file_id {
	uint32_t dev_major, dev_minor; /* as in /proc/PID/maps */
	uint64_t inode;
	uint64_t generation;
	uint64_t size;
	uint64_t mtime_ns; /* since 1970 */
};

struct symbols_file {
	enum symbols_kind kind;
	const char *path; /* as mapped; for the kernel "[kernel.kallsyms]" or "[module]" */
	const uint8_t *build_id;
	size_t build_id_length; /* bytes; 0: not known, then `id` identifies the file */
	/*
	 * The kernel that was running. KERNEL, VDSO and JIT are symbolized, and mappings used, only
	 * if it is the kernel that runs now, because pids mean nothing on another machine. NULL:
	 * not known, so none of these.
	 */
	const struct symbols_kernel *kernel;
	/*
	 * Some of its mappings, those of processes that may still run first. JIT: one, the process.
	 * KERNEL: none, or the region of the module (pid ignored); symbols outside it are not used.
	 */
	const struct symbols_mapping *mappings;
	size_t mapping_count;
	/*
	 * For a file without a build-id: a file that is found is not used if its inode differs or
	 * if it was modified after mapped_ns (since 1970; 0: not known). Inodes are compared only
	 * on the machine and boot where they were recorded, as far as `kernel` identifies these.
	 */
	struct symbols_file_id id;
	uint64_t mapped_ns;
};

struct symbols_frame {
	const char *function; /* demangled, not escaped for display */
	const char *source;   /* path of its source file; NULL: not known or not requested */
	uint32_t line;        /* 0: not known or not requested */
};

struct symbols_place {
	const struct symbols_frame *frames; /* innermost first; all but the last were inlined */
	uint32_t count;                     /* 0: not known */
	uint64_t start; /* of the function, in the units of the request; with size 0: not known */
	uint64_t size;	/* bytes; 0: not known */
	bool replaced;  /* without frames: the file that was mapped was replaced or deleted */
	/* for an offset into a file that could be read: its virtual address in the file */
	bool located;
	uint64_t address;
};

#define SYMBOLS_LINES (1u << 0) /* source files, lines and inlined functions too: reads DWARF */

struct symbols_how {
	unsigned int flags;   /* SYMBOLS_LINES */
	int cancel_fd;        /* readable: cancel; -1: not cancellable */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: only the limits of the single steps */
	size_t arena_max; /* bytes that the arena may grow to; 0: the maximum size of the results */
};

/* Frames and strings of results. One thread at a time. */
struct symbols_arena;

struct symbols_arena *symbols_arena_create(void);
void symbols_arena_destroy(struct symbols_arena *arena);

/* Interns a string: equal strings have one pointer, valid as long as the arena. NULL for NULL. */
const char *symbols_arena_text(struct symbols_arena *arena, const char *text);

/* Its size in bytes, approximately. */
size_t symbols_arena_bytes(const struct symbols_arena *arena);

/* Sets *place to a copy of *from, whose frames and strings may be freed afterwards. */
void symbols_arena_place(struct symbols_arena *arena, const struct symbols_place *from,
	struct symbols_place *place);

struct symbols_source {
	/*
	 * Sets places[i] for offsets[i], perhaps without frames, or leaves it unchanged. Returns
	 * those of `flags` that could be satisfied (the file was read, its debug information too),
	 * or -ENOENT: the file is not available; -ECANCELED, -ETIMEDOUT; -EIO: a helper failed.
	 * Places that were set before an error are valid.
	 */
	int (*resolve)(void *self, const struct symbols_file *file, const uint64_t *offsets,
		size_t count, const struct symbols_how *how, struct symbols_arena *arena,
		struct symbols_place *places);
	/*
	 * A connection to a parser that has the file loaded, for unwind_table.h. The caller closes
	 * it. Errors as above. NULL: not supported.
	 */
	int (*connect)(void *self, const struct symbols_file *file, const struct symbols_how *how);
	/* Starts what requests will need; returns at once. May be NULL. */
	void (*prepare)(void *self);
	/* How many requests can run at the same time; 0: one. */
	unsigned int lanes;
	/* Adds rows to kpstat. May be NULL. */
	void (*stats)(void *self, struct stats *stats);
	void (*destroy)(void *self);
};

struct symbols;

/* Size of the cache: the names of a few large programs take a tenth of it. */
#define SYMBOLS_CACHE_BYTES (16u << 20)

/* Takes ownership of `self`, the state of the source. cache_bytes: size of the cache, 0: none. */
struct symbols *symbols_create(const struct symbols_source *source, void *self,
	size_t cache_bytes);
void symbols_destroy(struct symbols *symbols);

/* Starts what takes time, before requests are made. Returns at once. */
void symbols_prepare(struct symbols *symbols);

/*
 * Sets each of `places`; without SYMBOLS_LINES each has at most one frame. 0: complete, as far as
 * names are available; -ECANCELED, -ETIMEDOUT: what was found until then is set.
 */
int symbols_resolve(struct symbols *symbols, const struct symbols_file *file,
	const uint64_t *offsets, size_t count, const struct symbols_how *how,
	struct symbols_arena *arena, struct symbols_place *places);

/* How many requests can run at the same time, at least 1. Further ones wait. */
unsigned int symbols_lanes(const struct symbols *symbols);

/* The source's connect(); -ENOENT if it has none. */
int symbols_connect(struct symbols *symbols, const struct symbols_file *file,
	const struct symbols_how *how);

/* Adds the rows symbols.* of kpstat. */
void symbols_stats(struct symbols *symbols, struct stats *stats);

#endif
