/* SPDX-License-Identifier: MIT */
/*
 * The parts of remote.c: state and the steps of a request (remote.c), messages to the parser
 * (remote_parser.c), finding the files to load (remote_find.c). Only these files include it.
 */
#ifndef KPROFS_SYMBOLIZER_REMOTE_STATE_H
#define KPROFS_SYMBOLIZER_REMOTE_STATE_H

#include <glib.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"
#include "symbolizer/helpers.h"
#include "symbolizer/proto.h"
#include "symbolizer/remote.h"

/*
 * A file that crashed or hung its parser is not tried again for this long: a view must not wait for
 * a file that another view has waited for.
 */
#define REMOTE_SKIP_NS (60 * NSEC_PER_SEC)

/*
 * If that many processes hang within this time, no process is used for the rest of it.
 */
#define REMOTE_HANGING_MAX 2
#define REMOTE_HANGING_NS (10 * NSEC_PER_SEC)

/* The kernel that runs. */
struct remote_kernel {
	uint8_t build_id[PROTO_BUILD_ID_MAX];
	size_t build_id_length;
	uint64_t start;
};

struct remote {
	/* eventfd semaphore: the number of free lanes; a read takes one (invariant) */
	int free_lanes;
	pthread_mutex_t lock;                /* covers the members below; a leaf */
	struct helpers *lanes[REMOTE_LANES]; /* (invariant) */
	/* of each lane, at the end of its last request */
	struct helpers_counts counts[REMOTE_LANES];
	bool taken[REMOTE_LANES]; /* a taken lane belongs to the request that took it */
	GHashTable *skipped;      /* path -> until when it is not tried (ns, uint64_t) */
	uint64_t hanging_since;   /* start of the period in which hanging processes are counted */
	unsigned int hanging;     /* the count */
	uint64_t no_fetch_until;  /* debuginfod timed out: it is not used before then */
	struct remote_kernel running; /* length 0 if not read yet */
	/* files that crashed their parser, or whose parser sent malformed replies */
	uint64_t parser_failures;
	uint64_t timeouts; /* openers, fetchers and parsers that timed out */
};

/* One request: its file, its set of helpers, its state. */
struct remote_request {
	struct remote *remote;
	struct helpers *helpers;
	int lane;           /* of the helpers */
	bool no_debug_file; /* load no debug file */
	const struct symbols_file *file;
	const struct symbols_how *how;
	struct proto_wait wait;        /* of the whole request */
	struct proto_message *message; /* sent and received, one after the other */
	int parser;		       /* connection to a child; -1 if there is none */
	bool replied;                  /* the child has sent a reply */
	bool other_boot; /* the file was mapped on another machine, or before a reboot */
	bool replaced;   /* a file with its name was found, but it is not the one that was mapped */
	unsigned int flags;	       /* of the last INFO */
	uint8_t build_id[PROTO_BUILD_ID_MAX];
	uint32_t build_id_length;
	char debuglink[NAME_MAX + 1]; /* the name of its debug file; "" if there is none */
	size_t arena_max;             /* bytes that the arena may grow to by its results */
	uint32_t pid; /* the process below whose root the file was found; 0 for the host's root */
};

/* Returns whether the file must not be tried now. */
bool remote_is_skipped(struct remote *remote, const char *path);
/*
 * Makes the file not be tried for a while. `timeout` says that it took too long; otherwise its
 * parser crashed or sent malformed replies.
 */
void remote_skip(struct remote *remote, const char *path, bool timeout);

/*
 * Returns whether the process must not be used now. A process that hung is not used for a while; if
 * many others hang too, none is.
 */
bool remote_avoids_process(struct remote *remote, uint32_t pid);
void remote_avoid_process(struct remote *remote, uint32_t pid);

/* Returns whether the request has been cancelled or its time is over. */
bool remote_is_over(const struct remote_request *request, int ret);

/*
 * Sends request->message with a file (-1 for none; closed here) to the parser's child and stores what
 * the reply says in the request. Starts a child if there is none.
 */
int remote_exchange(struct remote_request *request, int fd);

/* Requests results for the offsets, after all files are loaded; as symbols_source.resolve. */
int remote_resolve(struct remote_request *request, const uint64_t *offsets, size_t count,
	struct symbols_arena *arena, struct symbols_place *places);

/* Closes the connection to the child, if there is one. */
void remote_disconnect(struct remote_request *request);

/*
 * Loads the file of the request into the parser. Returns 0, -ENOENT if the file is not available,
 * or an error of remote_exchange().
 */
int remote_load(struct remote_request *request);

#endif
