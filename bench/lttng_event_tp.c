/* SPDX-License-Identifier: MIT */
/*
 * Defines the tracepoints of lttng_event_tp.h. Not in lttng_event.c, which would define tracef's
 * too.
 */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "lttng_event_tp.h"
