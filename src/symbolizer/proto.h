/* SPDX-License-Identifier: MIT */
/*
 * The messages between the asking process and its helpers (see symbols.h), and how they travel.
 *
 * Each is one datagram of a SOCK_SEQPACKET pair: a struct proto_message, of which only the first
 * proto_size() bytes are sent, at most one descriptor with it. Both ends are the same release, so
 * there is no version. Whoever receives takes a message only if its length is the one that its
 * type and count give; the asking process takes no descriptor from a parser.
 *
 *	asker -> opener    OPEN_*                           <- OPENED (error, or a descriptor)
 *	asker -> fetcher   FETCH (build-id)                 <- OPENED
 *	asker -> reader    READ_ALL, READ_ONE (processes)   <- RECORDS (any number), READ_DONE
 *	                   BUILD_ID (a mapping)             <- READ_DONE
 *	asker -> parser    FORK with one end of a new pair: a child that serves it; no answer
 *	asker -> child     ELF, DEBUG, ALT, VDSO, KERNEL, JIT (with the file)    <- INFO
 *	                   OFFSETS (any number), RESOLVE    <- ANSWERS (any number), DONE
 *	                   ROW (address: an offset)         <- ROW (error, or a struct unwind_row)
 *
 * Thread-safe, one thread at a time on a descriptor.
 */
#ifndef KPROFS_SYMBOLIZER_PROTO_H
#define KPROFS_SYMBOLIZER_PROTO_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/symbols.h"

#define PROTO_BUILD_ID_MAX 64 /* bytes; SHA-512 would fit */
#define PROTO_BYTES_MAX (112 * 1024) /* of answers in one message: SYMBOLS_FRAMES_MAX long ones */
#define PROTO_OFFSETS_MAX 8192	     /* in one message */

enum proto_type {
	PROTO_OPEN_MAPPED = 1, /* pid, start, end; path: what it must be called, "": anything */
	PROTO_OPEN_PATH,       /* pid (0: the root of the opener), path */
	/*
	 * pid (0: as above), build_id; path: the folder of the file / what it calls its debug file,
	 * or ""
	 */
	PROTO_OPEN_DEBUG,
	PROTO_OPEN_KERNEL, /* the symbols of the running one */
	PROTO_OPEN_JIT, /* pid */
	PROTO_OPENED,	/* error; of KERNEL its build_id, address of its text */
	PROTO_FETCH,	/* build_id */
	PROTO_FORK,
	PROTO_ELF,    /* build_id, flags */
	PROTO_DEBUG,  /* build_id */
	PROTO_ALT,    /* build_id */
	PROTO_VDSO,
	PROTO_KERNEL, /* address of its text, path, start, end */
	PROTO_JIT,
	PROTO_INFO, /* error, flags, build_id, path: the name of its debug file, if it says so */
	PROTO_OFFSETS,
	PROTO_RESOLVE, /* flags */
	PROTO_ANSWERS,
	PROTO_DONE,
	PROTO_ROW, /* how a function is unwound: address; the answer has it in bytes, as in row.h */
	PROTO_READ_ALL, /* path: where /proc is */
	PROTO_READ_ONE, /* pid, path */
	PROTO_RECORDS,	/* in bytes, as in sys/proc_wire.h */
	PROTO_BUILD_ID, /* pid, start, end, inode, dev_major, dev_minor, time_ns, path: of a mapping */
	PROTO_READ_DONE, /* error, flags; of BUILD_ID its build_id */
	PROTO_TRY_OPEN, /* tests only: the child tries to open a path, answers OPENED (error) */
};

/* flag of OPEN_MAPPED and OPEN_PATH: the answer has the file's id, as far as it is known */
#define PROTO_IDENTIFY (1u << 0)
/*
 * flag of OPEN_*: also on file systems that a user may serve, which may hang; the answer is a copy.
 * Without it such a file is -EXDEV.
 */
#define PROTO_ANY_MOUNT (1u << 1)

/* flags of INFO */
#define PROTO_HAS_SYMBOLS (1u << 0) /* the full table, not only the dynamic one */
#define PROTO_HAS_LINES (1u << 1)
#define PROTO_WANTS_ALT (1u << 2) /* build_id: that of the file which the debug file shares */

/* flags of READ_DONE */
#define PROTO_HUNG (1u << 0) /* some of it was given up: the reader ends now */

struct proto_head {
	uint32_t type;
	int32_t error; /* 0 or -errno */
	uint32_t flags;
	uint32_t count; /* offsets, or bytes of answers or path, in the tail */
};

struct proto_message {
	struct proto_head head;
	uint32_t pid;
	uint32_t build_id_length;
	uint64_t start;
	uint64_t end;
	uint64_t address;
	uint64_t inode;
	uint64_t time_ns;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint8_t build_id[PROTO_BUILD_ID_MAX];
	struct symbols_file_id id; /* OPENED, where it was to IDENTIFY: which file it is */
	union {
		char path[PATH_MAX]; /* `count` bytes with its NUL */
		uint64_t offsets[PROTO_OFFSETS_MAX];
		uint8_t bytes[PROTO_BYTES_MAX];
	} tail;
};

/* Zeroes the message but for its tail. */
void proto_init(struct proto_message *message, enum proto_type type);
/* -ENAMETOOLONG: it does not fit. */
int proto_set_path(struct proto_message *message, const char *path);
void proto_set_build_id(struct proto_message *message, const uint8_t *bytes, size_t length);

struct proto_wait {
	int cancel_fd;	      /* readable: give up; -1: nobody will */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
};

/*
 * Sends the message with a descriptor (-1: none), which stays the caller's. wait NULL: blocks as
 * long as it takes. -EPIPE: nobody is there; -ECANCELED, -ETIMEDOUT.
 */
int proto_send(int fd, const struct proto_message *message, int passed,
	const struct proto_wait *wait);

/*
 * Receives one. passed NULL: descriptors are not taken; else *passed is the descriptor that came
 * with it, the caller's, or -1. -EPIPE: the other end is closed; -EBADMSG: no such message.
 */
int proto_receive(int fd, struct proto_message *message, int *passed,
	const struct proto_wait *wait);

/* Waits until fd is readable (or there is nothing more to come): 0, -ECANCELED, -ETIMEDOUT. */
int proto_wait_readable(int fd, const struct proto_wait *wait);

uint64_t proto_now_ns(void);

#endif
