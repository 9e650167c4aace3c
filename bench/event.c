/* SPDX-License-Identifier: MIT */
/*
 * event [threads N M | write N M]: measures the cost of an event to the program that writes it.
 *
 * Without arguments: ns for the empty loop, for reading the time counter, for a disabled event, an
 * event with an int, one with an int and 11 bytes, kprof_printf with an int, the events with an int, and
 * with an int and 11 bytes, by typed calls, and spans with both. It prints a line for each: name, median,
 * first and last decile. With `threads`: N threads write M events each; prints the CPU time of one event
 * in ns, first with a single thread, then with N. With `write` the threads only write; prints how many
 * events the program wrote in all.
 *
 * The events bench:* except bench:off must be enabled in the server, and $KPROF_SOCKET or the
 * default must lead to it; waits 10 s for that, else the exit status is 2.
 */
#include <kprof/kprof.h>
#include <kprof/typed.h>

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "timing.h"

#define BARRIER() __asm__ volatile("" : : : "memory")

static const char text[] = "eleven byte"; /* without its NUL: 11 */
static volatile uint64_t sink;

static void run_empty(long n)
{
	for (long i = 0; i < n; i++)
		BARRIER();
}

static void run_counter(long n)
{
	for (long i = 0; i < n; i++) {
#if defined(__x86_64__)
		sink = __builtin_ia32_rdtsc();
#else
		sink = (uint64_t)timing_now_ns(CLOCK_MONOTONIC);
#endif
		BARRIER();
	}
}

static void run_off(long n)
{
	for (long i = 0; i < n; i++) {
		KPROF_EVENT(bench, off, "%d", (int)i);
		BARRIER();
	}
}

static void run_int(long n)
{
	for (long i = 0; i < n; i++) {
		KPROF_EVENT(bench, int, "%d", (int)i);
		BARRIER();
	}
}

static void run_string(long n)
{
	for (long i = 0; i < n; i++) {
		KPROF_EVENT(bench, string, "%d %s", (int)i, text);
		BARRIER();
	}
}

static void run_printf(long n)
{
	for (long i = 0; i < n; i++) {
		kprof_printf("%d", (int)i);
		BARRIER();
	}
}

static struct kprof_event *typed_int, *typed_string;

static void run_typed(long n)
{
	for (long i = 0; i < n; i++) {
		const struct kprof_value value = kprof_value_int(i);

		kprof_typed_write(typed_int, &value, 1);
		BARRIER();
	}
}

static void run_typed_string(long n)
{
	for (long i = 0; i < n; i++) {
		const struct kprof_value values[] = {kprof_value_int(i), kprof_value_string(text)};

		kprof_typed_write(typed_string, values, 2);
		BARRIER();
	}
}

static void run_span(long n)
{
	for (long i = 0; i < n; i++) {
		KPROF_SPAN(bench, span, "%d", (int)i);
		BARRIER();
	}
}

static void run_span_string(long n)
{
	for (long i = 0; i < n; i++) {
		KPROF_SPAN(bench, span_string, "%d %s", (int)i, text);
		BARRIER();
	}
}

static long probes; /* events written to find out whether they are enabled */

/* Arguments are evaluated only if the event is enabled. */
static bool is_on(void)
{
	bool on = false;

	KPROF_EVENT(bench, int, "%d", (int)(on = true));
	probes += on;
	return on;
}

static bool off_is_off(void)
{
	bool on = false;

	KPROF_EVENT(bench, off, "%d", (int)(on = true));
	probes += on;
	return !on;
}

static void *write_events(void *arg)
{
	run_int(*(long *)arg);
	return NULL;
}

static double cpu_ns_of(int threads, long each)
{
	pthread_t ids[1024];
	double begin = timing_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	int made = 0;

	while (made < threads && pthread_create(&ids[made], NULL, write_events, &each) == 0)
		made++;
	for (int i = 0; i < made; i++)
		pthread_join(ids[i], NULL);
	return (timing_now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / ((double)made * (double)each);
}

int main(int argc, char **argv)
{
	struct timing loops[] = {{"empty", run_empty, {0}}, {"counter", run_counter, {0}},
		{"off", run_off, {0}}, {"int", run_int, {0}}, {"string", run_string, {0}},
		{"printf", run_printf, {0}}, {"typed", run_typed, {0}},
		{"typed_string", run_typed_string, {0}}, {"span", run_span, {0}},
		{"span_string", run_span_string, {0}}};

	if (kprof_typed_define("bench", "int", "%d", &typed_int) ||
		kprof_typed_define("bench", "string", "%d %s", &typed_string))
		return 2;

	/* before the server has sent its switches, the wrong events may be enabled */
	for (int i = 0; i < 1000 && !(is_on() && off_is_off()); i++)
		usleep(10000);
	if (!is_on() || !off_is_off())
		return 2;
	if (argc == 4) {
		int threads = atoi(argv[2]);
		long each = atol(argv[3]);

		if (threads < 1 || threads > 1024 || each < 1)
			return 2;
		if (strcmp(argv[1], "write") == 0) {
			cpu_ns_of(threads, each);
			printf("%ld\n", probes + threads * each);
			return 0;
		}
		printf("one %.2f\n", cpu_ns_of(1, each * threads));
		printf("all %.2f\n", cpu_ns_of(threads, each));
		return 0;
	}
	timing_run(loops, sizeof(loops) / sizeof(loops[0]));
	timing_print(loops, sizeof(loops) / sizeof(loops[0]));
	return 0;
}
