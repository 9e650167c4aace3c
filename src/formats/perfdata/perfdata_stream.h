/* SPDX-License-Identifier: MIT */
/*
 * The data section of a perf.data file: the second pass over the records, which writes for each the
 * event that perf would have written. For perfdata.c only. One thread at a time.
 */
#ifndef KPROFS_FORMATS_PERFDATA_PERFDATA_STREAM_H
#define KPROFS_FORMATS_PERFDATA_PERFDATA_STREAM_H

#include "formats/perfdata/perfdata_out.h"
#include "formats/perfdata/perfdata_survey.h"

/* The id of an event in its samples. */
static inline uint64_t perfdata_stream_id(uint32_t source)
{
	return (uint64_t)source + 1;
}

/* The number of bytes that perfdata_stream_write() will write. */
uint64_t perfdata_stream_bytes(const struct perfdata_survey *survey);

/*
 * Writes the file. Returns -EINTR if it was cancelled, -EIO if the capture has changed since the
 * survey, in which case the file is not valid, or an error of reading.
 */
int perfdata_stream_write(struct perfdata_survey *survey, const struct view_input *input,
	struct perfdata_out *out, struct err *err);

#endif
