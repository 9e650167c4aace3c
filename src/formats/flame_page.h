/* SPDX-License-Identifier: MIT */
/*
 * The page around the frames of a flame graph: the summary of the capture, how to read the picture,
 * its colours, and the script. Lengths are in pixels.
 */
#ifndef KPROFS_FORMATS_FLAME_PAGE_H
#define KPROFS_FORMATS_FLAME_PAGE_H

#include <glib.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/profile.h"

struct difference;

/* Of all events together: browsers draw as much without a noticeable pause. */
#define FLAME_FRAMES_BYTES_MAX (4u << 20)

/* Lengths in pixels. Frames of FLAME_NARROWEST and more are drawn, if these are not too many. */
#define FLAME_NARROWEST 0.1
#define FLAME_WIDTH 1200
#define FLAME_PAD 10
#define FLAME_ROW 18

/* Deeper than this only the samples are drawn, not the functions. */
#define FLAME_ROWS_MAX 512

/* Where the first event begins. */
#define FLAME_PAGE_TOP 80

/* Functions that are drawn in blocks. */
struct flame_left_out {
	double narrowest;   /* frames below this width */
	uint64_t functions; /* without their callees */
	uint64_t samples;
};

/* How many colours there are for a share that grew, and as many for one that fell. */
#define FLAME_CHANGES 4

struct flame_page {
	const struct profile *profile; /* NULL for a page of maps, and not of samples */
	struct flame_left_out left_out;
	/* of an earlier capture with which this one is compared; NULL if there is none */
	const struct profile *before;
	const struct difference *difference;
};

/* Appends text escaped for XML, between tags and in attributes. */
void flame_page_escape(GString *svg, const char *text);

/*
 * Opens an event's group, with its heading, at y; returns where its frames begin. The caller closes
 * the group.
 */
uint32_t flame_page_append_heading(GString *svg, const char *heading, uint32_t y);
uint32_t flame_page_append_event(GString *svg, const struct profile_event *event, uint32_t y);

/* Writes the whole page with `events` in it, the last of which ends at `bottom`. */
void flame_page_write(const struct flame_page *page, const GString *events, uint32_t bottom, FILE *out);

#endif
