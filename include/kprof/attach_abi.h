/* SPDX-License-Identifier: MIT */
/*
 * What a traced program and a server say to each other: packets on a Unix socket of type
 * SOCK_SEQPACKET, at $KPROF_SOCKET, $XDG_RUNTIME_DIR/kprofs/trace or /run/kprofs/trace, the first
 * at which somebody listens.
 *
 *	program                                  server
 *	HELLO, with the pool's descriptor   ->
 *	EVENTS, as many as it takes         ->
 *	                                    <-   WELCOME
 *	                                    <-   SWITCH for every EVENTS, and whenever one changes
 *	                                    <-   SYNC, when somebody waits for a change
 *	SYNCED, once it is in effect        ->
 *	EVENTS when a library is loaded     ->
 *	GONE when it is unloaded            ->
 *
 * Neither side waits for the other: the program sends all of it at once and goes on. Until the
 * first SWITCH of an event it writes the event anyway, marked PROVISIONAL, for at most
 * KPROF_PROVISIONAL_MS after it attached, so that a program that ends before the server looked has
 * lost nothing; the server shows such records only of events that are switched on. The end of the
 * connection is the end of the program, or of the server: the pool outlives both. A program that
 * ended before it read what the server sent makes one of the server's next calls fail with
 * ECONNRESET; what the program had said can still be received after that.
 *
 * The switches travel as packets and not through a shared page, so that the test of an event that
 * is off is one load from the program's own data, and the server neither maps nor writes memory
 * that a program can punch, truncate or unmap under it.
 *
 * SYNC asks the program to answer with SYNCED and the same number when all that the server has said
 * before is in effect: then none of its threads that looks at a switch finds the former value. One
 * answer, with the newest number, will do for several SYNCs.
 *
 * A program attaches only where root or its own user listens (SO_PEERCRED), and looks into
 * $XDG_RUNTIME_DIR only if that is its own user's.
 *
 * A server that speaks another version answers HELLO with WELCOME, in which it says its own, and ends
 * the connection; a program that is welcomed with another version than its own leaves, and tries again
 * when another server appears.
 *
 * A side that gets a packet it does not understand skips it if the type is unknown, and ends the
 * connection if a known one is damaged. Numbers are in the byte order of the machine. C and C++.
 */
#ifndef KPROF_ATTACH_ABI_H
#define KPROF_ATTACH_ABI_H

#include <kprof/ring_abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KPROF_ATTACH_MAGIC 0x6b70726f66736f63ull
#define KPROF_ATTACH_VERSION 2
#define KPROF_PACKET_MAX 32768u /* bytes; fits the default send buffer several times */
#define KPROF_PROVISIONAL_MS 1000

/* Bounds that the server holds a program to; the library refuses events beyond them. */
#define KPROF_NAME_MAX 100u	/* provider and event, each: [A-Za-z0-9_.-] */
#define KPROF_FORMAT_MAX 1024u	/* bytes */
#define KPROF_PROGRAM_MAX 64u
#define KPROF_ARGS_MAX 16u
#define KPROF_WIDTH_MAX 4096u	/* width and precision in a format */

enum kprof_packet_type {
	KPROF_PACKET_HELLO = 1,
	KPROF_PACKET_EVENTS = 2,
	KPROF_PACKET_GONE = 3,
	KPROF_PACKET_SYNCED = 4,
	KPROF_PACKET_WELCOME = 64,
	KPROF_PACKET_SWITCH = 65,
	KPROF_PACKET_CLEAR = 66,
	KPROF_PACKET_SYNC = 67,
};

struct kprof_packet {
	uint32_t type;
	uint32_t bytes; /* of the whole packet */
};

/* With one SCM_RIGHTS descriptor: the pool. */
struct kprof_packet_hello {
	struct kprof_packet head;
	uint64_t magic;
	uint32_t version;
	uint32_t pid;	     /* as the program sees itself; the server shows the kernel's word */
	uint32_t pool_bytes; /* as in the pool's header */
	uint32_t flags;	     /* 0 */
	char program[KPROF_PROGRAM_MAX]; /* its name, NUL-terminated */
};

enum kprof_event_kind {
	KPROF_KIND_EVENT = 1,	  /* has a switch of its own */
	KPROF_KIND_PRINTF = 2,	  /* obeys the master switch; no provider, no name */
	KPROF_KIND_PRINTX = 3,	  /* obeys kprintx too */
	KPROF_KIND_BACKTRACE = 4, /* a printf whose records carry the stack */
};

/* Why the program itself keeps an event off, for the server to say. */
enum kprof_event_refusal {
	KPROF_REFUSED_NO = 0,
	KPROF_REFUSED_NAME = 1,	  /* not [A-Za-z0-9_.-]{1,100} */
	KPROF_REFUSED_FORMAT = 2, /* a conversion that is not on the list, or too long */
	KPROF_REFUSED_TYPES = 3,  /* arguments that are not what the format asks for */
};

/* Then `count` of kprof_event_def. */
struct kprof_packet_events {
	struct kprof_packet head;
	uint32_t count;
	uint32_t reserved;
};

/* Not aligned: copy it out. Then provider, name, format, without NUL. */
struct kprof_event_def {
	uint16_t bytes; /* with what follows */
	uint16_t id;
	uint8_t kind;	 /* enum kprof_event_kind */
	uint8_t refusal; /* enum kprof_event_refusal */
	uint8_t provider_bytes;
	uint8_t name_bytes;
	uint16_t format_bytes;
	uint16_t reserved;
};

/* Then `count` u16: ids whose last place of use was unloaded. A later EVENTS brings them back. */
struct kprof_packet_gone {
	struct kprof_packet head;
	uint32_t count;
	uint32_t reserved;
};

struct kprof_packet_welcome {
	struct kprof_packet head;
	uint32_t version;
	uint32_t reserved;
};

/* Then `count` bytes, 0 or 1, for the ids first, first + 1, ... */
struct kprof_packet_switch {
	struct kprof_packet head;
	uint32_t first;
	uint32_t count;
};

/* Chunks whose ticket is at most this may be taken again although the mode is discard. */
struct kprof_packet_clear {
	struct kprof_packet head;
	uint64_t ticket;
};

/* SYNC, and SYNCED in answer. Numbers rise within a connection; never 0. */
struct kprof_packet_sync {
	struct kprof_packet head;
	uint64_t number;
};

KPROF_ABI_ASSERT(sizeof(struct kprof_packet_hello) == 96);
KPROF_ABI_ASSERT(sizeof(struct kprof_packet_events) == 16);
KPROF_ABI_ASSERT(sizeof(struct kprof_event_def) == 12);
KPROF_ABI_ASSERT(sizeof(struct kprof_packet_gone) == 16);
KPROF_ABI_ASSERT(sizeof(struct kprof_packet_welcome) == 16);
KPROF_ABI_ASSERT(sizeof(struct kprof_packet_switch) == 16);
KPROF_ABI_ASSERT(sizeof(struct kprof_packet_clear) == 16);
KPROF_ABI_ASSERT(sizeof(struct kprof_packet_sync) == 16);

#ifdef __cplusplus
}
#endif

#endif
