/* SPDX-License-Identifier: MIT */
/* Counts of what open files of kpdata have read and lost: see readers.h. */
#include "prof/readers.h"

#include <inttypes.h>

#include "base/atomic.h"

void readers_open(struct readers *readers, struct readers_entry *reader, const struct capture_pos *pos)
{
	reader->link.data = reader;
	reader->number = ++readers->opened;
	reader->pos = pos;
	g_queue_push_tail_link(&readers->open, &reader->link);
}

static void get_counts(struct readers_entry *reader, struct capture *capture, struct reader_counts *counts)
{
	*counts = (struct reader_counts){
		.number = reader->number,
		.read_bytes = atomic_read_relaxed(&reader->read_bytes),
		.read_samples = atomic_read_relaxed(&reader->read_samples),
		.lost_samples = atomic_read_relaxed(&reader->lost_samples) +
			capture_missed(capture, reader->pos),
	};
}

void readers_close(struct readers *readers, struct readers_entry *reader, struct capture *capture)
{
	const uint64_t place = readers->closed_count++ % READERS_CLOSED_KEPT;

	get_counts(reader, capture, &readers->closed[place]);
	g_queue_unlink(&readers->open, &reader->link);
}

static void print_counts(const struct reader_counts *counts, const char *state, struct stats *stats)
{
	const uint64_t n = counts->number;

	stats_text(stats, state, "readers.%" PRIu64 ".state", n);
	stats_u64(stats, counts->read_bytes, "readers.%" PRIu64 ".read_bytes", n);
	stats_u64(stats, counts->read_samples, "readers.%" PRIu64 ".read_samples", n);
	stats_u64(stats, counts->lost_samples, "readers.%" PRIu64 ".lost_samples", n);
}

void readers_print(const struct readers *readers, struct capture *capture, struct stats *stats)
{
	struct reader_counts counts;
	unsigned int shown = 0;
	GList *link;
	size_t i;

	for (link = readers->open.tail; link && shown < READERS_OPEN_SHOWN; link = link->prev) {
		get_counts(link->data, capture, &counts);
		print_counts(&counts, "open", stats);
		shown++;
	}
	for (i = 0; i < READERS_CLOSED_KEPT && i < readers->closed_count; i++)
		print_counts(&readers->closed[i], "closed", stats);
}

void readers_count(struct readers_entry *reader, uint64_t bytes, const struct record_counts *counts)
{
	atomic_add_relaxed(&reader->read_bytes, bytes);
	atomic_add_relaxed(&reader->read_samples, counts->samples);
	atomic_add_relaxed(&reader->lost_samples, counts->lost);
}
