/* SPDX-License-Identifier: MIT */
/* The events of a page of trace_pipe_raw. */
#include "kernel/tracepage.h"

#include <string.h>

#define HEADER_BYTES 16
/* Of the second word: the bytes that follow. Above are flags: events before this page are missing. */
#define LENGTH_MASK 0xfffffu

/* Values of the low 5 bits of an event. */
#define TYPE_LENGTH_FOLLOWS 0 /* the next 4 bytes are its length, themselves included */
#define TYPE_DATA_MAX 28      /* up to here its length in 4 bytes */
#define TYPE_PADDING 29
#define TYPE_TIME_EXTEND 30 /* the upper part of the time since the event before follows */
#define TYPE_TIME_STAMP 31  /* the upper part of the time itself */
#define DELTA_SHIFT 27
/* What a time stamp has: the upper bits stay. */
#define STAMP_MASK ((1ull << 59) - 1)

void tracepage_begin(struct tracepage *page, const void *data, size_t bytes)
{
	uint64_t length;

	*page = (struct tracepage){ .at = data, .end = data };
	if (bytes < HEADER_BYTES)
		return;
	memcpy(&page->time_ns, data, sizeof(page->time_ns));
	memcpy(&length, (const char *)data + sizeof(page->time_ns), sizeof(length));
	length &= LENGTH_MASK;
	if (length > bytes - HEADER_BYTES)
		length = bytes - HEADER_BYTES;
	page->at += HEADER_BYTES;
	page->end = page->at + length;
}

/* Takes 4 bytes; what is not there ends the page. */
static uint32_t take_word(struct tracepage *page)
{
	uint32_t word = TYPE_PADDING;

	if ((size_t)(page->end - page->at) < sizeof(word)) {
		page->at = page->end;
		return word;
	}
	memcpy(&word, page->at, sizeof(word));
	page->at += sizeof(word);
	return word;
}

static const void *take_bytes(struct tracepage *page, size_t bytes)
{
	const char *at = page->at;

	if (bytes > (size_t)(page->end - at)) {
		page->at = page->end;
		return NULL;
	}
	page->at += bytes;
	return at;
}

const void *tracepage_next(struct tracepage *page, size_t *bytes)
{
	while (page->at < page->end) {
		uint32_t head = take_word(page), type = head & 31, word;
		uint64_t delta = head >> 5;

		if (type == TYPE_TIME_EXTEND) {
			page->time_ns += delta + ((uint64_t)take_word(page) << DELTA_SHIFT);
		} else if (type == TYPE_TIME_STAMP) {
			page->time_ns = (page->time_ns & ~STAMP_MASK) |
				((delta + ((uint64_t)take_word(page) << DELTA_SHIFT)) & STAMP_MASK);
		} else if (type == TYPE_PADDING) {
			word = take_word(page);
			/* one without a time fills the page up; else it is an event that was taken back */
			if (!delta || word < sizeof(word) || !take_bytes(page, word - sizeof(word)))
				page->at = page->end;
			page->time_ns += delta;
		} else {
			page->time_ns += delta;
			word = type == TYPE_LENGTH_FOLLOWS ? take_word(page) :
							     type * 4 + (uint32_t)sizeof(word);
			if (word < sizeof(word))
				break;
			/* lengths are rounded up to 4 */
			*bytes = word - sizeof(word);
			return take_bytes(page, (*bytes + 3) / 4 * 4);
		}
	}
	page->at = page->end;
	return NULL;
}
