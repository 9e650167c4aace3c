/* SPDX-License-Identifier: MIT */
/* The kernel's clocks: see clock.h. */
#include "sys/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"

uint64_t clock_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail: the clock exists everywhere */
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

uint64_t clock_thread_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used); /* cannot fail: the clock exists everywhere */
	return (uint64_t)used.tv_sec * NSEC_PER_SEC + (uint64_t)used.tv_nsec;
}

uint64_t clock_realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

uint64_t clock_realtime_at(uint64_t monotonic_ns)
{
	return monotonic_ns + (clock_realtime_ns() - clock_monotonic_ns());
}

struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / NSEC_PER_SEC), .tv_nsec = (long)(ns % NSEC_PER_SEC)
	};
}

bool clock_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns)
{
	const struct timespec until = clock_timespec(until_ns);

	return pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, &until) == 0;
}

bool clock_has_counter(const char *path)
{
#if defined(__x86_64__)
	char source[32] = "";
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	if (!fgets(source, sizeof(source), file))
		source[0] = '\0';
	fclose(file);
	return strcmp(source, "tsc\n") == 0;
#else
	(void)path;
	return false;
#endif
}

uint64_t clock_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

uint64_t clock_ticks_per_second(void)
{
	long hz = sysconf(_SC_CLK_TCK);

	return hz > 0 ? (uint64_t)hz : 1;
}

uint64_t clock_ticks_to_ns(uint64_t ticks, uint64_t ticks_per_second)
{
	/* whole seconds separately, so that the product of the remainder fits */
	uint64_t seconds = ticks / ticks_per_second;
	uint64_t rest = ticks % ticks_per_second * NSEC_PER_SEC / ticks_per_second;

	if (seconds > (UINT64_MAX - rest) / NSEC_PER_SEC)
		return UINT64_MAX;
	return seconds * NSEC_PER_SEC + rest;
}

uint64_t clock_boot_ticks_to_monotonic_ns(uint64_t ticks)
{
	const uint64_t moment = clock_ticks_to_ns(ticks, clock_ticks_per_second());
	struct timespec boot;
	uint64_t now_ns, slept_ns;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	now_ns = clock_monotonic_ns();
	slept_ns = (uint64_t)boot.tv_sec * NSEC_PER_SEC + (uint64_t)boot.tv_nsec;
	slept_ns = slept_ns > now_ns ? slept_ns - now_ns : 0;
	return moment > slept_ns ? moment - slept_ns : 1;
}
