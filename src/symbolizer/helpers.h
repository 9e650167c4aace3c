/* SPDX-License-Identifier: MIT */
/*
 * The helper processes that a request needs, as the client process sees them. They are started when
 * first needed, killed when they take too long, and started again (symbols.h lists the roles).
 *
 * A struct helpers is one set of processes and serves one request at a time. Errors of all
 * functions: they return -ECANCELED or -ETIMEDOUT as `wait` says, -EIO if the helper can't be
 * started or failed.
 */
#ifndef KPROFS_SYMBOLIZER_HELPERS_H
#define KPROFS_SYMBOLIZER_HELPERS_H

#include <sys/types.h>

#include "symbolizer/proto.h"
#include "sys/proc.h"

/* Time limit of an open, for file systems that hang. */
#define HELPERS_OPEN_NS (2 * NSEC_PER_SEC)
/*
 * Time limit of operations that a user can block: on a process whose mmap lock is held, or on a
 * FUSE file system.
 */
#define HELPERS_PROCESS_NS (200 * NSEC_PER_MSEC)
/* The largest debug files take a second or two; the parser limits its CPU time itself. */
#define HELPERS_PARSE_NS (30 * NSEC_PER_SEC)
/* The reader limits its own time (200 ms for a process, 500 ms for all): this is for one that hangs. */
#define HELPERS_READ_NS (2 * NSEC_PER_SEC)
/* debuginfod may have to download some hundred MB. */
#define HELPERS_FETCH_NS (60 * NSEC_PER_SEC)

struct helpers_options {
	const char *program; /* path of kprof-symbols; NULL for the one beside the running program,
				or the installed one */
	/*
	 * The servers for debuginfod, as the variable DEBUGINFOD_URLS names them; NULL if
	 * debuginfod is not used. The fetcher runs with the rights and the home directory of this
	 * user.
	 */
	const char *debuginfod_urls;
	const char *home;
	uid_t uid;
	gid_t gid;
};

struct helpers;

/* The options are copied. Starts nothing yet. */
struct helpers *helpers_create(const struct helpers_options *options);
/* Ends the processes. */
void helpers_destroy(struct helpers *helpers);

/* Starts the opener and the parser if they don't run. Does not wait. */
void helpers_prepare(struct helpers *helpers);

/*
 * Sends the message to the opener and returns the descriptor of a file, which the caller closes, or
 * -errno. It is also -ETIMEDOUT if the open took longer than HELPERS_OPEN_NS, or HELPERS_PROCESS_NS
 * if the message names a process or has PROTO_ANY_MOUNT (the deadline of `wait` tells them apart).
 * The reply is in *message. Returns -EXDEV if the file needs PROTO_ANY_MOUNT or too many helpers
 * hang already.
 */
int helpers_open(struct helpers *helpers, struct proto_message *message,
	const struct proto_wait *wait);

/*
 * Lets the fetcher download a debug file; as above. Returns -ENOENT if the options name no servers.
 */
int helpers_fetch(struct helpers *helpers, const uint8_t *build_id, size_t length,
	const struct proto_wait *wait);

/* Returns a connection to a new child of the parser. The caller closes it, which ends the child. */
int helpers_fork_parser(struct helpers *helpers, const struct proto_wait *wait);

/* Returns whether the parser itself still runs. If not, the next fork starts it. */
bool helpers_has_parser(const struct helpers *helpers);

/* Kills the parser and its children: for a parser that does not reply. */
void helpers_kill_parser(struct helpers *helpers);

/*
 * Sends a message to the reader (PROTO_READ_*, PROTO_BUILD_ID), and calls the visitor for each record
 * of its replies, and `unreadable`, which may be NULL, for each process that could not be read in
 * time. The last reply, a PROTO_READ_DONE, is then in *message. After an error the next one starts
 * the reader again.
 * Returns -EPIPE if the reader has exited, -EBADMSG, or the value of a callback if it is not 0.
 */
int helpers_read(struct helpers *helpers, struct proto_message *message,
	const struct proc_visitor *visitor, int (*unreadable)(void *arg, pid_t pid), int cancel_fd);
/* Ends the reader. `hung` says that it did not reply, or that it reported PROTO_HUNG. */
void helpers_end_reader(struct helpers *helpers, bool hung);
/*
 * Reaps the killed processes; waits for them some 100 ms at most. Returns how many have not exited.
 */
unsigned int helpers_reap(struct helpers *helpers);
/* Starts the reader if it does not run. Does not wait. */
void helpers_prepare_reader(struct helpers *helpers);

/*
 * Returns the path of kprof-symbols, to be freed: beside the running program (in a build tree), else where it
 * was to be installed, else in ../libexec/kprofs beside the running program. It may be missing.
 */
char *helpers_find_program(void);

struct helpers_counts {
	uint64_t started; /* processes */
	uint64_t killed;  /* after a timeout, or because their request was cancelled */
	unsigned int hung; /* how many killed processes have not exited */
};

void helpers_count(const struct helpers *helpers, struct helpers_counts *counts);

/* A deadline that many ns from now, or that of `wait` if it is sooner. */
struct proto_wait helpers_until(const struct proto_wait *wait, uint64_t ns);

#endif
