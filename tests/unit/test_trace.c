/* SPDX-License-Identifier: MIT */
/*
 * trace/trace: a message becomes the right lines or is refused, and the ring keeps the newest
 * messages.
 */
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/messages.h"
#include "producers/producers.h"
#include "trace/trace.h"

#define T0 12000345678ULL /* as in the sample of Akaros: [12.000345678]:cpu0: hello */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

static struct trace *create_trace(size_t bytes)
{
	struct trace *trace;

	assert_int_equal(trace_create(bytes, &trace), 0);
	return trace;
}

static void check_text(struct trace *trace, int line, const char *expected)
{
	g_autoptr(GString) out = g_string_new(NULL);

	trace_print(trace, out);
	if (strcmp(out->str, expected) != 0)
		fail_msg("line %d: got\n%swhere this belongs:\n%s", line, out->str, expected);
	if (trace_bytes(trace) != out->len)
		fail_msg("line %d: %zu bytes are said to be %zu", line, out->len,
			trace_bytes(trace));
}

static void check_stats(struct trace *trace, int line, uint64_t written, uint64_t overwritten,
	uint64_t dropped_big)
{
	struct stats *stats = stats_create();
	g_autoptr(GString) out = g_string_new(NULL);
	g_autofree char *expected = g_strdup_printf("trace.bytes %zu\ntrace.dropped_big %" PRIu64
		"\ntrace.dropped_full 3\ntrace.overwritten %" PRIu64 "\ntrace.producers 5\n"
		"trace.torn 7\ntrace.written %" PRIu64 "\n", trace_bytes(trace), dropped_big,
		overwritten + 1000, written + 2000);
	const struct producers_totals programs = {.written = 2000, .overwritten = 1000, .dropped = 3,
		.torn = 7, .attached = 5, .cleared = 11};

	trace_print_stats(trace, &programs, stats);
	stats_render(stats, out);
	stats_destroy(stats);
	if (strcmp(out->str, expected) != 0)
		fail_msg("line %d: got\n%swhere this belongs:\n%s", line, out->str, expected);
}

/* ---- lines ---------------------------------------------------------------------------------- */

struct line_row {
	int line;
	uint64_t time_ns;
	unsigned int cpu;
	const char *text;
	const char *lines;
};

#define H "[12.000345678]:cpu0: "

static const struct line_row line_rows[] = {
	{__LINE__, T0, 0, "hello\n", H "hello\n"},
	{__LINE__, T0, 0, "hello", H "hello\n"},
	{__LINE__, T0, 0, "\n", H "\n"},
	{__LINE__, T0, 0, "\n\n", H "\n" H "\n"},
	{__LINE__, T0, 0, "a\nb", H "a\n" H "b\n"},
	{__LINE__, T0, 0, "a\n\n b \n", H "a\n" H "\n" H " b \n"},
	{__LINE__, T0, 0, "a\tb\\x00 %s\n", H "a\tb\\x00 %s\n"},
	{__LINE__, T0, 0, "\x01\x1f\r\x1b[31m\x7f", H "\\x01\\x1f\\x0d\\x1b[31m\\x7f\n"},
	{__LINE__, T0, 0, "\x80\xc3\xa4\xff ~", H "\x80\xc3\xa4\xff ~\n"},
	{__LINE__, 0, 0, "x", "[0.000000000]:cpu0: x\n"},
	{__LINE__, 999999999, 7, "x", "[0.999999999]:cpu7: x\n"},
	{__LINE__, 1000000000, 4095, "x", "[1.000000000]:cpu4095: x\n"},
	{__LINE__, UINT64_MAX, UINT32_MAX, "x", "[18446744073.709551615]:cpu4294967295: x\n"},
	{__LINE__, T0, 0, "", ""},
};

static void test_messages_become_lines(void **state)
{
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(line_rows); i++) {
		const struct line_row *row = &line_rows[i];
		struct trace *trace = create_trace(TRACE_RING_BYTES_DEFAULT);

		if (trace_append_at(trace, row->time_ns, row->cpu, row->text, strlen(row->text)))
			fail_msg("row of line %d", row->line);
		check_text(trace, row->line, row->lines);
		check_stats(trace, row->line, row->text[0] ? 1 : 0, 0, 0);
		trace_destroy(trace);
	}
}

static void test_sizes_are_bounded(void **state)
{
	g_autofree char *big = g_strnfill(65536, 'x');
	g_autoptr(GString) out = g_string_new(NULL);
	struct trace *trace;

	assert_int_equal(trace_create(1023, &trace), -EINVAL);
	assert_int_equal(trace_create(0, &trace), -EINVAL);
	assert_int_equal(trace_create((64 << 20) + 1, &trace), -EINVAL);
	trace = create_trace(64 << 20);
	trace_destroy(trace);
	trace_destroy(NULL);

	trace = create_trace(TRACE_RING_BYTES_DEFAULT);
	assert_int_equal(trace_append_at(trace, T0, 0, "a\0b", 3), -EINVAL);
	assert_int_equal(trace_append_at(trace, T0, 0, "\0", 1), -EINVAL);
	assert_int_equal(trace_append(trace, "ab\0", 3), -EINVAL);
	assert_int_equal(trace_append_at(trace, T0, 0, big, 65536), -EMSGSIZE);
	assert_int_equal(trace_append(trace, big, 65536), -EMSGSIZE);
	assert_int_equal(trace_append(trace, NULL, 0), 0);
	check_text(trace, __LINE__, "");
	check_stats(trace, __LINE__, 0, 0, 0);
	assert_int_equal(trace_append_at(trace, T0, 0, big, 65535), 0);
	trace_print(trace, out);
	assert_int_equal(out->len, strlen(H) + 65535 + 1);
	assert_string_equal(out->str + strlen(H) + 65530, "xxxxx\n");
	trace_destroy(trace);
}

/*
 * A message that does not fit into the whole ring is refused, and no other message is evicted for
 * it.
 */
static void test_message_larger_than_the_ring_is_refused(void **state)
{
	g_autofree char *newlines = g_strnfill(65535, '\n');
	g_autofree char *escapes = g_strnfill(65535, '\x01');
	g_autofree char *plain = g_strnfill(1002, 'x');
	struct trace *trace = create_trace(1024);

	assert_int_equal(trace_append_at(trace, T0, 0, "stays", 5), 0);
	assert_int_equal(trace_append_at(trace, T0, 0, newlines, 65535), -EMSGSIZE);
	assert_int_equal(trace_append_at(trace, T0, 0, escapes, 65535), -EMSGSIZE);
	/* the header has 21 bytes: 47 * (21 + 1) = 1034, and 21 + 251 * 4 + 1 = 1026 */
	assert_int_equal(trace_append_at(trace, T0, 0, newlines, 47), -EMSGSIZE);
	assert_int_equal(trace_append_at(trace, T0, 0, escapes, 251), -EMSGSIZE);
	check_text(trace, __LINE__, H "stays\n");
	check_stats(trace, __LINE__, 1, 0, 4);
	assert_int_equal(trace_append_at(trace, T0, 0, plain, 1002), 0);
	assert_int_equal(trace_bytes(trace), 1024);
	check_stats(trace, __LINE__, 2, 1, 4);
	assert_int_equal(trace_append_at(trace, T0 * 100, 0, plain, 1002), -EMSGSIZE);
	assert_int_equal(trace_append_at(trace, T0, 0, newlines, 46), 0); /* 1012 */
	check_stats(trace, __LINE__, 3, 2, 5);
	trace_destroy(trace);
}

static void test_times_never_go_back(void **state)
{
	struct trace *trace = create_trace(TRACE_RING_BYTES_DEFAULT);

	assert_int_equal(trace_append_at(trace, T0, 0, "one", 3), 0);
	assert_int_equal(trace_append_at(trace, T0 - 1, 1, "two", 3), 0);
	trace_clear(trace); /* an empty ring is no reason to go back */
	assert_int_equal(trace_append_at(trace, 5, 1, "three", 5), 0);
	assert_int_equal(trace_append_at(trace, T0 + 1, 1, "four", 4), 0);
	check_text(trace, __LINE__, "[12.000345678]:cpu1: three\n[12.000345679]:cpu1: four\n");
	trace_destroy(trace);
}

/* the time is between two reads of the clock before and after the call */
static void test_time_is_that_of_the_call(void **state)
{
	struct trace *trace = create_trace(TRACE_RING_BYTES_DEFAULT);
	g_autoptr(GString) out = g_string_new(NULL);
	unsigned long seconds, nanoseconds;
	gint64 before, after, us;
	unsigned int cpu;
	int end = 0;

	before = g_get_monotonic_time(); /* CLOCK_MONOTONIC in us, cut off */
	assert_int_equal(trace_append(trace, "now\n", 4), 0);
	after = g_get_monotonic_time();
	trace_print(trace, out);
	assert_int_equal(sscanf(out->str, "[%lu.%9lu]:cpu%u: now\n%n", &seconds, &nanoseconds, &cpu,
		&end), 3);
	assert_int_equal(end, out->len);
	us = (gint64)(seconds * 1000000 + nanoseconds / 1000);
	assert_in_range(us, before, after);
	assert_true(cpu < (unsigned int)sysconf(_SC_NPROCESSORS_CONF));
	trace_destroy(trace);
}

/* ---- which messages stay -------------------------------------------------------------------- */

/* A list of whole messages that drops the oldest: slow, and simple enough to be right. */
struct model {
	GQueue messages; /* of GString */
	size_t bytes, size;
	uint64_t evicted;
};

static void add_to_model(struct model *model, const char *text, size_t length)
{
	while (model->bytes + length > model->size) {
		GString *oldest = g_queue_pop_head(&model->messages);

		model->bytes -= oldest->len;
		model->evicted++;
		g_string_free(oldest, TRUE);
	}
	model->bytes += length;
	g_queue_push_tail(&model->messages, g_string_new_len(text, (gssize)length));
}

static void clear_model(struct model *model)
{
	GString *oldest;

	while ((oldest = g_queue_pop_head(&model->messages)))
		g_string_free(oldest, TRUE);
	model->bytes = 0;
}

static void compare_to_model(const struct messages *ring, struct model *model, int step)
{
	g_autoptr(GString) all = g_string_new(NULL), each = g_string_new(NULL);
	struct messages_message message;
	uint64_t number = messages_first(ring);
	const GList *at;

	for (at = model->messages.head; at; at = at->next, number++) {
		const GString *expected = at->data;
		g_autoptr(GString) got = g_string_new(NULL);

		if (messages_get(ring, number, &message))
			fail_msg("step %d: message %" PRIu64 " is not there", step, number);
		g_string_append_len(got, message.text[0], (gssize)message.length[0]);
		g_string_append_len(got, message.text[1], (gssize)message.length[1]);
		if (!g_string_equal(got, expected) || message.time_ns != number * 3)
			fail_msg("step %d: message %" PRIu64 " differs", step, number);
		g_string_append_len(each, got->str, (gssize)got->len);
	}
	messages_all(ring, &message);
	g_string_append_len(all, message.text[0], (gssize)message.length[0]);
	g_string_append_len(all, message.text[1], (gssize)message.length[1]);
	if (number != messages_end(ring) || !g_string_equal(all, each) ||
		messages_bytes(ring) != model->bytes ||
		messages_get(ring, number, &message) != -ENOENT ||
		messages_get(ring, messages_first(ring) - 1, &message) != -ENOENT)
		fail_msg("step %d: the whole differs", step);
}

static void run_against_model(size_t size, size_t longest, int steps)
{
	struct model model = {G_QUEUE_INIT, 0, size, 0};
	g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)(size + longest));
	g_autofree char *text = g_malloc(longest);
	struct messages *ring;
	uint64_t evicted, evicted_all = 0;
	size_t length, i;
	int step;

	assert_int_equal(messages_create(size, &ring), 0);
	for (step = 0; step < steps; step++) {
		length = (size_t)g_rand_int_range(rand, 1, (gint32)longest + 1);
		for (i = 0; i < length; i++)
			text[i] = (char)g_rand_int_range(rand, 0, 256);
		if (length > size) {
			assert_int_equal(
				messages_append(ring, 0, text, length, &evicted), -EMSGSIZE);
		} else {
			assert_int_equal(messages_append(ring, messages_end(ring) * 3, text, length,
						 &evicted),
				0);
			evicted_all += evicted;
			add_to_model(&model, text, length);
		}
		if (g_rand_int_range(rand, 0, 200) == 0) {
			messages_clear(ring);
			clear_model(&model);
		}
		compare_to_model(ring, &model, step);
		assert_int_equal(evicted_all, model.evicted);
	}
	assert_true(evicted_all > 0);
	clear_model(&model);
	messages_destroy(ring);
}

static void test_ring_matches_the_model(void **state)
{
	run_against_model(1, 2, 300);
	run_against_model(7, 9, 2000);
	run_against_model(100, 100, 2000);
	run_against_model(1000, 3, 1500); /* more than 64 messages: the entries grow */
	run_against_model(1021, 300, 2000);
}

static void test_wrong_ring_sizes_are_refused(void **state)
{
	struct messages *ring = NULL;
	uint64_t evicted = 77;

	assert_int_equal(messages_create(0, &ring), -EINVAL);
#ifndef SANITIZED /* sanitizers end the program where malloc would give NULL */
	assert_int_equal(messages_create(SIZE_MAX / 2, &ring), -ENOMEM);
#endif
	assert_null(ring);
	assert_int_equal(messages_create(10, &ring), 0);
	assert_int_equal(messages_append(ring, 0, "", 0, &evicted), -EINVAL);
	assert_int_equal(evicted, 77);
	messages_destroy(ring);
	messages_destroy(NULL);
}

static void test_oldest_messages_are_evicted(void **state)
{
	struct trace *trace = create_trace(1024);
	g_autofree char *text = g_strnfill(234, 'x'); /* with header and newline 256 */
	g_autoptr(GString) out = g_string_new(NULL);
	int i;

	for (i = 0; i < 4; i++)
		assert_int_equal(trace_append_at(trace, T0 + (uint64_t)i, 0, text, 234), 0);
	assert_int_equal(trace_bytes(trace), 1024);
	check_stats(trace, __LINE__, 4, 0, 0);
	/* 22 bytes more: one whole message leaves */
	assert_int_equal(trace_append_at(trace, T0 + 4, 0, "\n", 1), 0);
	assert_int_equal(trace_bytes(trace), 3 * 256 + 22);
	check_stats(trace, __LINE__, 5, 1, 0);
	trace_print(trace, out);
	assert_int_equal(strncmp(out->str, "[12.000345679]:cpu0: x", 22), 0);
	assert_string_equal(out->str + 3 * 256, "[12.000345682]:cpu0: \n");
	/* a message of several lines leaves as one */
	trace_clear(trace);
	check_text(trace, __LINE__, "");
	check_stats(trace, __LINE__, 5, 1, 0);
	assert_int_equal(trace_append_at(trace, T0 + 5, 0, "a\nb\nc", 5), 0);
	for (i = 0; i < 3; i++)
		assert_int_equal(trace_append_at(trace, T0 + 6, 0, text, 234), 0);
	assert_int_equal(trace_bytes(trace), 3 * 256 + 3 * 23);
	assert_int_equal(trace_append_at(trace, T0 + 6, 0, text, 234), 0);
	assert_int_equal(trace_bytes(trace), 4 * 256);
	check_stats(trace, __LINE__, 10, 2, 0);
	trace_destroy(trace);
}

/* ---- readers -------------------------------------------------------------------------------- */

static void check_next(struct trace *trace, struct trace_cursor *cursor, int line, uint64_t time_ns,
	const char *expected)
{
	g_autoptr(GString) out = g_string_new(NULL);
	uint64_t time = 0;

	if (!trace_next(trace, cursor, &time, out) || time != time_ns ||
		strcmp(out->str, expected) != 0)
		fail_msg("line %d: at %" PRIu64 ": %s", line, time, out->str);
}

static void check_nothing(struct trace *trace, struct trace_cursor *cursor, int line)
{
	g_autoptr(GString) out = g_string_new(NULL);
	uint64_t time = 77;

	if (trace_next(trace, cursor, &time, out) || time != 77 || out->len)
		fail_msg("line %d: at %" PRIu64 ": %s", line, time, out->str);
}

static void test_cursors_hold_and_follow(void **state)
{
	struct trace *trace = create_trace(TRACE_RING_BYTES_DEFAULT);
	struct trace_cursor held, follow;

	assert_int_equal(trace_append_at(trace, T0, 0, "one\nmore", 8), 0);
	assert_int_equal(trace_append_at(trace, T0 + 1, 1, "two", 3), 0);
	trace_cursor_init(trace, &held);
	trace_cursor_init_follow(trace, &follow);
	assert_int_equal(trace_append_at(trace, T0 + 2, 0, "three", 5), 0);
	check_next(trace, &held, __LINE__, T0, H "one\n" H "more\n");
	check_next(trace, &held, __LINE__, T0 + 1, "[12.000345679]:cpu1: two\n");
	check_nothing(trace, &held, __LINE__); /* its end was fixed before the third */
	check_nothing(trace, &held, __LINE__);
	check_next(trace, &follow, __LINE__, T0 + 2, "[12.000345680]:cpu0: three\n");
	check_nothing(trace, &follow, __LINE__);
	assert_int_equal(trace_append_at(trace, T0 + 3, 0, "four", 4), 0);
	check_next(trace, &follow, __LINE__, T0 + 3, "[12.000345681]:cpu0: four\n");
	check_nothing(trace, &follow, __LINE__);
	assert_int_equal(held.missed, 0);
	assert_int_equal(follow.missed, 0);
	trace_destroy(trace);
}

/*
 * Messages evicted before they are read are counted, for each reader by itself, and never beyond
 * its end.
 */
static void test_evicted_messages_are_counted_for_each_cursor(void **state)
{
	struct trace *trace = create_trace(1024);
	struct trace_cursor held, follow;
	g_autofree char *text = g_strnfill(490, 'x'); /* 512: two fit */
	g_autofree char *third = g_strconcat(H, text, "\n", NULL);

	assert_int_equal(trace_append_at(trace, T0, 0, "1", 1), 0);
	assert_int_equal(trace_append_at(trace, T0, 0, "2", 1), 0);
	assert_int_equal(trace_append_at(trace, T0, 0, text, 490), 0);
	trace_cursor_init(trace, &held);
	trace_cursor_init_follow(trace, &follow);
	assert_int_equal(trace_append_at(trace, T0, 0, text, 490), 0); /* 1 and 2 leave */
	check_next(trace, &held, __LINE__, T0, third);
	assert_int_equal(held.missed, 2);
	check_nothing(trace, &held, __LINE__);
	/* two messages that both leave, and one after its end that leaves with them */
	trace_cursor_init(trace, &held);
	assert_int_equal(trace_append_at(trace, T0, 0, "5", 1), 0);
	trace_clear(trace);
	assert_int_equal(trace_append_at(trace, T0, 0, "6", 1), 0);
	check_nothing(trace, &held, __LINE__);
	assert_int_equal(held.missed, 2);
	check_next(trace, &follow, __LINE__, T0, H "6\n");
	assert_int_equal(follow.missed, 2);
	trace_clear(trace);
	check_nothing(trace, &follow, __LINE__);
	assert_int_equal(follow.missed, 2);
	trace_destroy(trace);
}

/* ---- the rest ------------------------------------------------------------------------------- */

#define WRITERS 4
#define MESSAGES 2000

struct writer {
	struct trace *trace;
	int number;
};

/* gives the line that failed */
static gpointer write_messages(gpointer data)
{
	const struct writer *writer = data;
	char text[64];
	int i, n;

	for (i = 0; i < MESSAGES; i++) {
		n = snprintf(text, sizeof(text), "writer %d: %d\n", writer->number, i);
		if (trace_append(writer->trace, text, (size_t)n))
			return GINT_TO_POINTER(__LINE__);
	}
	return NULL;
}

/*
 * each message is read once or counted as missed, each writer's in order, and times never decrease
 */
static void test_threads_lose_no_message_uncounted(void **state)
{
	struct trace *trace = create_trace(4096);
	struct writer writers[WRITERS];
	GThread *threads[WRITERS];
	struct trace_cursor cursor;
	g_autoptr(GString) out = g_string_new(NULL);
	uint64_t time_ns, newest_ns = 0, read = 0;
	int last[WRITERS] = {-1, -1, -1, -1};
	int number, i;
	gint64 deadline = g_get_monotonic_time() + 60 * G_TIME_SPAN_SECOND;

	trace_cursor_init_follow(trace, &cursor);
	for (i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){trace, i};
		threads[i] = g_thread_new("writer", write_messages, &writers[i]);
	}
	while (read + cursor.missed < WRITERS * MESSAGES) {
		assert_true(g_get_monotonic_time() < deadline);
		g_string_truncate(out, 0);
		if (!trace_next(trace, &cursor, &time_ns, out)) {
			g_thread_yield();
			continue;
		}
		read++;
		assert_true(time_ns >= newest_ns);
		newest_ns = time_ns;
		assert_int_equal(sscanf(out->str, "[%*u.%*u]:cpu%*u: writer %d: %d\n", &number,
			&i), 2);
		assert_in_range(number, 0, WRITERS - 1);
		assert_true(i > last[number]);
		last[number] = i;
	}
	for (i = 0; i < WRITERS; i++)
		assert_int_equal(GPOINTER_TO_INT(g_thread_join(threads[i])), 0);
	trace_destroy(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages_become_lines),
		cmocka_unit_test(test_sizes_are_bounded),
		cmocka_unit_test(test_message_larger_than_the_ring_is_refused),
		cmocka_unit_test(test_times_never_go_back),
		cmocka_unit_test(test_time_is_that_of_the_call),
		cmocka_unit_test(test_ring_matches_the_model),
		cmocka_unit_test(test_wrong_ring_sizes_are_refused),
		cmocka_unit_test(test_oldest_messages_are_evicted),
		cmocka_unit_test(test_cursors_hold_and_follow),
		cmocka_unit_test(test_evicted_messages_are_counted_for_each_cursor),
		cmocka_unit_test(test_threads_lose_no_message_uncounted),
	};

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
