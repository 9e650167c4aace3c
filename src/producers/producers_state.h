/* SPDX-License-Identifier: MIT */
/* What the set of programs is made of; for the producers_*.c only. */
#ifndef KPROFS_PRODUCERS_PRODUCERS_STATE_H
#define KPROFS_PRODUCERS_PRODUCERS_STATE_H

#include <pthread.h>
#include <sys/stat.h>

#include "producers/producers.h"

/* What the programs of one user have. All under the lock of producers. */
struct user {
	uid_t uid;
	unsigned int programs; /* attached */
	unsigned int entries;  /* attached, kept, or referred to by a reader */
	uint64_t bytes, ids, kept_bytes;
};

/*
 * What a pool has counted. written = overwritten + held + cleared, the last two as of the last
 * look.
 */
struct books {
	uint64_t written, overwritten, dropped, torn;
	uint64_t held;	  /* in the pool, and not forgotten by a clear */
	uint64_t cleared; /* forgotten by a clear, in the pool still or not */
};

/*
 * What a chunk held at the last clear. When its ticket is another one, that has been overwritten.
 */
struct cleared_chunk {
	uint64_t ticket; /* 0: nothing */
	uint32_t count;
};

enum forgotten {
	FORGOTTEN_NOT,
	FORGOTTEN_OVERWRITTEN,
	FORGOTTEN_CLEARED,
};

/* i: invariant once in the list; o: under the lock of producers; t: the listener's thread */
struct entry {
	struct producer public; /* first, so that one is the other */
	dev_t dev;		/* i */
	ino_t ino;		/* i */
	uint64_t made_ns;	/* i: when the pool was, CLOCK_MONOTONIC; 0: before the machine started */
	struct user *user;	/* i; what it points to: o */
	uint64_t ids;		/* o */
	bool listed, kept;	/* o */
	uint64_t kept_bytes;	/* o: what it counts for, once it is kept */
	struct books books;	/* o: as they were seen last */
	struct cleared_chunk *cleared; /* o: one a chunk; NULL: it was never cleared */
	unsigned int clears;	/* o: how often it was */
	uint64_t whole;		/* o: events that count for torn in the pool and are not */
	enum forgotten forgotten; /* o */
	_Atomic uint64_t clear; /* a ticket, see producer_clear_ticket */
	bool end_seen;		/* t */
	const char *_Atomic lie; /* NULL, or for good: why its books are not read any more */
	bool lie_taken;		/* t */
	GList link;		/* o */
};

/* i: invariant; o: under the lock */
struct producers {
	struct catalog *catalog;	/* i */
	struct producers_limits limits; /* i */
	uint64_t cpus;			/* i: that can count at a time */
	pthread_mutex_t lock;		/* a leaf: no pool is read under it */
	GQueue all;			/* o: of struct entry, by serial */
	GHashTable *users;		/* o: uid to struct user */
	unsigned int attached, kept;	/* o */
	uint64_t bytes, ids;		/* o: of all entries */
	uint64_t kept_bytes;		/* o */
	uint64_t last_serial;		/* o */
	uint64_t refused, liars;	/* o */
	void (*on_liar)(void *arg);	/* o: NULL: nobody wants to know; locks nothing */
	void *on_liar_arg;		/* o */
	struct books gone;		/* o: of pools that went away; held is 0 */
	_Atomic uint64_t cleared_ns;	/* written under the lock */
};

static inline struct entry *entry_of(const struct producer *producer)
{
	return (struct entry *)producer;
}

/* producers.c: an array that puts the programs that are in it when it is freed. */
GPtrArray *producers_begin_gone(void);
/* Forgets the oldest dead program of this user, or (NULL) of anybody; false: there is none. */
bool producers_forget_one(struct producers *producers, const struct user *user);

/* producers_events.c: nobody else has the program any more */
void producers_free_events(struct producer *producer);

/* producers_books.c: reads the pool, and keeps what it has counted. No lock is held. */
void producers_look(struct entry *entry);
/* The same, and all that is held is forgotten. */
void producers_clear_books(struct entry *entry);
/* Its program has ended: finds what is whole though its thread did not come to say so. */
void producers_find_whole(struct entry *entry);
/* The newest; 0 if it can't be read. */
uint64_t producers_read_tickets(const struct ring_reader *reader);
/*
 * The entry is forgotten: books, or by how much they have changed, go into the sums. The lock is
 * held.
 */
void producers_account(const struct entry *entry, const struct books *books);

#endif
