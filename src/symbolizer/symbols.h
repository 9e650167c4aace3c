/* SPDX-License-Identifier: MIT */
/*
 * Addresses to names: the interface, and what is remembered between two questions.
 *
 * Questions come in batches, all addresses of one file at once. Who answers is a source, a const
 * table of functions: remote.h asks processes of their own, which is what programs use; local.h
 * reads the file in this process, for tests. Answers about a file whose build-id is known, and
 * about the running kernel, are kept (bounded, least recently used first out), so that the next
 * view of the same capture asks nobody.
 *
 * How the work is split, since the files may have been written by anyone:
 *
 *	this process          opens no file of another process and parses none. It owns the others
 *	  |   |   |           (forked and executed: kprof-symbols ROLE), and talks with them over
 *	  |   |   |           SOCK_SEQPACKET pairs, in messages whose every length is checked (proto.h)
 *	  |   |  opener       has rights, parses nothing: a mapped file by /proc/PID/map_files, a path
 *	  |   |               below /proc/PID/root or the host's root, a separate debug file by its
 *	  |   |               build-id, /proc/kallsyms, /tmp/perf-PID.map. Regular files only. Answers
 *	  |   |               with a descriptor, which this process passes on unread. What takes longer
 *	  |   |               than 2 s (a file system that hangs; of a process, or on a file system
 *	  |   |               that a user may serve, 200 ms) is ended by killing it. Of the latter
 *	  |   |               it makes a copy, so that the parser can't hang
 *	  |  parser           no rights at all: no capability, no open, bounded memory and CPU time.
 *	  |                   Forks a child for each file, so that a hostile file can give wrong
 *	  |                   names to itself only, and can kill only the child
 *	 fetcher              asks debuginfod, with the mounting user's rights; only where the options
 *	                      name servers. No other process knows DEBUGINFOD_URLS: their environment is
 *	                      empty, so that no library asks behind our back
 *
 *	question  ->  opener: where is it? (host's path, map_files, the process's path; the build-id
 *	              decides, so a file that was deleted or replaced is found or not named wrongly)
 *	          ->  parser child: file; it answers what it is and whether symbols are missing
 *	          ->  opener, fetcher: debug file by build-id  ->  parser child
 *	          ->  parser child: addresses  ->  answers
 *
 * How functions are unwound is asked of such children too, which stay for it: rows.h.
 *
 * A step that fails (no file, another build-id, opener or parser died or took too long) leaves the
 * addresses without an answer; the dead are started again for the next file. Nothing here fails
 * a whole view.
 *
 * Thread-safe. A question blocks while files are read, as long as `struct symbols_how` says.
 */
#ifndef KPROFS_SYMBOLIZER_SYMBOLS_H
#define KPROFS_SYMBOLIZER_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stats.h"

/* Frames of one address: the function and what was inlined into it. Deeper ones are left out. */
#define SYMBOLS_FRAMES_MAX 48

/* Bytes of a name or a path without its NUL; the rest is cut. */
#define SYMBOLS_TEXT_MAX 1023

enum symbols_kind {
	SYMBOLS_ELF,	/* a file; offsets are bytes into it */
	SYMBOLS_KERNEL, /* the kernel or a module; offsets are addresses */
	SYMBOLS_VDSO,	/* what the kernel maps into programs; offsets are bytes from its start */
	SYMBOLS_JIT,	/* memory without a file; offsets are addresses in the process */
};

/* A kernel, as whoever recorded addresses of it saw it. */
struct symbols_kernel {
	const uint8_t *build_id;
	size_t build_id_length; /* bytes; 0: not known */
	uint64_t start;		/* address of its text */
};

/* Where a file was mapped. */
struct symbols_mapping {
	uint32_t pid; /* as this process sees it */
	uint64_t start;
	uint64_t end; /* the first address behind it */
};

/* Which file was mapped. What is not known is 0; without inode nothing is. */
struct symbols_file_id {
	uint32_t dev_major, dev_minor; /* as in /proc/PID/maps */
	uint64_t inode;
	uint64_t generation;
	uint64_t size;
	uint64_t mtime_ns; /* since 1970 */
};

struct symbols_file {
	enum symbols_kind kind;
	const char *path; /* as it was mapped; of the kernel "[kernel.kallsyms]" or "[module]" */
	const uint8_t *build_id;
	size_t build_id_length; /* bytes; 0: not known, then the file is told by its id */
	/*
	 * The kernel that was running. KERNEL, VDSO and JIT are answered, and mappings looked at,
	 * only if it is the one that runs now: pids mean nothing on another machine. Not known
	 * (NULL): none of it.
	 */
	const struct symbols_kernel *kernel;
	/*
	 * A few mappings of it, those of processes that may be alive first. JIT: one, the process.
	 * KERNEL: none, or the region of the module, pid ignored; symbols elsewhere are not its.
	 */
	const struct symbols_mapping *mappings;
	size_t mapping_count;
	/*
	 * Of a file without a build-id: what is found is another file, and not used, where the
	 * inode differs or it was modified later than mapped_ns (since 1970; 0: not known). An
	 * inode is compared only on the machine and boot where it was recorded, as far as `kernel`
	 * tells.
	 */
	struct symbols_file_id id;
	uint64_t mapped_ns;
};

struct symbols_frame {
	const char *function; /* demangled, not made printable */
	const char *source;   /* path of its source file, NULL: not known or not asked for */
	uint32_t line;	      /* 0: not known or not asked for */
};

struct symbols_place {
	const struct symbols_frame *frames; /* innermost first; all but the last were inlined */
	uint32_t count; /* 0: can't be told */
	uint64_t start; /* of the function, in the units of the question; 0 with size 0: not known */
	uint64_t size;	/* bytes; 0: not known */
	bool replaced; /* without frames: the file that was mapped is not there any more */
	/* of an offset into a file that could be read: the address that the file itself gives it */
	bool located;
	uint64_t address;
};

#define SYMBOLS_LINES (1u << 0) /* files, lines and inlined functions too: reads DWARF */

struct symbols_how {
	unsigned int flags;   /* SYMBOLS_LINES */
	int cancel_fd;	      /* readable: give up; -1: nobody will */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC, 0: none but those of the single steps */
	size_t arena_max;     /* bytes that the arena may grow to, 0: as large as answers can be */
};

/* Frames and strings of answers. One thread at a time. */
struct symbols_arena;

struct symbols_arena *symbols_arena_create(void);
void symbols_arena_destroy(struct symbols_arena *arena);

/* One pointer for equal strings, as long as the arena; NULL for NULL. */
const char *symbols_arena_text(struct symbols_arena *arena, const char *text);

/* What it has grown to, roughly. */
size_t symbols_arena_bytes(const struct symbols_arena *arena);

/* Sets *place to a copy of *from, whose frames and strings may go. */
void symbols_arena_place(struct symbols_arena *arena, const struct symbols_place *from,
	struct symbols_place *place);

struct symbols_source {
	/*
	 * Sets places[i] for offsets[i], perhaps without frames, or leaves it alone. Returns how
	 * much of flags could be honoured (the file was read, its debug information too), or
	 * -ENOENT: no such file to be had; -ECANCELED, -ETIMEDOUT; -EIO: whoever should answer is
	 * broken. Places set before an error count.
	 */
	int (*resolve)(void *self, const struct symbols_file *file, const uint64_t *offsets,
		size_t count, const struct symbols_how *how, struct symbols_arena *arena,
		struct symbols_place *places);
	/*
	 * A connection to a parser that has the file open, for rows_ask(); the caller's to close.
	 * Errors as above. NULL: never.
	 */
	int (*connect)(void *self, const struct symbols_file *file, const struct symbols_how *how);
	/* Questions are about to come; returns at once. May be NULL. */
	void (*prepare)(void *self);
	/* So many questions may be asked side by side; 0: one. */
	unsigned int lanes;
	/* Adds rows to kpstat. May be NULL. */
	void (*stats)(void *self, struct stats *stats);
	void (*destroy)(void *self);
};

struct symbols;

/* What is kept between questions: names of a few large programs take a tenth of it. */
#define SYMBOLS_CACHE_BYTES (16u << 20)

/* Takes the source over, with its state. cache_bytes: what may be kept, 0: nothing. */
struct symbols *symbols_create(const struct symbols_source *source, void *self,
	size_t cache_bytes);
void symbols_destroy(struct symbols *symbols);

/* Questions are about to come: what takes time to start may start now. Returns at once. */
void symbols_prepare(struct symbols *symbols);

/*
 * Sets each of `places`; without SYMBOLS_LINES each has at most one frame. 0: everything that can
 * be known is in it; else -ECANCELED, -ETIMEDOUT: what was known by then is.
 */
int symbols_resolve(struct symbols *symbols, const struct symbols_file *file,
	const uint64_t *offsets, size_t count, const struct symbols_how *how,
	struct symbols_arena *arena, struct symbols_place *places);

/* So many threads can ask at once and gain by it; at least 1. More of them wait for each other. */
unsigned int symbols_lanes(const struct symbols *symbols);

/* The source's connect(); -ENOENT where it has none. */
int symbols_connect(struct symbols *symbols, const struct symbols_file *file,
	const struct symbols_how *how);

/* symbols.* rows of kpstat. */
void symbols_stats(struct symbols *symbols, struct stats *stats);

#endif
