/* SPDX-License-Identifier: MIT */
/*
 * Filters of kernel events: an expression (probes/expr.h) as instructions of a program. Names are pid, tid,
 * comm, uid, cpu and the fields of the event. One thread at a time for each filter.
 */
#ifndef KPROFS_KERNEL_FILTER_H
#define KPROFS_KERNEL_FILTER_H

#include <stdbool.h>
#include <glib.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/emit.h"
#include "bpf/record.h"

struct filter;

/* A field of an event, as a filter may name it. */
struct filter_field {
	const char *name;
	enum filter_source {
		FILTER_RECORD,	 /* of a tracepoint: an integer at `offset` of its record (struct emit) */
		FILTER_TEXT,	 /* a text of at most `bytes` there */
		FILTER_ARGUMENT, /* of a system call or function: number `offset`, its low `bytes` */
		FILTER_RESULT,	 /* the low `bytes`; 0 for 8 */
		FILTER_DURATION,
		FILTER_REFUSED,	 /* a field that can't be compared */
	} source;
	uint32_t offset, bytes;
	int is_signed;
};

/* Where the values of a system call or function are on the stack, as offsets from R10. */
struct filter_frame {
	int duration, args, result;
};

/*
 * Makes a filter of a text. The fields are copied, their names too. -EINVAL with the column and what is
 * wrong there.
 */
int filter_create(const char *text, const struct filter_field *fields, uint32_t count,
	struct filter **filter, struct err *err);
void filter_destroy(struct filter *filter);

/* Appends it in the words of tracefs' filters. -EOPNOTSUPP with what these can't say. */
int filter_print(const struct filter *filter, GString *out, struct err *err);

/* A call that has begun, as a filter may name its parts. */
struct filter_call {
	uint32_t pid, tid;
	const char *comm; /* KERNEL_COMM_BYTES */
	const uint64_t *args;
};

/* Whether the filter holds, whatever the result and the duration of the call will be. */
bool filter_holds(const struct filter *filter, const struct filter_call *call);

/*
 * Appends the instructions: on to the end of the program if the expression is 0, else what follows. The
 * task must be in R8. R0 to R5 are lost. `frame` is NULL for tracepoints.
 */
void filter_emit(const struct filter *filter, struct emit *emit, const struct filter_frame *frame);

#endif
