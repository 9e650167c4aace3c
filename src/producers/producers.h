/* SPDX-License-Identifier: MIT */
/*
 * The producers whose events the trace holds: those that are attached, and those that have exited
 * and whose pool is kept.
 *
 * Writers: the listener's thread adds producers, defines their events and ends them. Readers: any
 * thread takes references and reads the pools with them. Each member says what may be read without
 * a lock. A pool is never mapped, only copied from (ring/read.h).
 *
 * The resources of a producer are limited for itself, for its user and for the server (struct
 * producers_limits). Pools of exited producers are kept until a limit is reached: then the oldest
 * is evicted, of the user who has most.
 */
#ifndef KPROFS_PRODUCERS_PRODUCERS_H
#define KPROFS_PRODUCERS_PRODUCERS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <kprof/attach_abi.h>

#include "base/atomic.h"
#include "base/err.h"
#include "base/stats.h"
#include "ring/read.h"

struct catalog;
struct catalog_event;
struct producers;

/* ---- for readers ----------------------------------------------------------------------------- */

/*
 * The kind of the end of a span, beside enum kprof_event_kind. In a record its argument is a timestamp;
 * readers see the time between both, in microseconds (merge.h).
 */
#define PRODUCER_SPAN_END 128u

/* The meaning of an id of a producer. Made once, and freed with the producer. i: invariant */
struct producer_event {
	uint32_t number;	/* i: of the event (events/info); 0 for a format of kprof_printf */
	uint8_t kind;		/* i: enum kprof_event_kind */
	bool show_provisional;	/* i: it was switched on when the producer defined it */
	bool held;		/* the listener's thread: the producer has it now */
	const char *label;	/* i: "provider:event"; "" for kprof_printf */
	const char *format;	/* i: NUL-terminated, checked by args_plan(); "": in the record */
	uint32_t format_bytes;	/* i: of the format, without its NUL */
	struct producer_event *end; /* i: of a span: the meaning of its end (PRODUCER_SPAN_END) */
	const struct catalog_event *event; /* i; NULL if there is none */
};

#define PRODUCER_BLOCK 256u /* ids */

/* i: invariant once it is listed; a: atomic, written by the listener; c: reference count */
struct producer {
	_Atomic unsigned int references;	/* c */
	struct producers *producers;		/* i */
	uint64_t serial; /* i: 1, 2, ... among the producers of this server */
	pid_t pid;				/* i: as the kernel says */
	uid_t uid;				/* i: as the kernel says */
	char program[KPROF_PROGRAM_MAX];	/* i: as in HELLO, made printable */
	struct ring_reader reader;		/* i: with its own descriptor */
	_Atomic bool ended;			/* a: its pool is not written any more */
	_Atomic uint64_t ended_ns; /* a: when its connection was seen to end, CLOCK_MONOTONIC; 0: not yet */
	char *_Atomic file; /* a: with libkprof's code, as it sees it; NULL until it said it; then it stays */
	struct producer_event texts[KPROF_ID_FIRST]; /* i: ids 0 and 1 */
	/* a: NULL, or PRODUCER_BLOCK pointers that stay; each a: NULL, or an event that stays */
	struct producer_event *_Atomic *_Atomic blocks[KPROF_ID_LIMIT / PRODUCER_BLOCK];
};

/* Another reference. From any thread that has one; never NULL. */
struct producer *producer_get(struct producer *producer);
/*
 * Gives a reference back; the last one closes the pool. From any thread; takes the lock of
 * producers.
 */
void producer_put(struct producer *producer);
/*
 * The event of an id, also of the end of a span; the caller has a reference to the producer. From any
 * thread, without a lock.
 * NULL if the producer never defined the id, or the event was refused.
 */
const struct producer_event *producer_event(const struct producer *producer, uint16_t id);

/*
 * All producers, by serial. Each has a reference, which the free function of the array puts. From
 * any thread.
 */
GPtrArray *producers_all(struct producers *producers);
/* Adds "provider:name" of each span that programs of this user have, once, sorted. From any thread. */
void producers_list_spans(struct producers *producers, uid_t uid, GPtrArray *labels);

/*
 * Returns the time of the last clear of the trace, CLOCK_MONOTONIC ns, or 0 if there was none. No
 * reader shows events with older timestamps. From any thread.
 */
uint64_t producers_cleared_ns(struct producers *producers);
/* At the start: the time of a clear before this process. */
void producers_restore_clear(struct producers *producers, uint64_t time_ns);

/* ---- for the server -------------------------------------------------------------------------- */

struct producers_limits {
	unsigned int programs, user_programs; /* attached: in all, and of one user */
	uint64_t bytes, user_bytes;	      /* of their pools */
	uint64_t ids, user_ids;		      /* of their events */
	unsigned int exited_programs;	      /* exited producers whose pool is kept */
	uint64_t exited_bytes; /* their memory; each counts for a fourth of its pool at least */
};

/* Sets the defaults. descriptors: how many the process may open; memory: bytes of the machine. */
void producers_limits_init(struct producers_limits *limits, uint64_t descriptors, uint64_t memory);

/* The limits are copied; `catalog` must outlive the result. */
struct producers *producers_create(struct catalog *catalog, const struct producers_limits *limits);
/* Called when no reference to a producer is left. Does nothing for NULL. */
void producers_destroy(struct producers *producers);

/*
 * Forgets all events with older timestamps than now, and the pools of exited producers. From any
 * thread. Chunks of producers in mode discard may be overwritten after this: the listener sends
 * them CLEAR (producer_clear_ticket), so call listener_kick().
 */
void producers_clear(struct producers *producers);

/*
 * Sums over all producers that ever attached, in events. From any thread; reads all pools, some 10
 * us each. A producer may close its socket and continue to write; events that it writes until its
 * pool is closed count too.
 */
struct producers_totals {
	uint64_t written;     /* reserved in a chunk */
	uint64_t overwritten; /* of `written`: in no chunk any more, and not cleared before */
	uint64_t dropped;     /* not written: no chunk or no slot was free */
	uint64_t torn;	      /* reserved and not committed when the producer exited */
	uint64_t cleared;     /* of `written`: forgotten by a clear before they were overwritten */
	uint64_t attached, exited; /* producers now */
	uint64_t
		slow_clocks; /* of both, those whose timestamps are not made by the CPU's counter */
	uint64_t pool_bytes;  /* size of the pools of both */
	uint64_t exited_bytes;  /* memory of the pools of exited producers */
	uint64_t ever;	      /* producers that attached since the mount */
	uint64_t corrupt;	      /* corrupt producers: their pools had impossible counts */
	uint64_t refused;     /* producers and events that a limit, a format or a name refused */
};
void producers_total(struct producers *producers, struct producers_totals *totals);

/* ---- for the listener: one thread ------------------------------------------------------------ */

struct producer_identity {
	pid_t pid;
	uid_t uid;
	const char *program; /* as in HELLO: KPROF_PROGRAM_MAX bytes with or without NUL */
};

/*
 * Called when a producer has sent HELLO. Takes ownership of pool_fd, unless it fails. The list has
 * one reference, and the caller another one, *producer. A pool that is known from an earlier
 * attachment of this process, or from an exited producer, is continued by the new producer; its
 * events are not counted twice.
 *
 * Returns -EINVAL if it is not a pool, -EBUSY if it is the pool of another attached producer,
 * -EDQUOT or -ENOSPC at the limit of the user or of the server; each with a sentence in *err, and
 * counted in `refused`.
 */
int producers_attach(struct producers *producers, const struct producer_identity *identity,
	int pool_fd, struct producer **producer, struct err *err);

/*
 * Defines an id. `label`: "" for kinds without a name. Returns 0, or -errno with a sentence:
 * -EPROTO if the id has another meaning already, or the kind is unknown, which violates the
 * protocol; -EINVAL, -EEXIST, -EDQUOT, -ENOSPC if this event is refused; it stays off and is
 * counted in `refused`.
 */
int producer_define(struct producer *producer, uint16_t id, uint8_t kind, const char *label,
	const char *format, struct err *err);
/* The last use of the event was unloaded. An unknown id has no effect. */
void producer_undefine(struct producer *producer, uint16_t id);
/* Returns whether the producer should write this event. */
bool producer_is_on(const struct producer *producer, uint16_t id);
/* Returns whether a program of probes/ wants it. */
bool producer_is_probed(const struct producer *producer, uint16_t id);
/* Its file; further ones are not taken. */
void producer_set_file(struct producer *producer, const char *path, size_t bytes);
/* Sets what is called in the listener's thread when a producer said its file: before the listener is made. */
void producers_on_file(struct producers *producers, void (*on_file)(void *arg), void *arg);

/*
 * Called when the producer, or its connection, has ended. A second call does nothing. lives_on says
 * that the process still runs and may write to the pool that it has mapped (for example after it
 * closed all its descriptors); then the pool is kept even if it is empty.
 */
void producer_end(struct producer *producer, bool lives_on);

/* The newest ticket of the pool at the last clear since the producer attached; 0 if there was none. */
uint64_t producer_clear_ticket(struct producer *producer);

/*
 * Returns the reason why the producer is corrupt (its pool has impossible counts), a static text,
 * once; the caller then detaches it. Its last plausible counts are kept. Returns NULL if it is not
 * corrupt, or the reason was returned before.
 */
const char *producer_take_corruption(struct producer *producer);
/*
 * Sets the function that is called when a corrupt producer is found, from any thread and under the
 * lock of producers. It may be NULL.
 */
void producers_on_corrupt(struct producers *producers, void (*on_corrupt)(void *arg), void *arg);

/* Counts an event that libkprof itself refused. */
void producers_count_refused(struct producers *producers);

#endif
