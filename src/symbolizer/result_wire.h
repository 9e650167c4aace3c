/* SPDX-License-Identifier: MIT */
/*
 * Answers as bytes, on their way from a parser to whoever asked: written by the parser, read by a
 * process that believes nothing of it.
 */
#ifndef KPROFS_SYMBOLIZER_RESULT_WIRE_H
#define KPROFS_SYMBOLIZER_RESULT_WIRE_H

#include "symbolizer/symbols.h"

/*
 * Appends the answer to the index-th offset; texts are cut to SYMBOLS_TEXT_MAX, frames to
 * SYMBOLS_FRAMES_MAX. The bytes it took; 0: they do not fit into `size`.
 */
size_t result_wire_write(
	uint8_t *bytes, size_t size, uint32_t index, const struct symbols_place *place);

/*
 * Reads one answer, with the texts copied to the arena. The bytes it took; 0: it is damaged. The
 * index is what the parser says: the caller checks it.
 */
size_t result_wire_read(const uint8_t *bytes, size_t size, struct symbols_arena *arena,
	uint32_t *index, struct symbols_place *place);

#endif
