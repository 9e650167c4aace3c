/* SPDX-License-Identifier: MIT */
/*
 * The events of a page of tracefs' trace_pipe_raw, whose layout the kernel tells in events/header_page and
 * header_event: a time stamp and a length of 8 bytes each, then events, each with the time since the one
 * before.
 */
#ifndef KPROFS_KERNEL_TRACEPAGE_H
#define KPROFS_KERNEL_TRACEPAGE_H

#include <stddef.h>
#include <stdint.h>

struct tracepage {
	const char *at, *end;
	uint64_t time_ns;
};

/* The page may have any content; it must stay as long as it is walked. */
void tracepage_begin(struct tracepage *page, const void *data, size_t bytes);
/* The next event's record, from its common header on; NULL at the end. Its time is page->time_ns. */
const void *tracepage_next(struct tracepage *page, size_t *bytes);

#endif
