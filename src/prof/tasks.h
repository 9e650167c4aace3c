/* SPDX-License-Identifier: MIT */
/*
 * Processes: names, threads, programs and executable mappings, over time.
 *
 * They are kept as state, never as records in the queue, so that a capture is always complete: each
 * reader gets what has changed since its last call, from tasks_encode(), before the samples that
 * need it. Ended objects (an exited process, the program before an exec, a mapping that was
 * replaced) are kept until no block of the capture can refer to them.
 *
 * There is one writer (the holder of the sampler's drain lock) and any number of readers; one
 * mutex inside, which is not taken for samples. Times are CLOCK_MONOTONIC, in ns.
 */
#ifndef KPROFS_PROF_TASKS_H
#define KPROFS_PROF_TASKS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct tasks;
struct record_buf;

/* The file of a mapping; inode 0 if it has none, or it is unknown. */
struct tasks_file {
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	uint64_t generation; /* 0 if not known */
	uint64_t size, mtime_ns; /* of its content, which does not identify it; 0 if not known */
};

/* A mapping as perf or /proc reports it; path and build_id are copied. */
struct tasks_mapping {
	uint64_t addr;
	uint64_t size;
	uint64_t offset;
	const char *path;
	const uint8_t *build_id;
	uint8_t build_id_length; /* 0 if not known */
	bool build_id_requested;	 /* it was requested before: an unknown one stays unknown */
	struct tasks_file file;
};

struct tasks *tasks_create(void);
void tasks_destroy(struct tasks *tasks);
/*
 * Readers get records of those processes only for which tasks_show() was called. For a capture of the tasks
 * of one user: perf reports mappings and names of all. Called before anything else.
 */
void tasks_hide(struct tasks *tasks);
/* Removes everything, living processes too: no run is active and no sample is held. The writer. */
void tasks_clear(struct tasks *tasks);

/* ---- the writer ------------------------------------------------------------------------------ */

/*
 * Around the walk of /proc with which a run begins. Since the previous run no records were
 * received: what the walk sees unchanged is kept, what it does not see has ended at time_ns.
 * Between the two calls perf's records may be added already. Later walks of the same run only
 * add.
 */
void tasks_begin_walk(struct tasks *tasks);
void tasks_end_walk(struct tasks *tasks, uint64_t time_ns);

/*
 * Before a walk that is made because perf lost records of tasks: the state may have changed
 * unnoticed. From then on a child gets from its parent at its fork what is probably right, and is
 * to be visited, unless the walk had seen the parent by then.
 */
void tasks_doubt(struct tasks *tasks);

/*
 * From /proc: a process (path "" if it has no program, or none that may be read), one of its
 * threads, one of its mappings. start_ns: when it began, to some ms, which distinguishes it from
 * another process with the same pid; 0 if unknown.
 */
void tasks_add_process(struct tasks *tasks, uint64_t time_ns, uint32_t pid, uint64_t start_ns,
	const char *path);
/*
 * Its real user. Any thread. Processes that are not known, or that did not begin at start_ns (0: unknown),
 * are left out.
 */
void tasks_add_user(struct tasks *tasks, uint64_t time_ns, uint32_t pid, uint64_t start_ns, uint32_t uid);
/*
 * A walk of /proc that looks for users only begins, since reports of changes were lost: what is reported from
 * now on is newer than what it finds. Any thread.
 */
void tasks_begin_users(struct tasks *tasks);
void tasks_add_thread(struct tasks *tasks, uint64_t time_ns, uint32_t pid, uint32_t tid,
	const char *name);
void tasks_add_mapping(struct tasks *tasks, uint64_t time_ns, uint32_t pid,
	const struct tasks_mapping *mapping);

/*
 * A process that was forked by one which the walk saw only later, and that began after the walk's
 * position: it must be visited too. false if there are no more.
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
 * The real user of the process changed at time_ns, or another id of it did, as the kernel reports it
 * (prof/userwatch.h), in any order with the records of perf. Any thread.
 */
void tasks_user_changed(struct tasks *tasks, uint64_t time_ns, uint32_t pid, uint32_t uid);
/* How many changes of users were left out, since a process had too many. Any thread. */
uint64_t tasks_users_dropped(struct tasks *tasks);

/*
 * A sample of the process was taken at time_ns: readers get the program that it had then, and what was
 * reported of it up to that time, but no later program, which may be another user's. Only after
 * tasks_hide(), and before readers can read the sample.
 */
void tasks_show(struct tasks *tasks, uint32_t pid, uint64_t time_ns);
/*
 * Between these times records of tasks may have been lost: a sample after it does not show what was known
 * before, which may be of another process that had the pid, unless a walk has seen it since.
 */
void tasks_lose(struct tasks *tasks, uint64_t from_ns, uint64_t to_ns);
/* A walk of /proc begins now: what it adds is so since then. Before tasks_begin_walk() and tasks_doubt(). */
void tasks_confirm(struct tasks *tasks, uint64_t time_ns);

/*
 * After each drain of all rings. Each drain reads all that was in the rings at the end of the
 * drain before it. newest_seq is the block of the last sample, runs the number of runs stored so
 * far, oldest_seq the oldest block held. Forgets what no block needs.
 */
void tasks_settle(struct tasks *tasks, uint64_t newest_seq, uint64_t runs, uint64_t oldest_seq);

/* ---- build-ids: any one thread --------------------------------------------------------------- */

/* A file whose build-id is to be read: perf's records of mappings do not have it. */
struct tasks_wanted {
	struct tasks_file file;
	/* one of its mappings, the first that was reported */
	uint32_t pid;
	uint64_t addr, size, time_ns;
	char *path;
	GArray *processes; /* private */
};

/*
 * `fd` (an eventfd; -1 if none) becomes readable for each file whose build-id is wanted from now
 * on. Allowed at any time.
 */
void tasks_watch_wanted(struct tasks *tasks, int fd);
/* The next one, to be returned with tasks_settle_wanted(). NULL if there is none. */
struct tasks_wanted *tasks_take_wanted(struct tasks *tasks);
/* Whether there is one. */
bool tasks_has_wanted(struct tasks *tasks);
/*
 * The result, with size and time in wanted->file; length 0 if the file has none, or (missing) it could not
 * be read. Readers that have got a mapping of it get the mapping again.
 */
void tasks_settle_wanted(struct tasks *tasks, struct tasks_wanted *wanted, const uint8_t *build_id,
	uint8_t length, bool missing);
/* How many build-ids could not be read. Any thread. */
uint64_t tasks_missing_build_ids(struct tasks *tasks);

/* Bytes kept for what has ended. Any thread. */
uint64_t tasks_bytes(struct tasks *tasks);

/* ---- readers --------------------------------------------------------------------------------- */

/* The stamp of the newest change: a reader that has encoded up to it needs nothing. Any thread. */
uint64_t tasks_stamp(struct tasks *tasks);

/*
 * Appends the records of all that changed after stamp `since` (of everything if it is 0) to buf,
 * which grows. Returns the stamp of the newest change included.
 */
uint64_t tasks_encode(struct tasks *tasks, uint64_t since, struct record_buf *buf);

/*
 * The same of everything about the processes that had one of these pids (a set), and about their
 * ancestors.
 */
void tasks_encode_of(struct tasks *tasks, GHashTable *pids, struct record_buf *buf);

#endif
