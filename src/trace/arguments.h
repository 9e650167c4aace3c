/* SPDX-License-Identifier: MIT */
/*
 * Reads the arguments of an event one after the other, from the bytes of the record (ring_abi.h).
 * The producer wrote them, so they are checked: an argument that is not whole ends the arguments.
 */
#ifndef KPROFS_TRACE_ARGUMENTS_H
#define KPROFS_TRACE_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <kprof/ring_abi.h>

struct arguments {
	const char *at;
	size_t left;
};

static inline bool arguments_take_word(struct arguments *args, uint64_t *word)
{
	if (args->left < sizeof(*word)) {
		args->left = 0;
		return false;
	}
	memcpy(word, args->at, sizeof(*word));
	args->at += sizeof(*word);
	args->left -= sizeof(*word);
	return true;
}

/*
 * *text is NULL for a null pointer. A string longer than the rest of the record ends the arguments.
 */
static inline bool arguments_take_string(struct arguments *args, const char **text, size_t *count)
{
	uint16_t bytes;
	size_t whole;

	if (args->left < sizeof(bytes)) {
		args->left = 0;
		return false;
	}
	memcpy(&bytes, args->at, sizeof(bytes));
	*text = bytes == KPROF_STRING_NULL ? NULL : args->at + sizeof(bytes);
	*count = bytes == KPROF_STRING_NULL ? 0 : bytes;
	whole = (sizeof(bytes) + *count + 7) / 8 * 8;
	if (whole > args->left) {
		args->left = 0;
		return false;
	}
	args->at += whole;
	args->left -= whole;
	return true;
}

#endif
