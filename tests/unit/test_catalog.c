/* SPDX-License-Identifier: MIT */
/*
 * producers/catalog: events have the names, numbers and switches that were set, and settings are kept
 * for later programs.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "producers/catalog.h"

static unsigned int changes;

static void on_changed(void *arg)
{
	changes++;
	assert_ptr_equal(arg, &changes);
}

static struct catalog *create(void)
{
	const struct catalog_hooks hooks = {on_changed, &changes};

	changes = 0;
	return catalog_create(&hooks);
}

static const struct catalog_event *add(struct catalog *catalog, const char *label,
	const char *format)
{
	const struct catalog_event *event = NULL;

	assert_int_equal(catalog_add(catalog, 1, KPROF_KIND_EVENT, label, format, &event), 0);
	assert_string_equal(event->label, label);
	assert_string_equal(event->format, format);
	return event;
}

static void drop(struct catalog *catalog, const struct catalog_event *event)
{
	catalog_leave(catalog, event);
	catalog_put(catalog, event);
}

/* "a:b=1 c:d=0": each name with its setting */
static void check_list(struct catalog *catalog, int line, const char *expected)
{
	g_autoptr(GPtrArray) labels = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GString) found = g_string_new(NULL);

	catalog_list(catalog, labels);
	for (guint i = 0; i < labels->len; i++) {
		const char *label = g_ptr_array_index(labels, i);
		bool on;

		if (catalog_get(catalog, label, &on))
			fail_msg("line %d: %s is listed and not known", line, label);
		g_string_append_printf(found, "%s%s=%d", i ? " " : "", label, on);
	}
	if (strcmp(found->str, expected) != 0)
		fail_msg("line %d: '%s' and not '%s'", line, found->str, expected);
}

static void check_info(struct catalog *catalog, int line, const char *expected)
{
	g_autoptr(GString) found = g_string_new(NULL);

	catalog_print_info(catalog, found);
	if (!g_str_has_prefix(found->str, "version 1\n"))
		fail_msg("line %d: no version:\n%s", line, found->str);
	g_string_erase(found, 0, (gssize)strlen("version 1\n"));
	if (strcmp(found->str, expected) != 0)
		fail_msg("line %d:\n%sand not\n%s", line, found->str, expected);
}

static void check_counts(struct catalog *catalog, int line, uint64_t events, uint64_t kept,
	uint64_t settings)
{
	struct catalog_counts counts;

	catalog_count(catalog, &counts);
	if (counts.events != events || counts.kept != kept || counts.settings != settings)
		fail_msg("line %d: %d %d %d", line, (int)counts.events, (int)counts.kept,
			(int)counts.settings);
	if (!events && !kept && counts.bytes)
		fail_msg("line %d: %d bytes of nothing", line, (int)counts.bytes);
}

static void test_labels_are_checked(void **state)
{
	char longest[CATALOG_LABEL_MAX + 2];
	static const char *const good[] = {"a:b", "A.b-c_9:Z", "0:-"};
	static const char *const bad[] = {"", ":", "a", "a:", ":b", "a:b:c", "a b:c", "a:b\n", "a:b/c",
		"\xc3\xa4:b", "all", "a:\x1b[2J"};

	for (size_t i = 0; i < G_N_ELEMENTS(good); i++)
		assert_true(catalog_is_label(good[i]));
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
		assert_false(catalog_is_label(bad[i]));
	memset(longest, 'x', sizeof(longest));
	longest[100] = ':';
	longest[201] = '\0';
	assert_true(catalog_is_label(longest));
	longest[201] = 'x';
	longest[202] = '\0';
	assert_false(catalog_is_label(longest)); /* the name has 101 */
	longest[201] = '\0';
	longest[100] = 'x';
	longest[101] = ':';
	assert_false(catalog_is_label(longest)); /* the provider has */
}

static void test_switches_are_set_and_listed(void **state)
{
	struct catalog *catalog = create();
	const struct catalog_event *a = add(catalog, "p:a", "%d"), *b = add(catalog, "p:b", ""), *text;

	check_list(catalog, __LINE__, "p:a=0 p:b=0");
	assert_false(catalog_is_on(catalog, a));
	assert_int_equal(catalog_set(catalog, "p:a", true), 0);
	assert_int_equal(changes, 1);
	assert_true(catalog_is_on(catalog, a));
	assert_false(catalog_is_on(catalog, b));
	catalog_set_enabled(catalog, false);
	assert_false(catalog_is_on(catalog, a)); /* its own switch stays */
	check_list(catalog, __LINE__, "p:a=1 p:b=0");
	assert_false(catalog_text_is_on(catalog, KPROF_KIND_PRINTF));
	catalog_set_enabled(catalog, true);
	assert_true(catalog_is_on(catalog, a));

	assert_true(catalog_text_is_on(catalog, KPROF_KIND_PRINTF));
	assert_false(catalog_text_is_on(catalog, KPROF_KIND_PRINTX));
	catalog_set_printx(catalog, SWITCH_WORD_TOGGLE);
	assert_true(catalog_text_is_on(catalog, KPROF_KIND_PRINTX));
	assert_int_equal(changes, 4);
	catalog_set_enabled(catalog, false);
	assert_false(catalog_text_is_on(catalog, KPROF_KIND_PRINTX));
	catalog_set_enabled(catalog, true);
	catalog_set_printx(catalog, false);
	assert_false(catalog_printx(catalog));

	assert_int_equal(catalog_add(catalog, 1, KPROF_KIND_BACKTRACE, "", "bt", &text), 0);
	assert_int_equal(text->number, 0);
	assert_true(catalog_is_on(catalog, text)); /* backtraces obey the master switch only */
	drop(catalog, text);
	drop(catalog, a);
	drop(catalog, b);
	catalog_destroy(catalog);
}

/* A name that is wanted stays known to the catalog, without a file, until it is wanted no more. */
static void test_names_are_wanted_by_probes(void **state)
{
	struct catalog *catalog = create();
	const struct catalog_event *a;
	char *format;

	(void)state;
	assert_int_equal(catalog_probe(catalog, "no label", 1), -EINVAL);
	assert_null(catalog_format(catalog, "p:a"));
	assert_int_equal(catalog_probe(catalog, "p:a", 1), 0);
	assert_int_equal(changes, 1);
	check_list(catalog, __LINE__, "");
	a = add(catalog, "p:a", "x=%d");
	assert_true(catalog_is_probed(a));
	assert_false(catalog_is_on(catalog, a));
	format = catalog_format(catalog, "p:a");
	assert_string_equal(format, "x=%d");
	g_free(format);
	catalog_set_all(catalog, true);
	catalog_set_all(catalog, false);
	assert_true(catalog_is_probed(a));
	drop(catalog, a);
	a = add(catalog, "p:a", "y=%d");
	assert_true(catalog_is_probed(a));
	assert_int_equal(catalog_probe(catalog, "p:a", -1), 0);
	assert_false(catalog_is_probed(a));
	drop(catalog, a);
	catalog_destroy(catalog);
}

static void test_switching_all_sets_every_event(void **state)
{
	struct catalog *catalog = create();
	const struct catalog_event *a = add(catalog, "p:a", "%d"), *b;

	assert_int_equal(catalog_set(catalog, "p:early", true), 0);
	check_counts(catalog, __LINE__, 1, 0, 1);
	catalog_set_all(catalog, true);
	assert_true(catalog_all(catalog));
	check_counts(catalog, __LINE__, 1, 0, 0); /* "early" has the setting of all */
	check_list(catalog, __LINE__, "p:a=1");
	b = add(catalog, "p:b", "%d"); /* of the future */
	check_list(catalog, __LINE__, "p:a=1 p:b=1");
	assert_int_equal(catalog_set(catalog, "p:b", false), 0);
	drop(catalog, b);
	check_list(catalog, __LINE__, "p:a=1");
	check_counts(catalog, __LINE__, 1, 0, 1);
	b = add(catalog, "p:b", "%d");
	check_list(catalog, __LINE__, "p:a=1 p:b=0"); /* the setting was kept */
	catalog_set_all(catalog, false);
	check_list(catalog, __LINE__, "p:a=0 p:b=0");
	drop(catalog, a);
	drop(catalog, b);
	check_counts(catalog, __LINE__, 0, 0, 0);
	catalog_destroy(catalog);
}

/* Settings made before the first program and kept after the last. */
static void test_settings_outlive_the_programs(void **state)
{
	struct catalog *catalog = create();
	const struct catalog_event *a, *again;
	bool on;

	assert_int_equal(catalog_get(catalog, "p:a", &on), -ENOENT);
	assert_int_equal(catalog_set(catalog, "p", true), -EINVAL);
	assert_int_equal(catalog_set(catalog, "p:a", false), 0); /* as it is anyway */
	check_counts(catalog, __LINE__, 0, 0, 0);
	assert_int_equal(catalog_set(catalog, "p:a", true), 0);
	check_list(catalog, __LINE__, "p:a=1"); /* listed, although no producer has it */
	a = add(catalog, "p:a", "%d");
	assert_true(catalog_is_on(catalog, a));
	check_counts(catalog, __LINE__, 1, 0, 0);
	catalog_leave(catalog, a);
	check_list(catalog, __LINE__, ""); /* a producer has had it: the file is removed with the last one */
	check_counts(catalog, __LINE__, 0, 1, 1);
	assert_int_equal(catalog_get(catalog, "p:a", &on), -ENOENT);
	again = add(catalog, "p:a", "%d");
	assert_ptr_equal(again, a); /* known from the pool of an exited producer: the same number */
	check_list(catalog, __LINE__, "p:a=1");
	catalog_put(catalog, a);
	drop(catalog, again);
	check_counts(catalog, __LINE__, 0, 0, 1);
	assert_int_equal(catalog_set(catalog, "p:a", false), 0);
	check_counts(catalog, __LINE__, 0, 0, 0);
	catalog_destroy(catalog);
}

static void test_numbers_and_formats_are_checked_and_printed(void **state)
{
	struct catalog *catalog = create();
	const struct catalog_event *a = add(catalog, "p:a", "%d '\"\\\n\x1b[1m"), *b, *other = NULL;

	b = add(catalog, "p:b", "%s");
	assert_int_equal(a->number, 1);
	assert_int_equal(b->number, 2);
	assert_int_equal(catalog_add(catalog, 2, KPROF_KIND_EVENT, "p:b", "%d", &other), -EEXIST);
	assert_null(other);
	assert_int_equal(catalog_set(catalog, "p:b", true), 0);
	check_info(catalog, __LINE__,
		"name 'p:a' format '%d \\x27\\x22\\x5c\\x0a\\x1b[1m' id 1 disabled\n"
		"name 'p:b' format '%s' id 2 enabled\n");
	/*
	 * no producer has it, and exited producers refer to it: the next producer may give the name
	 * another meaning
	 */
	catalog_leave(catalog, b);
	other = add(catalog, "p:b", "%d");
	assert_int_equal(other->number, 3);
	assert_true(catalog_is_on(catalog, other)); /* the setting belongs to the name */
	assert_int_equal(catalog_hold(catalog, b), -EEXIST);
	check_info(catalog, __LINE__,
		"name 'p:a' format '%d \\x27\\x22\\x5c\\x0a\\x1b[1m' id 1 disabled\n"
		"name 'p:b' format '%s' id 2 enabled\nname 'p:b' format '%d' id 3 enabled\n");
	check_counts(catalog, __LINE__, 2, 1, 0);
	catalog_leave(catalog, other);
	assert_int_equal(catalog_hold(catalog, b), 0);
	check_list(catalog, __LINE__, "p:a=0 p:b=1");
	drop(catalog, b);
	catalog_put(catalog, other);
	other = add(catalog, "p:b", "%d");
	assert_int_equal(other->number, 4); /* never used twice */
	drop(catalog, other);
	drop(catalog, a);
	catalog_destroy(catalog);
}

/* The same text of many programs is one copy, and each kind is a text of its own. */
static void test_equal_texts_share_one_copy(void **state)
{
	struct catalog *catalog = create();
	const struct catalog_event *a, *b, *c;

	assert_int_equal(catalog_add(catalog, 1, KPROF_KIND_PRINTF, "", "%d", &a), 0);
	assert_int_equal(catalog_add(catalog, 2, KPROF_KIND_PRINTF, "", "%d", &b), 0);
	assert_int_equal(catalog_add(catalog, 2, KPROF_KIND_PRINTX, "", "%d", &c), 0);
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, c);
	assert_string_equal(c->format, "%d");
	assert_string_equal(c->label, "");
	check_list(catalog, __LINE__, "");
	check_info(catalog, __LINE__, "");
	assert_true(catalog_is_on(catalog, a));
	assert_false(catalog_is_on(catalog, c));
	drop(catalog, a);
	drop(catalog, b);
	drop(catalog, c);
	check_counts(catalog, __LINE__, 0, 0, 0);
	catalog_destroy(catalog);
}

static int add_numbered(struct catalog *catalog, uid_t uid, unsigned int i, const char *format,
	const struct catalog_event **event)
{
	char label[64];

	snprintf(label, sizeof(label), "flood:n%u", i);
	return catalog_add(catalog, uid, KPROF_KIND_EVENT, label, format, event);
}

#define GREEDY 10 /* users */

/*
 * Users who define as many events as they can leave some for the next user. Refused ones take no
 * memory.
 */
static void test_users_who_take_all_leave_numbers_for_others(void **state)
{
	static const struct catalog_event *events[2 * CATALOG_BYTES_MAX / 1000];
	struct catalog *catalog = create();
	struct catalog_counts counts;
	char format[1001];
	unsigned int n = 0, first;
	uid_t uid;
	int ret;

	memset(format, 'x', sizeof(format) - 1);
	format[1000] = '\0';
	while ((ret = add_numbered(catalog, 100, n, format, &events[n])) == 0)
		n++;
	assert_int_equal(ret, -EDQUOT);
	catalog_count(catalog, &counts);
	assert_in_range(counts.bytes, CATALOG_USER_BYTES_MAX - 2000, CATALOG_USER_BYTES_MAX);
	assert_int_equal(counts.events, n);
	drop(catalog, events[0]); /* room again, for this user too */
	assert_int_equal(add_numbered(catalog, 100, 0, format, &events[0]), 0);
	for (uid = 101; uid < 100 + GREEDY; uid++) {
		first = n;
		while ((ret = add_numbered(catalog, uid, n, format, &events[n])) == 0)
			n++;
		assert_int_equal(ret, -ENOSPC);
		if (uid < 105)
			assert_true(n > first);
	}
	/* a sixteenth is root's */
	catalog_count(catalog, &counts);
	assert_in_range(counts.bytes, CATALOG_BYTES_MAX / 16 * 15 - CATALOG_BYTES_MAX / 256,
		CATALOG_BYTES_MAX / 16 * 15);
	while ((ret = add_numbered(catalog, 0, n, format, &events[n])) == 0)
		n++;
	assert_int_equal(ret, -ENOSPC);
	catalog_count(catalog, &counts);
	assert_in_range(counts.bytes, CATALOG_BYTES_MAX - 2000, CATALOG_BYTES_MAX);
	assert_int_equal(counts.events, n);
	while (n--)
		drop(catalog, events[n]);
	check_counts(catalog, __LINE__, 0, 0, 0);
	catalog_destroy(catalog);
}

static void test_settings_are_bounded(void **state)
{
	struct catalog *catalog = create();
	const struct catalog_event *held;
	char label[64];
	bool on;

	held = add(catalog, "p:held", "");
	assert_int_equal(catalog_set(catalog, "p:held", true), 0);
	for (unsigned int i = 0; i < CATALOG_SETTINGS_MAX; i++) {
		snprintf(label, sizeof(label), "p:n%u", i);
		assert_int_equal(catalog_set(catalog, label, true), 0);
	}
	assert_int_equal(catalog_set(catalog, "p:more", true), -ENOSPC);
	assert_int_equal(catalog_get(catalog, "p:more", &on), -ENOENT);
	assert_int_equal(catalog_set(catalog, "p:n0", true), 0); /* it has its number */
	check_counts(catalog, __LINE__, 1, 0, CATALOG_SETTINGS_MAX);
	drop(catalog, held); /* no room for its setting: it is not kept */
	held = add(catalog, "p:held", "");
	assert_false(catalog_is_on(catalog, held));
	assert_int_equal(catalog_set(catalog, "p:n0", false), 0);
	assert_int_equal(catalog_set(catalog, "p:held", true), 0);
	drop(catalog, held);
	held = add(catalog, "p:held", "");
	assert_true(catalog_is_on(catalog, held));
	drop(catalog, held);
	check_counts(catalog, __LINE__, 0, 0, CATALOG_SETTINGS_MAX);
	catalog_set_all(catalog, true);
	check_counts(catalog, __LINE__, 0, 0, 0);
	catalog_destroy(catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels_are_checked),
		cmocka_unit_test(test_switches_are_set_and_listed),
		cmocka_unit_test(test_names_are_wanted_by_probes),
		cmocka_unit_test(test_switching_all_sets_every_event),
		cmocka_unit_test(test_settings_outlive_the_programs),
		cmocka_unit_test(test_numbers_and_formats_are_checked_and_printed),
		cmocka_unit_test(test_equal_texts_share_one_copy),
		cmocka_unit_test(test_users_who_take_all_leave_numbers_for_others),
		cmocka_unit_test(test_settings_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
