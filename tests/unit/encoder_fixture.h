/* SPDX-License-Identifier: MIT */
/* Samples in the kernel's layout, written by hand, and an encoder that takes them. */
#ifndef KPROFS_TESTS_UNIT_ENCODER_FIXTURE_H
#define KPROFS_TESTS_UNIT_ENCODER_FIXTURE_H

#include <errno.h>
#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decode.h"
#include "prof/capture.h"
#include "prof/encoder.h"
#include "sys/perf.h"

#define CPU 3
#define USER_IP 0x401000
#define MARK_KERNEL (-128)

/* event 0: a fixed period of 1000, number 7; event 1: a frequency, number 9 */
static inline void make_config(struct rings_config *config, bool chain)
{
	*config = (struct rings_config){ .stack_kernel = chain, .stack_user = chain, .depth = 5 };
	config->events.count = 2;
	config->events.events[0].attr.sample_period = 1000;
	config->events.events[1].attr.freq = 1;
	config->events.events[1].attr.sample_freq = 999;
	config->numbers[0] = 7;
	config->numbers[1] = 9;
}

/* ---- records of the kernel ------------------------------------------------------------------- */

struct kernel_record {
	union {
		struct perf_event_header header;
		uint64_t words[8192];
	};
	size_t used; /* words */
};

static inline void put(struct kernel_record *k, uint64_t word)
{
	k->words[k->used++] = word;
	k->header.size = (uint16_t)(k->used * 8);
}

static inline void begin_sample(struct kernel_record *k, uint16_t misc, uint64_t ip, uint32_t pid,
	uint32_t tid, uint64_t time_ns)
{
	k->used = 1;
	k->header = (struct perf_event_header){ .type = PERF_RECORD_SAMPLE, .misc = misc };
	put(k, 4711); /* id */
	put(k, ip);
	put(k, (uint64_t)tid << 32 | pid); /* u32 pid, tid on a little-endian machine */
	put(k, time_ns);
}

/* A sample of event 0 without frames, as `stack none` has it. */
static inline void make_plain(struct kernel_record *k, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	begin_sample(k, PERF_RECORD_MISC_USER, USER_IP, pid, tid, time_ns);
}

/* ---- chains ---------------------------------------------------------------------------------- */

#define K PERF_RECORD_MISC_KERNEL
#define U PERF_RECORD_MISC_USER
#define M(mark) ((uint64_t)(int64_t)(mark))
#define USER_MARK 0xfffffffffffffe00

/* ---- runs that stand alone ------------------------------------------------------------------- */

static inline size_t count_type(const struct encoder *e, uint64_t type)
{
	struct decoded r;
	const uint8_t *run;
	size_t len, at = 0, n = 0;

	run = encoder_run(e, &len);
	while (decode_next(run, len, &at, &r))
		n += r.type == type;
	return n;
}

#endif
