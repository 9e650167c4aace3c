/* SPDX-License-Identifier: MIT */
/*
 * The parts of the perf.data format that are written here. Linux's tools/perf/Documentation/
 * perf.data-file-format.txt and include/uapi/linux/perf_event.h specify it. A file is in the byte
 * order of the machine that wrote it.
 *
 *	header | attributes | ids | data: events | table of the feature sections | feature sections
 */
#ifndef KPROFS_FORMATS_PERFDATA_PERFDATA_FORMAT_H
#define KPROFS_FORMATS_PERFDATA_PERFDATA_FORMAT_H

#include <stdint.h>

#define PERFDATA_MAGIC 0x32454c4946524550ull /* "PERFILE2", read as a word */

struct perfdata_section {
	uint64_t offset; /* in the file */
	uint64_t size;	 /* bytes */
};

struct perfdata_header {
	uint64_t magic;
	uint64_t size;	    /* of this header */
	uint64_t attr_size; /* of one struct perfdata_attr_entry */
	struct perfdata_section attrs;
	struct perfdata_section data;
	struct perfdata_section event_types; /* no longer used */
	uint64_t features[4];		     /* a bit each, see enum perfdata_feature */
};

/* struct perf_event_attr as it was in Linux 4.8 (PERF_ATTR_SIZE_VER5), which all readers know. */
struct perfdata_attr {
	uint32_t type;
	uint32_t size;
	uint64_t config;
	uint64_t rate; /* period, or frequency */
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t flags; /* see perfdata_flag() */
	uint32_t wakeup;
	uint32_t bp_type;
	uint64_t config1;
	uint64_t config2;
	uint64_t branch_sample_type;
	uint64_t sample_regs_user;
	uint32_t sample_stack_user;
	int32_t clockid;
	uint64_t sample_regs_intr;
	uint32_t aux_watermark;
	uint16_t sample_max_stack;
	uint16_t reserved;
};

struct perfdata_attr_entry {
	struct perfdata_attr attr;
	struct perfdata_section ids; /* u64 each */
};

_Static_assert(sizeof(struct perfdata_header) == 104, "the header of PERFILE2");
_Static_assert(sizeof(struct perfdata_attr) == 112, "PERF_ATTR_SIZE_VER5");
_Static_assert(sizeof(struct perfdata_attr_entry) == 128, "no padding");

enum perfdata_type {
	PERFDATA_TYPE_SOFTWARE = 1,
	PERFDATA_TYPE_TRACEPOINT = 2,
};

#define PERFDATA_SOFTWARE_DUMMY 9 /* PERF_COUNT_SW_DUMMY */

/* numbers of the bits in perfdata_attr.flags */
enum perfdata_attr_flag {
	PERFDATA_EXCLUDE_KERNEL = 5,
	PERFDATA_MMAP = 8,
	PERFDATA_COMM = 9,
	PERFDATA_FREQ = 10,
	PERFDATA_TASK = 13,
	PERFDATA_SAMPLE_ID_ALL = 18,
	PERFDATA_MMAP2 = 23,
	PERFDATA_COMM_EXEC = 24,
	PERFDATA_USE_CLOCKID = 25,
};

/* The flags are C bit-fields, which on big-endian machines begin at the highest bit. */
static inline uint64_t perfdata_flag(enum perfdata_attr_flag flag)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return 1ull << flag;
#else
	return 1ull << (63 - flag);
#endif
}

/*
 * The parts of a sample, in this order: identifier, ip, pid and tid, time, cpu, period, callchain.
 */
enum perfdata_sample_type {
	PERFDATA_SAMPLE_IP = 1 << 0,
	PERFDATA_SAMPLE_TID = 1 << 1,
	PERFDATA_SAMPLE_TIME = 1 << 2,
	PERFDATA_SAMPLE_CALLCHAIN = 1 << 5,
	PERFDATA_SAMPLE_CPU = 1 << 7,
	PERFDATA_SAMPLE_PERIOD = 1 << 8,
	PERFDATA_SAMPLE_IDENTIFIER = 1 << 16,
};

#define PERFDATA_SAMPLE_TYPE                                                                     \
	(PERFDATA_SAMPLE_IDENTIFIER | PERFDATA_SAMPLE_IP | PERFDATA_SAMPLE_TID |                 \
		PERFDATA_SAMPLE_TIME | PERFDATA_SAMPLE_CPU | PERFDATA_SAMPLE_PERIOD)

/* In a callchain: the frames that follow are of the kernel, or of user space. */
#define PERFDATA_CONTEXT_KERNEL 0xffffffffffffff80ull
#define PERFDATA_CONTEXT_USER 0xfffffffffffffe00ull
/* Words of a callchain from here up are context markers, never addresses. */
#define PERFDATA_CONTEXT_FIRST 0xfffffffffffff001ull

enum perfdata_event_type {
	PERFDATA_RECORD_LOST = 2,
	PERFDATA_RECORD_COMM = 3,
	PERFDATA_RECORD_EXIT = 4,
	PERFDATA_RECORD_THROTTLE = 5,
	PERFDATA_RECORD_UNTHROTTLE = 6,
	PERFDATA_RECORD_FORK = 7,
	PERFDATA_RECORD_SAMPLE = 9,
	PERFDATA_RECORD_MMAP = 1,
	PERFDATA_RECORD_MMAP2 = 10,
	PERFDATA_RECORD_LOST_SAMPLES = 13,
	PERFDATA_RECORD_FINISHED_ROUND = 68,
};

enum perfdata_misc {
	PERFDATA_MISC_KERNEL = 1,
	PERFDATA_MISC_USER = 2,
	PERFDATA_MISC_COMM_EXEC = 1 << 13,
	PERFDATA_MISC_MMAP_BUILD_ID = 1 << 14,
	PERFDATA_MISC_BUILD_ID_SIZE = 1 << 15, /* in the feature section */
};

/* Before each event. */
struct perfdata_event {
	uint32_t type;
	uint16_t misc;
	uint16_t size; /* with this head */
};

/* Each event has a size of 16 bits and is a multiple of 8 bytes long. */
#define PERFDATA_EVENT_BYTES_MAX 65528

/* After each event that is no sample (PERFDATA_SAMPLE_ID_ALL). */
struct perfdata_sample_id {
	uint32_t pid;
	uint32_t tid;
	uint64_t time;
	uint32_t cpu;
	uint32_t reserved;
	uint64_t id; /* of the event; 0 if it has none */
};

struct perfdata_sample {
	struct perfdata_event head;
	uint64_t id;
	uint64_t ip;
	uint32_t pid;
	uint32_t tid;
	uint64_t time;
	uint32_t cpu;
	uint32_t reserved;
	uint64_t period;
	/* with PERFDATA_SAMPLE_CALLCHAIN: u64 count, and `count` u64 */
};

/* Of the kernel and its modules; then the name, NUL-terminated and padded, then a sample_id. */
struct perfdata_mmap {
	struct perfdata_event head;
	uint32_t pid;
	uint32_t tid;
	uint64_t addr;
	uint64_t length;
	uint64_t offset;
};

/* The same with more about the file. */
struct perfdata_mmap2 {
	struct perfdata_mmap mmap;
	uint8_t build_id_length; /* if misc has MMAP_BUILD_ID; else all four are 0 if not known */
	uint8_t reserved[3];
	uint8_t build_id[20];
	uint32_t prot;
	uint32_t flags;
};

#define PERFDATA_PROT_READ 1
#define PERFDATA_PROT_EXEC 4
#define PERFDATA_MAP_PRIVATE 2

/* Then the name, NUL-terminated and padded, then a sample_id. */
struct perfdata_comm {
	struct perfdata_event head;
	uint32_t pid;
	uint32_t tid;
};

struct perfdata_fork {
	struct perfdata_event head;
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t tid;
	uint32_t parent_tid;
	uint64_t time;
	struct perfdata_sample_id sample_id;
};

struct perfdata_throttle {
	struct perfdata_event head;
	uint64_t time;
	uint64_t id;
	uint64_t stream_id;
	struct perfdata_sample_id sample_id;
};

struct perfdata_lost_samples {
	struct perfdata_event head;
	uint64_t lost;
	struct perfdata_sample_id sample_id;
};

/* Records of all kinds, samples among them or not. */
struct perfdata_lost {
	struct perfdata_event head;
	uint64_t id;
	uint64_t lost;
	struct perfdata_sample_id sample_id;
};

_Static_assert(sizeof(struct perfdata_sample_id) == 32, "no padding");
_Static_assert(sizeof(struct perfdata_sample) == 56, "no padding");
_Static_assert(sizeof(struct perfdata_mmap) == 40, "no padding");
_Static_assert(sizeof(struct perfdata_mmap2) == 72, "no padding");
_Static_assert(sizeof(struct perfdata_fork) == 64, "no padding");
_Static_assert(sizeof(struct perfdata_throttle) == 64, "no padding");
_Static_assert(sizeof(struct perfdata_lost_samples) == 48, "no padding");
_Static_assert(sizeof(struct perfdata_lost) == 56, "no padding");

enum perfdata_feature {
	PERFDATA_FEATURE_BUILD_ID = 2,
	PERFDATA_FEATURE_HOSTNAME = 3,
	PERFDATA_FEATURE_OSRELEASE = 4,
	PERFDATA_FEATURE_VERSION = 5,
	PERFDATA_FEATURE_ARCH = 6,
	PERFDATA_FEATURE_NRCPUS = 7,
	PERFDATA_FEATURE_EVENT_DESC = 12,
	PERFDATA_FEATURE_SAMPLE_TIME = 21,
	PERFDATA_FEATURE_CLOCKID = 23,
	PERFDATA_FEATURE_CLOCK_DATA = 29,
};

#define PERFDATA_PATH_MAX 4095 /* PATH_MAX without the NUL: perf's own limit */

/* Names in feature sections are padded to this. */
#define PERFDATA_NAME_ALIGN 64

/* An entry of the section BUILD_ID; then the path, NUL-terminated and padded. */
struct perfdata_build_id {
	struct perfdata_event head; /* type 0 */
	int32_t pid;		    /* -1 */
	uint8_t build_id[20];
	uint8_t length;
	uint8_t reserved[3];
};

_Static_assert(sizeof(struct perfdata_build_id) == 36, "no padding");

#endif
