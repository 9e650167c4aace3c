/* SPDX-License-Identifier: MIT */
/*
 * The protocol between a producer (a traced program) and a server: packets on a Unix socket of type
 * SOCK_SEQPACKET, at $KPROF_SOCKET, $XDG_RUNTIME_DIR/kprofs/trace or /run/kprofs/trace, the first
 * at which a server listens. libkprof(3) implements the side of the producer; this header has no
 * functions.
 *
 *	producer                                 server
 *	HELLO, with the pool's descriptor   ->
 *	FILE                                ->
 *	EVENTS, as many as needed           ->
 *	                                    <-   WELCOME
 *	                                    <-   SWITCH for every EVENTS, and whenever one changes
 *	                                    <-   PROBE, when a program of probes/ wants an event,
 *	                                         or does no more
 *	                                    <-   SYNC, when a write waits for a change
 *	SYNCED, once the change is applied  ->
 *	EVENTS when a library is loaded     ->
 *	GONE when it is unloaded            ->
 *
 * Neither side waits for the other: the producer sends all its packets at once and continues. Until
 * the first SWITCH of an event the producer writes the event anyway, marked PROVISIONAL, for at
 * most KPROF_PROVISIONAL_MS after it attached. So a program that ends before the server reads its
 * packets has lost nothing; the server shows provisional records only of events that are switched
 * on. The end of the connection shows the end of the producer or of the server; the pool outlives
 * both. If a producer ended before it read all packets of the server, one of the next calls of the
 * server fails with ECONNRESET; packets that the producer had sent can still be received after
 * that.
 *
 * Switches are sent as packets, and are not in a shared page. So the test of an event that is off
 * is one load from the program's own data, and the server neither maps nor writes memory that a
 * program can truncate, unmap or punch holes into.
 *
 * An event that a program of probes/ wants reaches the static probe kprof:event of the library
 * (.note.stapsdt), whether its switch is on or not, with the arguments of enum
 * kprof_place_argument. FILE has the path of the file that the library's code is in, as the producer
 * sees it.
 *
 * SYNC requests a SYNCED with the same number as soon as the producer has applied all packets that
 * the server sent before; after that no thread of the producer that tests a switch reads the former
 * value. One SYNCED, with the newest number, can answer several SYNCs.
 *
 * A process that is not a producer may send MARK, a message for the trace, on a connection without
 * a HELLO. The server answers with MARKED. The process sends a further MARK only after that.
 *
 * A producer attaches only to a server that runs as root or as its own user (SO_PEERCRED), and
 * looks into $XDG_RUNTIME_DIR only if that belongs to its own user.
 *
 * A server with another protocol version answers HELLO with WELCOME, which has its version, and
 * closes the connection. A producer that receives another version than its own disconnects, and
 * tries again when another server appears.
 *
 * A side that receives a packet of an unknown type skips it; a malformed packet of a known type
 * ends the connection. Numbers are in the byte order of the machine. For C and C++.
 */
#ifndef KPROF_ATTACH_ABI_H
#define KPROF_ATTACH_ABI_H

#include <kprof/ring_abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KPROF_ATTACH_MAGIC 0x6b70726f66736f63ull
#define KPROF_ATTACH_VERSION 3
#define KPROF_PACKET_MAX 32768u /* bytes; fits the default send buffer several times */
#define KPROF_PROVISIONAL_MS 1000

/* Limits that the server enforces; the library refuses events beyond them. */
#define KPROF_NAME_MAX 100u	/* provider and event, each: [A-Za-z0-9_.-] */
#define KPROF_FORMAT_MAX 1024u	/* bytes */
#define KPROF_PROGRAM_MAX 64u
#define KPROF_ARGS_MAX 16u
#define KPROF_MARK_MAX 512u	/* bytes of text in MARK */
#define KPROF_FILE_MAX 1024u	/* bytes of the path in FILE; a longer one is not sent */
#define KPROF_WIDTH_MAX 4096u	/* width and precision in a format */

enum kprof_packet_type {
	KPROF_PACKET_HELLO = 1,
	KPROF_PACKET_EVENTS = 2,
	KPROF_PACKET_GONE = 3,
	KPROF_PACKET_SYNCED = 4,
	KPROF_PACKET_MARK = 5,
	KPROF_PACKET_FILE = 6,
	KPROF_PACKET_WELCOME = 64,
	KPROF_PACKET_SWITCH = 65,
	KPROF_PACKET_CLEAR = 66,
	KPROF_PACKET_SYNC = 67,
	KPROF_PACKET_MARKED = 68,
	KPROF_PACKET_PROBE = 69,
};

struct kprof_packet {
	uint32_t type;
	uint32_t bytes; /* of the whole packet */
};

/* HELLO, with one SCM_RIGHTS descriptor, that of the pool. */
struct kprof_packet_hello {
	struct kprof_packet head;
	uint64_t magic;
	uint32_t version;
	uint32_t pid; /* as getpid(2) returns it in the producer; the server shows the pid that its
			 kernel reports */
	uint32_t pool_bytes; /* as in the pool's header */
	uint32_t flags;	     /* 0 */
	char program[KPROF_PROGRAM_MAX]; /* the name of the program, NUL-terminated */
};

enum kprof_event_kind {
	KPROF_KIND_EVENT = 1,	  /* has its own switch */
	KPROF_KIND_PRINTF = 2,	  /* controlled by the master switch only; no provider, no name */
	KPROF_KIND_PRINTX = 3,	  /* controlled by kprintx, too */
	KPROF_KIND_BACKTRACE = 4, /* a printf whose records carry the stack */
	KPROF_KIND_SPAN = 5,	  /* an event that begins a span; KPROF_ID_SPAN_END ends it */
	KPROF_KIND_COUNTER = 6,	  /* an event whose one argument is the value of a counter */
};

/* Why the library keeps an event off; the server reports it. */
enum kprof_event_refusal {
	KPROF_REFUSED_NO = 0,
	KPROF_REFUSED_NAME = 1,	  /* not [A-Za-z0-9_.-]{1,100} */
	KPROF_REFUSED_FORMAT = 2, /* an unknown conversion, or too long */
	KPROF_REFUSED_TYPES = 3,  /* arguments that do not match the format */
};

/* EVENTS: `count` of struct kprof_event_def follow. */
struct kprof_packet_events {
	struct kprof_packet head;
	uint32_t count;
	uint32_t reserved;
};

/*
 * An event in EVENTS. It is not aligned, so it must be copied out. Provider, name and format
 * follow, without NUL.
 */
struct kprof_event_def {
	uint16_t bytes; /* with the strings that follow */
	uint16_t id;
	uint8_t kind;	 /* enum kprof_event_kind */
	uint8_t refusal; /* enum kprof_event_refusal */
	uint8_t provider_bytes;
	uint8_t name_bytes;
	uint16_t format_bytes;
	uint16_t reserved;
};

/*
 * GONE: `count` ids (u16) follow whose last use was unloaded. A later EVENTS may define them again.
 */
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

/* SWITCH, and PROBE: `count` bytes follow, 0 or 1, for the ids first, first + 1, ... */
struct kprof_packet_switch {
	struct kprof_packet head;
	uint32_t first;
	uint32_t count;
};

/* CLEAR: chunks up to this ticket may be overwritten although the mode is discard. */
struct kprof_packet_clear {
	struct kprof_packet head;
	uint64_t ticket;
};

/* SYNC, and SYNCED as its answer. Numbers increase within a connection and are never 0. */
struct kprof_packet_sync {
	struct kprof_packet head;
	uint64_t number;
};

/* FILE: the path follows, 1 to KPROF_FILE_MAX bytes, absolute and without NUL. */
struct kprof_packet_file {
	struct kprof_packet head;
};

/* MARK: the text follows, one line of 1 to KPROF_MARK_MAX bytes, without NUL and newline. */
struct kprof_packet_mark {
	struct kprof_packet head;
	uint32_t flags; /* 0 */
	uint32_t reserved;
};

/*
 * MARKED: error is 0 if the message is in the trace, otherwise a number of errno(3): EINVAL if it
 * is not such a text, EMSGSIZE if it does not fit in the trace or is longer than KPROF_MARK_MAX,
 * EDQUOT if this user has sent too many.
 */
struct kprof_packet_marked {
	struct kprof_packet head;
	uint32_t error;
	uint32_t reserved;
};

KPROF_ABI_ASSERT(sizeof(struct kprof_packet_hello) == 96);
KPROF_ABI_ASSERT(sizeof(struct kprof_packet_events) == 16);
KPROF_ABI_ASSERT(sizeof(struct kprof_event_def) == 12);
KPROF_ABI_ASSERT(sizeof(struct kprof_packet_gone) == 16);
KPROF_ABI_ASSERT(sizeof(struct kprof_packet_welcome) == 16);
KPROF_ABI_ASSERT(sizeof(struct kprof_packet_switch) == 16);
KPROF_ABI_ASSERT(sizeof(struct kprof_packet_clear) == 16);
KPROF_ABI_ASSERT(sizeof(struct kprof_packet_sync) == 16);
KPROF_ABI_ASSERT(sizeof(struct kprof_packet_mark) == 16);
KPROF_ABI_ASSERT(sizeof(struct kprof_packet_marked) == 16);

/* The static probe that wanted events reach, by its provider and name. */
#define KPROF_PLACE_PROVIDER "kprof"
#define KPROF_PLACE_NAME "event"

/* Its arguments, in this order. */
enum kprof_place_argument {
	KPROF_PLACE_EVENT_PROVIDER, /* the address of the event's provider, with a NUL, */
	KPROF_PLACE_EVENT_NAME,	    /* and of its name */
	KPROF_PLACE_VALUES,	    /* the address of the values, a word of 8 bytes each */
	KPROF_PLACE_COUNT,	    /* their number */
	KPROF_PLACE_HASH	    /* of the format: args.h */
};

/*
 * The registers that they are in, the same in all builds of the library, their offsets in struct pt_regs of
 * <asm/ptrace.h>, and what the note says of them. A percent sign is doubled in assembler with operands.
 */
#if defined(__x86_64__)
#define KPROF_PLACE_REGISTER_0 "rdi"
#define KPROF_PLACE_REGISTER_1 "rsi"
#define KPROF_PLACE_REGISTER_2 "rdx"
#define KPROF_PLACE_REGISTER_3 "rcx"
#define KPROF_PLACE_REGISTER_4 "r8"
#define KPROF_PLACE_SIGN "%"
#define KPROF_PLACE_OFFSETS { 112, 104, 96, 88, 72 }
#else
#define KPROF_PLACE_REGISTER_0 "x0"
#define KPROF_PLACE_REGISTER_1 "x1"
#define KPROF_PLACE_REGISTER_2 "x2"
#define KPROF_PLACE_REGISTER_3 "x3"
#define KPROF_PLACE_REGISTER_4 "x4"
#define KPROF_PLACE_SIGN ""
#define KPROF_PLACE_OFFSETS { 0, 8, 16, 24, 32 }
#endif
#define KPROF_PLACE_ARGUMENTS(SIGN) \
	"8@" SIGN KPROF_PLACE_REGISTER_0 " 8@" SIGN KPROF_PLACE_REGISTER_1 " 8@" SIGN KPROF_PLACE_REGISTER_2 \
	" 8@" SIGN KPROF_PLACE_REGISTER_3 " 8@" SIGN KPROF_PLACE_REGISTER_4

#ifdef __cplusplus
}
#endif

#endif
