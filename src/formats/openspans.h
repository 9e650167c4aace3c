/* SPDX-License-Identifier: MIT */
/*
 * The spans of programs that have begun and not ended, while annotations are read in the order of time. An
 * end has the time of its begin, so that both are found to belong together whatever is missing between them.
 * One thread at a time.
 */
#ifndef KPROFS_FORMATS_OPENSPANS_H
#define KPROFS_FORMATS_OPENSPANS_H

#include "formats/view_input.h"

struct openspans;

struct openspans *openspans_create(void);
void openspans_destroy(struct openspans *spans);

/* A span of this thread begins (VIEW_ANNOTATION_BEGIN). The annotation is copied. */
void openspans_begin(struct openspans *spans, const struct view_annotation *begin);
/*
 * A span ends (VIEW_ANNOTATION_SPAN): the text of its begin, which is to be freed; NULL if its begin is not
 * among the annotations.
 */
char *openspans_end(struct openspans *spans, const struct view_annotation *end);
/* Calls `see` with each one that has not ended, by time. */
void openspans_each(struct openspans *spans, void (*see)(void *arg, const struct view_annotation *begin),
	void *arg);

#endif
