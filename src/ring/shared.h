/* SPDX-License-Identifier: MIT */
/*
 * Atomic access to plain fields in shared memory, with the memory order at each call.
 *
 * The ABI header has plain integers, since C++ and readers include it; here they are accessed as
 * atomics, which have the same size and alignment on every supported machine.
 */
#ifndef KPROFS_RING_SHARED_H
#define KPROFS_RING_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

/* the thread sanitizer does not understand assembly */
#if defined(__SANITIZE_THREAD__)
#define SHARED_NO_ASM
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHARED_NO_ASM
#endif
#endif

#define SHARED_64(p) ((_Atomic uint64_t *)(p))
#define SHARED_32(p) ((_Atomic uint32_t *)(p))

_Static_assert(sizeof(_Atomic uint64_t) == 8 && sizeof(_Atomic uint32_t) == 4, "plain atomics");

/*
 * Compare and exchange, atomic only against signal handlers of this thread; no memory order. On x86
 * one instruction without the lock prefix: a signal comes before or after it. No other thread may
 * store to *p.
 */
static inline bool local_cas(uint64_t *p, uint64_t old, uint64_t new)
{
#if defined(__x86_64__) && !defined(SHARED_NO_ASM)
	bool done;

	__asm__ volatile("cmpxchgq %3, %1"
			 : "=@cce"(done), "+m"(*p), "+a"(old)
			 : "r"(new)
			 : "memory");
	return done;
#else
	return atomic_compare_exchange_strong_explicit(SHARED_64(p), &old, new,
		memory_order_relaxed, memory_order_relaxed);
#endif
}

/* Adds 1, atomic only against signal handlers of this thread; release for readers. */
static inline void local_inc_release(uint64_t *p)
{
#if defined(__x86_64__) && !defined(SHARED_NO_ASM)
	/* stores are not reordered with older stores on x86 */
	__asm__ volatile("incq %0" : "+m"(*p) : : "memory", "cc");
#else
	atomic_fetch_add_explicit(SHARED_64(p), 1, memory_order_release);
#endif
}

#endif
