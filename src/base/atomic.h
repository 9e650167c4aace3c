/* SPDX-License-Identifier: MIT */
/*
 * Atomics with the order spelled at each use. The only file that includes <stdatomic.h>.
 *
 * The functions are generic over the C11 atomic types. Each use says in a comment which letter of
 * the ordering contract it belongs to, or why relaxed order is enough. Shared with libkprof: libc
 * only. Not for C++: the public header kprof.h has its own two loads.
 */
#ifndef KPROFS_BASE_ATOMIC_H
#define KPROFS_BASE_ATOMIC_H

#include <stdatomic.h>

/*
 * gcc's thread sanitizer does not model fences, and warns at each. These order accesses to memory
 * shared with other processes, which it does not see either.
 */
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan"
#endif

#define atomic_read_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define atomic_read_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define atomic_write_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define atomic_write_release(p, v) atomic_store_explicit((p), (v), memory_order_release)
#define atomic_add_relaxed(p, v) atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define atomic_add_release(p, v) atomic_fetch_add_explicit((p), (v), memory_order_release)
#define atomic_add_acq_rel(p, v) atomic_fetch_add_explicit((p), (v), memory_order_acq_rel)
#define atomic_swap_acq_rel(p, v) atomic_exchange_explicit((p), (v), memory_order_acq_rel)
#define atomic_cas_acq_rel(p, old, v) \
	atomic_compare_exchange_strong_explicit((p), (old), (v), memory_order_acq_rel, \
		memory_order_acquire)
#define atomic_fence_acquire() atomic_thread_fence(memory_order_acquire)
#define atomic_fence_release() atomic_thread_fence(memory_order_release)
#define atomic_fence_full() atomic_thread_fence(memory_order_seq_cst)
/*
 * For words of an ABI that are declared without _Atomic (the page of a perf ring): p points at a
 * naturally aligned integer that another side writes.
 */
#define atomic_plain_read_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define atomic_plain_read_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define atomic_plain_write_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define atomic_plain_write_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define atomic_plain_add_release(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELEASE)
/* orders this thread against its own signal handlers only: no instruction */
#define atomic_fence_signal() atomic_signal_fence(memory_order_seq_cst)

#endif
