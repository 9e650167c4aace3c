/* SPDX-License-Identifier: MIT */
/*
 * Loads and stores of plain fields in shared memory, with the order spelled at the call.
 *
 * The ABI header has plain integers, since it is for C++ and for readers too; here they are looked
 * at as atomics, which have the same size and alignment on every machine we build for.
 */
#ifndef KPROFS_RING_SHARED_H
#define KPROFS_RING_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

/* the thread sanitizer sees nothing of assembly */
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
 * Compare and exchange against the signal handlers of this thread only; no order towards others.
 * On x86 one instruction without the lock prefix: a signal comes before or after it. Nobody else
 * may store to *p.
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

/* Adds 1, whole against this thread's signal handlers; release towards readers. */
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
