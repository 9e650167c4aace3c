/* SPDX-License-Identifier: MIT */
/*
 * A buffer for the stream that a perf.data file is written to. Events are encoded in the buffer.
 * One thread at a time.
 */
#ifndef KPROFS_FORMATS_PERFDATA_PERFDATA_OUT_H
#define KPROFS_FORMATS_PERFDATA_PERFDATA_OUT_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* One write(2): large enough that the cost of the call does not matter. */
#define PERFDATA_OUT_BYTES (256u << 10)

struct perfdata_out {
	FILE *file;
	uint64_t written; /* bytes so far, with those in the buffer */
	size_t used;
	uint8_t buffer[PERFDATA_OUT_BYTES];
};

static inline void perfdata_out_flush(struct perfdata_out *out)
{
	/* the owner of the stream checks it for errors */
	if (out->used)
		(void)!fwrite(out->buffer, 1, out->used, out->file);
	out->used = 0;
}

/* Room for the next bytes of the file, at most PERFDATA_EVENT_BYTES_MAX; all of it must be set. */
static inline void *perfdata_out_take(struct perfdata_out *out, size_t bytes)
{
	uint8_t *at;

	if (bytes > PERFDATA_OUT_BYTES - out->used)
		perfdata_out_flush(out);
	at = out->buffer + out->used;
	out->used += bytes;
	out->written += bytes;
	return at;
}

static inline void perfdata_out_add(struct perfdata_out *out, const void *bytes, size_t size)
{
	memcpy(perfdata_out_take(out, size), bytes, size);
}

#endif
