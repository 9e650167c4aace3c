/* SPDX-License-Identifier: MIT */
/* base/interned: equal strings are one, until their last use ends; tables do not share any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/interned.h"

static void test_equal_strings_are_one(void **state)
{
	struct interned *table = interned_create();
	char text[] = "name";
	const char *first = interned_new(table, text), *other;

	text[0] = 'g'; /* it was copied */
	assert_string_equal(first, "name");
	assert_ptr_equal(interned_new(table, "name"), first);
	other = interned_new(table, text);
	assert_ptr_not_equal(other, first);
	assert_string_equal(other, "game");
	interned_release(other);
	/* two uses and a third: the string stays until the last one */
	assert_ptr_equal(interned_get(first), first);
	interned_release(first);
	interned_release(first);
	assert_ptr_equal(interned_new(table, "name"), first);
	interned_release(first);
	interned_release(first);
	interned_release(NULL);
	interned_destroy(table);
	interned_destroy(NULL);
}

static void test_tables_have_strings_of_their_own(void **state)
{
	struct interned *tables[] = { interned_create(), interned_create() };
	const char *strings[] = { interned_new(tables[0], ""), interned_new(tables[1], "") };

	assert_ptr_not_equal(strings[0], strings[1]);
	interned_release(strings[0]);
	assert_string_equal(strings[1], "");
	interned_release(strings[1]);
	interned_destroy(tables[0]);
	interned_destroy(tables[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_strings_are_one),
		cmocka_unit_test(test_tables_have_strings_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
