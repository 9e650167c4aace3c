/* SPDX-License-Identifier: MIT */
/*
 * The records of kpdata: the only definition of their bytes. kprof(5) explains their use. This
 * header has no functions; events of programs are not in kpdata (see libkprof(3) and trace.h).
 *
 * A capture is a stream of records without header or padding:
 *
 *	varint type | varint payload size | payload
 *
 * A varint holds 7 bits in each byte, least significant group first, bit 7 set on all bytes but the
 * last (LEB128), at most 10 bytes. Payloads are packed, in the byte order of the machine that wrote
 * them (little-endian on all machines on which kprofs runs so far; type 71 has it). Types 1 to 4
 * are those of Akaros (kern/include/ros/profiler_records.h), byte for byte, with the same contents.
 * Types from 64 on are those of kprofs; a decoder skips a type that it does not know by its size.
 * New fields are added at the end of a payload only.
 *
 * Times are u64 nanoseconds of CLOCK_MONOTONIC. The stream is not sorted by time: samples come in
 * runs of one CPU; within one CPU they are in order.
 *
 * The structs below are the fixed heads of the payloads. The comment of each begins with the type
 * and says what follows the struct. Fields in a stream are not aligned, so they must be copied out
 * with memcpy.
 */
#ifndef KPROF_RECORDS_H
#define KPROF_RECORDS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum kprof_record_type {
	KPROF_REC_KERN_TRACE = 1,  /* sample taken in the kernel, or with frames of both sides */
	KPROF_REC_USER_TRACE = 2,  /* sample taken in user space, user frames only */
	KPROF_REC_MMAP = 3,	   /* an executable mapping of a process */
	KPROF_REC_NEW_PROCESS = 4, /* a process and its program */
	KPROF_REC_EVENT = 64,
	KPROF_REC_TASK = 65,
	KPROF_REC_LOST = 66,
	KPROF_REC_COMM = 67,
	KPROF_REC_FORK = 68,
	KPROF_REC_EXIT = 69,
	KPROF_REC_BUILD_ID = 70,
	KPROF_REC_CLOCK = 71,
	KPROF_REC_THROTTLE = 72,
	KPROF_REC_PERIOD = 73,
	KPROF_REC_USER_STACK = 74,
	KPROF_REC_KERNEL_MMAP = 75, /* the kernel's text, or a module */
	KPROF_REC_FILE_ID = 76,
	KPROF_REC_CPU_TIMES = 77,
	KPROF_REC_AWAY = 78,
	KPROF_REC_HOST = 80,
	KPROF_REC_USER = 81,
};

/* The longest valid payload in bytes (Akaros's decoder has the same limit). */
#define KPROF_REC_PAYLOAD_MAX (32u << 20)

/* In a trace: the frames after this word are user frames (Linux's PERF_CONTEXT_USER). */
#define KPROF_CONTEXT_USER 0xfffffffffffffe00ull
/*
 * Words from here on are context markers (Linux's PERF_CONTEXT_MAX to PERF_CONTEXT_HV), never
 * addresses.
 */
#define KPROF_CONTEXT_FIRST 0xfffffffffffff001ull

/* In pid fields. */
#define KPROF_PID_KERNEL                                                                           \
	0xffffffffu /* of a sample: the idle task; of a mapping or build-id: the kernel */
#define KPROF_PID_GONE                                                                             \
	0xfffffffeu /* a task that had exited, or is not visible in this pid namespace */

#define KPROF_PATH_KERNEL "[kernel.kallsyms]"

/* 1, 2: num_traces u64 follow, the frames, innermost first */
struct kprof_rec_trace {
	uint64_t info; /* number of the event, see EVENT */
	uint64_t time_ns;
	uint32_t pid; /* process */
	uint16_t cpu;
	uint16_t num_traces;
} __attribute__((packed));

/*
 * 3, 75: the path follows, NUL-terminated. In 75 pid is always KPROF_PID_KERNEL. Captures made
 * before type 75 existed have the kernel's mappings as type 3 with that pid.
 */
struct kprof_rec_mmap {
	uint64_t time_ns;
	uint64_t addr;
	uint64_t size;	 /* bytes */
	uint64_t offset; /* bytes into the file */
	uint32_t pid;
} __attribute__((packed));

/*
 * 4: the path of the program follows, NUL-terminated. A process has such a record from its start,
 * and another one when it executes another program. Mappings of the process that are older than
 * this record, and have no record at its time or later, belong to the former program.
 */
struct kprof_rec_new_process {
	uint64_t time_ns;
	uint32_t pid;
} __attribute__((packed));

enum kprof_event_flags {
	KPROF_EVENT_FREQ = 1 << 0, /* rate is a frequency in Hz, else a period */
	KPROF_EVENT_FALLBACK =
		1 << 1, /* a replacement for an event that this machine does not have */
	KPROF_EVENT_SCOPE_USER = 1 << 2, /* the whole machine, user space only */
	KPROF_EVENT_SCOPE_OWN = 1 << 3,  /* processes of the mounting user, user space only */
	KPROF_EVENT_OFFCPU = 1 << 4, /* samples are times away from the CPU; periods are ns */
	KPROF_EVENT_WALL = 1 << 5,   /* some are, those behind an AWAY; the others are of a clock */
};

/*
 * 64: the event's text as given to kpctl follows, NUL-terminated, then a struct
 * kprof_rec_event_configs, which captures that were made before it existed do not have
 */
struct kprof_rec_event {
	uint32_t number;
	uint32_t perf_type;
	uint64_t config;
	uint64_t rate; /* period in events, or frequency in Hz: see flags */
	uint32_t flags;
} __attribute__((packed));

/* perf_event_attr.config1 and .config2; without this struct they are 0, or not known */
struct kprof_rec_event_configs {
	uint64_t config1;
	uint64_t config2;
} __attribute__((packed));

/*
 * 65: later samples of this CPU with this process were taken in this thread. Without such a record
 * the thread is the main thread (tid = pid). A LOST does not end its validity; the writer
 * nevertheless repeats it after a LOST.
 */
struct kprof_rec_task {
	uint32_t cpu;
	uint32_t pid;
	uint32_t tid;
} __attribute__((packed));

enum kprof_lost_reason {
	KPROF_LOST_RING = 1,  /* the perf ring of the CPU was full (counted by PERF_FORMAT_LOST) */
	KPROF_LOST_QUEUE = 2, /* kpdata was full in mode discard */
	KPROF_LOST_OVERWRITE = 3,    /* overwritten before they were read, in mode overwrite */
	KPROF_LOST_INVALID = 4,      /* the kernel's record could not be understood */
	KPROF_LOST_RING_RECORDS = 5, /* as 1, from PERF_RECORD_LOST of a kernel before 6.0, which
					counts all records of the ring, not only samples */
};

/* 66 */
struct kprof_rec_lost {
	uint32_t cpu;
	uint32_t event;
	uint32_t reason;
	uint64_t count; /* samples */
} __attribute__((packed));

/* 67: the name follows, NUL-terminated */
struct kprof_rec_comm {
	uint64_t time_ns;
	uint32_t pid;
	uint32_t tid;
} __attribute__((packed));

/* 68, 69 */
struct kprof_rec_fork {
	uint64_t time_ns;
	uint32_t pid;
	uint32_t tid;
	uint32_t parent_pid;
	uint32_t parent_tid;
} __attribute__((packed));

/* 70: `length` bytes follow, the build-id of the mapping of this process at this address */
struct kprof_rec_build_id {
	uint64_t time_ns;
	uint32_t pid;
	uint64_t addr;
	uint8_t length;
} __attribute__((packed));

#define KPROF_BUILD_ID_MAX 20 /* bytes; the longest that the kernel reports */

#define KPROF_BYTE_ORDER_LITTLE 1
#define KPROF_BYTE_ORDER_BIG 2

/*
 * 71: the clock's name follows, NUL-terminated ("CLOCK_MONOTONIC"), then u32, the pid of the
 * process that writes the capture, whose samples reports leave out (0 or missing if it is not
 * known)
 */
struct kprof_rec_clock {
	uint64_t time_ns;
	uint64_t wall_ns; /* CLOCK_REALTIME at the same moment, since 1970 */
	uint32_t byte_order;
} __attribute__((packed));

/* 72 */
struct kprof_rec_throttle {
	uint64_t time_ns;
	uint32_t cpu;
	uint32_t event;
	uint32_t throttled; /* 1 if the kernel stopped taking samples, 0 if it resumed */
} __attribute__((packed));

/* 73: each later sample of this event on this CPU stands for `period` events */
struct kprof_rec_period {
	uint32_t cpu;
	uint32_t event;
	uint64_t period;
} __attribute__((packed));

/*
 * 74: the copied stack from which the user frames of the next record are unwound (`stack dwarf`).
 * That record is the sample of this time, process and CPU, and has only the innermost user frame.
 * num_regs u64 follow, the user registers by their DWARF numbers, the program counter as the last
 * one; then `size` bytes of the stack, from the stack pointer up.
 */
struct kprof_rec_user_stack {
	uint64_t time_ns;
	uint32_t pid;
	uint16_t cpu;
	uint16_t machine; /* as in ELF files: 62 x86_64 (17 registers), 183 AArch64 (33) */
	uint16_t depth;	  /* limit of frames, kernel and user together, of the sample */
	uint16_t num_regs;
	uint32_t size;
} __attribute__((packed));

/*
 * 76: the file of a mapping without a build-id: of the mapping of this process at this address. Three
 * u64 follow: the generation of the inode, the size in bytes, and the time of the last modification
 * in ns since 1970. A value that is 0 or missing is not known.
 */
struct kprof_rec_file_id {
	uint64_t time_ns;
	uint64_t addr;
	uint64_t inode;
	uint32_t dev_major; /* as in /proc/PID/maps */
	uint32_t dev_minor;
	uint32_t pid;
} __attribute__((packed));

/*
 * 77: what one CPU did in a run from its start on, as mpstat counts it. A later record about the same
 * start and CPU replaces it.
 */
struct kprof_rec_cpu_times {
	uint64_t time_ns;  /* up to when */
	uint64_t since_ns; /* when the run started; its number */
	uint32_t cpu;
	uint64_t irq_ns;
	uint64_t kern_ns;
	uint64_t user_ns;
	uint64_t idle_ns;
	uint64_t steal_ns; /* what the machine did not have: a hypervisor gave it to others */
} __attribute__((packed));

/*
 * 78: the next sample of this time, process and CPU is of a thread that was away from the CPU, and its
 * stack is that with which it had left. A USER_STACK may be between them. PERIOD has back_ns - left_ns.
 * The name of the waker follows, NUL-terminated ("" if it is not known), then num_traces u64, its
 * stack as in a sample.
 */
struct kprof_rec_away {
	uint64_t time_ns;
	uint32_t pid;
	uint16_t cpu;
	uint16_t num_traces;
	uint64_t left_ns;
	uint64_t back_ns;
	uint32_t state;	    /* the task state of Linux as it left; 0: it could have gone on */
	uint32_t waker_pid; /* KPROF_PID_GONE: not known, KPROF_PID_KERNEL: the idle task */
	uint32_t waker_tid;
	uint64_t woken_ns;  /* 0: not known */
} __attribute__((packed));

#define KPROF_HOST_ID_BYTES 16

/*
 * 80: the machine that wrote the records from the last CLOCK on; its name (uname -n) follows,
 * NUL-terminated. An id of which all bytes are 0 is not known.
 */
struct kprof_rec_host {
	uint8_t machine_id[KPROF_HOST_ID_BYTES]; /* /etc/machine-id, in the order of its digits */
	uint8_t boot_id[KPROF_HOST_ID_BYTES]; /* /proc/sys/kernel/random/boot_id */
} __attribute__((packed));

/*
 * 81: the real user of a process (of its first thread) from then on, as a number of the user namespace of the
 * writer. A forked process has that of its parent until it has such a record.
 */
struct kprof_rec_user {
	uint64_t time_ns;
	uint32_t pid;
	uint32_t uid;
} __attribute__((packed));

#ifdef __cplusplus
}
#define KPROF_REC_ASSERT static_assert
#else
#define KPROF_REC_ASSERT _Static_assert
#endif

KPROF_REC_ASSERT(sizeof(struct kprof_rec_trace) == 24, "layout of Akaros");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_mmap) == 36, "layout of Akaros");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_new_process) == 12, "layout of Akaros");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_event) == 28, "packed");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_event_configs) == 16, "packed");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_task) == 12, "packed");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_lost) == 20, "packed");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_comm) == 16, "packed");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_fork) == 24, "packed");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_build_id) == 21, "packed");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_clock) == 20, "packed");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_throttle) == 20, "packed");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_period) == 16, "packed");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_user_stack) == 24, "packed");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_file_id) == 36, "packed");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_cpu_times) == 60, "packed");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_away) == 52, "packed");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_host) == 32, "packed");
KPROF_REC_ASSERT(sizeof(struct kprof_rec_user) == 16, "packed");

#endif
