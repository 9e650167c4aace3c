/* SPDX-License-Identifier: MIT */
/* The places of addresses, which profile.c finds while it reads a capture. One thread at a time. */
#ifndef KPROFS_CAPTURE_PROFILE_PLACES_H
#define KPROFS_CAPTURE_PROFILE_PLACES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/processes.h"

struct profile_place {
	uint32_t file;	 /* see processes_file(), or PROCESSES_NONE: in no mapping */
	bool kernel;
	bool waker; /* behind the stack of a time away: each frame is called by the next one */
	uint64_t offset; /* into the file; in the kernel, and without a file, the address */
	const char *text; /* no code but this text; else NULL */
};

struct profile_places;

/* It adds to `list`, of struct profile_place. Both must outlive it. */
struct profile_places *profile_places_create(struct processes *processes, GArray *list);
void profile_places_destroy(struct profile_places *places);

/*
 * The place of an address at this time, which is added if it is new. space: the life, or the section for
 * addresses of the kernel.
 */
uint32_t profile_places_find(struct profile_places *places, uint32_t space, bool kernel,
	uint64_t address, uint64_t time);

/* The place of the same code as a frame of a waker; that of a text there, which lives as long as the list. */
uint32_t profile_places_waker(struct profile_places *places, uint32_t place);
uint32_t profile_places_text(struct profile_places *places, const char *text);

#endif
