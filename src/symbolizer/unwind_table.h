/* SPDX-License-Identifier: MIT */
/*
 * How the functions of files are unwound, as parsers tell it: a row (row.h) for each place, asked
 * once.
 *
 * A file's parser is started when first needed and ends with the struct unwind_table, or where
 * there are too many of them. One thread at a time.
 */
#ifndef KPROFS_SYMBOLIZER_UNWIND_TABLE_H
#define KPROFS_SYMBOLIZER_UNWIND_TABLE_H

#include "symbolizer/unwind_row.h"
#include "symbolizer/symbols.h"

struct unwind_table;

/*
 * how must outlive it: its deadline is for all of the questions; flags and arena_max are not used.
 */
struct unwind_table *unwind_table_create(struct symbols *symbols, const struct symbols_how *how);
/* Harmless for NULL. */
void unwind_table_destroy(struct unwind_table *rows);

/* Is anything known of the file with this number (the caller's)? False: say what it is. */
bool unwind_table_has_file(const struct unwind_table *rows, uint32_t number);
/* The struct is used during the call only. Blocks while the file is read. */
void unwind_table_add_file(
	struct unwind_table *rows, uint32_t number, const struct symbols_file *file);

/*
 * The row at an offset of a file that was added, valid until the next call; NULL: there is none, or
 * none can be had (any more). May block for two seconds.
 */
const struct unwind_row *unwind_table_find(
	struct unwind_table *rows, uint32_t number, uint64_t offset);

#endif
