/* SPDX-License-Identifier: MIT */
/* Selects the bytes of an event's text that are shown as \xNN. */
#ifndef KPROFS_TRACE_ESCAPE_H
#define KPROFS_TRACE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Also a newline, which is only escaped behind the last line that an event is shown with. */
static inline bool escape_is_needed(unsigned char byte)
{
	return (byte < 32 && byte != '\t') || byte == 127;
}

#define ESCAPE_EACH(b) (0x0101010101010101ull * (b))

/* Tests eight bytes at once for one below 32, or 127. A tab is left to the slow path. */
static inline bool escape_is_clean(const char *text, size_t bytes)
{
	uint64_t word, low, del;

	for (; bytes >= sizeof(word); text += sizeof(word), bytes -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		low = (word - ESCAPE_EACH(32)) & ~word & ESCAPE_EACH(128);
		word ^= ESCAPE_EACH(127);
		del = (word - ESCAPE_EACH(1)) & ~word & ESCAPE_EACH(128);
		if (low | del)
			return false;
	}
	for (; bytes; text++, bytes--)
		if (escape_is_needed((unsigned char)*text))
			return false;
	return true;
}

#endif
