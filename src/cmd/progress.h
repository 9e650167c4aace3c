/* SPDX-License-Identifier: MIT */
/*
 * How far a command is that finds names in many files: one line on the terminal that standard error
 * is, which comes only when it takes a while, and is gone at the end. One thread.
 */
#ifndef KPROFS_CMD_PROGRESS_H
#define KPROFS_CMD_PROGRESS_H

#include <stdint.h>

#include "symbolizer/symbols.h"

struct progress;

struct progress *progress_begin(void);

/* So many files will be asked about. */
void progress_set_files(struct progress *progress, uint32_t files);

/* The symbols of this machine, which tell of each file that they are asked about. Takes it over. */
struct symbols *progress_open_symbols(struct progress *progress);

/* All is done: clears the line. Later questions tell nothing. */
void progress_end(struct progress *progress);

#endif
