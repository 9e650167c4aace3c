/* SPDX-License-Identifier: MIT */
/*
 * Encodes the kernel's sample records of one CPU as runs of kpdata records.
 *
 * A run of records can be decoded without the runs before it: each run has TASK before the first
 * sample whose thread would be unknown or wrong, and PERIOD before the first sample of each
 * event. So a reader may begin at any run, and runs may be dropped or overwritten.
 *
 * Owned by the thread that drains the CPU. Allocates only when a process with several threads is
 * sampled for the first time.
 */
#ifndef KPROFS_PROF_ENCODER_H
#define KPROFS_PROF_ENCODER_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "prof/record.h"
#include "prof/rings.h"

/*
 * A run is appended to the capture when it has this size: some 35 samples with stacks, so that
 * the capture's lock is taken once for all of them, and few TASK and PERIOD records are repeated.
 */
#define ENCODER_RUN_BYTES 8192

struct encoder;

struct encoder_counts {
	uint64_t stacks;
	uint64_t stacks_cut;
};

/*
 * config must outlive the encoder. foreign: pid 0 may be a task of another pid namespace.
 * follows: readers may have read runs of an earlier encoder for this CPU, and so know threads
 * that this one has not seen.
 */
struct encoder *encoder_create(const struct rings_config *config, unsigned int cpu, bool foreign,
	bool follows);
void encoder_destroy(struct encoder *encoder);

/*
 * Appends one PERF_RECORD_SAMPLE of event `index`. Returns -EBADMSG if its content contradicts its
 * size; nothing is then appended. Returns -ENOSPC if the caller must append the run to the capture
 * first and then call again.
 */
int encoder_sample(struct encoder *encoder, unsigned int index,
	const struct perf_event_header *header);
/* Appends THROTTLE. Returns -ENOSPC as above. */
int encoder_throttle(struct encoder *encoder, unsigned int index, uint64_t time_ns, bool throttled);

/* The process and the time of the last sample. */
void encoder_last(const struct encoder *encoder, uint32_t *pid, uint64_t *time_ns);

/* The run so far. */
const uint8_t *encoder_run(const struct encoder *encoder, size_t *len);
/* Samples of event `index` in it. */
uint64_t encoder_run_samples(const struct encoder *encoder, unsigned int index);
/* Begins the next run, in the encoder's own memory. */
void encoder_next_run(struct encoder *encoder);
/* Sets the memory of the run, which must be empty, until the next one begins. */
void encoder_place_run(struct encoder *encoder, uint8_t *place, size_t size);

const struct encoder_counts *encoder_get_counts(const struct encoder *encoder);
void encoder_clear_counts(struct encoder *encoder);

#endif
