/* SPDX-License-Identifier: MIT */
/* The definitions of lttng_event_tp.h, apart from lttng_event.c: there tracef's would be made, too. */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "lttng_event_tp.h"
