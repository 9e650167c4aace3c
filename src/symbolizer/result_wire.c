/* SPDX-License-Identifier: MIT */
/* Results as bytes: see result_wire.h. */
#include "symbolizer/result_wire.h"

#include <stdbool.h>
#include <string.h>

struct wire_result {
	uint32_t index;
	uint16_t count;
	uint16_t located; /* 1: the address is known */
	uint64_t start;
	uint64_t size;
	uint64_t address;
};

/* Before the texts, which have no NUL. */
struct wire_frame {
	uint32_t line;
	uint16_t function; /* bytes of its text */
	uint16_t source;   /* 0 if not known */
};

_Static_assert(SYMBOLS_TEXT_MAX <= UINT16_MAX, "a text's length in two bytes");

static size_t text_length(const char *text)
{
	return text ? strnlen(text, SYMBOLS_TEXT_MAX) : 0;
}

static uint8_t *put(uint8_t *to, const void *from, size_t size)
{
	if (size)
		memcpy(to, from, size);
	return to + size;
}

size_t result_wire_write(
	uint8_t *bytes, size_t size, uint32_t index, const struct symbols_place *place)
{
	struct wire_result result = {
		.index = index,
		.located = place->located,
		.start = place->start,
		.size = place->size,
		.address = place->address,
	};
	size_t needed = sizeof(result);
	uint8_t *at = bytes;
	uint32_t i;

	result.count = place->count < SYMBOLS_FRAMES_MAX ? place->count : SYMBOLS_FRAMES_MAX;
	for (i = 0; i < result.count; i++)
		needed += sizeof(struct wire_frame) + text_length(place->frames[i].function) +
			  text_length(place->frames[i].source);
	if (needed > size)
		return 0;
	at = put(at, &result, sizeof(result));
	for (i = 0; i < result.count; i++) {
		const struct symbols_frame *from = &place->frames[i];
		struct wire_frame frame = {
			.line = from->line,
			.function = (uint16_t)text_length(from->function),
			.source = (uint16_t)text_length(from->source),
		};

		at = put(at, &frame, sizeof(frame));
		at = put(at, from->function, frame.function);
		at = put(at, from->source, frame.source);
	}
	return needed;
}

struct wire_reader {
	const uint8_t *at;
	size_t left;
	bool malformed;
};

static void take(struct wire_reader *reader, void *to, size_t size)
{
	if (size > reader->left || reader->malformed) {
		reader->malformed = true;
		memset(to, 0, size);
		return;
	}
	memcpy(to, reader->at, size);
	reader->at += size;
	reader->left -= size;
}

static const char *take_text(struct wire_reader *reader, size_t length, struct symbols_arena *arena)
{
	char text[SYMBOLS_TEXT_MAX + 1];

	if (length > SYMBOLS_TEXT_MAX) {
		reader->malformed = true;
		return NULL;
	}
	take(reader, text, length);
	text[length] = '\0';
	return *text ? symbols_arena_text(arena, text) : NULL;
}

size_t result_wire_read(const uint8_t *bytes, size_t size, struct symbols_arena *arena,
	uint32_t *index, struct symbols_place *place)
{
	struct wire_reader reader = {.at = bytes, .left = size};
	struct symbols_frame frames[SYMBOLS_FRAMES_MAX];
	struct symbols_place got = {.frames = frames};
	struct wire_result result;
	uint32_t i;

	take(&reader, &result, sizeof(result));
	if (result.count > SYMBOLS_FRAMES_MAX || result.located > 1)
		return 0;
	for (i = 0; i < result.count && !reader.malformed; i++) {
		struct wire_frame frame;

		take(&reader, &frame, sizeof(frame));
		frames[i].line = frame.line;
		frames[i].function = take_text(&reader, frame.function, arena);
		frames[i].source = take_text(&reader, frame.source, arena);
		if (!frames[i].function)
			return 0;
	}
	if (reader.malformed)
		return 0;
	got.count = result.count;
	got.start = result.start;
	got.size = result.size;
	got.located = result.located;
	got.address = result.address;
	symbols_arena_place(arena, &got, place);
	*index = result.index;
	return size - reader.left;
}
