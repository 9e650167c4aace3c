/* SPDX-License-Identifier: MIT */
/*
 * What is known of processes: names, threads, programs and executable mappings, over time.
 *
 * It is kept as state, never as bytes of the queue, so that a capture always stands alone: each
 * reader gets what has changed since it last asked, from tasks_encode(), before the samples that
 * need it. What is over (a process that ended, the program before an exec, a mapping that another
 * one replaced) stays until no block of the capture can refer to it.
 *
 * One writer (the holder of the sampler's drain lock) and any number of readers; one mutex inside,
 * which is not taken for samples. Times are CLOCK_MONOTONIC, in ns.
 */
#ifndef KPROFS_PROF_TASKS_H
#define KPROFS_PROF_TASKS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct tasks;
struct record_buf;

/* The file of a mapping; inode 0: it has none, or it is not known. */
struct tasks_file {
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	uint64_t generation; /* 0: not known */
};

/* A mapping as perf or /proc tells of it; path and build_id are copied. */
struct tasks_mapping {
	uint64_t addr;
	uint64_t size;
	uint64_t offset;
	const char *path;
	const uint8_t *build_id;
	uint8_t build_id_length; /* 0: not known */
	bool build_id_asked;	 /* it was asked for already: what is not known can't be found out */
	struct tasks_file file;
};

struct tasks *tasks_create(void);
void tasks_destroy(struct tasks *tasks);
/* Forgets everything, the living too: nothing is watched and nothing is held. The writer. */
void tasks_clear(struct tasks *tasks);

/* ---- the writer --------------------------------------------------------------------------------- */

/*
 * Around the walk of /proc with which a run begins. Nobody watched since the run before: what the walk
 * meets and is the same goes on, what it does not meet is over at time_ns. Between the two perf may
 * tell already. Later walks of the same run only add.
 */
void tasks_begin_walk(struct tasks *tasks);
void tasks_end_walk(struct tasks *tasks, uint64_t time_ns);

/*
 * Before a walk that is made since perf lost records of tasks: what is known may have changed unseen. So
 * a child whose fork is told now gets from its parent what may be so, and is to be visited, unless the
 * walk had met the parent by then.
 */
void tasks_doubt(struct tasks *tasks);

/*
 * From /proc: a process (path "" where it has no program, or none that may be seen), one of its threads,
 * one of its mappings. start_ns: when it began, to some ms, by which it is told from another one that
 * had its pid; 0: not known.
 */
void tasks_add_process(struct tasks *tasks, uint64_t time_ns, uint32_t pid, uint64_t start_ns,
	const char *path);
void tasks_add_thread(struct tasks *tasks, uint64_t time_ns, uint32_t pid, uint32_t tid,
	const char *name);
void tasks_add_mapping(struct tasks *tasks, uint64_t time_ns, uint32_t pid,
	const struct tasks_mapping *mapping);

/*
 * A process that was forked by one which the walk met only later, and that began behind the walk: it
 * must be visited too. false: no more.
 */
bool tasks_take_orphan(struct tasks *tasks, uint32_t *pid);

/* From perf, in time order. */
void tasks_fork(struct tasks *tasks, uint64_t time_ns, uint32_t pid, uint32_t tid,
	uint32_t parent_pid, uint32_t parent_tid);
void tasks_exit(struct tasks *tasks, uint64_t time_ns, uint32_t pid, uint32_t tid,
	uint32_t parent_pid, uint32_t parent_tid);
/* exec: the process runs another program from now on; its mappings follow */
void tasks_comm(struct tasks *tasks, uint64_t time_ns, uint32_t pid, uint32_t tid,
	const char *name, bool exec);

/*
 * After each drain of all rings, of which each takes all that stood in the rings at the end of the one
 * before: newest_seq is the block that the last sample can be in, runs the
 * number of runs stored so far, oldest_seq the oldest block held. Lets go what no block needs.
 */
void tasks_settle(struct tasks *tasks, uint64_t newest_seq, uint64_t runs, uint64_t oldest_seq);

/* ---- build-ids: any one thread ------------------------------------------------------------------- */

/* A file whose build-id is to be found out: perf's records of mappings do not tell it. */
struct tasks_wanted {
	struct tasks_file file;
	/* one of its mappings, the first that was told of */
	uint32_t pid;
	uint64_t addr, size, time_ns;
	char *path;
	GArray *processes; /* private */
};

/*
 * Each file whose build-id is wanted from now on lets `fd` be read (an eventfd; -1: none). Harmless at
 * any time.
 */
void tasks_watch_wanted(struct tasks *tasks, int fd);
/* The next one, to be given back with tasks_settle_wanted(). NULL: none. */
struct tasks_wanted *tasks_take_wanted(struct tasks *tasks);
/* Whether there is one. */
bool tasks_has_wanted(struct tasks *tasks);
/*
 * The answer; length 0: the file has none, or (missing) it was not to be had. Readers who have been told
 * of a mapping of it are told of it again.
 */
void tasks_settle_wanted(struct tasks *tasks, struct tasks_wanted *wanted, const uint8_t *build_id,
	uint8_t length, bool missing);
/* How many build-ids were not to be had. Any thread. */
uint64_t tasks_missing_build_ids(struct tasks *tasks);

/* Bytes kept for what is over. Any thread. */
uint64_t tasks_bytes(struct tasks *tasks);

/* ---- readers ------------------------------------------------------------------------------------ */

/* The stamp of the newest change: a reader that has encoded up to it needs nothing. Any thread. */
uint64_t tasks_stamp(struct tasks *tasks);

/*
 * Appends the records of all that changed after stamp `since` (0: everything) to buf, which grows.
 * Returns the stamp up to which the reader knows now.
 */
uint64_t tasks_encode(struct tasks *tasks, uint64_t since, struct record_buf *buf);

#endif
