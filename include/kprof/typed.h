/* SPDX-License-Identifier: MIT */
/*
 * libkprof without macros and variable arguments, for other languages and for programs that define
 * their events at run time. For C and C++. libkprof(3) is the manual page; examples/ has examples
 * for Python, Go and Rust.
 *
 *	struct kprof_event *event;
 *	const struct kprof_value values[] = {kprof_value_int(len), kprof_value_string(name)};
 *
 *	if (!kprof_typed_define("net", "packet", "len %d from %s", &event))
 *		kprof_typed_write(event, values, 2);
 *
 * The following holds for all functions here. They are thread-safe, do not change errno, may be
 * called after fork, and never wait for a server. The caller keeps the ownership of all arguments;
 * strings are copied before the call returns.
 */
#ifndef KPROF_TYPED_H
#define KPROF_TYPED_H

#include <stddef.h>
#include <stdint.h>

#include <kprof/span.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KPROF_TYPED_API_ __attribute__((visibility("default")))

/*
 * Writes a line of text for kptrace, as kprof_printf("%s", text) does. NULL is shown as (null).
 * Text that does not fit in a record of 4096 bytes is cut. A text that could not be written is
 * counted (kpstat). Async-signal-safe, except the first call of a program that does not include
 * kprof.h.
 */
KPROF_TYPED_API_ void kprof_puts(const char *text);

/* An event. The library owns it; it exists as long as the process and is never freed. */
struct kprof_event;

/*
 * Defines an event, as KPROF_EVENT does (kprof.h). Provider and name are 1 to 100 of
 * [A-Za-z0-9_.-]; the format has at most 1024 bytes and 16 arguments. The strings are copied. The
 * same three strings give the same event. *event is set only if the call returns 0.
 *
 * Returns 0, -EINVAL if a string is NULL or not as above, or -ENOMEM if there is no memory or the
 * process has too many events (16,382). Not async-signal-safe. A call takes some microseconds, the
 * first one some 100 microseconds.
 */
KPROF_TYPED_API_ int kprof_typed_define(
	const char *provider, const char *name, const char *format, struct kprof_event **event);

/*
 * Returns 1 if the event is on, otherwise 0. Async-signal-safe. kprof_typed_write() makes this test
 * itself.
 */
KPROF_TYPED_API_ int kprof_typed_is_on(const struct kprof_event *event);

/*
 * The type of a value. The conversion of its argument determines it: d i o u x X c, and each width
 * or precision that is a *, take KPROF_VALUE_INT; f F e E g G a A take KPROF_VALUE_DOUBLE; s takes
 * KPROF_VALUE_STRING; p takes KPROF_VALUE_POINTER.
 */
enum kprof_value_type {
	KPROF_VALUE_INT = 1,	/* signed or unsigned; shown in the length that the format gives */
	KPROF_VALUE_DOUBLE = 2,
	KPROF_VALUE_STRING = 3, /* ends with a NUL byte, or at the precision of its conversion */
	KPROF_VALUE_POINTER = 4,
};

struct kprof_value {
	uint32_t type;	   /* enum kprof_value_type */
	uint32_t reserved; /* 0 */
	union {
		int64_t i;
		uint64_t u;
		double d;
		const char *s;
		const void *p;
		uint64_t word; /* all 8 bytes */
	} as;
};

/*
 * If the event is on, writes it with `count` values, one for each argument of its format. Returns 0
 * if it was written, is off, or was lost and counted (kpstat), or -EINVAL if it is on and the
 * number or the types of the values are not those of the format. Async-signal-safe.
 */
KPROF_TYPED_API_ int kprof_typed_write(
	struct kprof_event *event, const struct kprof_value *values, size_t count);

/*
 * Defines a span, as KPROF_SPAN does (kprof.h), or a counter, as KPROF_COUNTER does, whose values have
 * the type KPROF_VALUE_INT or KPROF_VALUE_DOUBLE. Otherwise as kprof_typed_define(). The value of a
 * counter is written by kprof_typed_write().
 */
KPROF_TYPED_API_ int kprof_typed_span(
	const char *provider, const char *name, const char *format, struct kprof_event **event);
KPROF_TYPED_API_ int kprof_typed_counter(const char *provider, const char *name,
	enum kprof_value_type type, struct kprof_event **event);

/*
 * Begins a span: as kprof_typed_write(), and *span is set for kprof_typed_span_end(), which the same
 * thread calls. *span is {0, 0} if nothing was written. -EINVAL also if the event is not a span.
 */
KPROF_TYPED_API_ int kprof_typed_span_begin(struct kprof_event *event,
	const struct kprof_value *values, size_t count, struct kprof_span *span);
/* Ends it and clears *span: does nothing if the begin was not written. Async-signal-safe. */
KPROF_TYPED_API_ void kprof_typed_span_end(struct kprof_span *span);

static inline struct kprof_value kprof_value_int(int64_t i)
{
	struct kprof_value value = {KPROF_VALUE_INT, 0, {0}};

	value.as.i = i;
	return value;
}

static inline struct kprof_value kprof_value_unsigned(uint64_t u)
{
	struct kprof_value value = {KPROF_VALUE_INT, 0, {0}};

	value.as.u = u;
	return value;
}

static inline struct kprof_value kprof_value_double(double d)
{
	struct kprof_value value = {KPROF_VALUE_DOUBLE, 0, {0}};

	value.as.d = d;
	return value;
}

static inline struct kprof_value kprof_value_string(const char *s)
{
	struct kprof_value value = {KPROF_VALUE_STRING, 0, {0}};

	value.as.word = (uint64_t)(uintptr_t)s;
	return value;
}

static inline struct kprof_value kprof_value_pointer(const void *p)
{
	struct kprof_value value = {KPROF_VALUE_POINTER, 0, {0}};

	value.as.word = (uint64_t)(uintptr_t)p;
	return value;
}

#ifdef __cplusplus
}
#endif

#endif
