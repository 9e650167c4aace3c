/* SPDX-License-Identifier: MIT */
/* The state of struct producers; included by producers*.c only. */
#ifndef KPROFS_PRODUCERS_PRODUCERS_STATE_H
#define KPROFS_PRODUCERS_PRODUCERS_STATE_H

#include <pthread.h>
#include <sys/stat.h>

#include "producers/producers.h"

/* The resources of the producers of one user. All members are under the lock of producers. */
struct producers_user {
	uid_t uid;
	unsigned int programs; /* attached */
	unsigned int entries;  /* attached, exited, or still referred to by a reader */
	uint64_t bytes, ids, exited_bytes;
};

/*
 * Events that a pool has counted. written = overwritten + held + cleared, the last two as of the
 * last refresh.
 */
struct producer_stats {
	uint64_t written, overwritten, dropped, torn;
	uint64_t held;	  /* in the pool, and not cleared */
	uint64_t cleared; /* cleared, whether still in the pool or not */
};

/* The contents of a chunk at the last clear. If the ticket differs, they have been overwritten. */
struct producer_cleared_chunk {
	uint64_t ticket; /* 0 if nothing was cleared */
	uint32_t count;
};

enum producer_forgotten {
	FORGOTTEN_NOT,
	FORGOTTEN_OVERWRITTEN,
	FORGOTTEN_CLEARED,
};

/* i: invariant once in the list; o: under the lock of producers; t: the listener's thread */
struct producer_entry {
	struct producer public; /* first: entry_of() casts */
	dev_t dev;		/* i */
	ino_t ino;		/* i */
	uint64_t made_ns;	/* i: when the pool was made, CLOCK_MONOTONIC; 0 if unknown */
	struct producers_user *user;	/* i; what it points to: o */
	uint64_t ids;		/* o */
	bool listed, exited;	/* o */
	uint64_t exited_bytes;	/* o: what an exited one counts against the limit */
	struct producer_stats stats;	/* o: as of the last refresh */
	struct producer_cleared_chunk *cleared; /* o: one for each chunk; NULL if it was never cleared */
	unsigned int clears;	/* o: number of clears */
	uint64_t uncounted;		/* o: events counted as torn that are committed */
	enum producer_forgotten forgotten; /* o */
	_Atomic uint64_t clear; /* a ticket, see producer_clear_ticket */
	bool end_seen;		/* t */
	const char
		*_Atomic corruption; /* NULL, or the reason why its pool is never read again */
	bool corruption_taken;		/* t */
	GList link;		/* o */
};

/* i: invariant; o: under the lock */
struct producers {
	struct catalog *catalog;	/* i */
	struct producers_limits limits; /* i */
	uint64_t cpus;			/* i: CPUs of the machine */
	pthread_mutex_t lock;		/* a leaf; no pool is read under it */
	GQueue all;			/* o: of struct producer_entry, by serial */
	GHashTable *users;		/* o: uid to struct producers_user */
	unsigned int attached, exited;	/* o */
	uint64_t bytes, ids;		/* o: of all entries */
	uint64_t exited_bytes;		/* o */
	uint64_t last_serial;		/* o */
	uint64_t refused, corrupt;	/* o */
	void (*on_corrupt)(void *arg);	/* o: or NULL; must not take a lock */
	void *on_corrupt_arg;		/* o */
	void (*on_file)(void *arg);	/* i, from before the listener: or NULL */
	void *on_file_arg;		/* i */
	struct producer_stats gone;		/* o: of pools that were closed; held is 0 */
	_Atomic uint64_t cleared_ns;	/* written under the lock */
};

static inline struct producer_entry *entry_of(const struct producer *producer)
{
	return (struct producer_entry *)producer;
}
/* Evicts the oldest exited producer of this user, or (NULL) of all. Returns false if there is none. */
bool producers_evict_one(struct producers *producers, const struct producers_user *user);

/* producers_events.c: no reference to the producer is left. */
void producers_free_events(struct producer *producer);

/* producers_stats.c: reads the pool and stores its counts. No lock is held. */
void producers_refresh(struct producer_entry *entry);
/* The same, and counts all held events as cleared. */
void producers_clear_stats(struct producer_entry *entry);
/*
 * Called when the producer has exited: finds the events that are committed, but not counted in
 * slot.done because their thread was killed in between.
 */
void producers_find_committed(struct producer_entry *entry);
/* The newest ticket of a pool; 0 if it cannot be read. */
uint64_t producers_read_tickets(const struct ring_reader *reader);
/*
 * Adds the counts of an unlisted entry, or by how much they have changed, to the sums. The lock is
 * held.
 */
void producers_count_gone(const struct producer_entry *entry, const struct producer_stats *stats);

#endif
