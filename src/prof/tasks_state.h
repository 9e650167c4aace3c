/* SPDX-License-Identifier: MIT */
/*
 * Shared by tasks.c (changes), tasks_walk.c (walks of /proc), tasks_files.c (build-ids),
 * tasks_reap.c (ended objects), tasks_show.c (what readers may see) and tasks_encode.c (records for
 * readers). No other file includes it.
 *
 * A process is a list of programs (what it got at its fork, then one for each exec), each with a
 * set of mappings, and its threads. A forked process shares the parent's set until one of the two
 * changes it. Every change gets the next stamp. Processes are in a list sorted by their last
 * change, and so are the threads of each, so a reader has to look at new changes only.
 */
#ifndef KPROFS_PROF_TASKS_STATE_H
#define KPROFS_PROF_TASKS_STATE_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/interned.h"
#include "kprof/records.h"
#include "prof/tasks.h"

#define TASKS_NO_USER UINT32_MAX

struct mapping {
	int refs;  /* sets and endings that hold it */
	/*
	 * another one covers it; then it is in one program's set only, and in those inherited
	 * from it
	 */
	bool ended;
	uint64_t time_ns;
	uint64_t stamp;
	uint64_t id_stamp; /* when its build-id, size and time became known, if later; 0 if not later */
	uint64_t seen_walk;	    /* as in struct process */
	uint64_t born_runs; /* likewise */
	uint64_t addr, size, offset;
	const char *path; /* of tasks.strings */
	uint8_t build_id_length;
	uint8_t build_id[KPROF_BUILD_ID_MAX];
	struct tasks_file file;
};

/* Copied before a change when refs > 1. */
struct mapping_set {
	int refs; /* programs that hold it */
	GPtrArray *mappings;
};

struct program {
	uint64_t time_ns;
	uint64_t stamp;
	uint64_t born_stamp; /* what its set has from before that was inherited by fork */
	uint64_t born_runs;
	const char *path; /* of tasks.strings; NULL from an exec until its first mapping */
	struct mapping_set *set;
	bool inherited; /* set is unchanged since the fork */
	/*
	 * If tasks are hidden: what was reported up to shown_ns is shown, since show_stamp; the program
	 * itself, if it is, since first_stamp. Before, what was reported up to before_ns was, since
	 * before_stamp.
	 */
	uint64_t shown_ns, show_stamp, first_stamp;
	uint64_t before_ns, before_stamp;
	uint64_t confirmed_ns; /* begin of the last walk that has seen it; 0 if none has */
};

struct thread {
	struct process *process;
	uint32_t tid;
	uint64_t stamp;
	uint64_t seen_walk;
	uint64_t born_runs;
	uint64_t fork_ns, comm_ns, exit_ns; /* 0 if not seen */
	uint32_t parent_pid, parent_tid;
	bool ended;
	const char *name; /* of tasks.strings, or NULL */
	GList by_change; /* in process.threads */
};

struct process {
	uint64_t id; /* unique, unlike pids */
	uint32_t pid;
	uint64_t parent_id; /* 0 if unknown */
	uint64_t fork_ns;   /* 0 if from /proc */
	uint64_t start_ns;  /* from /proc, to some ms; 0 if unknown */
	uint64_t seen_walk;	    /* tasks.walk when it was last known to exist */
	/*
	 * since when all is known of it: from a walk, or 0 if perf reported all; UINT64_MAX: an
	 * orphan, of unknown origin or in doubt, to be visited
	 */
	uint64_t known_since_ns;
	uint64_t stamp;
	/* runs that were stored when it began: without a later one no held record refers to it */
	uint64_t born_runs;
	GPtrArray *programs; /* of struct program, oldest first */
	GQueue threads;	     /* of struct thread, newest change last */
	GList by_change;     /* in tasks.by_change */
	unsigned int living; /* threads */
	bool ended;
	bool orphan;	  /* forked by an unknown process: has no mappings from it */
	uint64_t older_id; /* the one that had the pid before, if tasks are hidden; 0 if there is none */
	uint64_t show_stamp; /* the latest of its programs; 0 if none is shown */
	uint64_t seen_stamp, newest_ns; /* its stamp when it was shown, and the newest time known then */
	GArray *users; /* of struct user_change, by time; NULL: none is known */
	uint32_t born_uid; /* that of its parent at the fork; TASKS_NO_USER: not known */
	bool fork_missing; /* the thread that the fork made has exited; its FORK record is missing */
};

/* A process has another real user from then on. */
struct user_change {
	uint64_t time_ns;
	uint64_t stamp;
	uint32_t uid;
	bool walked; /* a walk of /proc has found it, maybe later than it happened */
};

enum ending_kind { END_PROCESS, END_PROGRAM, END_MAPPING, END_THREAD };

/* One thing that has ended. */
struct ending {
	enum ending_kind kind;
	bool waited; /* the rings were drained once since */
	uint64_t process_id;
	uint64_t born_runs;	 /* of the thing */
	void *thing;		 /* struct program, mapping or thread of that process */
	struct program *program; /* END_MAPPING: the one that has it */
	uint64_t seq;		 /* last block that can refer to it, once known */
	uint64_t bytes;
};

struct tasks {
	pthread_mutex_t lock;
	/* under lock */
	struct interned *strings; /* paths and names */
	GHashTable *living; /* pid to struct process */
	/* if tasks are hidden: when records may have been lost, struct tasks_gap by time; the current walk */
	GArray *gaps;
	uint64_t confirm_ns;
	GHashTable *by_pid; /* pid to the newest struct process that had it; NULL unless tasks are hidden */
	GHashTable *tids;   /* tid to struct thread: the living ones of all processes */
	GHashTable *by_id;  /* id to struct process, also those that have ended */
	GQueue by_change;   /* struct process, newest change last */
	GQueue ending, ended; /* struct ending, oldest first */
	GHashTable *wanted; /* struct tasks_file to struct tasks_wanted: to be requested */
	GQueue wanted_order; /* the same, oldest first */
	int wanted_fd;	     /* -1 if there is none */
	uint64_t next_id;
	uint64_t runs;
	/* number of the run's walk of /proc; between two runs no records are received */
	uint64_t walk;
	uint64_t walk_stamp; /* when it began, or a later one that looks for users only */
	/* struct early_user: changes of processes of which nothing else is known yet, oldest first */
	GArray *early_users;
	/* ids of processes that were forked since the last settling, and before it */
	GArray *forked, *forked_before;
	_Atomic uint64_t users_dropped;
	/*
	 * written under lock, read by any thread: relaxed, since a stale value only delays a
	 * reader
	 */
	_Atomic uint64_t stamp;
	_Atomic uint64_t bytes;
	_Atomic uint64_t missing; /* build-ids that could not be read */
};

/* ---- tasks.c: all under lock ----------------------------------------------------------------- */

static inline struct program *tasks_current_program(const struct process *p)
{
	return g_ptr_array_index(p->programs, p->programs->len - 1);
}

static inline bool tasks_overlap(const struct mapping *m, uint64_t addr, uint64_t size)
{
	return m->addr >= addr ? m->addr - addr < size : addr - m->addr < m->size;
}

/* The living one; NULL if unknown. */
struct process *tasks_find_process(struct tasks *t, uint32_t pid);
/* The same, created if neither perf nor /proc have reported it yet. */
struct process *tasks_need_process(struct tasks *t, uint64_t time_ns, uint32_t pid);
/* A living thread of p; the caller touches it if it is new. */
struct thread *tasks_need_thread(struct tasks *t, uint64_t time_ns, struct process *p, uint32_t tid);
void tasks_set_name(struct tasks *t, struct thread *thread, uint64_t time_ns, const char *name);
/* p runs another program from now on. path NULL if unknown. */
void tasks_begin_program(struct tasks *t, struct process *p, uint64_t time_ns, const char *path);

void tasks_put_mapping(struct mapping *m);
/* The program's own copy of its set, to be changed. */
GPtrArray *tasks_own_mappings(struct program *program);
void tasks_free_thread(struct thread *thread);
/* p changed now. Returns the stamp for the changed part of it. */
uint64_t tasks_touch(struct tasks *t, struct process *p);
/* The thread changed with its process. */
void tasks_touch_thread(struct tasks *t, struct thread *thread);

/* ---- tasks_walk.c: under lock ---------------------------------------------------------------- */

/* Whether p is the process that began at start_ns: false if it is not known when p did, or that is 0. */
bool tasks_is_same(const struct process *p, uint64_t start_ns);

/* ---- tasks_users.c: all under lock ------------------------------------------------------------ */

void tasks_init_users(struct tasks *t);
void tasks_clear_users(struct tasks *t);
void tasks_fini_users(struct tasks *t);
/* A process was added. */
void tasks_adopt_user(struct tasks *t, struct process *p);
/* p, whose parent is set, was forked. */
void tasks_inherit_user(struct tasks *t, struct process *p);
/* After each drain. */
void tasks_settle_users(struct tasks *t);
void tasks_encode_users(
	struct tasks *t, const struct process *p, uint64_t since, struct record_buf *buf);

/* ---- tasks_show.c: all under lock ------------------------------------------------------------ */

struct tasks_gap {
	uint64_t from_ns, to_ns;
};

/* Frees what tasks_hide() has made. */
void tasks_fini_hidden(struct tasks *t);
/* A walk has seen that the process runs its current program. */
void tasks_confirm_process(struct tasks *t, struct process *p);
/* A process was added; it will be freed. */
void tasks_hide_process(struct tasks *t, struct process *p);
void tasks_forget_pid(struct tasks *t, const struct process *p);
/* Whether readers get what was reported of a thread of it at time_ns. */
bool tasks_shows_thread(const struct tasks *t, const struct process *p, uint64_t time_ns);
/* Whether what was reported at time_ns was hidden when a reader encoded up to `since`, and is shown now. */
bool tasks_comes_into_view(const struct program *program, uint64_t time_ns, uint64_t since);
/* Whether readers get what was reported of the program at time_ns. */
static inline bool tasks_shows(const struct tasks *t, const struct program *program, uint64_t time_ns)
{
	return !t->by_pid || (program->show_stamp && time_ns <= program->shown_ns);
}

/* ---- tasks_files.c: all under lock ----------------------------------------------------------- */

void tasks_init_wanted(struct tasks *t);
void tasks_clear_wanted(struct tasks *t);
void tasks_fini_wanted(struct tasks *t);
/* Requests the build-id of the mapping, which p has, if it is unknown. */
void tasks_want_build_id(struct tasks *t, const struct process *p, const struct mapping *m);

/* ---- tasks_reap.c: all under lock ------------------------------------------------------------ */

/* Its threads whose end was not seen end with it. */
void tasks_end_process(struct tasks *t, struct process *p);
void tasks_end_program(struct tasks *t, struct process *p, struct program *program);
void tasks_end_thread(struct tasks *t, struct thread *thread, uint64_t time_ns);
/* The mapping at `index` of the program, which must have its own set. */
void tasks_end_mapping(struct tasks *t, struct process *p, struct program *program, guint index);
void tasks_free_endings(GQueue *endings);

#endif
