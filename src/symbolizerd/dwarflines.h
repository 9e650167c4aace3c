/* SPDX-License-Identifier: MIT */
/*
 * Source files, lines and inlined functions of addresses, out of a file's DWARF.
 *
 * Only the compilation units that contain a requested address are read, each once for all its
 * addresses. .debug_aranges names the unit; without an entry there (clang writes none) the ranges
 * of all units' first entries are used. Runs in the parser; libdw reads the DWARF. One thread at a
 * time.
 */
#ifndef KPROFS_SYMBOLIZERD_DWARFLINES_H
#define KPROFS_SYMBOLIZERD_DWARFLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/symbols.h"

struct dwarflines;

/*
 * Returns NULL if the file has no DWARF. fd is borrowed, and must be open as long as the result
 * exists.
 */
struct dwarflines *dwarflines_open(int fd);
void dwarflines_close(struct dwarflines *lines);

/*
 * The build-id of the alternate debug file, with which several debug files share parts (dwz);
 * length 0 if none. Until dwarflines_set_alt() was called, names in that file are not known.
 */
size_t dwarflines_alt(struct dwarflines *lines, uint8_t *build_id, size_t size);
void dwarflines_set_alt(struct dwarflines *lines, int fd);

/*
 * Calls found() for each of the addresses (the file's virtual addresses, ascending) for which there
 * is DWARF: frames innermost first, the function of the last one NULL if it has no name. Names are
 * as in the file, mangled or not. The arguments of found() are valid during the call.
 */
void dwarflines_find(struct dwarflines *lines, const uint64_t *addresses, size_t count,
	void (*found)(void *arg, size_t i, const struct symbols_frame *frames, uint32_t frame_count),
	void *arg);

#endif
