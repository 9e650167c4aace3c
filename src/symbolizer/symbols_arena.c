/* SPDX-License-Identifier: MIT */
/* Frames and strings of results: see symbols_arena.h. */
#include "symbolizer/symbols_arena.h"

#include <glib.h>
#include <string.h>

#include "base/strhash.h"

#define ARENA_FRAMES 1024 /* frames in one allocation */

struct symbols_arena {
	GStringChunk *strings;
	GHashTable *known; /* the strings, by content */
	size_t bytes;
	GPtrArray *blocks; /* of ARENA_FRAMES frames */
	size_t used;       /* frames used in the last block */
};

struct symbols_arena *symbols_arena_create(void)
{
	struct symbols_arena *arena = g_new0(struct symbols_arena, 1);

	arena->strings = g_string_chunk_new(1 << 14);
	arena->known = g_hash_table_new(strhash, g_str_equal);
	arena->blocks = g_ptr_array_new_with_free_func(g_free);
	arena->used = ARENA_FRAMES;
	return arena;
}

void symbols_arena_destroy(struct symbols_arena *arena)
{
	if (!arena)
		return;
	g_hash_table_destroy(arena->known);
	g_string_chunk_free(arena->strings);
	g_ptr_array_free(arena->blocks, TRUE);
	g_free(arena);
}

const char *symbols_arena_text(struct symbols_arena *arena, const char *text)
{
	char *cached;

	if (!text)
		return NULL;
	cached = g_hash_table_lookup(arena->known, text);
	if (!cached) {
		cached = g_string_chunk_insert(arena->strings, text);
		g_hash_table_add(arena->known, cached);
		arena->bytes += strlen(cached) + 1 + sizeof(cached);
	}
	return cached;
}

size_t symbols_arena_bytes(const struct symbols_arena *arena)
{
	return arena->bytes;
}

static struct symbols_frame *take_frames(struct symbols_arena *arena, uint32_t count)
{
	struct symbols_frame *block;

	if (arena->used + count > ARENA_FRAMES) {
		g_ptr_array_add(arena->blocks, g_new(struct symbols_frame, ARENA_FRAMES));
		arena->bytes += ARENA_FRAMES * sizeof(struct symbols_frame);
		arena->used = 0;
	}
	block = g_ptr_array_index(arena->blocks, arena->blocks->len - 1);
	block += arena->used;
	arena->used += count;
	return block;
}

void symbols_arena_place(struct symbols_arena *arena, const struct symbols_place *from,
	struct symbols_place *place)
{
	uint32_t count = MIN(from->count, SYMBOLS_FRAMES_MAX), i;
	struct symbols_frame *frames = count ? take_frames(arena, count) : NULL;

	for (i = 0; i < count; i++) {
		frames[i].function = symbols_arena_text(arena, from->frames[i].function);
		frames[i].source = symbols_arena_text(arena, from->frames[i].source);
		frames[i].line = from->frames[i].line;
	}
	*place = *from;
	place->frames = frames;
	place->count = count;
}
