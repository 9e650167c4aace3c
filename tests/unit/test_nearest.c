/* SPDX-License-Identifier: MIT */
/* base/nearest: names that are close to a misspelt one are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/nearest.h"

/* ---- nearest --------------------------------------------------------------------------------- */

static void test_nearest_names_are_found(void **state)
{
	static const char *const names[] = { "cycles", "cpu-cycles", "instructions", "recycles",
		"bicycle", "cycle", "", "CYCLES-2" };
	char text[NEAREST_TEXT_MAX], little[8], huge[2 * NEAREST_NAME_MAX];
	struct nearest nearest;
	size_t i;

	(void)state;
	nearest_init(&nearest, "cylces");
	assert_string_equal(nearest_text(&nearest, text, sizeof(text)), "");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		nearest_offer(&nearest, names[i]);
	nearest_offer(&nearest, "cycles");
	/* one swap; a swap and a letter; then a swap and two letters, in the order they came */
	assert_string_equal(nearest_text(&nearest, text, sizeof(text)),
		"; nearest: cycles, cycle, recycles, CYCLES-2");
	assert_string_equal(nearest_text(&nearest, little, sizeof(little)), "; neare");

	/* a beginning and a part are near, with a rest of any length */
	nearest_init(&nearest, "switch");
	nearest_offer(&nearest, "context-switches");
	nearest_offer(&nearest, "switch-to-something-else");
	assert_string_equal(nearest_text(&nearest, text, sizeof(text)),
		"; nearest: switch-to-something-else, context-switches");

	/* short names of which most letters differ are others */
	nearest_init(&nearest, "foo");
	nearest_offer(&nearest, "flat");
	nearest_offer(&nearest, "info");
	nearest_offer(&nearest, "fo");
	assert_string_equal(nearest_text(&nearest, text, sizeof(text)), "; nearest: fo");
	nearest_init(&nearest, "pw");
	nearest_offer(&nearest, "cpu");
	assert_string_equal(nearest_text(&nearest, text, sizeof(text)), "");

	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	nearest_init(&nearest, huge);
	nearest_offer(&nearest, huge);
	assert_int_equal(nearest.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nearest_names_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
