/* SPDX-License-Identifier: MIT */
/*
 * A program with spans and counters, for trace_spans.sh. It prints for each span, in the order in which
 * they end, its name and two durations in ns, measured within and around it: that of the span lies between
 * them. Then it begins a span that has no end, prints "open", and lives until its standard input ends.
 *
 * usage: spanning [ROUNDS]
 *
 * With ROUNDS it only computes so often, in turn within a span (within_span) and without one
 * (outside_span), some ms in each round, and ends.
 *
 * usage: spanning left ROUNDS PROGRAM [ARGUMENT...]
 *
 * Computes so often within a span (within_span), which it does not end, and executes a program.
 */
#include <kprof/kprof.h>
#include <kprof/typed.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void spin(int64_t ns)
{
	int64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

static int64_t innermost(int64_t ns)
{
	int64_t begun = now_ns();

	spin(ns);
	return now_ns() - begun;
}

/* A span for a scope, left by return. */
static int64_t in_scope(int number)
{
	KPROF_SPAN(test, scope, "number %d", number);

	return innermost(3000000);
}

/* One that begins and ends in different functions, around another one. */
static struct kprof_span begin(const char *path)
{
	return KPROF_SPAN_BEGIN(test, request, "path %s", path);
}

static void end(struct kprof_span *span)
{
	KPROF_SPAN_END(*span);
}

static void nest(void)
{
	int64_t outside = now_ns(), within, inner_outside, inner;
	struct kprof_span span = begin("/index"), copy = span;

	within = now_ns();
	spin(1000000);
	inner_outside = now_ns();
	inner = in_scope(2);
	inner_outside = now_ns() - inner_outside;
	spin(1000000);
	within = now_ns() - within;
	end(&span);
	outside = now_ns() - outside;
	end(&span); /* does nothing: it has ended */
	copy.begun = 0;
	end(&copy); /* the same */
	printf("scope %lld %lld\n", (long long)inner, (long long)inner_outside);
	printf("request %lld %lld\n", (long long)within, (long long)outside);
}

static int run_typed(void)
{
	const struct kprof_value values[] = {kprof_value_int(7)}, level[] = {kprof_value_double(2.5)};
	struct kprof_event *event, *counter;
	int64_t outside = now_ns(), within;
	struct kprof_span span;

	if (kprof_typed_span("test", "typed", "id %d", &event) ||
		kprof_typed_counter("test", "level", KPROF_VALUE_DOUBLE, &counter) ||
		kprof_typed_write(event, values, 1) == 0 || /* an event of this kind has an end */
		kprof_typed_span_begin(counter, level, 1, &span) == 0 ||
		kprof_typed_span_begin(event, values, 1, &span) || kprof_typed_write(counter, level, 1))
		return -1;
	within = innermost(2000000);
	kprof_typed_span_end(&span);
	kprof_typed_span_end(&span);
	printf("typed %lld %lld\n", (long long)within, (long long)(now_ns() - outside));
	return 0;
}

/* Two different loops, or the compiler makes one function of both. */
__attribute__((noinline)) static void within_span(void)
{
	for (volatile long i = 0; i < 1000000; i++)
		;
}

__attribute__((noinline)) static void outside_span(void)
{
	for (volatile long i = 1000000; i > 0; i--)
		;
}

static void run_nested(void)
{
	KPROF_SPAN(test, nested, "in %s", "half");

	within_span();
}

static int alternate(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		{
			KPROF_SPAN(test, half, "%ld", i);
			within_span();
			run_nested();
		}
		outside_span();
	}
	return 0;
}

static int leave(long rounds, char **program)
{
	KPROF_SPAN_BEGIN(test, left, "%ld", rounds);
	while (rounds--)
		within_span();
	execv(program[0], program);
	return 1;
}

int main(int argc, char **argv)
{
	unsigned char connections = 3;
	volatile double zero = 0;
	int64_t outside;
	char byte;

	if (argc == 2)
		return alternate(atol(argv[1]));
	if (argc > 3)
		return leave(atol(argv[2]), argv + 3);

	outside = now_ns();
	printf("scope %lld ", (long long)in_scope(1));
	printf("%lld\n", (long long)(now_ns() - outside));
	nest();
	KPROF_COUNTER(test, connections, connections);
	KPROF_COUNTER(test, balance, -5);
	KPROF_COUNTER(test, load, 0.25f);
	KPROF_COUNTER(test, unknown, -(0.0 / zero));
	KPROF_COUNTER(test, endless, -1.0 / zero);
	if (run_typed())
		return 1;
	begin("/open");
	printf("open\n");
	fflush(stdout);
	return read(STDIN_FILENO, &byte, 1) < 0;
}
