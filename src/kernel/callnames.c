/* SPDX-License-Identifier: MIT */
/* The names of system calls. */
#include "kernel/callnames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "kernel/callargs.h"

static const struct callnames_row rows[] = {
#include "kernel/callnames.list.h"
};

void callnames_add(struct callnames *callnames, const struct callnames_row *added, size_t count)
{
	struct callarg args[CALLARGS_MAX], result;
	char *end;

	for (size_t i = 0; i < count; i++) {
		unsigned long number = strtoul(added[i].number, &end, 10);
		size_t n;

		if (end == added[i].number || *end || number >= CALLNAMES_NUMBERS)
			continue;
		callnames->names[number] = added[i].name;
		callnames->args[number] = added[i].args;
		callnames->texts[number] = 0;
		n = callargs_parse(added[i].args, args, &result);
		for (size_t j = 0; j < n; j++) {
			if (args[j].kind == CALLARG_TEXT)
				callnames->texts[number] |= (uint8_t)(1u << j);
			else if (args[j].kind == CALLARG_SOCKET_ADDRESS)
				callnames->texts[number] = (uint8_t)(CALLNAMES_ADDRESS | 1u << j);
		}
	}
}

void callnames_init(struct callnames *callnames)
{
	memset(callnames, 0, sizeof(*callnames));
	callnames_add(callnames, rows, sizeof(rows) / sizeof(*rows));
}

int callnames_find(const struct callnames *callnames, const char *name)
{
	for (int i = 0; i < (int)CALLNAMES_NUMBERS; i++)
		if (callnames->names[i] && strcmp(callnames->names[i], name) == 0)
			return i;
	return -ENOENT;
}
