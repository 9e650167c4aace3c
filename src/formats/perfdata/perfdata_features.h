/* SPDX-License-Identifier: MIT */
/*
 * The feature sections after the data of a perf.data file: the events' names, the files' build-ids,
 * the times, and the machine, if the capture was made on this machine since it was booted. For
 * perfdata.c.
 */
#ifndef KPROFS_FORMATS_PERFDATA_PERFDATA_FEATURES_H
#define KPROFS_FORMATS_PERFDATA_PERFDATA_FEATURES_H

#include <glib.h>

#include "formats/perfdata/perfdata_format.h"
#include "formats/perfdata/perfdata_survey.h"

struct perfdata_features {
	uint64_t bits[4];   /* for the header */
	GArray *sections;   /* struct perfdata_section; offset: from the first one's beginning */
	GByteArray *bodies;
};

/* attrs: of the survey's events, in their order. */
void perfdata_features_make(struct perfdata_features *features,
	const struct perfdata_survey *survey, const struct perfdata_attr *attrs);
void perfdata_features_fini(struct perfdata_features *features);

#endif
