/* SPDX-License-Identifier: MIT */
/* The tracepoints of lttng_event.c, in the form that LTTng-UST's headers require. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER kprofs_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_event_tp.h"

#if !defined(KPROFS_BENCH_LTTNG_EVENT_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define KPROFS_BENCH_LTTNG_EVENT_TP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(kprofs_bench, one_int, LTTNG_UST_TP_ARGS(int, value),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, value, value)))

LTTNG_UST_TRACEPOINT_EVENT(kprofs_bench, int_string,
	LTTNG_UST_TP_ARGS(int, value, const char *, text),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, value, value)
			lttng_ust_field_string(text, text)))

#endif

#include <lttng/tracepoint-event.h>
