/* SPDX-License-Identifier: MIT */
/*
 * The arguments and results of a request to symbolize: a file, its places with their frames, and
 * the arena that holds the frames and strings.
 */
#ifndef KPROFS_SYMBOLIZER_SYMBOLS_ARENA_H
#define KPROFS_SYMBOLIZER_SYMBOLS_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	size_t build_id_length; /* bytes; 0 if not known */
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
	size_t build_id_length; /* bytes; 0 if not known, then `id` identifies the file */
	/*
	 * The kernel that was running. KERNEL, VDSO and JIT are symbolized, and mappings used, only
	 * if it is the kernel that runs now, because pids mean nothing on another machine. It is
	 * NULL if the kernel is not known; then none of these is done.
	 */
	const struct symbols_kernel *kernel;
	/*
	 * Some of its mappings, those of processes that may still run first. JIT: one, the process.
	 * KERNEL: none, or the region of the module (pid ignored); symbols outside it are not used.
	 */
	const struct symbols_mapping *mappings;
	size_t mapping_count;
	const char *jitdump; /* JIT: the path of the jitdump that it has mapped; NULL for none */
	/*
	 * For a file without a build-id: a file that is found is not used if its inode differs or
	 * if it was modified after mapped_ns (since 1970; 0 if not known). Inodes are compared only
	 * on the machine and boot where they were recorded, as far as `kernel` identifies these.
	 */
	struct symbols_file_id id;
	uint64_t mapped_ns;
};

struct symbols_frame {
	const char *function; /* demangled, not escaped for display */
	const char *source;   /* path of its source file; NULL if not known or not requested */
	uint32_t line;        /* 0 if not known or not requested */
};

#define SYMBOLS_LINES (1u << 0) /* source files, lines and inlined functions too: reads DWARF */

struct symbols_place {
	const struct symbols_frame *frames; /* innermost first; all but the last were inlined */
	uint32_t count;                     /* 0 if not known */
	uint64_t start; /* of the function, in the units of the request; not known if size is 0 */
	uint64_t size;	/* bytes; 0 if not known */
	bool replaced;  /* without frames: the file that was mapped was replaced or deleted */
	/* for an offset into a file that could be read: its virtual address in the file */
	bool located;
	uint64_t address;
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

#endif
