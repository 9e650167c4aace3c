/* SPDX-License-Identifier: MIT */
/*
 * What the files of libkprof share. Nothing here is seen outside the library.
 *
 * Inside a stranger's program: no glib, no malloc (the program may trace its own), no output, no
 * signal handler. Two kinds of code:
 *
 *	writing an event	event.c, ring/	any thread, any signal handler, no lock
 *	everything else		the rest	constructors, dlopen, fork and the helper thread, under
 *				`lock` with signals blocked, so that no handler meets a held lock
 *
 * The helper thread ("kprof") is the only thread that we make. It waits for a server, attaches, and
 * sets the switches that the server sends. All its signals are blocked. A forked child gets its own.
 */
#ifndef KPROFS_CLIENT_CLIENT_H
#define KPROFS_CLIENT_CLIENT_H

#include <kprof/attach_abi.h>
#include <kprof/kprof.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/atomic.h"
#include "ring/args.h"
#include "ring/write.h"

/* on: what kprof_event.on says */
#define CLIENT_OFF 0
#define CLIENT_ON 1
#define CLIENT_PROVISIONAL 2

/*
 * What kprof_event.shape says of an event, so that writing it need not look further: how many
 * arguments it has, plus 1, and which of them are strings without a precision; or that it can be
 * anything. Of more than two arguments only: that none is a string.
 */
#define CLIENT_SHAPE_ANY 0u
#define CLIENT_SHAPE_ARGS 0x1fu
#define CLIENT_SHAPE_STRINGS_MAX 2u
#define CLIENT_SHAPE_STRING(i) (0x20u << (i))

/*
 * One event: a name with a format. It stays for the life of the process, also when the library it
 * came from is gone: rings hold its id.
 *	[i] invariant once it is in the table	[l] by client.lock
 */
struct entry {
	struct kprof_event *sites; /* [l] the places of use that are loaded now */
	const char *provider;	   /* [i] copies, NUL-terminated */
	const char *name;	   /* [i] */
	const char *format;	   /* [i] */
	struct entry *same_hash;   /* [l] */
	uint32_t hash;		   /* [i] */
	uint16_t id;		   /* [i] */
	uint16_t format_bytes;	   /* [i] */
	uint8_t kind, refusal;	   /* [i] */
	uint8_t on;		   /* [l] */
	bool gone_untold, new_untold; /* [l] the server does not know yet */
	uint8_t args;		   /* [i] */
	uint8_t shape;		   /* [i] what kprof_event.shape says */
	struct args_plan plan[KPROF_ARGS_MAX]; /* [i] */
};

/* ---- registry.c: the table of events --------------------------------------------------------- */

#define REGISTRY_HASH 1024u
#define REGISTRY_BLOCK 64u /* entries allocated at a time */

/* All of it under client.lock. */
struct registry {
	struct entry *blocks[KPROF_ID_LIMIT / REGISTRY_BLOCK];
	struct entry *hash[REGISTRY_HASH];
	uint32_t count; /* ids in use are KPROF_ID_FIRST ... KPROF_ID_FIRST + count - 1 */
	uint32_t untold; /* how many gone_untold and new_untold are set */
	char *text;	 /* room for copies of names and formats */
	size_t text_left;
};

struct entry *registry_entry(struct registry *registry, uint32_t id); /* NULL: no such id */
/* Adds a place of use. Beyond the limits or the memory the place stays off. */
void registry_add(struct registry *registry, struct kprof_event *site, uint8_t on);
void registry_remove(struct registry *registry, struct kprof_event *site);
/* Sets one of an entry's two flags. */
void registry_mark(struct registry *registry, bool *flag, bool untold);
/* Sets an event and all its places. */
void registry_set(struct entry *entry, uint8_t on);

/* ---- descriptors that the host may close behind our back (fd.c) ------------------------------ */

struct own_fd {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};
#define OWN_FD_NONE {.fd = -1}

/*
 * Takes a fresh descriptor: moves it up, out of the numbers that programs reuse, and remembers what
 * it is. The old number is closed. Returns 0 or -errno, and then fd is closed.
 */
int own_fd_take(struct own_fd *own, int fd);
/* The number still stands for what we put there. */
bool own_fd_is_ours(const struct own_fd *own);
/* Closes it if it is still ours, else forgets it. */
void own_fd_close(struct own_fd *own);

/* ---- pool.c: the memory ---------------------------------------------------------------------- */

struct pool {
	struct ring_pool ring;
	struct own_fd memfd;
	const uint64_t *alive; /* 0 in a forked child: wiped */
	struct pool *older;    /* replaced; some thread may still write to it */
};

/* A new pool, as the environment says, or NULL. */
struct pool *pool_create(void);
/* In a forked child: what threads in mid-event still write to becomes private memory. */
void pool_disown(struct pool *pool);

/* Where a server may listen. */
struct client_path {
	char text[108]; /* [i] */
	size_t owned;	/* [i] 0, or bytes of text that are a folder which must be the user's own */
	/* [l] the socket of a server that speaks another version: it is not asked again */
	bool refused;
	dev_t dev;
	ino_t ino;
	struct timespec changed; /* its ctime: an inode's number may come back */
};
#define CLIENT_PATHS 2

/* ---- watch.c: waiting for a server to appear ------------------------------------------------- */

struct watch {
	struct own_fd inotify;
	char info[256]; /* what /proc says of the descriptor: all inotify descriptors look alike */
};

/*
 * Watches for sockets to appear at the paths. 0: everything that can make one appear will make
 * inotify.fd readable; -errno: not so, look once a second.
 */
int watch_start(struct watch *watch, const struct client_path *paths, int count);
/* Takes the events off. false: the descriptor is not ours any more, and forgotten. */
bool watch_drain(struct watch *watch);
void watch_stop(struct watch *watch);

/* ---- client.c, attach.c ---------------------------------------------------------------------- */

enum client_state { CLIENT_NEW, CLIENT_READY, CLIENT_DEAD };

/*
 * The process's one instance.
 *	[i] invariant once state is CLIENT_READY	[l] by lock	[a] atomic
 */
struct client {
	pthread_mutex_t lock;
	enum client_state state; /* [l] */
	struct registry registry; /* [l] */
	struct pool *_Atomic pool; /* [a] written under lock; NULL until a server was there */
	struct own_fd socket;	  /* [l] */
	bool ever_attached;	  /* [l] events may have been provisional: they are not again */
	bool helper_runs;	  /* [l] */
	int64_t provisional_until_ms; /* [l] 0: not waiting; CLOCK_MONOTONIC */
	struct client_path paths[CLIENT_PATHS]; /* best first */
	int path_count;		  /* [i] */
	struct client_path *attached_at; /* [l] the one that the socket is connected to */
	uint64_t sync_owed;	  /* [l] the number of a SYNC that is to be answered; 0: none */
	bool socket_full;	  /* [l] the last packet was not taken: wait for room */
	char program[KPROF_PROGRAM_MAX]; /* [i] */
	pthread_key_t key;	  /* [i] whose destructor ends a thread's writer */
	bool has_key;		  /* [i] */
	intptr_t rseq_offset;	  /* [i] from the thread pointer to the CPU's number; 0: none */
	/* the events of formats that are not literals; ids KPROF_ID_TEXT and KPROF_ID_TEXTX */
	struct kprof_event text, textx;
};

extern struct client client __attribute__((visibility("hidden")));

struct client_signals {
	sigset_t saved;
};
/* Takes the lock with all signals blocked. */
void client_lock(struct client_signals *signals);
void client_unlock(const struct client_signals *signals);
int64_t client_now_ms(void);

/* Whether a server may be looked for here: the folder is the user's own, where it has to be. */
bool attach_may_look(const struct client_path *path);
/* Tries to reach a server now. 0 or -errno. Under lock. */
int attach_try(void);
/* Makes the memory that a server will be handed, if there is none. Under lock. */
void attach_have_pool(void);
/* Tells the server of events that it does not know of yet, as far as the socket takes it. Under lock. */
void attach_tell(void);
/* Takes what the server has sent, and obeys it. Under lock. */
void attach_hear(void);
/* Starts the helper thread if there is none. Under lock. */
void attach_start_helper(void);
/* The connection has ended, or is the parent's. Under lock. */
void attach_drop(void);

/* ---- event.c --------------------------------------------------------------------------------- */

/* The calling thread's writer ends; the argument is the writer. */
void event_thread_ends(void *writer);

/* The return addresses of the callers, innermost first; 0 if they can't be followed. stack.c */
#define STACK_MAX 32u
uint32_t stack_walk(uint64_t *addresses, const void *frame);

#endif
