/* SPDX-License-Identifier: MIT */
/*
 * The trace as CTF 1.8, of a snapshot or from elsewhere: one file of metadata, and one stream file
 * for each CPU.
 *
 * An event of a program is an event with its name, in the stream of its CPU, with pid, tid and comm
 * as context and a field for each argument. kprof_printf's are CTF_NAME_PRINTF with the field text,
 * and kprof_backtrace's with a stack besides; so is an event whose arguments are not all there,
 * under its own name. Each line that was written through kptrace is a CTF_NAME_MESSAGE. Within a
 * stream the order is kptrace's. What kptrace says was lost or left out is told as discarded in the
 * first stream.
 *
 * Names, formats and arguments are a stranger's: what comes out is well-formed whatever they are.
 * Memory: a packet for each CPU, the metadata, and some MiB to find classes by. Any thread.
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

/* Some ten thousand different events: readers hold all of it, and so does who makes it. */
#define CTF_METADATA_MAX (16 * MIB)

struct ctf_output {
	int metadata;		  /* a descriptor, empty */
	const int *streams;	  /* the same, one a CPU */
	const uint32_t *cpus;	  /* their numbers, rising */
	uint32_t count;		  /* of both, at least one; events of other CPUs go to the first */
	uint64_t bytes_max;	  /* of all stream files together */
	uint64_t metadata_max;	  /* bytes, which are in memory first */
	unsigned char uuid[CTF_UUID_BYTES]; /* of this trace and no other */
};

/* Version 4, variant 1: by chance. */
void ctf_make_uuid(unsigned char uuid[CTF_UUID_BYTES]);

struct ctf_missing {
	uint64_t lost, left_out; /* events */
};

/* Where what is written comes from. */
struct ctf_source {
	/*
	 * The next one in the order of time, good until the next call; of an event are needed its
	 * line and its meaning's format. Adds to *missing what is missing in front of it. false:
	 * that was all.
	 */
	bool (*next)(void *arg, struct merge_item *item, struct ctf_missing *missing);
	void *arg;
	bool lasting; /* a meaning stays the same one, where it is, while this is written */
	uint64_t monotonic_ns, realtime_ns; /* one moment, of the time of its items and of the wall */
};

/*
 * -ENODATA: there is nothing, nor was anything lost; -EFBIG: more than it may be; -EINTR:
 * cancelled; or the errno of write(2). *err gets the sentence.
 */
int ctf_write_from(const struct ctf_source *source, const struct ctf_output *output,
	const struct cancel *cancel, struct err *err);

/* The same of a snapshot. */
int ctf_write(const struct snapshot *snapshot, const struct ctf_output *output,
	const struct cancel *cancel, struct err *err);

#endif
