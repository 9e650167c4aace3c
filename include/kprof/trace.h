/* SPDX-License-Identifier: MIT */
/*
 * The format of cpu/N/trace and cpu/N/trace_pipe: the events of one CPU, and the messages written
 * on it. The files are described in kprof(5); libkprof(3) describes how programs write events.
 *
 *	struct kprof_trace_header
 *	struct kprof_trace_block, its contents, zeroes up to a multiple of 8; repeated
 *
 * A copy is self-contained: a program, and the meaning of each of its ids, come before the first
 * event that refers to them. Times are CLOCK_MONOTONIC in ns and do not decrease within a file,
 * except for events that reached the trace late (cpu/N/trace_pipe). Numbers are in the byte order
 * of the machine that wrote the file, which the header has. A reader skips blocks of types that it
 * does not know. Structs are only extended at their end (`bytes` of a block is its size); a change
 * of meaning gets a new version. For C and C++. This header has no functions.
 */
#ifndef KPROF_TRACE_H
#define KPROF_TRACE_H

#include <kprof/ring_abi.h>

#define KPROF_TRACE_MAGIC                                                                          \
	0x656361727466706bull /* "kpftrace" in memory of a little-endian machine */
#define KPROF_TRACE_VERSION 1
#define KPROF_TRACE_BYTE_ORDER 0x01020304u
#define KPROF_TRACE_BLOCK_MAX (1u << 24) /* bytes; readers refuse larger blocks */

struct kprof_trace_header {
	uint64_t magic;
	uint32_t version;
	uint32_t byte_order;   /* KPROF_TRACE_BYTE_ORDER */
	uint32_t header_bytes; /* offset of the first block */
	uint32_t cpu;
	uint64_t
		frequency; /* of the time counter, in Hz; 0 if the timestamps are of CLOCK_MONOTONIC */
	/* the same moment on three clocks: the counter, CLOCK_MONOTONIC, CLOCK_REALTIME in ns */
	uint64_t anchor_counter, anchor_monotonic_ns, anchor_realtime_ns;
	uint64_t reserved;
};

enum kprof_trace_type {
	KPROF_TRACE_PROGRAM = 1,
	KPROF_TRACE_MEANING = 2,
	KPROF_TRACE_EVENT = 3,
	KPROF_TRACE_MESSAGE = 4,
	KPROF_TRACE_MISSING = 5,
};

struct kprof_trace_block {
	uint32_t type;
	uint32_t bytes; /* with this head, a multiple of 8 */
};

/* A program. `name_bytes` bytes follow: its name, in printable characters, without NUL. */
struct kprof_trace_program {
	struct kprof_trace_block block;
	uint32_t program; /* a number of the program, by which other blocks refer to it */
	uint32_t pid;	  /* as the server's kernel reports it */
	uint32_t uid; /* UINT32_MAX: not known, as of programs with events of the kernel only */
	uint32_t name_bytes;
};

/*
 * The meaning of an id. "provider:event" ("" for kprof_printf) and the format follow, both without
 * NUL. A later block for the same id replaces an earlier one.
 */
struct kprof_trace_meaning {
	struct kprof_trace_block block;
	uint32_t program;
	uint32_t id;
	uint32_t label_bytes;
	uint32_t format_bytes;
};

/*
 * An event. The arguments follow, in the format of a record (ring_abi.h). In events with ids 0 and
 * 1 the format precedes the arguments.
 */
struct kprof_trace_event {
	struct kprof_trace_block block;
	uint64_t time_ns;
	uint32_t program;
	uint32_t tid;
	uint32_t id;
	uint16_t cpu; /* an event with KPROF_CPU_UNKNOWN is in the file of the first CPU */
	uint16_t flags; /* KPROF_RECORD_* */
};

/* A message. Whole lines follow, each with its header, as kptrace shows them. */
struct kprof_trace_message {
	struct kprof_trace_block block;
	uint64_t time_ns;
	uint32_t text_bytes;
	uint32_t reserved;
};

/*
 * The reason why events are missing. Missing events of all CPUs are counted together, in the file
 * of the first CPU.
 */
enum kprof_trace_reason {
	KPROF_TRACE_LOST =
		0, /* overwritten before they were read, or dropped: no chunk or slot was free */
	KPROF_TRACE_LEFT_OUT = 1, /* left out because of trace_max */
};

struct kprof_trace_missing {
	struct kprof_trace_block block;
	uint64_t time_ns; /* of the first event after the gap */
	uint64_t count;
	uint32_t cpu; /* of that event */
	uint32_t reason; /* enum kprof_trace_reason */
};

#ifdef __cplusplus
extern "C" {
#endif
KPROF_ABI_ASSERT(sizeof(struct kprof_trace_header) == 64);
KPROF_ABI_ASSERT(sizeof(struct kprof_trace_block) == 8);
KPROF_ABI_ASSERT(sizeof(struct kprof_trace_program) == 24);
KPROF_ABI_ASSERT(sizeof(struct kprof_trace_meaning) == 24);
KPROF_ABI_ASSERT(sizeof(struct kprof_trace_event) == 32);
KPROF_ABI_ASSERT(sizeof(struct kprof_trace_message) == 24);
KPROF_ABI_ASSERT(sizeof(struct kprof_trace_missing) == 32);
#ifdef __cplusplus
}
#endif

#endif
