/* SPDX-License-Identifier: MIT */
/*
 * What one program and the server say to each other (attach_abi.h), without the socket: packets in,
 * packets out. Everything that comes in is a stranger's, and parsed from a copy.
 *
 * One thread, the listener's.
 */
#ifndef KPROFS_PRODUCERS_SESSION_H
#define KPROFS_PRODUCERS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <kprof/attach_abi.h>

#include "base/err.h"

struct producer;
struct producers;
struct session;

/* An event of the program that is refused: the program goes on. */
typedef void (*session_refused)(void *arg, const struct session *session, const char *reason);

struct session {
	struct producers *producers;
	pid_t pid; /* the kernel's word */
	uid_t uid; /* the kernel's word */
	session_refused refused;
	const _Atomic bool *stop; /* looked at within a packet: what is left of it is not taken. NULL: none */
	void *arg;
	char program[KPROF_PROGRAM_MAX + 1]; /* as it says; "?": it has not said */
	struct producer *producer; /* a reference; NULL: no HELLO yet */
	uint8_t *told;		   /* of each id below ids: what the program believes, see session.c */
	uint32_t ids;
	uint32_t scan;		   /* ids from here on are to be looked at; ids: none */
	bool welcome;		   /* is to be said */
	bool hung_up;		   /* by the program, not by us; it may be there still */
	uint64_t clear_ticket;	   /* said last */
	/* Rounds (sync_rounds.h): what it is to answer, was asked, has answered. */
	uint64_t sync_wanted, sync_asked, sync_answered;
	bool unconfirmed; /* it was told of a switch or a clear since it was asked last */
};

void session_init(struct session *session, struct producers *producers, pid_t pid, uid_t uid,
	session_refused refused, void *arg);
/* The connection has ended. */
void session_fini(struct session *session);

/*
 * Takes a packet, and the one descriptor that came with it (-1: none, or not just one) if it wants
 * it: then *fd is -1 afterwards. An errno with a sentence: the program is to be detached.
 */
int session_take(struct session *session, const char *data, size_t bytes, int *fd, struct err *err);

/* The program takes part in rounds after this one only. Before it is told anything. */
void session_skip_rounds(struct session *session, uint64_t newest);
/* It takes part in this round, the newest; one that has not said HELLO has nothing to answer. */
void session_sync(struct session *session, uint64_t round);
/* All rounds that it takes part in are answered. */
bool session_is_synced(const struct session *session);

/* A switch may have changed: what the program should know is compared with what it was told. */
void session_look(struct session *session);

/*
 * The next packet to be sent, into `packet` of KPROF_PACKET_MAX bytes aligned to 8; returns its
 * size, 0: the program knows all. If it was sent, session_told() with it; if not, the same or a
 * newer one comes again.
 */
size_t session_next(struct session *session, char *packet);
void session_told(struct session *session, const char *packet);

#endif
