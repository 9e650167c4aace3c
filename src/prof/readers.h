/* SPDX-License-Identifier: MIT */
/*
 * Counts what each open file of kpdata has read and lost, for the rows readers.N.* of kpstat. N
 * counts the opens since the mount, from 1. Rows of closed files stay until READERS_CLOSED_KEPT
 * later ones are closed.
 *
 * All functions but readers_count() are called under the profiler's lock, which comes before the
 * capture's. Nothing here allocates.
 */
#ifndef KPROFS_PROF_READERS_H
#define KPROFS_PROF_READERS_H

#include <glib.h>
#include <stdint.h>

#include "base/stats.h"
#include "prof/capture.h"

/*
 * kpstat must stay readable however many files are open: only rows of those opened last are
 * shown.
 */
#define READERS_OPEN_SHOWN 64
/* Enough for a script to check its readers after they ended. */
#define READERS_CLOSED_KEPT 16

struct reader_counts {
	uint64_t number;
	uint64_t read_bytes;   /* with the preamble */
	uint64_t read_samples;
	uint64_t lost_samples; /* reported by LOST records in the stream, now or later */
};

/* Embedded in an open cursor. */
struct readers_entry {
	GList link;
	uint64_t number;
	const struct capture_pos *pos;
	/*
	 * relaxed: written by the thread that reads the cursor, one at a time, read by any thread
	 */
	_Atomic uint64_t read_bytes, read_samples, lost_samples;
};

struct readers {
	uint64_t opened; /* ever */
	GQueue open;	 /* of struct readers_entry, the oldest first */
	struct reader_counts closed[READERS_CLOSED_KEPT];
	uint64_t closed_count; /* ever: the index of the next one modulo READERS_CLOSED_KEPT */
};

void readers_open(struct readers *readers, struct readers_entry *reader, const struct capture_pos *pos);
/* Before the position is detached. */
void readers_close(struct readers *readers, struct readers_entry *reader, struct capture *capture);
void readers_print(const struct readers *readers, struct capture *capture, struct stats *stats);

/* Counts a completed read; counts: of the capture's records in it. */
void readers_count(struct readers_entry *reader, uint64_t bytes, const struct record_counts *counts);

#endif
