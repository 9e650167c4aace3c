/* SPDX-License-Identifier: MIT */
/*
 * The messages between the client process (kprofs or kprof) and its helpers (see symbols.h), and
 * their format.
 *
 * Each is one datagram of a SOCK_SEQPACKET pair: a struct proto_message, of which only the first
 * proto_size() bytes are sent, with at most one descriptor. Both ends come from the same release,
 * so there is no version. A received message is rejected unless its length is the one that its type
 * and count require. The client accepts no descriptor from a parser.
 *
 *	client -> opener   OPEN_*                                  <- OPENED (error, or a descriptor)
 *	client -> fetcher  FETCH (build-id)                        <- OPENED
 *	client -> reader   READ_ALL, READ_ONE (processes)          <- RECORDS (any number), READ_DONE
 *	                   BUILD_ID (a mapping)                    <- READ_DONE
 *	client -> parser   FORK with one end of a new pair: a child that serves it; no reply
 *	client -> child    ELF, DEBUG, ALT, VDSO, KERNEL, JIT (with the file)  <- INFO
 *	                   OFFSETS (any number), RESOLVE           <- RESULTS (any number), DONE
 *	                   ROW (address: an offset)                <- ROW (error, or a struct unwind_row)
 *	                   FUNCTIONS (with the file)               <- FOUND (any number), DONE
 *
 * Thread-safe, one thread at a time on a descriptor.
 */
#ifndef KPROFS_SYMBOLIZER_PROTO_H
#define KPROFS_SYMBOLIZER_PROTO_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/symbols_arena.h"

#define PROTO_BUILD_ID_MAX 64        /* bytes; enough for SHA-512 */
#define PROTO_BYTES_MAX (112 * 1024) /* of results in one message: SYMBOLS_FRAMES_MAX long names   \
				      */
#define PROTO_OFFSETS_MAX 8192	     /* in one message */

enum proto_type {
	PROTO_OPEN_MAPPED = 1, /* pid, start, end; path: the name it must have, "" for any */
	PROTO_OPEN_PATH,       /* pid (0 for the root of the opener), path */
	/*
	 * pid (0: as above), build_id; path: FOLDER/NAME, the folder of the file and the name in
	 * its .gnu_debuglink, or ""
	 */
	PROTO_OPEN_DEBUG,
	PROTO_OPEN_KERNEL, /* the symbols of the running kernel */
	PROTO_OPEN_JIT,    /* pid; path: of its jitdump, or "" for its perf map */
	PROTO_READY,       /* what the opener sends once, when it can serve requests */
	PROTO_OPENED,      /* error; for KERNEL its build_id and the address of its text */
	PROTO_FETCH,       /* build_id */
	PROTO_FORK,
	PROTO_ELF,   /* build_id, flags */
	PROTO_DEBUG, /* build_id */
	PROTO_ALT,   /* build_id */
	PROTO_VDSO,
	PROTO_KERNEL, /* address of its text, path, start, end */
	PROTO_JIT,
	/* error, flags, build_id, path: the name of its debug file, "" if it names none */
	PROTO_INFO,
	PROTO_OFFSETS,
	PROTO_RESOLVE, /* flags */
	PROTO_RESULTS,
	PROTO_DONE,
	PROTO_ROW,      /* address; the reply has a struct unwind_row in its bytes */
	PROTO_READ_ALL, /* path: the mount point of /proc */
	PROTO_READ_ONE, /* pid, path */
	PROTO_READ_USERS, /* path: as READ_ALL, without threads and mappings */
	PROTO_RECORDS,  /* in the bytes, see sys/proc_wire.h */
	/* pid, start, end, inode, dev_major, dev_minor, time_ns, path: of a mapping */
	PROTO_BUILD_ID,
	PROTO_READ_DONE, /* error, flags; for BUILD_ID its build_id */
	PROTO_FUNCTIONS, /* path: a pattern of their names; flags */
	PROTO_FOUND,	 /* struct proto_place, each with its texts, in the bytes */
	PROTO_TRY_OPEN,  /* tests only: the child tries to open a path, replies OPENED (error) */
};

/* flag of OPEN_MAPPED and OPEN_PATH: the reply has the file's id, as far as it is known */
#define PROTO_IDENTIFY (1u << 0)
/*
 * flag of OPEN_*: also open files on file systems that a user may serve, which may hang; the reply
 * has a copy. Without the flag such a file is -EXDEV.
 */
#define PROTO_ANY_MOUNT (1u << 1)
/*
 * flag of OPEN_*, with PROTO_ANY_MOUNT: the reply has a copy of the first `end` bytes, of any file: to read
 * one of /proc may hang too
 */
#define PROTO_HEAD (1u << 2)

/* flags of FUNCTIONS; without any: functions */
#define PROTO_STATIC_PROBES (1u << 0) /* those of <sys/sdt.h>; the pattern is of PROVIDER:NAME */
#define PROTO_OBJECTS (1u << 1)	      /* symbols of objects too */

/* flags of INFO */
#define PROTO_HAS_SYMBOLS (1u << 0) /* the full symbol table, not only the dynamic one */
#define PROTO_HAS_LINES (1u << 1)
#define PROTO_WANTS_ALT (1u << 2) /* build_id: that of the alternate debug file (dwz) */

/* flags of READ_DONE */
#define PROTO_HUNG (1u << 0) /* a part was abandoned because it hung: the reader exits now */

struct proto_head {
	uint32_t type;
	int32_t error; /* 0 or -errno */
	uint32_t flags;
	uint32_t count; /* offsets, or bytes of results or of the path, in the tail */
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
	/* OPENED with IDENTIFY: of the file; READ_DONE after BUILD_ID: its size and time */
	struct symbols_file_id id;
	union {
		char path[PATH_MAX]; /* `count` bytes with its NUL */
		uint64_t offsets[PROTO_OFFSETS_MAX];
		uint8_t bytes[PROTO_BYTES_MAX];
	} tail;
};

/* Zeroes the message except its tail. */
void proto_init(struct proto_message *message, enum proto_type type);
/* Returns -ENAMETOOLONG if the path does not fit. */
int proto_set_path(struct proto_message *message, const char *path);
void proto_set_build_id(struct proto_message *message, const uint8_t *bytes, size_t length);

/* What FOUND has of a function, an object or a static probe. */
struct proto_found {
	const char *name;
	const char *arguments; /* of a static probe, as <sys/sdt.h> writes them; else "" */
	uint64_t offset;       /* of its first byte in the file */
	uint64_t address;      /* the same in memory, as the file says */
	uint64_t counter;      /* of a static probe: where its semaphore is in the file; 0 if it has none */
};

/* The same in the bytes. The texts follow, each with its NUL, up to a multiple of 8 bytes. */
struct proto_place {
	uint64_t offset, address, counter;
	uint32_t name_bytes; /* with its NUL */
	uint32_t bytes;	     /* of all that follows */
};

struct proto_wait {
	int cancel_fd;        /* readable: cancel; -1 if not cancellable */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0 if there is none */
};

/*
 * Sends the message with a descriptor (-1 for none), which the caller still owns. If `wait` is NULL
 * there is no time limit. Returns -EPIPE if the other end is closed, -ECANCELED or -ETIMEDOUT as
 * `wait` says.
 */
int proto_send(int fd, const struct proto_message *message, int passed,
	const struct proto_wait *wait);

/*
 * Receives a message. If `passed` is NULL, descriptors are rejected. Otherwise *passed becomes the
 * descriptor that came with the message, which the caller then owns, or -1. Returns -EPIPE if the
 * other end is closed, -EBADMSG if the message is malformed.
 */
int proto_receive(int fd, struct proto_message *message, int *passed,
	const struct proto_wait *wait);

/* Waits until fd is readable or closed at the other end. Returns 0, -ECANCELED or -ETIMEDOUT. */
int proto_wait_readable(int fd, const struct proto_wait *wait);

uint64_t proto_now_ns(void);

#endif
