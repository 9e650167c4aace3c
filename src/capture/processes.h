/* SPDX-License-Identifier: MIT */
/*
 * The processes of a capture over time: what ran under a pid at a moment, how it was called, and
 * which file an address of it belonged to.
 *
 * First everything that is known is added, in any order of time (kpdata is not sorted), then
 * processes_finish() sorts it, then questions are answered.
 *
 * A pid has lives, one after the other. A life begins with a FORK (a new process, with the mappings
 * that its parent had at that time) or with a NEW_PROCESS (another program: of the mappings only
 * those announced at that time or later count); both of one time begin one life. What is known
 * about a pid before its first NEW_PROCESS belongs to that life, unless a FORK came first. An EXIT
 * ends nothing by itself: threads of a process outlive its first thread, and who takes over the pid
 * announces it.
 *
 * An address at a time belongs to the latest mapping of that life that was announced by then; else
 * to what the parent had when it forked, and so on; else (the announcement came after the fact) to
 * the earliest mapping of any of these that covers it.
 *
 * Captures put one behind another are sections: each CLOCK record begins one, and pids and times
 * mean nothing across their borders. One thread at a time.
 */
#ifndef KPROFS_CAPTURE_PROCESSES_H
#define KPROFS_CAPTURE_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kprof/records.h"

#define PROCESSES_NONE UINT32_MAX

/* The running kernel as a section describes it. */
struct processes_kernel {
	uint64_t start; /* address of its text */
	uint8_t build_id[KPROF_BUILD_ID_MAX];
	uint8_t build_id_length; /* 0: not known */
};

/* Which file was mapped, where it has no build-id. */
struct processes_file_id {
	uint32_t dev_major, dev_minor;
	uint64_t inode; /* 0: not known, then nothing of it is */
	/* 0: not known */
	uint64_t generation;
	uint64_t size;
	uint64_t mtime_ns;
};

/* Where a file was mapped. */
struct processes_mapping {
	uint32_t pid;
	uint64_t start;
	uint64_t end; /* the first address behind it */
};

#define PROCESSES_FILE_MAPPINGS 4

/*
 * A file that was mapped: once for each path and build-id, or file id, over all sections. Memory
 * without a file: once for each process, and offsets in it are addresses.
 */
struct processes_file {
	const char *path;
	uint8_t build_id[KPROF_BUILD_ID_MAX];
	uint8_t build_id_length; /* 0: not known */
	struct processes_file_id id;
	/* when it was mapped first, in ns since 1970; 0: not known */
	uint64_t mapped_ns;
	uint32_t kernel;	 /* of the kernel or a module: which kernel; else PROCESSES_NONE */
	uint32_t process;	 /* without a file: a number for its process; else PROCESSES_NONE */
	uint32_t ran_on; /* the kernel that the mappings below ran on; PROCESSES_NONE: not known */
	/* the first mapping_count of these: the last ones announced, in no order */
	struct processes_mapping mappings[PROCESSES_FILE_MAPPINGS];
	uint32_t mapping_count;
	uint32_t mapping_next; /* where the next one goes, once there are enough */
};

struct processes;

struct processes *processes_create(void);
void processes_destroy(struct processes *processes);

/*
 * ---- what is known ----------------------------------------------------------------------------
 */

void processes_add_mapping(struct processes *processes, uint32_t section,
	const struct kprof_rec_mmap *mmap, const char *path);
/* Belongs to the last mapping added for this pid and address, or to the next. */
void processes_add_build_id(struct processes *processes, uint32_t section,
	const struct kprof_rec_build_id *build_id, const uint8_t *bytes);
/* Belongs to a mapping as a build-id does. */
void processes_add_file_id(struct processes *processes, uint32_t section,
	const struct kprof_rec_file_id *head, const struct processes_file_id *id);
/* What time it was at a time of the section. */
void processes_add_clock(struct processes *processes, uint32_t section,
	const struct kprof_rec_clock *clock);
void processes_add_program(struct processes *processes, uint32_t section,
	const struct kprof_rec_new_process *new_process, const char *path);
void processes_add_name(struct processes *processes, uint32_t section,
	const struct kprof_rec_comm *comm, const char *name);
void processes_add_fork(struct processes *processes, uint32_t section,
	const struct kprof_rec_fork *fork);

void processes_finish(struct processes *processes);

/* What all of it takes beyond its strings, once it can answer: an upper bound. */
size_t processes_bytes(const struct processes *processes);

/*
 * ---- questions --------------------------------------------------------------------------------
 */

/* The life that pid was in at this time; a pid that nobody announced gets one without anything. */
uint32_t processes_find_life(struct processes *processes, uint32_t section, uint32_t pid,
	uint64_t time);

struct processes_hit {
	uint32_t file;	 /* PROCESSES_NONE: no mapping */
	uint64_t offset; /* into the file; in the kernel and without a mapping the address itself */
	uint64_t from;	 /* the answer is the same from this time */
	uint64_t to;	 /* to the one before this */
};

/* Is any mapping of it known, its own or of what it was forked from? */
bool processes_has_mappings(const struct processes *processes, uint32_t life);

/* What an address was, in user space of that life, or in the kernel of that section. */
void processes_find_user(struct processes *processes, uint32_t life, uint64_t address,
	uint64_t time, struct processes_hit *hit);
void processes_find_kernel(struct processes *processes, uint32_t section, uint64_t address,
	uint64_t time, struct processes_hit *hit);

/*
 * The name at this time: the last one announced (COMM), else the parent's, else the first one to
 * come, else the program's, else "pid N". Lives as long as `processes`; equal names are one
 * pointer.
 */
const char *processes_find_name(struct processes *processes, uint32_t life, uint64_t time);

/* The path of the program that ran then, or in what it was forked from; NULL: not known. */
const char *processes_program(const struct processes *processes, uint32_t life);

uint32_t processes_pid(const struct processes *processes, uint32_t life);

uint32_t processes_file_count(const struct processes *processes);
const struct processes_file *processes_file(const struct processes *processes, uint32_t file);
const struct processes_kernel *processes_kernel(const struct processes *processes,
	uint32_t kernel);

#endif
