/* SPDX-License-Identifier: MIT */
/*
 * The files of a capture whose build-ids are known, each once, for the list in a perf.data file. A
 * BUILD_ID record refers to the last mapping before it; all writers of captures follow this. For
 * perfdata_survey.c and perfdata_features.c only. One thread at a time.
 */
#ifndef KPROFS_FORMATS_PERFDATA_PERFDATA_FILES_H
#define KPROFS_FORMATS_PERFDATA_PERFDATA_FILES_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/table.h"
#include "formats/perfdata/perfdata_format.h"
#include "kprof/records.h"

struct perfdata_file {
	const char *path;
	uint8_t build_id[KPROF_BUILD_ID_MAX];
	uint8_t build_id_length;
	bool kernel; /* or a module of it */
};

struct perfdata_files {
	GArray *files; /* struct perfdata_file, in the order of the stream */

	struct table table;
	GStringChunk *strings;
	/* the last mapping */
	char path[PERFDATA_PATH_MAX + 1];
	uint64_t addr;
	uint32_t pid;
};

void perfdata_files_init(struct perfdata_files *files);
void perfdata_files_fini(struct perfdata_files *files);

void perfdata_files_take_mapping(struct perfdata_files *files, const struct kprof_rec_mmap *mmap,
	const char *path);
void perfdata_files_take_build_id(struct perfdata_files *files,
	const struct kprof_rec_build_id *build_id, const uint8_t *bytes);

/* The first kernel; NULL if there is none with a build-id. */
const struct perfdata_file *perfdata_files_kernel(const struct perfdata_files *files);

/* The memory that they take without their strings. */
size_t perfdata_files_bytes(const struct perfdata_files *files);

#endif
