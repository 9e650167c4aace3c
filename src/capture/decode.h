/* SPDX-License-Identifier: MIT */
/*
 * The reader of kpdata's bytes: one record after the other, each with its place in the stream.
 *
 * The bytes may come from anybody: whatever they are, the decoder stays inside them, uses at most
 * one buffer of about KPROF_REC_PAYLOAD_MAX, and says where and why it could not go on. The layout
 * is that of include/kprof/records.h; a stream written in the other byte order is turned, from the
 * CLOCK record on that says so.
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
	/* for the caller to read */
	uint64_t offset;    /* of the next record, in bytes from where the decoder began */
	uint64_t records;   /* of known types, well formed */
	uint64_t unknown;   /* of types that we do not know */
	uint64_t malformed; /* of known types, but with contents that can't be */

	/* the decoder's own */
	const uint8_t *window; /* the bytes from offset on are at window + pos */
	size_t pos;
	size_t filled; /* bytes in the window */
	uint8_t *buffer; /* owned; NULL where the window is the caller's memory, or mapped */
	size_t capacity;
	void *map;	 /* the window, where it is mapped; NULL: no */
	size_t map_bytes;
	off_t map_end;	 /* of the file that is mapped in pieces; 0: it is read */
	int fd;
	off_t begin; /* where in the file the decoder began; -1: can't be rewound */
	off_t at;    /* where the next read begins; -1: wherever the descriptor stands */
	bool ended;  /* the source has no more bytes */
	bool swap;   /* the writer's byte order is not ours */
	int failed;  /* sticky: 0, or what every further call returns */
	struct err failure;
};

/* What follows the head of a FILE_ID; 0: not known. */
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

	/* heads, in our byte order; which one is valid is told by type */
	union {
		uint8_t head[sizeof(struct kprof_rec_mmap)]; /* the largest: as bytes */
		struct kprof_rec_trace trace;
		struct kprof_rec_mmap mmap; /* of 75 too, its pid always KPROF_PID_KERNEL */
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
	};
	const char *text;     /* 3, 4, 64, 67, 71, 75: the string behind the head, with its NUL */
	/* 1, 2: the frames, for decode_frame(); 70: the build-id; 74: for the functions below */
	const uint8_t *bytes;
	struct kprof_rec_event_configs configs; /* 64; 0 where the capture does not say */
	struct decode_file file; /* 76 */
	uint32_t writer_pid;  /* 71: the process that wrote the capture; 0 where it does not say */
	bool swap;
};

/* Decodes `size` bytes at `data`, which stay the caller's and must outlive the decoder. */
void decode_init_memory(struct decoder *decoder, const void *data, size_t size);

/*
 * Decodes what read(2) gives on fd, which stays the caller's. On a descriptor with O_NONBLOCK a
 * read that would wait is the end of the stream.
 */
void decode_init_fd(struct decoder *decoder, int fd);

/*
 * Decodes what pread(2) gives on fd from the offset `begin` on: the position of fd, which others
 * may share, is neither used nor moved. A file that decode_seal() sealed is mapped in pieces
 * instead, which saves copying it.
 */
void decode_init_pread(struct decoder *decoder, int fd, off_t begin);

/*
 * Seals a memfd, made with MFD_ALLOW_SEALING, whose capture is complete: what of it is mapped then
 * neither goes away nor changes. Where that fails it can be decoded as any other file.
 */
void decode_seal(int fd);

void decode_fini(struct decoder *decoder);

/*
 * The next record. Its pointers are valid until the next call.
 *
 *  1		a record; known is false for a type that we do not know
 *  0		the end, between two records
 *  -EBADMSG	a record whose contents can't be; the next call goes on behind it
 *  -EPROTO	bytes that are no record: nothing behind them can be found (sticky)
 *  -ENODATA	the stream is cut in the middle of a record (sticky)
 *  -errno	of read(2) (sticky)
 *
 * Each failure says the offset and the reason in *err. Blocks where read(2) does.
 */
int decode_next(struct decoder *decoder, struct decode_record *record, struct err *err);

/* Back to where the decoder began, counters at 0. -ESPIPE where the source can't. */
int decode_rewind(struct decoder *decoder);

/* Register i < user_stack.num_regs of a copied stack, and its bytes. */
uint64_t decode_register(const struct decode_record *record, uint16_t i);
const uint8_t *decode_stack(const struct decode_record *record);

/* Frame i < trace.num_traces of a trace. In place: most of a capture is frames. */
static inline uint64_t decode_frame(const struct decode_record *record, uint16_t i)
{
	uint64_t frame;

	memcpy(&frame, record->bytes + sizeof(frame) * i, sizeof(frame));
	return record->swap ? __builtin_bswap64(frame) : frame;
}

#endif
