/* SPDX-License-Identifier: MIT */
/*
 * The rings that BPF programs write events of the kernel to: the only definition of their bytes.
 *
 * Each CPU has one value of an array map that the server maps into its memory: a head, 2^n bytes of
 * records, and slack behind them, so that no record wraps. Programs write, the server reads without a
 * system call. A position counts the bytes that were ever reserved.
 *
 *	WRITER (a program on this CPU, or one that interrupts it)    READER
 *	  seq = head.count++, atomic                                   end = head.pos
 *	  pos = head.pos += bytes, atomic                              copy from end - size on
 *	  a new chunk begins in the record: head.chunks[next]          pos = head.pos again
 *	  the record without its head word                             valid: place + size >= pos
 *	  the head word, last                                          and its tag is that of its place
 *
 * A record whose tag does not match is not written yet, or its program was interrupted for good (its
 * CPU stopped). Then the next chunk tells where records begin again, and `seq` how many are
 * missing.
 */
#ifndef KPROFS_BPF_RECORD_H
#define KPROFS_BPF_RECORD_H

#include <stddef.h>
#include <stdint.h>

/*
 * The chunks whose first record a reader finds without the records before: larger than a record, so
 * that each has one, and a small part of a ring, since those before it can't be read when a chunk is
 * half overwritten.
 */
#define KERNEL_CHUNK_BYTES (8u << 10)
/* No record is longer. It is also the slack of a ring, so that none wraps. */
#define KERNEL_RECORD_MAX 4096u
#define KERNEL_COMM_BYTES 16u

struct kernel_chunk {
	uint64_t pos; /* of the first record that begins in the chunk */
	uint64_t seq; /* its number */
};

/* At the start of the memory of each CPU. */
struct kernel_ring_head {
	uint64_t pos;       /* bytes reserved so far */
	uint64_t count;     /* records begun so far: the number of the next one */
	uint64_t missed;    /* events for which no record was begun */
	uint64_t reserved[5];
	struct kernel_chunk chunks[]; /* by pos / KERNEL_CHUNK_BYTES, modulo the ring's chunks */
};

/*
 * A record, at a multiple of 8 bytes. Below `id` KERNEL_ID_TRACEPOINTS it is a system call, and `id` is
 * its number; then a struct kernel_call follows, else the fields of the tracepoint, or the struct
 * kernel_function of a function.
 */
struct kernel_record {
	uint64_t time_ns; /* CLOCK_MONOTONIC; of a call its return */
	uint64_t head;    /* tag:32 units:12 flags:4 id:16, from the low bits up; stored last */
	uint32_t tgid;    /* process and thread, as in the first pid namespace; 0 is the idle task */
	uint32_t tid;
	uint32_t seq;     /* low bits of the record's number on its CPU */
	uint32_t reserved;
	char comm[KERNEL_COMM_BYTES]; /* bytes behind a NUL are undefined */
};

#define KERNEL_HEAD_TAG(head) ((uint32_t)(head))
#define KERNEL_HEAD_UNITS(head) ((uint32_t)((head) >> 32 & 0xfff)) /* the whole record, in 8 bytes */
#define KERNEL_HEAD_FLAGS(head) ((uint32_t)((head) >> 44 & 0xf))
#define KERNEL_HEAD_ID(head) ((uint32_t)((head) >> 48))
#define KERNEL_HEAD(tag, units, flags, id) \
	((uint64_t)(uint32_t)(tag) | (uint64_t)(units) << 32 | (uint64_t)(flags) << 44 | (uint64_t)(id) << 48)
/* The tag of a record at this position: not 0, which is what a ring holds at first. */
#define KERNEL_TAG(pos) ((uint32_t)((pos) >> 3) + 1)

#define KERNEL_ID_TRACEPOINTS 4096u
/*
 * What a program of probes/ prints: `reserved` is the program's serial number; a word and arguments
 * follow.
 */
#define KERNEL_ID_PROBE 65535u

#define KERNEL_RECORD_COMPAT 1u   /* a call of a 32-bit program: another table of numbers */
#define KERNEL_RECORD_NO_ARGS 1u  /* of a function: its arguments are not known */
#define KERNEL_RECORD_NO_ENTRY 2u /* the entry was not seen: duration and a call's arguments are not known */
#define KERNEL_RECORD_NO_RESULT 4u /* a call that does not return: duration and result are not known */
/*
 * Addresses, innermost first, and a u64 with their number are at the end: at most KERNEL_STACK_FRAMES
 * of the kernel, and then as many of the program.
 */
#define KERNEL_RECORD_STACK 8u
#define KERNEL_STACK_FRAMES 64u

#define KERNEL_CALL_ARGS 6u
/* Strings of one call that are copied, and the most of each: with its NUL. */
#define KERNEL_CALL_STRINGS 2u
#define KERNEL_STRING_BYTES 200u
/* The most of the address of a socket, as the kernel takes it: struct sockaddr_storage. */
#define KERNEL_ADDRESS_BYTES 128u

/*
 * A system call. `strings` says by a bit for each argument which ones follow as text: in this order, each
 * as struct kernel_string. An argument whose bit is not set, or whose bytes is 0, could not be
 * read, and is shown as an address.
 */
struct kernel_call {
	uint64_t duration_ns;
	int64_t result; /* -4095..-1 is an errno */
	uint64_t args[KERNEL_CALL_ARGS];
	uint64_t strings;
};

/*
 * In 8-byte steps: the text with its NUL, or the bytes of the address of a socket, at most
 * KERNEL_ADDRESS_BYTES. KERNEL_STRING_BYTES says that a text was cut, or just fitted.
 */
struct kernel_string {
	uint64_t bytes;
	char text[];
};

/* A function of the kernel. `args` are those of its context, 8 bytes each: function.h says how many. */
struct kernel_function {
	uint64_t duration_ns;
	uint64_t result; /* its upper bytes are undefined if its type is shorter */
	uint64_t args[]; /* the same */
};

_Static_assert(sizeof(struct kernel_ring_head) == 64, "the layout of rings");
_Static_assert(sizeof(struct kernel_chunk) == 16, "the layout of rings");
_Static_assert(KERNEL_RECORD_MAX < KERNEL_CHUNK_BYTES, "each chunk has the beginning of a record");
_Static_assert(sizeof(struct kernel_record) == 48, "the layout of records");
_Static_assert(offsetof(struct kernel_record, comm) == 32, "the layout of records");
_Static_assert(sizeof(struct kernel_call) == 72, "the layout of records");

#endif
