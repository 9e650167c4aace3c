/* SPDX-License-Identifier: MIT */
/*
 * The data section of a perf.data file: the second pass over the records, each becoming the event
 * that perf would have written for it. For perfdata.c only. One thread at a time.
 */
#ifndef KPROFS_FORMATS_PERFDATA_PERFDATA_STREAM_H
#define KPROFS_FORMATS_PERFDATA_PERFDATA_STREAM_H

#include "formats/perfdata/perfdata_out.h"
#include "formats/perfdata/perfdata_survey.h"

/* The id by which samples name their event. */
static inline uint64_t perfdata_stream_id(uint32_t source)
{
	return (uint64_t)source + 1;
}

/* Bytes of what perfdata_stream_write() will write. */
uint64_t perfdata_stream_bytes(const struct perfdata_survey *survey);

/*
 * -EINTR, and what can't be read. -EIO: the capture is no longer what it was when it was surveyed;
 * what was written is then no file.
 */
int perfdata_stream_write(struct perfdata_survey *survey, const struct view_input *input,
	struct perfdata_out *out, struct err *err);

#endif
