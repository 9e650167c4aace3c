/* SPDX-License-Identifier: MIT */
/* The names of system calls. */
#include "kernel/callnames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

struct callnames_row {
	const char *name;
	const char *number; /* the digits, or the name of a constant that this machine does not have */
	uint8_t texts;
};

#define TEXT(x) #x
#define NUMBER_TEXT(x) TEXT(x)
#define CALL(call, texts) { #call, NUMBER_TEXT(__NR_##call), texts },

static const struct callnames_row rows[] = {
#include "kernel/callnames.list.h"
};

void callnames_init(struct callnames *callnames)
{
	char *end;

	memset(callnames, 0, sizeof(*callnames));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		unsigned long number = strtoul(rows[i].number, &end, 10);

		if (end == rows[i].number || *end || number >= CALLNAMES_NUMBERS)
			continue;
		callnames->names[number] = rows[i].name;
		callnames->texts[number] = rows[i].texts;
	}
}

int callnames_find(const struct callnames *callnames, const char *name)
{
	for (int i = 0; i < (int)CALLNAMES_NUMBERS; i++)
		if (callnames->names[i] && strcmp(callnames->names[i], name) == 0)
			return i;
	return -ENOENT;
}
