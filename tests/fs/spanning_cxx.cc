/* SPDX-License-Identifier: MIT */
/*
 * Spans and counters of C++: a scope that is left by an exception, one in a template and one in a lambda,
 * and counters of each type. For trace_spans.sh; it lives until its standard input ends.
 */
#include <kprof/kprof.h>

#include <cstdio>
#include <unistd.h>

static void throwing(int value)
{
	KPROF_SPAN(cxx, throwing, "value %d", value);

	throw value;
}

template <class T> static void templated(T value)
{
	KPROF_SPAN(cxx, templated, "value %d", (int)value);
	KPROF_COUNTER(cxx, counted, value);
}

int main()
{
	auto lambda = [](const char *text) {
		KPROF_SPAN(cxx, lambda, "text %s", text);
		KPROF_SPAN(cxx, second, "inner");
	};
	struct kprof_span span = KPROF_SPAN_BEGIN(cxx, whole, "%s", "all");
	unsigned long long most = ~0ull;
	bool flag = true;
	char byte;

	try {
		throwing(42);
	} catch (int) {
	}
	templated(-3);
	templated(4);
	lambda("abc");
	KPROF_COUNTER(cxx, most, most);
	KPROF_COUNTER(cxx, ratio, 0.125);
	KPROF_COUNTER(cxx, flag, flag);
	KPROF_SPAN_END(span);
	std::puts("written");
	std::fflush(stdout);
	return read(0, &byte, 1) < 0;
}
