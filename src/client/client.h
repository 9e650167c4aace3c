/* SPDX-License-Identifier: MIT */
/*
 * Declarations that the files of libkprof share; none is visible outside the library. Top to
 * bottom: { typed, print }, module, helper, watch, attach, { registry, pool, event }, { client, fd,
 * stack, text }.
 *
 * The library runs inside arbitrary programs: no glib, no malloc (the program may trace its own
 * malloc), no output, no signal handler. Two kinds of code:
 *
 *	writing an event	event.c, print.c, ring/	any thread, any signal handler, no lock
 *				(with probe_event())
 *	everything else		the rest	constructors, dlopen, fork and the helper thread, under
 *				`lock` with signals blocked, so that no handler finds it held
 *
 * The helper thread ("kprof") is the only thread of the library. It waits for a server, attaches,
 * and sets the switches that the server sends. All its signals are blocked. A forked child gets its
 * own.
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

/* values of kprof_event.on */
#define CLIENT_OFF 0
#define CLIENT_ON 1
#define CLIENT_PROVISIONAL 2
/* Added to these in kprof_event.on, not in registry_entry.on: a program of probes/ wants the event. */
#define CLIENT_PROBED 4

/*
 * kprof_event.shape, from which a write knows the arguments: their number plus 1, and which of them
 * are strings without a precision; or CLIENT_SHAPE_ANY: any others. With more than two arguments, a
 * shape other than CLIENT_SHAPE_ANY means that none is a string.
 */
#define CLIENT_SHAPE_ANY 0u
#define CLIENT_SHAPE_ARGS 0x1fu
#define CLIENT_SHAPE_STRINGS_MAX 2u
#define CLIENT_SHAPE_STRING(i) (0x20u << (i))

/*
 * One event: a name with a format. It stays for the life of the process, even after its library was
 * unloaded, since rings hold its id.
 *
 *	[i] invariant once it is in the table	[l] by client.lock
 */
struct registry_entry {
	struct kprof_event *sites; /* [l] its uses that are loaded now */
	const char *provider;	   /* [i] copies, NUL-terminated */
	const char *name;	   /* [i] */
	const char *format;	   /* [i] */
	struct registry_entry *same_hash;   /* [l] */
	uint32_t hash;		   /* [i] */
	uint16_t id;		   /* [i] */
	uint16_t format_bytes;	   /* [i] */
	uint8_t kind, refusal;	   /* [i] */
	uint8_t on;		   /* [l] */
	bool probed;		   /* [l] */
	bool gone_unsent, new_unsent; /* [l] to be sent to the server */
	uint8_t args;		   /* [i] */
	uint8_t shape;		   /* [i] as kprof_event.shape */
	uint32_t format_hash;	   /* [i] args_hash() */
	struct args_plan plan[KPROF_ARGS_MAX]; /* [i] */
};

/* ---- registry.c: the table of events --------------------------------------------------------- */

#define REGISTRY_HASH 1024u
#define REGISTRY_BLOCK 64u /* entries allocated at a time */

/* All of it under client.lock. */
struct registry {
	struct registry_entry *blocks[KPROF_ID_LIMIT / REGISTRY_BLOCK];
	struct registry_entry *hash[REGISTRY_HASH];
	uint32_t count; /* ids in use are KPROF_ID_FIRST ... KPROF_ID_FIRST + count - 1 */
	uint32_t unsent; /* how many gone_unsent and new_unsent are set */
	char *text;	 /* room for copies of names, formats and sites */
	size_t text_left;
};

/* NULL if there is no such id. */
struct registry_entry *registry_get(struct registry *registry, uint32_t id);
/* Adds a use of an event. Beyond the limits, or without memory, it stays off. */
void registry_add(struct registry *registry, struct kprof_event *site, uint8_t on);
void registry_remove(struct registry *registry, struct kprof_event *site);
/* Whether it can be a provider or a name. */
bool registry_is_name(const char *text);
/*
 * Adds a use that stays as long as the process: a copy of *site, types included, or the copy that an
 * earlier call made for the same event. Returns NULL beyond the limits, or without memory.
 */
struct kprof_event *registry_define(
	struct registry *registry, const struct kprof_event *site, uint8_t on);
/* Sets one of the two flags of an entry. */
void registry_mark(struct registry *registry, bool *flag, bool unsent);
/* Sets the switch of an event and of all its uses. */
void registry_set(struct registry_entry *entry, uint8_t on);
/* The same for whether a program of probes/ wants it. */
void registry_probe(struct registry_entry *entry, bool probed);

/* ---- descriptors that the program may close (fd.c) ------------------------------------------- */

struct own_fd {
	int fd; /* -1 if there is none */
	dev_t dev;
	ino_t ino;
};
#define OWN_FD_NONE {.fd = -1}

/*
 * Takes ownership of a new descriptor: moves it to a high number, which programs seldom reuse, and
 * remembers its file. The old number is closed. Returns 0, or -errno after closing fd.
 */
int own_fd_take(struct own_fd *own, int fd);
/* Whether the number still refers to the file that was taken. */
bool own_fd_is_ours(const struct own_fd *own);
/* Closes it if it still refers to that file; otherwise only forgets the number. */
void own_fd_close(struct own_fd *own);

/* ---- pool.c: the memory ---------------------------------------------------------------------- */

struct pool {
	struct ring_pool ring;
	struct own_fd memfd;
	const uint64_t *alive; /* 0 in a forked child: wiped */
	struct pool *older;    /* replaced; a thread may still write to it */
};

/*
 * Makes a pool with the settings of the environment (KPROF_BUFFER_KB, KPROF_BUFFER_MODE). Returns
 * NULL if it cannot be made.
 */
struct pool *pool_create(void);
/*
 * In a forked child: maps private memory over the shared pages, since a thread may be in the middle
 * of an event.
 */
void pool_disown(struct pool *pool);

/* A path where a server may listen. */
struct client_path {
	char text[108]; /* [i] */
	size_t owned;	/* [i] 0, or the length of a folder in text that must belong to the user */
	/* [l] the socket of a server with another protocol version: no connection is tried */
	bool refused;
	dev_t dev;
	ino_t ino;
	struct timespec changed; /* its ctime: inode numbers are reused */
};
#define CLIENT_PATHS 2

/* ---- watch.c: waiting for a server to appear ------------------------------------------------- */

struct watch {
	struct own_fd inotify;
	char info[256]; /* fdinfo of the descriptor: all inotify descriptors have the same device and inode */
};

/*
 * Watches for sockets to appear at the paths. Returns 0 if every such change makes inotify.fd
 * readable, or -errno if not all paths are watched; then the caller looks once a second.
 */
int watch_start(struct watch *watch, const struct client_path *paths, int count);
/*
 * Reads the events. Returns false if the program has closed or replaced the descriptor, which is
 * then not used any more.
 */
bool watch_drain(struct watch *watch);
void watch_stop(struct watch *watch);

/* ---- client.c ------------------------------------------------------------------------------- */

enum client_state { CLIENT_NEW, CLIENT_READY, CLIENT_DEAD };

/*
 * The one instance of the library in a process.
 *
 *	[i] invariant once state is CLIENT_READY	[l] by lock	[a] atomic
 */
struct client {
	pthread_mutex_t lock;
	enum client_state state; /* [l] */
	struct registry registry; /* [l] */
	struct pool *_Atomic pool; /* [a] written under lock; NULL before the first connection */
	struct own_fd socket;	  /* [l] */
	bool ever_attached;	  /* [l] then events are not provisional again */
	bool helper_runs;	  /* [l] */
	bool puts_begun;	  /* [a] relaxed, written under lock: kprof_puts() has begun */
	int64_t provisional_until_ms; /* [l] CLOCK_MONOTONIC; 0 if no events are provisional */
	struct client_path paths[CLIENT_PATHS]; /* best first */
	int path_count;		  /* [i] */
	struct client_path *attached_at; /* [l] the path of the present connection */
	uint64_t sync_due;	  /* [l] the number of a SYNC to answer; 0 if there is none */
	bool socket_full;	  /* [l] the socket did not take the last packet: wait for POLLOUT */
	char program[KPROF_PROGRAM_MAX]; /* [i] */
	pthread_key_t key;	  /* [i] its destructor ends the writer of a thread */
	bool has_key;		  /* [i] */
	intptr_t rseq_offset;	  /* [i] from the thread pointer to the CPU's number; 0 if there is none */
	/* the events for formats that are no literals; ids KPROF_ID_TEXT and KPROF_ID_TEXTX */
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

/* ---- attach.c -------------------------------------------------------------------------------- */

/* Whether a server may be looked for at this path: its folder belongs to the user, if it has to. */
bool attach_may_look(const struct client_path *path);
/* Tries to attach to a server now. 0 or -errno. Under lock. */
int attach_try(void);
/* Makes the pool, if there is none. Under lock. */
void attach_make_pool(void);
/*
 * Sends the events that the server does not have yet, as far as the socket takes them. Under lock.
 */
void attach_send(void);
/* Receives packets of the server and applies them. Under lock. */
void attach_receive(void);
/* Closes the connection, or the copy of it in a forked child. Under lock. */
void attach_drop(void);
/* Switches off the events that are provisionally on. Under lock. */
void attach_end_provisional(void);

/* ---- helper.c -------------------------------------------------------------------------------- */

/* Starts the helper thread if there is none. Under lock. */
void helper_start(void);

/* ---- module.c: also for events that no module has ----------------------------------------------- */

/* Everything that happens once, at the first event. Returns false if it failed. Under lock. */
bool module_begin(void);
/* Returns the value to which an event is set when it is added. Under lock. */
uint8_t module_first_state(void);
/* After events were added: sends them or looks for a server, and starts the helper. Under lock. */
void module_go_on(void);

/* ---- event.c --------------------------------------------------------------------------------- */

/* Ends the writer of the calling thread; the argument is the writer. */
void event_thread_ends(void *writer);
/* Writes a record with its format, whose arguments are planned. */
void event_write_format(struct kprof_event *event, const char *format, uint32_t bytes,
	const struct args_plan *plan, const uint64_t *values, uint32_t args);

/* ---- print.c --------------------------------------------------------------------------------- */

/* Writes a text, if texts are on. */
void print_puts(const char *text);

/* ---- probe.c --------------------------------------------------------------------------------- */

/* The place that programs of probes/ reach: of an event that one of them wants, with its values. */
void probe_event(const struct registry_entry *entry, const uint64_t *values);
/* The path of the file that it is in, without NUL. Returns its bytes, 0 if it is not known. */
size_t probe_find_file(char path[KPROF_FILE_MAX]);

/* ---- stack.c --------------------------------------------------------------------------------- */

/*
 * The return addresses of the callers, innermost first; returns their number, 0 if there are no
 * frame pointers.
 */
#define STACK_MAX 32u
uint32_t stack_walk(uint64_t *addresses, const void *frame);

#endif
