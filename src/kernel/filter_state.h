/* SPDX-License-Identifier: MIT */
/* The members of struct filter, for filter.c and tracefilter.c. */
#ifndef KPROFS_KERNEL_FILTER_STATE_H
#define KPROFS_KERNEL_FILTER_STATE_H

#include <stdint.h>

#include "probes/expr.h"

/* Names that each event has; their values in ast_expr.number. Fields follow. */
enum filter_builtin { FILTER_PID, FILTER_TID, FILTER_COMM, FILTER_UID, FILTER_CPU, FILTER_FIELDS };

struct filter {
	struct expr *expr;
	struct filter_field *fields;
	uint32_t count;
};

#endif
