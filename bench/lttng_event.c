/* SPDX-License-Identifier: MIT */
/*
 * lttng_event: measures the cost of the same events with LTTng-UST.
 *
 * Run it in a session that is made with
 *	lttng create NAME --snapshot
 *	lttng enable-channel -u --buffers-uid --num-subbuf=4 --subbuf-size=1M CHANNEL
 *	lttng enable-event -u -c CHANNEL 'kprofs_bench:*,lttng_ust_tracef:*'; lttng start
 * Prints lines like bench/event.
 */
#include "lttng_event_tp.h"

#include <lttng/tracef.h>

#include <stdint.h>

#include "timing.h"

#define BARRIER() __asm__ volatile("" : : : "memory")

static const char text[] = "eleven byte";

static void run_int(long n)
{
	for (long i = 0; i < n; i++) {
		lttng_ust_tracepoint(kprofs_bench, one_int, (int)i);
		BARRIER();
	}
}

static void run_string(long n)
{
	for (long i = 0; i < n; i++) {
		lttng_ust_tracepoint(kprofs_bench, int_string, (int)i, text);
		BARRIER();
	}
}

static void run_printf(long n)
{
	for (long i = 0; i < n; i++) {
		lttng_ust_tracef("%d", (int)i);
		BARRIER();
	}
}

int main(void)
{
	struct timing loops[] = {{"int", run_int, {0}}, {"string", run_string, {0}},
		{"printf", run_printf, {0}}};

	timing_run(loops, sizeof(loops) / sizeof(loops[0]));
	timing_print(loops, sizeof(loops) / sizeof(loops[0]));
	return 0;
}
