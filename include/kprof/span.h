/* SPDX-License-Identifier: MIT */
/* A span of libkprof that has begun; for kprof.h and typed.h. C and C++. */
#ifndef KPROF_SPAN_H
#define KPROF_SPAN_H

#include <stdint.h>

/*
 * Set by the call that begins the span, read by the one that ends it, in the same thread. It may be
 * copied. `begun` 0: no span, or its begin was not written; then its end is not written either.
 */
struct kprof_span {
	uint64_t begun; /* the timestamp of the begin, by the clock of the process's pool */
	uint64_t head;	/* flags and id of the begin, as in the head of a record */
};

#endif
