/* SPDX-License-Identifier: MIT */
/* The names of constants, found in the tables and written. */
#include "kernel/callflags.h"

#include <inttypes.h>
#include <string.h>

const struct callflags *callflags_find(const char *kind, size_t bytes)
{
	const struct callflags *const tables[] = { callflags_files, callflags_tasks, callflags_sockets };

	for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
		for (const struct callflags *flags = tables[i]; flags->kind; flags++)
			if (strlen(flags->kind) == bytes && memcmp(flags->kind, kind, bytes) == 0)
				return flags;
	return NULL;
}

bool callflags_is_int(const struct callflags *flags)
{
	return flags && flags->rest == 'd';
}

static void print_rest(char rest, uint32_t value, GString *out)
{
	if (rest == 'd')
		g_string_append_printf(out, "%" PRId32, (int32_t)value);
	else if (!value)
		g_string_append_c(out, '0');
	else
		g_string_append_printf(out, rest == 'o' ? "0%" PRIo32 : "0x%" PRIx32, value);
}

void callflags_print(const struct callflags *flags, uint32_t value, GString *out)
{
	uint32_t undone = UINT32_MAX; /* the bits that no name has stood for yet */
	const char *between = "";

	for (size_t i = 0; i < flags->count; i++) {
		const struct callflags_row *row = &flags->rows[i];

		if ((row->mask & ~undone) || (value & row->mask) != row->value)
			continue;
		undone &= ~row->mask;
		g_string_append_printf(out, "%s%s", between, row->name);
		between = "|";
	}
	if (*between && !(value & undone))
		return;
	g_string_append(out, between);
	print_rest(flags->rest, value & undone, out);
}
