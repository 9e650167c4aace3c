/* SPDX-License-Identifier: MIT */
/*
 * The events of a capture, each once: a number means one until its section ends, and each pass over
 * the records keeps for itself at which place it is. For the parts of perfdata.c only. One thread
 * at a time.
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
 * Each takes 256 bytes of header, and perf holds each against all others; no one samples so many
 * side by side, but a broken capture may name a new one in each record.
 */
#define PERFDATA_EVENTS_MAX 1024

struct perfdata_source {
	const char *text; /* as given to kpctl; sections that say the same share it */
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

/* So many records are one chunk, the last one of a section fewer. */
#define PERFDATA_CHUNK_RECORDS 4096

/*
 * What holds until a section ends: the events by their numbers. Kept by each pass for itself, so
 * that all read the capture alike.
 */
struct perfdata_place {
	uint32_t section;
	uint64_t section_records;
	uint64_t chunk_records; /* of the current chunk */
	uint32_t chunk;
	struct pair_map numbers; /* 0, number: index into all sources */
	/* the one that was asked for last: nearly all records are of one event */
	uint64_t last_number;
	uint32_t last_source;
	bool last_known;
};

void perfdata_place_init(struct perfdata_place *place);
void perfdata_place_fini(struct perfdata_place *place);

/*
 * Takes a record into account, before it is used: true where it begins a section. *ended is set to
 * the chunk that this record is no longer part of, else to UINT32_MAX.
 */
bool perfdata_place_enter(struct perfdata_place *place, const struct decode_record *record,
	uint32_t *ended);

/* The index of the event with this number, at this place. Adds it where it is not known. */
uint32_t perfdata_sources_find(struct perfdata_sources *sources, struct perfdata_place *place,
	uint64_t number);
/* The same of an EVENT record. */
uint32_t perfdata_sources_describe(struct perfdata_sources *sources, struct perfdata_place *place,
	const struct decode_record *record);

#endif
