/* SPDX-License-Identifier: MIT */
/*
 * Shared by processes.c (adding and sorting) and processes_find.c (queries); included by no other
 * file.
 */
#ifndef KPROFS_CAPTURE_PROCESSES_STATE_H
#define KPROFS_CAPTURE_PROCESSES_STATE_H

#include <glib.h>

#include "capture/mapindex.h"
#include "capture/processes.h"
#include "capture/table.h"

/* a short name, inside this module */
#define NONE PROCESSES_NONE

/*
 * A chain of forks without an exec that is longer than this is damaged or malicious (two records
 * can be each other's parent): ancestors beyond this are not looked at.
 */
#define ANCESTORS_MAX 64

struct processes_span {
	uint32_t first;
	uint32_t count;
};

/* A pid in a section. The spans are of the sorted arrays, set by processes_finish(). */
struct processes_process {
	uint32_t section;
	uint32_t pid;
	struct processes_span lives;
	struct processes_span names;
	struct processes_span users;
	const char *jitdump; /* path of the jitdump that it mapped last, or NULL */
};

struct processes_life {
	uint32_t process;
	uint32_t parent; /* the life it was forked from, or NONE */
	uint64_t start;
	uint64_t end; /* start of the next one, or UINT64_MAX */
	const char *program; /* or NULL */
	struct processes_span mappings;
	struct mapindex *index; /* made by the first query */
	/* cache of processes_find_name() */
	uint64_t name_from, name_to;
	const char *name;
};

/* The beginning of a life. */
struct processes_birth {
	uint64_t time_ns;
	uint32_t process;
	uint32_t parent; /* process, or NONE */
	const char *program; /* or NULL */
};

struct processes_name {
	uint64_t time_ns;
	uint32_t process;
	const char *text;
};

struct processes_user {
	uint64_t time_ns;
	uint32_t process;
	uint32_t uid;
};

/* Used while mappings are added: their paths, build-ids and files, in the same order. */
struct processes_label {
	const char *path;
	uint8_t build_id[KPROF_BUILD_ID_MAX];
	uint8_t build_id_length;
	struct symbols_file_id id;
};

/* The last mapping or build-id that was announced for an address of a process. */
struct processes_announced {
	uint32_t process;
	uint64_t address;
	uint32_t mapping; /* NONE: the build-id came first */
	struct processes_label label;
};

struct processes {
	GStringChunk *strings;
	GHashTable *known; /* set of the texts in `strings`, which programs choose */
	GArray *processes; /* struct process */
	struct table process_table;
	GHashTable *threads; /* process << 32 | tid -> the last name of a thread that is not the first */
	GArray *births, *names, *users, *lives;
	GArray *mappings; /* struct mapindex_mapping; file is an index of labels until sorted */
	GArray *labels, *announced;
	struct table announced_table;
	GArray *files, *kernels;
	GArray *clocks; /* struct kprof_rec_clock, by section; wall_ns 0 if not known */
	struct table file_table;
};

#define AT(array, type, i) (&g_array_index((array), struct type, (i)))

/* The entry of a pid in a section; it is made if there is none. */
uint32_t processes_intern(struct processes *processes, uint32_t section, uint32_t pid);
const char *processes_intern_string(struct processes *processes, const char *text);

/* Appends the lives of one process, made from births [first, end). */
void processes_make_lives(struct processes *processes, uint32_t process, guint first, guint end);

/* The life of a process at this time; the process has at least one. */
uint32_t processes_life_at(struct processes *processes, uint32_t process, uint64_t time);

#endif
