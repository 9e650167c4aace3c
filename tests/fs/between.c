/* SPDX-License-Identifier: MIT */
/*
 * between CPU MILLISECONDS: runs on that CPU for more than half of the time, and sleeps whenever the
 * kernel's tick comes, so that counting ticks does not find it. Prints how long it has run and how long
 * all of it took, in ns of CLOCK_MONOTONIC: a time in which it was not alone on the CPU is in the first,
 * since the CPU was busy.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return ns_of(&time);
}

int main(int argc, char **argv)
{
	uint64_t begin, end, tick, start, next, period, ran = 0;
	struct timespec time;
	cpu_set_t cpus;

	if (argc != 3)
		return 2;
	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[1]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus)) {
		fprintf(stderr, "between: %s\n", strerror(errno));
		return 1;
	}
	/* the coarse clock stands still between two ticks */
	clock_getres(CLOCK_MONOTONIC_COARSE, &time);
	period = ns_of(&time);
	begin = now(CLOCK_MONOTONIC);
	end = begin + strtoull(argv[2], NULL, 10) * 1000000;
	while ((start = now(CLOCK_MONOTONIC)) < end) {
		/* CPUs that are idle have no ticks, and leave that clock behind: it has their phase */
		for (tick = now(CLOCK_MONOTONIC_COARSE); tick + period <= start;)
			tick += period;
		while (now(CLOCK_MONOTONIC) < tick + period * 7 / 10)
			;
		/* just behind the next tick */
		for (next = tick + period / 20; next <= now(CLOCK_MONOTONIC);)
			next += period;
		ran += now(CLOCK_MONOTONIC) - start;
		time = (struct timespec){ (time_t)(next / 1000000000), (long)(next % 1000000000) };
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
			;
	}
	printf("%" PRIu64 " %" PRIu64 "\n", ran, now(CLOCK_MONOTONIC) - begin);
	return 0;
}
