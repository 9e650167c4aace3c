/* SPDX-License-Identifier: MIT */
/*
 * Decodes PERF_RECORD_SAMPLE, as sample_attr() of rings.c requests it: private to the encoder. Nothing is
 * copied: what is found points into the record, which is aligned to 8 bytes.
 */
#ifndef KPROFS_PROF_SAMPLE_H
#define KPROFS_PROF_SAMPLE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prof/offcpu_code.h"
#include "sys/perf.h"

/* What the samples of an event consist of. */
struct sample_form {
	const struct perf_event_attr *attr;
	bool has_chain;
	bool has_raw;
	const struct perf_user_regs *user_regs; /* NULL if stacks are not copied */
};

struct sample {
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t period;
	const uint64_t *chain; /* with the kernel's context markers */
	uint64_t chain_count;
	const uint64_t *regs; /* NULL if not in the record */
	const uint8_t *stack;
	uint32_t stack_bytes;
	const uint64_t *raw; /* its size in the first 4 bytes, then the data; NULL if not in the record */
	size_t raw_bytes;    /* with the size */
};

/* -EBADMSG if the content contradicts its size. */
int sample_decode(const struct sample_form *form, const struct perf_event_header *header, struct sample *s);

struct sample_frames {
	const uint64_t *kernel, *user;
	size_t kernel_count, user_count;
};

/* Splits a chain at its markers. Frames of one side are always adjacent. */
void sample_frames(const struct sample *s, struct sample_frames *f);

/* The raw data of a sample of the programs of offcpu.h. */
struct sample_away {
	const struct offcpu_sample *head;
	const struct offcpu_wake *wake; /* NULL if it is not known */
	const uint64_t *kernel;
	uint32_t kernel_count;
};

/* -EBADMSG if there is none, or its content contradicts its size. */
int sample_away(const struct sample *s, struct sample_away *away);

#endif
