/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables of files, filled by requests to parsers: a row (unwind_row.h) for each address,
 * requested once.
 *
 * The parser of a file is started when first needed. It ends with the struct unwind_table, or
 * earlier if there are too many parsers. One thread at a time.
 */
#ifndef KPROFS_SYMBOLIZER_UNWIND_TABLE_H
#define KPROFS_SYMBOLIZER_UNWIND_TABLE_H

#include "symbolizer/symbols.h"
#include "symbolizer/unwind_row.h"

struct unwind_table;

/*
 * `how` must outlive it: its deadline is for all requests together; flags and arena_max are not
 * used.
 */
struct unwind_table *unwind_table_create(struct symbols *symbols, const struct symbols_how *how);
/* Does nothing for NULL. */
void unwind_table_destroy(struct unwind_table *table);

/* Returns whether a file with this number (chosen by the caller) was added. */
bool unwind_table_has_file(const struct unwind_table *table, uint32_t number);
/* The struct is used during the call only. Blocks while the file is read. */
void unwind_table_add_file(
	struct unwind_table *table, uint32_t number, const struct symbols_file *file);

/*
 * The row at an offset of a file that was added, valid until the next call; NULL if none, or
 * the parser failed. May block for two seconds.
 */
const struct unwind_row *unwind_table_find(
	struct unwind_table *table, uint32_t number, uint64_t offset);

#endif
