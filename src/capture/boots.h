/* SPDX-License-Identifier: MIT */
/*
 * The boots of the machines of which a capture has sections: each has a CLOCK_MONOTONIC of its own. Their
 * times are made comparable by the wall clocks that the sections began with: as times of the machine that was
 * booted first, so that none is negative. Sections of one boot stay as they are to each other.
 *
 * What the sections say is added in their order, then boots_finish(). After that boots do not change.
 */
#ifndef KPROFS_CAPTURE_BOOTS_H
#define KPROFS_CAPTURE_BOOTS_H

#include <stdint.h>

#include "kprof/records.h"

struct boots;

struct boots *boots_create(void);
void boots_destroy(struct boots *boots);
void boots_add_clock(struct boots *boots, uint32_t section, const struct kprof_rec_clock *clock);
/* Sections without it are of one machine that is not known, and of one boot. */
void boots_add_host(struct boots *boots, uint32_t section, const struct kprof_rec_host *host);
void boots_finish(struct boots *boots);

/* How many boots there are; 1 if nothing was added. */
uint32_t boots_count(const struct boots *boots);
/* Of which boot a section is, from 0 on in the order of the sections. */
uint32_t boots_of(const struct boots *boots, uint32_t section);
/* What is added, modulo 2^64, to the times of a section. 0 if there is one boot. */
uint64_t boots_shift_ns(const struct boots *boots, uint32_t section);
/* The wall clock when the times that are shifted were 0; 0 if it is not known. */
uint64_t boots_wall_ns(const struct boots *boots);

#endif
