/* SPDX-License-Identifier: MIT */
/*
 * Finds the mappings that are valid from a capture's beginning on. A process that existed before
 * the capture is announced when it is found, which may be after its first samples. So its mappings
 * are valid from the beginning on, except those that overlap an older one. For perfdata_survey.c
 * and perfdata_stream.c only. One thread at a time.
 */
#ifndef KPROFS_FORMATS_PERFDATA_PERFDATA_EARLY_H
#define KPROFS_FORMATS_PERFDATA_PERFDATA_EARLY_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/pair_map.h"
#include "kprof/records.h"

struct perfdata_early {
	GArray *mappings; /* struct perfdata_early_mapping, until perfdata_early_find() */
	GByteArray *bits; /* one for each mapping, in the order of the stream */
	uint32_t count;	  /* of mappings so far */
};

void perfdata_early_init(struct perfdata_early *early);
void perfdata_early_fini(struct perfdata_early *early);

/*
 * Adds the next mapping: of a process (a section and a pid); or, with _pass, one of a process that
 * did not exist before the capture.
 */
void perfdata_early_add(struct perfdata_early *early, uint64_t process,
	const struct kprof_rec_mmap *mmap);
void perfdata_early_pass(struct perfdata_early *early);

/*
 * Called once all are added. `forked` has the threads that were forked during the capture, by
 * process and tid, which did not exist before it.
 */
void perfdata_early_find(struct perfdata_early *early, const struct pair_map *forked);

/* Whether the mapping is valid from the beginning on. Mappings count from 0 in stream order. */
bool perfdata_early_has(const struct perfdata_early *early, uint32_t mapping);

/* The memory that they take before perfdata_early_find(). */
size_t perfdata_early_bytes(const struct perfdata_early *early);

#endif
