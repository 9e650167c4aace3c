/* SPDX-License-Identifier: MIT */
/*
 * The output of `kprof record`: the records of the recorded processes and threads from a copy of
 * kpdata, in one file or in one file for each part of the run. One thread.
 */
#ifndef KPROFS_CMD_RECORD_OUTPUT_H
#define KPROFS_CMD_RECORD_OUTPUT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct record_output {
	/* set by the caller */
	const char *path; /* "-": standard output */
	bool numbered;    /* each part has a separate file, PATH.1, PATH.2, ... */
	bool quiet;       /* print nothing about what was written */
	/*
	 * the recorded processes: a root of process_filter.h, and more processes and threads
	 * (uint32_t)
	 */
	uint32_t root;
	GArray *processes, *threads;
	uint64_t from_ns; /* samples before this time are left out; CLOCK_MONOTONIC */
	const char *remark; /* printed after the figures; NULL if there is none */

	/* private */
	unsigned int number; /* of the open file, if they are numbered */
	char *name;
	FILE *out; /* NULL if it is not open */
	bool made; /* created here, and still empty */
	char *old; /* the name that the file before it has now; NULL if there was none */
};

/* Opens the first file. Returns -errno of open(2). */
int record_output_open(struct record_output *output, struct err *err);

/*
 * A file that is there, and not empty, is renamed to PATH.old when there is something to write.
 * Writes the records of the copy from the offset *begin on, and sets *begin to its end. Prints a
 * line about it. With numbered files each call writes and closes one. Returns -errno of write(2) or
 * an error of decode_next().
 */
int record_output_write(struct record_output *output, int copy, uint64_t *begin, struct err *err);

/* failed: a file that is still empty is removed, since it would look like a run without samples. */
void record_output_close(struct record_output *output, bool failed);

#endif
