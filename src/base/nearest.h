/* SPDX-License-Identifier: MIT */
/*
 * The few names nearest to one that does not exist, for error messages: "no event 'cylces';
 * nearest: cycles, ref-cycles". The measure is edit distance without regard to case. A name that
 * contains the wanted one, or begins like it, counts as near. No allocation; one thread at a
 * time.
 */
#ifndef KPROFS_BASE_NEAREST_H
#define KPROFS_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

#define NEAREST_NAMES 5	     /* a message stays readable */
#define NEAREST_NAME_MAX 128 /* longer names are not offered: "SYSTEM:NAME" of tracepoints fits */

/* holds every nearest_text() */
#define NEAREST_TEXT_MAX (NEAREST_NAMES * (NEAREST_NAME_MAX + 2) + 16)

struct nearest {
	char wanted[NEAREST_NAME_MAX];
	unsigned int limit; /* greatest distance that still counts as near */
	unsigned int count;
	unsigned int distances[NEAREST_NAMES]; /* ascending */
	char names[NEAREST_NAMES][NEAREST_NAME_MAX];
};

/* wanted: cut at NEAREST_NAME_MAX - 1 */
void nearest_init(struct nearest *nearest, const char *wanted);
/*
 * Returns whether nearest_offer() would keep the name. Called first if it takes time to check a
 * name.
 */
bool nearest_wants(const struct nearest *nearest, const char *name);
/*
 * Keeps a copy of the name if it is among the nearest so far. Of equally near names the first is
 * kept.
 */
void nearest_offer(struct nearest *nearest, const char *name);
/* The same, but `text` is shown in place of the name; it must be shorter than NEAREST_NAME_MAX. */
void nearest_offer_text(struct nearest *nearest, const char *name, const char *text);
/* Writes "; nearest: A, B, C", or "" if no name is near, cut to size. Returns buf. */
const char *nearest_text(const struct nearest *nearest, char *buf, size_t size);

#endif
