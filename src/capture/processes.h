/* SPDX-License-Identifier: MIT */
/*
 * The processes of a capture over time: which process had a pid at a given time, its name, and the
 * file that an address of it belonged to.
 *
 * First everything known is added, in any order of time (kpdata is not sorted). Then
 * processes_finish() sorts it. After that it can be queried.
 *
 * A pid has lives, one after the other. A life begins with a FORK (a new process, with the mappings
 * that its parent had at that time) or with a NEW_PROCESS (another program: of the mappings only
 * those announced at that time or later count). Both at the same time begin one life. What is known
 * about a pid before its first NEW_PROCESS belongs to that life, unless a FORK came first. An EXIT
 * does not end a life: threads of a process outlive its first thread, and a new process with the
 * same pid is announced.
 *
 * An address at a given time belongs to the latest mapping of that life that was announced by then;
 * else to a mapping that the parent had when it forked, and so on; else (the mapping was announced
 * late) to the earliest mapping of any of these that covers it.
 *
 * Captures that were concatenated are sections: each CLOCK record begins one. Pids and times of
 * different sections have nothing to do with each other. One thread at a time.
 */
#ifndef KPROFS_CAPTURE_PROCESSES_H
#define KPROFS_CAPTURE_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kprof/records.h"
#include "symbolizer/symbols_arena.h"

#define PROCESSES_NONE UINT32_MAX

/* The running kernel that a section describes. */
struct processes_kernel {
	uint64_t start; /* address of its text */
	uint8_t build_id[KPROF_BUILD_ID_MAX];
	uint8_t build_id_length; /* 0 if not known */
};

#define PROCESSES_FILE_MAPPINGS 4

/*
 * A file that was mapped: once for each path and build-id, or file id, over all sections. Memory
 * without a file: once for each process, and offsets in it are addresses.
 */
struct processes_file {
	const char *path;
	uint8_t build_id[KPROF_BUILD_ID_MAX];
	uint8_t build_id_length; /* 0 if not known */
	struct symbols_file_id id; /* for a file without a build-id */
	/* when it was first mapped, in ns since 1970; 0 if not known */
	uint64_t mapped_ns;
	uint32_t kernel;	 /* which kernel, of a kernel or module; else PROCESSES_NONE */
	uint32_t process;	 /* of memory without a file: its process; else PROCESSES_NONE */
	uint32_t ran_on; /* the kernel that the mappings below ran on; PROCESSES_NONE if not known */
	/* a ring of the mapping_count last announced mappings */
	struct symbols_mapping mappings[PROCESSES_FILE_MAPPINGS];
	uint32_t mapping_count;
	uint32_t mapping_next; /* index of the next one */
};

struct processes;

struct processes *processes_create(void);
void processes_destroy(struct processes *processes);

/* ---- adding ---------------------------------------------------------------------------------- */

void processes_add_mapping(struct processes *processes, uint32_t section,
	const struct kprof_rec_mmap *mmap, const char *path);
/* Belongs to the last mapping added for this pid and address, or to the next. */
void processes_add_build_id(struct processes *processes, uint32_t section,
	const struct kprof_rec_build_id *build_id, const uint8_t *bytes);
/* Belongs to a mapping as a build-id does. */
void processes_add_file_id(struct processes *processes, uint32_t section,
	const struct kprof_rec_file_id *head, const struct symbols_file_id *id);
/* The wall-clock time at a time of the section. */
void processes_add_clock(struct processes *processes, uint32_t section,
	const struct kprof_rec_clock *clock);
void processes_add_program(struct processes *processes, uint32_t section,
	const struct kprof_rec_new_process *new_process, const char *path);
void processes_add_name(struct processes *processes, uint32_t section,
	const struct kprof_rec_comm *comm, const char *name);
void processes_add_user(struct processes *processes, uint32_t section, const struct kprof_rec_user *user);
void processes_add_fork(struct processes *processes, uint32_t section,
	const struct kprof_rec_fork *fork);

void processes_finish(struct processes *processes);

/* An upper bound of the memory that it takes once it was queried, without the strings. */
size_t processes_bytes(const struct processes *processes);

/* ---- queries --------------------------------------------------------------------------------- */

/* The life of the pid at this time. A pid that no record announced gets an empty one. */
uint32_t processes_find_life(struct processes *processes, uint32_t section, uint32_t pid,
	uint64_t time);

struct processes_hit {
	uint32_t file;	 /* PROCESSES_NONE if there is no mapping */
	uint64_t offset; /* into the file; in the kernel and without a mapping the address itself */
	uint64_t from;	 /* the result is the same from this time */
	uint64_t to;	 /* up to, but not including, this time */
};

/* Whether any mapping of the life or of its ancestors is known. */
bool processes_has_mappings(const struct processes *processes, uint32_t life);

/*
 * The file and offset of an address, in user space of that life, or in the kernel of that section.
 */
void processes_find_user(struct processes *processes, uint32_t life, uint64_t address,
	uint64_t time, struct processes_hit *hit);
void processes_find_kernel(struct processes *processes, uint32_t section, uint64_t address,
	uint64_t time, struct processes_hit *hit);

/*
 * Returns the name at this time: the last one announced (COMM), otherwise the parent's, otherwise
 * the first later one, otherwise the program's, otherwise "pid N". Valid as long as `processes`;
 * equal names are the same pointer.
 */
const char *processes_find_name(struct processes *processes, uint32_t life, uint64_t time);

/*
 * Returns the last name announced of a thread of the process, or NULL if none was announced or it
 * is the first thread, whose name is that of the process. Valid as above.
 */
const char *processes_thread_name(const struct processes *processes, uint32_t life, uint32_t tid);

/* The path of the program of that life, or of its nearest ancestor with one; NULL if it is not known. */
const char *processes_program(const struct processes *processes, uint32_t life);

#define PROCESSES_NO_USER UINT32_MAX

/*
 * The real user at this time: the last one announced (USER), otherwise the parent's, otherwise the first
 * later one; PROCESSES_NO_USER if none was announced.
 */
uint32_t processes_user(const struct processes *processes, uint32_t life, uint64_t time);

/*
 * Whether the pid is that of this life, or of a process that it descends from as far as forks were
 * announced.
 */
bool processes_descends_from(const struct processes *processes, uint32_t life, uint32_t pid);

/* The section of the capture in which a life is. */
uint32_t processes_section(const struct processes *processes, uint32_t life);

uint32_t processes_pid(const struct processes *processes, uint32_t life);

/*
 * The path of the file jit-N.dump that a process (processes_file.process) has mapped, as a JIT does
 * that writes one; NULL if it has none. Valid as long as `processes`.
 */
const char *processes_jitdump(const struct processes *processes, uint32_t process);

uint32_t processes_file_count(const struct processes *processes);
const struct processes_file *processes_file(const struct processes *processes, uint32_t file);
const struct processes_kernel *processes_kernel(const struct processes *processes,
	uint32_t kernel);

#endif
