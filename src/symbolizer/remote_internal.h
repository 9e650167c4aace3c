/* SPDX-License-Identifier: MIT */
/*
 * What remote.c is divided into: its state and the course of a question (remote.c), what is said to
 * a parser (remote_talk.c), and which files it is given (remote_find.c). For these only.
 */
#ifndef KPROFS_SYMBOLIZER_REMOTE_INTERNAL_H
#define KPROFS_SYMBOLIZER_REMOTE_INTERNAL_H

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
 * A file that ended its parser, or hung, is not tried again for so long: a view must not wait again
 * and again for what another view has waited for.
 */
#define REMOTE_SHUN_NS (60 * NSEC_PER_SEC)

/*
 * So many processes may hang within this time; then no process is asked about for the rest of it.
 */
#define REMOTE_HANGING_MAX 2
#define REMOTE_HANGING_NS (10 * NSEC_PER_SEC)

/* The kernel that runs. */
struct running {
	uint8_t build_id[PROTO_BUILD_ID_MAX];
	size_t build_id_length;
	uint64_t start;
};

struct remote {
	int free_lanes; /* eventfd: how many; a read takes one (invariant) */
	pthread_mutex_t lock;	/* of what follows; nothing is locked inside of it */
	struct helpers *lanes[REMOTE_LANES]; /* (invariant) */
	struct helpers_counts counts[REMOTE_LANES]; /* as of the end of each one's last question */
	bool taken[REMOTE_LANES]; /* a lane that is taken is its taker's */
	GHashTable *shunned;	  /* path -> until when (ns, uint64_t) */
	uint64_t hanging_since;	  /* the window in which processes that hang are counted */
	unsigned int hanging;	  /* of them */
	uint64_t no_fetch_until;  /* debuginfod did not answer in time: not asked before then */
	struct running running;	  /* length 0: not asked yet */
	uint64_t damaged;	  /* files that ended their parser, or said nonsense */
	uint64_t late;		  /* openers and parsers that took too long */
};

/* One question: its file, and with whom it talks. */
struct talk {
	struct remote *remote;
	struct helpers *helpers;
	int lane; /* that they are of */
	bool bare; /* without a debug file */
	const struct symbols_file *file;
	const struct symbols_how *how;
	struct proto_wait wait;	       /* of the whole question */
	struct proto_message *message; /* in and out, one after the other */
	int parser;		       /* connection to a child; -1: none */
	bool heard;		       /* the child has answered */
	bool elsewhere; /* the file was mapped on another machine, or before a restart */
	bool replaced;	/* a file was found under its name, but not the one that was mapped */
	unsigned int flags;	       /* of the last INFO */
	uint8_t build_id[PROTO_BUILD_ID_MAX];
	uint32_t build_id_length;
	char debuglink[NAME_MAX + 1]; /* what it calls its debug file; "": nothing */
	size_t arena_max; /* what its answers may make of the arena, bytes */
	uint32_t pid; /* the process whose root the file was found under; 0: the host's */
};

/* Is it one of the files that are not tried for now? */
bool remote_is_shunned(struct remote *remote, const char *path);
/* late: it took too long; else it ended its parser, or made it say nonsense. */
void remote_shun(struct remote *remote, const char *path, bool late);

/*
 * Is the process one that is not asked about for now? One that hangs is not for a while; and where
 * others do too, none is.
 */
bool remote_avoids_process(struct remote *remote, uint32_t pid);
void remote_avoid_process(struct remote *remote, uint32_t pid);

/* Has the whole question's time run out, or has it been given up? */
bool remote_is_over(const struct talk *talk, int ret);

/*
 * The message in talk->message, with a file (-1: none; closed here), and what the parser says to
 * it, into talk. A parser's child is started where there is none yet.
 */
int remote_tell(struct talk *talk, int fd);

/* Asks about the offsets, when the parser has all files; as symbols_source.resolve. */
int remote_ask(struct talk *talk, const uint64_t *offsets, size_t count, struct symbols_arena *arena,
	struct symbols_place *places);

/* Ends the talk with the child, if there is one. */
void remote_hang_up(struct talk *talk);

/*
 * Gives the parser what talk->file is about. 0; -ENOENT: it is not to be had; else as
 * remote_tell().
 */
int remote_load(struct talk *talk);

#endif
