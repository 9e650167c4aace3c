/* SPDX-License-Identifier: MIT */
/*
 * The events of a capture, each once. An event's number is valid until its section ends, so each
 * pass over the records keeps its position. For the parts of perfdata.c only. One thread at a time.
 */
#ifndef KPROFS_FORMATS_PERFDATA_PERFDATA_SOURCES_H
#define KPROFS_FORMATS_PERFDATA_PERFDATA_SOURCES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/decode.h"
#include "capture/pair_map.h"
#include "capture/table.h"

/*
 * Each takes 256 bytes of header, and perf compares each with all others. No user samples so many
 * at once, but a damaged capture may have a new one in each record.
 */
#define PERFDATA_EVENTS_MAX 1024

struct perfdata_source {
	const char *text; /* as given to kpctl; sections with the same text share it */
	uint32_t perf_type;
	uint64_t config, config1, config2;
	uint64_t rate;
	uint32_t flags; /* enum kprof_event_flags */
};

struct perfdata_sources {
	GArray *all; /* struct perfdata_source */

	struct table table;
	GStringChunk *strings;
};

void perfdata_sources_init(struct perfdata_sources *sources);
void perfdata_sources_fini(struct perfdata_sources *sources);

/* Records in a chunk; the last chunk of a section may have fewer. */
#define PERFDATA_CHUNK_RECORDS 4096

/*
 * The position of a pass in the stream, with the events by their numbers, which are valid until the
 * section ends. Each pass has its own, so that all read the capture in the same way.
 */
struct perfdata_position {
	uint32_t section;
	uint64_t section_records;
	uint64_t chunk_records; /* of the current chunk */
	uint32_t chunk;
	struct pair_map numbers; /* 0, number: index into all sources */
	/* the last event that was looked up: nearly all records are of one event */
	uint64_t last_number;
	uint32_t last_source;
	bool last_known;
};

void perfdata_position_init(struct perfdata_position *position);
void perfdata_position_fini(struct perfdata_position *position);

/*
 * Moves to a record, before it is used. Returns true if it begins a section. Sets *ended to the
 * chunk that ended before this record, or to UINT32_MAX if none did.
 */
bool perfdata_position_enter(struct perfdata_position *position, const struct decode_record *record,
	uint32_t *ended);

/* The index of the event with this number, at this position. Adds it if it is not known. */
uint32_t perfdata_sources_find(struct perfdata_sources *sources, struct perfdata_position *position,
	uint64_t number);
/* The same for the event of an EVENT record. */
uint32_t perfdata_sources_describe(struct perfdata_sources *sources,
	struct perfdata_position *position, const struct decode_record *record);

#endif
