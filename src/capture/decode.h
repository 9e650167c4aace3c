/* SPDX-License-Identifier: MIT */
/*
 * Decodes the bytes of kpdata: one record after the other, each with its offset in the stream.
 *
 * The bytes are not trusted. Whatever they are, the decoder stays inside them and uses at most one
 * buffer of about KPROF_REC_PAYLOAD_MAX; an error names the offset and the reason. The layout is
 * that of include/kprof/records.h. A stream in the other byte order is converted, beginning with
 * the CLOCK record that has the byte order.
 *
 * One thread at a time for each decoder.
 */
#ifndef KPROFS_CAPTURE_DECODE_H
#define KPROFS_CAPTURE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "base/err.h"
#include "kprof/records.h"

struct decoder {
	/* the caller may read these */
	uint64_t offset;    /* of the next record, in bytes from where the decoder began */
	uint64_t records;   /* of known types, well formed */
	uint64_t unknown;   /* of types that this version does not know */
	uint64_t malformed; /* of known types, but with invalid contents */

	/* private to the decoder */
	const uint8_t *window; /* the bytes from offset on are at window + pos */
	size_t pos;
	size_t filled; /* bytes in the window */
	uint8_t *buffer; /* owned; NULL if the window is the caller's memory, or mapped */
	size_t capacity;
	void *map;	 /* the mapped window; NULL if it is not mapped */
	size_t map_bytes;
	off_t map_end;	 /* of the file that is mapped in pieces; 0 if it is read */
	int fd;
	off_t begin; /* file offset at which the decoder began, or -1 if it can't be rewound */
	off_t at;    /* offset of the next read, or -1 for the descriptor's file position */
	bool ended;  /* the source has no more bytes */
	bool swap;   /* the writer's byte order is not this machine's */
	int failed;  /* sticky: 0, or the error that every further call returns */
	struct err failure;
};

/* The numbers that follow the head of a FILE_ID; 0 if not known. */
struct decode_file {
	uint64_t generation;
	uint64_t size;
	uint64_t mtime_ns;
};

struct decode_record {
	uint64_t offset; /* of its first byte */
	uint64_t type;
	bool known;
	uint32_t size; /* of the payload */
	const uint8_t *payload;

	/* heads, in this machine's byte order; `type` tells which one is valid */
	union {
		uint8_t head[sizeof(struct kprof_rec_cpu_times)]; /* the largest: as bytes */
		struct kprof_rec_trace trace;
		struct kprof_rec_mmap mmap; /* also for 75, where pid is always KPROF_PID_KERNEL */
		struct kprof_rec_new_process new_process;
		struct kprof_rec_event event;
		struct kprof_rec_task task;
		struct kprof_rec_lost lost;
		struct kprof_rec_comm comm;
		struct kprof_rec_fork fork;
		struct kprof_rec_build_id build_id;
		struct kprof_rec_clock clock;
		struct kprof_rec_throttle throttle;
		struct kprof_rec_period period;
		struct kprof_rec_user_stack user_stack;
		struct kprof_rec_file_id file_id;
		struct kprof_rec_cpu_times cpu_times;
		struct kprof_rec_away away;
		struct kprof_rec_host host;
		struct kprof_rec_user user;
	};
	const char *text;     /* 3, 4, 64, 67, 71, 75, 78, 80: the string after the head, with its NUL */
	/* 1, 2, 78: the frames, for decode_frame(); 70: the build-id; 74: for the functions below */
	const uint8_t *bytes;
	struct kprof_rec_event_configs configs; /* 64; 0 if the capture does not have them */
	struct decode_file file; /* 76 */
	/* 64: the text; of the event `default` what it stood for: cycles or cpu-clock */
	const char *event_name;
	uint32_t writer_pid;  /* 71: the process that wrote the capture; 0 if not known */
	bool swap;
};

/* Decodes `size` bytes at `data`, which the caller owns and which must outlive the decoder. */
void decode_init_memory(struct decoder *decoder, const void *data, size_t size);

/*
 * Decodes the bytes that read(2) returns on fd, which the caller still owns. On a descriptor with
 * O_NONBLOCK a read that would wait is the end of the stream.
 */
void decode_init_fd(struct decoder *decoder, int fd);

/*
 * Decodes the bytes that pread(2) returns on fd from the offset `begin` on. The file position of
 * fd, which may be shared, is neither used nor moved. A file that decode_seal() sealed is mapped in
 * pieces instead, which saves copying it.
 */
void decode_init_pread(struct decoder *decoder, int fd, off_t begin);

/*
 * Seals a memfd, made with MFD_ALLOW_SEALING, whose capture is complete: mapped pages of it can
 * then neither disappear nor change. If sealing fails, it can be decoded as any other file.
 */
void decode_seal(int fd);

void decode_fini(struct decoder *decoder);

/* The event for which the machine chose one: kpctl's `event default`. */
#define DECODE_EVENT_DEFAULT "default"

/*
 * The next record. Its pointers are valid until the next call.
 *
 *  1		a record; known is false for a type that this version does not know
 *  0		the end, between two records
 *  -EBADMSG	a record with invalid contents; the next call goes on after it
 *  -EPROTO	bytes that are no record: nothing after them can be found (sticky)
 *  -ENODATA	the stream is cut in the middle of a record (sticky)
 *  -errno	of read(2) (sticky)
 *
 * For each failure *err has the offset and the reason. Blocks where read(2) does.
 */
int decode_next(struct decoder *decoder, struct decode_record *record, struct err *err);

/*
 * Goes back to where the decoder began and sets the counters to 0. Returns -ESPIPE if the source
 * can't seek.
 */
int decode_rewind(struct decoder *decoder);

/* Frame i < num_traces of a trace, or of a waker. Inline, since most of a capture is frames. */
static inline uint64_t decode_frame(const struct decode_record *record, uint16_t i)
{
	uint64_t frame;

	memcpy(&frame, record->bytes + sizeof(frame) * i, sizeof(frame));
	return record->swap ? __builtin_bswap64(frame) : frame;
}

#endif
