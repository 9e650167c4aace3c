/* SPDX-License-Identifier: MIT */
/*
 * What processes.c (adds and sorts) and processes_find.c (answers) share; nobody else includes it.
 */
#ifndef KPROFS_CAPTURE_PROCESSES_INTERNAL_H
#define KPROFS_CAPTURE_PROCESSES_INTERNAL_H

#include <glib.h>

#include "capture/mapindex.h"
#include "capture/processes.h"
#include "capture/table.h"

/* short, inside this module */
#define NONE PROCESSES_NONE

/*
 * A chain of forks without an exec longer than this is damage or malice (two records can make each
 * other's parent): what lies beyond is not asked.
 */
#define ANCESTORS_MAX 64

struct span {
	uint32_t first;
	uint32_t count;
};

/* A pid in a section. The spans are those of the sorted arrays, set when finished. */
struct process {
	uint32_t section;
	uint32_t pid;
	struct span lives;
	struct span names;
};

struct life {
	uint32_t process;
	uint32_t parent; /* the life it was forked from, or NONE */
	uint64_t start;
	uint64_t end; /* start of the next one, or UINT64_MAX */
	const char *program; /* or NULL */
	struct span mappings;
	struct mapindex *index; /* made by the first question */
	/* the last answer about the name */
	uint64_t name_from, name_to;
	const char *name;
};

/* What begins a life. */
struct birth {
	uint64_t time_ns;
	uint32_t process;
	uint32_t parent; /* process, or NONE */
	const char *program; /* or NULL */
};

struct name {
	uint64_t time_ns;
	uint32_t process;
	const char *text;
};

/* While mappings are added: their paths, build-ids and files, in the same order. */
struct label {
	const char *path;
	uint8_t build_id[KPROF_BUILD_ID_MAX];
	uint8_t build_id_length;
	struct processes_file_id id;
};

/* The last mapping or build-id that was announced for an address of a process. */
struct place {
	uint32_t process;
	uint64_t address;
	uint32_t mapping; /* NONE: the build-id came first */
	struct label label;
};

struct processes {
	GStringChunk *strings;
	GArray *processes; /* struct process */
	struct table process_table;
	GArray *births, *names, *lives;
	GArray *mappings; /* struct mapindex_mapping; file is the label's index until finished */
	GArray *labels, *places;
	struct table place_table;
	GArray *files, *kernels;
	GArray *clocks; /* struct kprof_rec_clock, by section; wall_ns 0: not known */
	struct table file_table;
};

#define AT(array, type, i) (&g_array_index((array), struct type, (i)))

/* The entry of a pid in a section, made where there is none. */
uint32_t processes_intern(struct processes *processes, uint32_t section, uint32_t pid);
const char *processes_intern_string(struct processes *processes, const char *text);

/* Makes the lives of one process from births [first, end), the last ones of the array. */
void processes_make_lives(struct processes *processes, uint32_t process, guint first, guint end);

/* The life that a process with lives was in at this time. */
uint32_t processes_life_at(struct processes *processes, uint32_t process, uint64_t time);

#endif
