/* SPDX-License-Identifier: MIT */
/*
 * Captures that are loaded into a profile, and its cells as text. Each sample is taken on a CPU of its
 * own, so that its cell can be found again.
 */
#ifndef KPROFS_TESTS_UNIT_PROFILE_FIXTURE_H
#define KPROFS_TESTS_UNIT_PROFILE_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fixtures/gen.h"
#include "capture/profile.h"

static inline struct profile *load(const struct gen *gen)
{
	struct profile *profile;
	struct decoder decoder;
	struct err err;

	decode_init_memory(&decoder, gen->bytes->data, gen->bytes->len);
	if (profile_load(&decoder, &profile, &err) != 0)
		fail_msg("%s", err.text);
	decode_fini(&decoder);
	return profile;
}

static inline const struct profile_cell *cell_of_cpu(const struct profile *profile, uint16_t cpu)
{
	const struct profile_cell *found = NULL;
	guint i;

	for (i = 0; i < profile->cells->len; i++) {
		if (profile_cell(profile, i)->cpu != cpu)
			continue;
		assert_null(found);
		found = profile_cell(profile, i);
	}
	assert_non_null(found);
	return found;
}

/* "FILE+0xOFFSET FILE+0xOFFSET": innermost first; * for a file when there is none. */
static inline char *print_stack(const struct profile *profile, uint32_t node)
{
	GString *text = g_string_new(NULL);

	for (; node != STACKS_ROOT; node = stacks_node(&profile->stacks, node)->caller) {
		const struct profile_place *place =
			profile_place(profile, stacks_node(&profile->stacks, node)->place);
		const char *path = "*";

		if (place->file != PROCESSES_NONE)
			path = processes_file(profile->processes, place->file)->path;
		g_string_append_printf(text, "%s%s+0x%" G_GINT64_MODIFIER "x", text->len ? " " : "",
			path, place->offset);
	}
	return g_string_free(text, FALSE);
}

#endif
