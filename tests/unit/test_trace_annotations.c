/* SPDX-License-Identifier: MIT */
/* trace/trace_annotations: the newest messages have the right lines and are cut at the limit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "producers/catalog.h"
#include "trace/trace_annotations.h"
#include "producers/producers.h"
#include "trace/reading.h"
#include "trace/snapshot.h"
#include "trace/trace.h"

struct fixed {
	struct trace *trace;
	struct catalog *catalog;
	struct producers *producers;
	struct readings *readings;
};

static int set_up(void **state)
{
	const struct catalog_hooks hooks = {NULL, NULL};
	struct fixed *f = g_new0(struct fixed, 1);
	struct producers_limits limits;

	producers_limits_init(&limits, 1024, (uint64_t)1 << 30);
	if (trace_create(TRACE_RING_BYTES_DEFAULT, &f->trace))
		return 1;
	f->catalog = catalog_create(&hooks);
	f->producers = producers_create(f->catalog, &limits);
	f->readings = readings_create(f->trace, f->producers, NULL, SNAPSHOT_BYTES_DEFAULT, 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixed *f = *state;

	readings_destroy(f->readings);
	producers_destroy(f->producers);
	catalog_destroy(f->catalog);
	trace_destroy(f->trace);
	g_free(f);
	return 0;
}

static void tell(struct fixed *f, uint64_t time_ns, const char *text)
{
	assert_int_equal(trace_append_at(f->trace, time_ns, 3, text, strlen(text)), 0);
}

static void has(struct trace_annotations *marks, uint64_t time_ns, const char *text)
{
	struct trace_annotation mark;

	assert_true(trace_annotations_next(marks, &mark));
	assert_int_equal(mark.time_ns, time_ns);
	assert_int_equal(mark.cpu, 3);
	assert_null(mark.program);
	assert_string_equal(mark.name, "");
	assert_string_equal(mark.text, text);
}

/* The older of five lines are left out, also where that is in the middle of a message. */
static void test_newest_lines_are_kept(void **state)
{
	struct fixed *f = *state;
	struct trace_annotations_missing missing;
	struct trace_annotations *marks;
	struct trace_annotation mark;

	assert_int_equal(trace_annotations_create(f->readings, 0, 3, NULL, &marks), -ENODATA);
	tell(f, 10, "a");
	tell(f, 20, "b\nc\n]:cpu9: d");
	tell(f, 30, "\n");
	assert_int_equal(trace_annotations_create(f->readings, 0, 3, NULL, &marks), 0);
	has(marks, 20, "c");
	has(marks, 20, "]:cpu9: d");
	has(marks, 30, "");
	assert_false(trace_annotations_next(marks, &mark));
	trace_annotations_get_missing(marks, &missing);
	assert_int_equal(missing.left_out, 2);
	assert_int_equal(missing.lost, 0);
	trace_annotations_destroy(marks);
	assert_int_equal(trace_annotations_create(f->readings, 0, 5, NULL, &marks), 0);
	has(marks, 10, "a");
	trace_annotations_get_missing(marks, &missing);
	assert_int_equal(missing.left_out, 0);
	trace_annotations_destroy(marks);
	assert_int_equal(snapshot_budget_used(readings_budget(f->readings)), 0);
}

/* After 256 bytes, and not within a character. */
static void test_long_lines_are_cut_between_characters(void **state)
{
	struct fixed *f = *state;
	g_autofree char *whole = g_strnfill(256, 'x');
	g_autofree char *longer = g_strnfill(257, 'x');
	g_autofree char *accent = g_strdup_printf("%.255s\xc3\xa9", longer);
	g_autofree char *longer_shown = g_strdup_printf("%s [cut]", whole);
	g_autofree char *accent_shown = g_strdup_printf("%.255s [cut]", whole);
	struct trace_annotations *marks;

	tell(f, 1, whole);
	tell(f, 2, longer);
	tell(f, 3, accent);
	tell(f, 4, "\xff");
	assert_int_equal(trace_annotations_create(f->readings, 0, 100, NULL, &marks), 0);
	has(marks, 1, whole);
	has(marks, 2, longer_shown);
	has(marks, 3, accent_shown);
	has(marks, 4, "\\xff");
	trace_annotations_destroy(marks);
}

static bool always(void *arg)
{
	return true;
}

static const struct cancel cancel = { always, NULL, -1 };

static void test_cancelled_annotations_leave_nothing(void **state)
{
	struct fixed *f = *state;
	struct trace_annotations *marks;

	tell(f, 1, "a");
	assert_int_equal(
		trace_annotations_create(f->readings, 0, 100, &cancel, &marks), -EINTR);
	assert_int_equal(snapshot_budget_used(readings_budget(f->readings)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_newest_lines_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_lines_are_cut_between_characters,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cancelled_annotations_leave_nothing,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
