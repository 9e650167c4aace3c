/* SPDX-License-Identifier: MIT */
/*
 * Which mappings count from a capture's beginning on. A process that was there before is announced
 * when it is found, which may be after its first samples. So its mappings count from the beginning
 * on, but for those that cover what an older one covered. For perfdata_survey.c and
 * perfdata_stream.c only. One thread at a time.
 */
#ifndef KPROFS_FORMATS_PERFDATA_PERFDATA_EARLY_H
#define KPROFS_FORMATS_PERFDATA_PERFDATA_EARLY_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kprof/records.h"
#include "capture/pair_map.h"

struct perfdata_early {
	GArray *mappings; /* struct early_mapping, until they are found */
	GByteArray *bits; /* one for each mapping, in the order of the stream */
	uint32_t count;	  /* of mappings so far */
};

void perfdata_early_init(struct perfdata_early *early);
void perfdata_early_fini(struct perfdata_early *early);

/*
 * The next mapping: of a process (a section and a pid), or of one that is known not to have been
 * there.
 */
void perfdata_early_add(struct perfdata_early *early, uint64_t process,
	const struct kprof_rec_mmap *mmap);
void perfdata_early_pass(struct perfdata_early *early);

/*
 * Once all are added. forked: of each thread by its process and tid; what was forked while the
 * capture was taken was not there before.
 */
void perfdata_early_find(struct perfdata_early *early, const struct pair_map *forked);

/* Whether the mapping with this number does, counted from 0 in the order of the stream. */
bool perfdata_early_has(const struct perfdata_early *early, uint32_t mapping);

/* What they take before they are found. */
size_t perfdata_early_bytes(const struct perfdata_early *early);

#endif
