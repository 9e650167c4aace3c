/* SPDX-License-Identifier: MIT */
/*
 * The events of a capture, and the position of a pass in the stream: see perfdata_sources.h.
 */
#include "formats/perfdata/perfdata_sources.h"

#include <inttypes.h>
#include <string.h>

#include "base/strhash.h"
#include "formats/perfdata/perfdata_format.h"

/* ---- position in the stream ------------------------------------------------------------------ */

void perfdata_position_init(struct perfdata_position *position)
{
	memset(position, 0, sizeof(*position));
	pair_map_init(&position->numbers);
}

void perfdata_position_fini(struct perfdata_position *position)
{
	pair_map_fini(&position->numbers);
}

bool perfdata_position_enter(struct perfdata_position *position, const struct decode_record *record,
	uint32_t *ended)
{
	bool begins = record->type == KPROF_REC_CLOCK && position->section_records;

	*ended = UINT32_MAX;
	if (begins || position->chunk_records == PERFDATA_CHUNK_RECORDS) {
		*ended = position->chunk++;
		position->chunk_records = 0;
	}
	if (begins) {
		position->section++;
		position->section_records = 0;
		pair_map_clear(&position->numbers);
		position->last_known = false;
	}
	position->section_records++;
	position->chunk_records++;
	return begins;
}

/* ---- events ---------------------------------------------------------------------------------- */

void perfdata_sources_init(struct perfdata_sources *sources)
{
	memset(sources, 0, sizeof(*sources));
	sources->all = g_array_new(FALSE, FALSE, sizeof(struct perfdata_source));
	sources->strings = g_string_chunk_new(4096);
}

void perfdata_sources_fini(struct perfdata_sources *sources)
{
	g_array_free(sources->all, TRUE);
	g_string_chunk_free(sources->strings);
	table_fini(&sources->table);
}

static bool equal_source(const void *items, uint32_t i, const void *key)
{
	return strcmp(((const struct perfdata_source *)items + i)->text, key) == 0;
}

/* One more than the limit is kept, by which the survey sees that there are too many. */
static uint32_t intern_source(struct perfdata_sources *sources, const char *text)
{
	uint32_t hash = strhash(text);
	uint32_t i = table_find(&sources->table, hash, equal_source, sources->all->data, text);
	struct perfdata_source source = { .text = NULL };

	if (i != TABLE_NONE)
		return i;
	i = sources->all->len;
	if (i > PERFDATA_EVENTS_MAX)
		return PERFDATA_EVENTS_MAX;
	source.text = g_string_chunk_insert(sources->strings, text);
	/* an event without an EVENT record */
	source.perf_type = PERFDATA_TYPE_SOFTWARE;
	source.config = PERFDATA_SOFTWARE_DUMMY;
	g_array_append_val(sources->all, source);
	table_add(&sources->table, hash, i);
	return i;
}

uint32_t perfdata_sources_find(struct perfdata_sources *sources, struct perfdata_position *position,
	uint64_t number)
{
	const uint64_t *known;
	char text[32];

	if (position->last_known && position->last_number == number)
		return position->last_source;
	known = pair_map_find(&position->numbers, 0, number);
	position->last_number = number;
	position->last_known = true;
	if (known) {
		position->last_source = (uint32_t)*known;
		return position->last_source;
	}
	g_snprintf(text, sizeof(text), "event %" PRIu64, number);
	position->last_source = intern_source(sources, text);
	pair_map_set(&position->numbers, 0, number, position->last_source);
	return position->last_source;
}

uint32_t perfdata_sources_describe(struct perfdata_sources *sources,
	struct perfdata_position *position, const struct decode_record *r)
{
	uint32_t i = intern_source(sources, r->event_name);
	struct perfdata_source *source = &g_array_index(sources->all, struct perfdata_source, i);

	source->perf_type = r->event.perf_type;
	source->config = r->event.config;
	source->config1 = r->configs.config1;
	source->config2 = r->configs.config2;
	source->rate = r->event.rate;
	source->flags = r->event.flags;
	pair_map_set(&position->numbers, 0, r->event.number, i);
	position->last_known = false;
	return i;
}
