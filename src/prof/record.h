/* SPDX-License-Identifier: MIT */
/*
 * Encodes kpdata's records (include/kprof/records.h) into memory.
 *
 * There are two kinds of buffer: fixed memory of the caller, which never grows (the sampler's,
 * which must not allocate), and growing memory (for the reader's own records). Not thread-safe:
 * each buffer has one owner.
 */
#ifndef KPROFS_PROF_RECORD_H
#define KPROFS_PROF_RECORD_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kprof/records.h"

struct tally;

/* The number of samples in some records, and of samples that their LOST records report. */
struct record_counts {
	uint64_t samples, lost;
};

struct record_buf {
	uint8_t *data;
	size_t used;
	size_t size;
	bool grows; /* data is the buffer's own, from malloc */
};

/* Memory of the caller. */
void record_buf_fixed(struct record_buf *buf, uint8_t *memory, size_t size);
/* Allocates memory that the buffer owns, and is empty at first. */
void record_buf_init(struct record_buf *buf);
void record_buf_fini(struct record_buf *buf);

/* The largest size of a trace record of n words, with its envelope. */
size_t record_trace_bytes(size_t words);
/* The same for an AWAY record with n frames. */
size_t record_away_bytes(size_t words);
/* The same for a USER_STACK record. */
size_t record_user_stack_bytes(size_t regs, size_t stack_bytes);

/*
 * Each function appends one record. Returns -ENOSPC if it does not fit into a fixed buffer, which
 * is then unchanged, or -ENOMEM if a growing one cannot grow.
 */
int record_trace(struct record_buf *buf, enum kprof_record_type type,
	const struct kprof_rec_trace *head, const uint64_t *kernel, size_t kernel_count,
	const uint64_t *user, size_t user_count);
/* Appends records that are already encoded. */
int record_append(struct record_buf *buf, const uint8_t *records, size_t len);
int record_mmap(struct record_buf *buf, const struct kprof_rec_mmap *head, const char *path);
/* The kernel's text or a module, at time 0 if it existed before any sample. */
int record_kernel_mmap(struct record_buf *buf, uint64_t addr, uint64_t size, const char *path);
int record_new_process(struct record_buf *buf, uint64_t time_ns, uint32_t pid, const char *path);
int record_event(struct record_buf *buf, const struct kprof_rec_event *head, const char *text,
	const struct kprof_rec_event_configs *configs);
int record_task(struct record_buf *buf, uint32_t cpu, uint32_t pid, uint32_t tid);
int record_lost(struct record_buf *buf, uint32_t cpu, uint32_t event,
	enum kprof_lost_reason reason, uint64_t count);
int record_comm(struct record_buf *buf, uint64_t time_ns, uint32_t pid, uint32_t tid,
	const char *name);
int record_fork(struct record_buf *buf, enum kprof_record_type type,
	const struct kprof_rec_fork *fork);
int record_build_id(struct record_buf *buf, uint64_t time_ns, uint32_t pid, uint64_t addr,
	const uint8_t *id, uint8_t length);
/* details: generation, size and time of modification, 0 if unknown */
int record_file_id(struct record_buf *buf, const struct kprof_rec_file_id *head,
	const uint64_t details[3]);
/* writer: the process that writes the capture, 0 to leave it out */
int record_clock(struct record_buf *buf, uint64_t time_ns, uint64_t wall_ns, uint32_t writer);
int record_host(struct record_buf *buf, const struct kprof_rec_host *head, const char *name);
int record_user(struct record_buf *buf, uint64_t time_ns, uint32_t pid, uint32_t uid);
int record_throttle(struct record_buf *buf, uint64_t time_ns, uint32_t cpu, uint32_t event,
	bool throttled);
int record_user_stack(struct record_buf *buf, const struct kprof_rec_user_stack *head,
	const uint64_t *regs, const uint8_t *stack);
/* num_traces of the head is set; comm has at most 15 bytes */
int record_away(struct record_buf *buf, const struct kprof_rec_away *head, const char *comm,
	const uint64_t *kernel, size_t kernel_count, const uint64_t *user, size_t user_count);
int record_cpu_times(struct record_buf *buf, const struct kprof_rec_cpu_times *times);
int record_period(struct record_buf *buf, uint32_t cpu, uint32_t event, uint64_t period);

/* Whether records from a file can be walked as below. */
bool record_are_whole(const uint8_t *data, size_t len);

/* ---- walking encoded records (trusted: encoded by this process) ------------------------------ */

/* The size of the record at data, where at least one whole record is. */
size_t record_length(const uint8_t *data);

/* The size of the whole records at data that fit into want; *first: the first record's size. */
size_t record_fit(const uint8_t *data, size_t len, size_t want, size_t *first);

/* Whether there is a sample; *time_ns: that of the first one, the oldest of a run. */
bool record_first_time(const uint8_t *data, size_t len, uint64_t *time_ns);

/* Adds the process of each sample to a set. */
void record_pids(const uint8_t *data, size_t len, GHashTable *pids);

/* Adds the records that begin in data; the last one may continue behind it in the same memory. */
void record_count(const uint8_t *data, size_t len, struct record_counts *counts);

/* Adds the samples in data under `reason`, and the numbers of its LOST records. */
void record_tally(const uint8_t *data, size_t len, enum kprof_lost_reason reason,
	struct tally *tally);
/*
 * The same of a capture that was loaded, by reason only, in few rows: in a file that somebody else made there
 * may be as many CPUs and events as records, and they are none of this machine.
 */
void record_tally_loaded(const uint8_t *data, size_t len, enum kprof_lost_reason reason,
	struct tally *tally);

#endif
