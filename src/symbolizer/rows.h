/* SPDX-License-Identifier: MIT */
/*
 * How the functions of files are unwound, as parsers tell it: a row (row.h) for each place, asked
 * once.
 *
 * A file's parser is started when first needed and ends with the struct rows, or where there are
 * too many of them. One thread at a time.
 */
#ifndef KPROFS_SYMBOLIZER_ROWS_H
#define KPROFS_SYMBOLIZER_ROWS_H

#include "symbolizer/row.h"
#include "symbolizer/symbols.h"

struct rows;

/*
 * how must outlive it: its deadline is for all of the questions; flags and arena_max are not used.
 */
struct rows *rows_create(struct symbols *symbols, const struct symbols_how *how);
/* Harmless for NULL. */
void rows_destroy(struct rows *rows);

/* Is anything known of the file with this number (the caller's)? False: say what it is. */
bool rows_has_file(const struct rows *rows, uint32_t number);
/* The struct is used during the call only. Blocks while the file is read. */
void rows_add_file(struct rows *rows, uint32_t number, const struct symbols_file *file);

/*
 * The row at an offset of a file that was added, valid until the next call; NULL: there is none, or
 * none can be had (any more). May block for two seconds.
 */
const struct row *rows_find(struct rows *rows, uint32_t number, uint64_t offset);

#endif
