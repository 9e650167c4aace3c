/* SPDX-License-Identifier: MIT */
/*
 * Writes the trace as CTF 1.8, from a snapshot or another source: one metadata file, and one stream
 * file for each CPU.
 *
 * An event of a program is an event with its name, in the stream of its CPU, with pid, tid and comm
 * as context and a field for each argument. A kprof_printf is a CTF_NAME_PRINTF with the field
 * text; a kprof_backtrace also has a stack. An event that lacks some of its arguments is written
 * the same way, under its own name. Each line that was written to kptrace is a CTF_NAME_MESSAGE.
 * The order in a stream is kptrace's. Events that kptrace reports as lost or left out are counted
 * as discarded in the first stream.
 *
 * Names, formats and arguments come from producers and are not trusted: the output is well-formed
 * whatever they are. Memory: a packet for each CPU, the metadata, and some MiB for the table of
 * classes. Any thread.
 */
#ifndef KPROFS_TRACE_CTF_CTF_H
#define KPROFS_TRACE_CTF_CTF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/units.h"
#include "trace/ctf/ctf_packet.h"
#include "trace/merge.h"

/* Enough for some ten thousand different events. Writer and readers hold all of it in memory. */
#define CTF_METADATA_MAX (16 * MIB)

struct ctf_output {
	int metadata;		  /* descriptor of an empty file */
	const int *streams;	  /* descriptors of empty files, one for each CPU */
	const uint32_t *cpus;	  /* numbers of the CPUs, ascending */
	uint32_t count;		  /* of both, at least one; events of other CPUs go to the first */
	uint64_t bytes_max;	  /* of all stream files together */
	uint64_t metadata_max;	  /* bytes; the metadata is made in memory first */
	unsigned char uuid[CTF_UUID_BYTES]; /* of this trace and no other */
};

/* Makes a random UUID (version 4, variant 1). */
void ctf_make_uuid(unsigned char uuid[CTF_UUID_BYTES]);

struct ctf_missing {
	uint64_t lost, left_out; /* events */
};

/* The source of the events. */
struct ctf_source {
	/*
	 * The next item in the order of time, valid until the next call. Of an event, `event` and
	 * the format of `meaning` must be set. Adds to *missing the events that are missing before
	 * the item. Returns false after the last item.
	 */
	bool (*next)(void *arg, struct merge_item *item, struct ctf_missing *missing);
	void *arg;
	bool meanings_persist; /* meanings keep address and content until all is written */
	uint64_t monotonic_ns, realtime_ns; /* one moment, on the items' clock and the wall clock */
};

/*
 * Returns 0; -ENODATA if there is no event, and none was lost; -EFBIG if it exceeds bytes_max or
 * metadata_max; -EINTR if it is cancelled; or the negated errno of write(2). *err gets the
 * sentence.
 */
int ctf_write_from(const struct ctf_source *source, const struct ctf_output *output,
	const struct cancel *cancel, struct err *err);

/* The same of a snapshot. */
int ctf_write(const struct snapshot *snapshot, const struct ctf_output *output,
	const struct cancel *cancel, struct err *err);

#endif
