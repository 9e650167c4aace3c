/* SPDX-License-Identifier: MIT */
/*
 * The kernel's clocks, and the unit of the times in /proc. Thread-safe; only clock_wait_until()
 * blocks.
 */
#ifndef KPROFS_SYS_CLOCK_H
#define KPROFS_SYS_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in ns, the clock of kpdata and kptrace. */
uint64_t clock_monotonic_ns(void);

/* CLOCK_REALTIME in ns. */
uint64_t clock_realtime_ns(void);

/* The wall clock at a time of CLOCK_MONOTONIC, in ns, as both are set now: a step changes past times too. */
uint64_t clock_realtime_at(uint64_t monotonic_ns);

/* A time of either clock, or a duration, in the form that the kernel and pthreads take. */
struct timespec clock_timespec(uint64_t ns);

/*
 * pthread_cond_timedwait() until this time of CLOCK_MONOTONIC; false if it is reached. The
 * condition needs no attributes.
 */
bool clock_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns);

/* CPU time that the calling thread has used, ns. */
uint64_t clock_thread_ns(void);

#define CLOCK_SOURCE_PATH "/sys/devices/system/clocksource/clocksource0/current_clocksource"

/*
 * Whether the kernel derives its own clocks from the CPU's time counter, which means that it is
 * the same on all CPUs and never stops. `path`: CLOCK_SOURCE_PATH, or a fixture of a test.
 */
bool clock_has_counter(const char *path);
/* Returns the time counter, or 0 on machines for which none is known. */
uint64_t clock_counter(void);

/*
 * Returns USER_HZ, the number of ticks a second in /proc (100 on nearly every machine), at least 1.
 */
uint64_t clock_ticks_per_second(void);

/*
 * Ticks as ns, rounded down if a tick is no whole number of ns; UINT64_MAX (584 years) if they do
 * not fit. More ticks never give fewer ns.
 */
uint64_t clock_ticks_to_ns(uint64_t ticks, uint64_t ticks_per_second);

/*
 * The time so many ticks after boot (suspended time included) on CLOCK_MONOTONIC, in ns; at least
 * 1. For a time before the last suspend the result is too early by its duration.
 */
uint64_t clock_boot_ticks_to_monotonic_ns(uint64_t ticks);

#endif
