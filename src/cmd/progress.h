/* SPDX-License-Identifier: MIT */
/*
 * Progress of a command that symbolizes many files: one line on standard error, if that is a
 * terminal. It appears only if the command takes a while, and is removed at the end. One thread.
 */
#ifndef KPROFS_CMD_PROGRESS_H
#define KPROFS_CMD_PROGRESS_H

#include <stdint.h>

#include "symbolizer/symbols.h"

struct progress;

struct progress *progress_begin(void);

/* The number of files that will be read. */
void progress_set_files(struct progress *progress, uint32_t files);

/* A source of this machine that updates the progress with each file. Takes ownership of it. */
struct symbols *progress_open_symbols(struct progress *progress);

/* Removes the line. Later requests show nothing. */
void progress_end(struct progress *progress);

#endif
