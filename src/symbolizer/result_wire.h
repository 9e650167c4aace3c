/* SPDX-License-Identifier: MIT */
/*
 * Results as bytes, sent by the parser to the client process, which checks every length that it
 * reads.
 */
#ifndef KPROFS_SYMBOLIZER_RESULT_WIRE_H
#define KPROFS_SYMBOLIZER_RESULT_WIRE_H

#include "symbolizer/symbols_arena.h"

/*
 * Appends the result for the index-th offset; texts are cut to SYMBOLS_TEXT_MAX, frames to
 * SYMBOLS_FRAMES_MAX. Returns the bytes written; 0 if they do not fit into `size`.
 */
size_t result_wire_write(
	uint8_t *bytes, size_t size, uint32_t index, const struct symbols_place *place);

/*
 * Reads one result and copies its texts to the arena. Returns the bytes read, or 0 if the result is
 * malformed. The caller checks the index.
 */
size_t result_wire_read(const uint8_t *bytes, size_t size, struct symbols_arena *arena,
	uint32_t *index, struct symbols_place *place);

#endif
