/* SPDX-License-Identifier: MIT */
/*
 * The processes that a question needs, as seen from the one that asks: they are started when first
 * needed, ended when they take too long, and started again (see symbols.h for who they are).
 *
 * A struct helpers is one set of them and serves one question at a time. Errors of all functions:
 * -ECANCELED, -ETIMEDOUT as `wait` says; -EIO: the helper can't be started or is broken.
 */
#ifndef KPROFS_SYMBOLIZER_HELPERS_H
#define KPROFS_SYMBOLIZER_HELPERS_H

#include <sys/types.h>

#include "symbolizer/proto.h"

/* A file system that hangs holds up a question so long. */
#define HELPERS_OPEN_NS (2 * NSEC_PER_SEC)
/*
 * What a user can make hang: a process that keeps others from its mappings, or a file system of
 * FUSE.
 */
#define HELPERS_PROCESS_NS (200 * NSEC_PER_MSEC)
/* The largest debug files take a second or two; a parser limits its CPU time itself. */
#define HELPERS_PARSE_NS (30 * NSEC_PER_SEC)
/* debuginfod may have to fetch some hundred MB. */
#define HELPERS_FETCH_NS (60 * NSEC_PER_SEC)

struct helpers_options {
	const char *program; /* path of kprof-symbols; NULL: helpers_find_program() */
	/*
	 * Ask debuginfod, at the servers that the variable DEBUGINFOD_URLS would name; NULL: don't.
	 * With the rights and the home of this user.
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

/*
 * Starts the opener and the parser where they don't run, without waiting: they will be asked soon.
 */
void helpers_prepare(struct helpers *helpers);

/*
 * Asks the opener: the descriptor of a file, the caller's; else its -errno; -ETIMEDOUT also if it
 * took longer than HELPERS_OPEN_NS, or HELPERS_PROCESS_NS where the message names a process or has
 * PROTO_ANY_MOUNT (the deadline of `wait` tells). The reply is in *message. -EXDEV: without
 * PROTO_ANY_MOUNT, or where too many hang already.
 */
int helpers_open(struct helpers *helpers, struct proto_message *message,
	const struct proto_wait *wait);

/* Asks the fetcher for a debug file; as above. -ENOENT where the options name no servers. */
int helpers_fetch(struct helpers *helpers, const uint8_t *build_id, size_t length,
	const struct proto_wait *wait);

/* A connection to a new child of the parser, which ends when it is closed; the caller's. */
int helpers_fork_parser(struct helpers *helpers, const struct proto_wait *wait);

/* Is the parser there still, apart from its children? False: the next fork starts it. */
bool helpers_has_parser(const struct helpers *helpers);

/* Ends the parser and its children: for one that does not answer. */
void helpers_kill_parser(struct helpers *helpers);

/*
 * Asks the reader (PROTO_READ_*, PROTO_BUILD_ID). What it answers is received with helpers_hear()
 * until a PROTO_READ_DONE, or until helpers_end_reader().
 */
int helpers_ask(struct helpers *helpers, const struct proto_message *message,
	const struct proto_wait *wait);
/* -EPIPE: it died. */
int helpers_hear(struct helpers *helpers, struct proto_message *message,
	const struct proto_wait *wait);
/* Ends the reader; hung: it did not answer, or has said that it hangs. */
void helpers_end_reader(struct helpers *helpers, bool hung);
/*
 * Takes the statuses of the processes that were ended; waits for them some 100 ms at most. How many
 * the kernel still holds.
 */
unsigned int helpers_reap(struct helpers *helpers);
/* Starts the reader where it does not run, without waiting. */
void helpers_prepare_reader(struct helpers *helpers);

/*
 * The path of kprof-symbols: beside the running program (in a build tree), else where it is
 * installed.
 */
char *helpers_find_program(void);

struct helpers_counts {
	uint64_t started; /* processes */
	uint64_t killed;  /* because they took too long, or their question was given up */
	unsigned int hung; /* of those, how many the kernel still holds */
};

void helpers_count(const struct helpers *helpers, struct helpers_counts *counts);

/* A deadline so many ns from now, or that of `wait` if it is sooner. */
struct proto_wait helpers_until(const struct proto_wait *wait, uint64_t ns);

#endif
