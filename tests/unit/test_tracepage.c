/* SPDX-License-Identifier: MIT */
/* kernel/tracepage, on pages that are made by hand after the kernel's events/header_page and header_event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/tracepage.h"

struct sample {
	uint64_t time_ns, length;
	uint32_t words[32];
};

#define HEAD(type, delta) ((uint32_t)(type) | (uint32_t)(delta) << 5)

static void assert_next(struct tracepage *page, uint64_t time_ns, size_t bytes, uint32_t first)
{
	size_t got = 0;
	const void *event = tracepage_next(page, &got);
	uint32_t word;

	assert_non_null(event);
	memcpy(&word, event, sizeof(word));
	assert_int_equal(page->time_ns, time_ns);
	assert_int_equal(got, bytes);
	assert_int_equal(word, first);
}

static void assert_end(struct tracepage *page)
{
	size_t bytes;

	assert_null(tracepage_next(page, &bytes));
	assert_null(tracepage_next(page, &bytes));
}

static void test_events_have_the_sum_of_the_times_before(void **state)
{
	/* the flag above the length says that events before the page are missing */
	const struct sample sample = { 1000, 44 | 1u << 31, {
		HEAD(2, 5), 11, 12,                     /* 8 bytes */
		HEAD(0, 7), 12, 21, 22,                 /* its length follows: 8 bytes and itself */
		HEAD(30, 3), 2,                         /* 3 + 2 * 2^27 ns pass */
		HEAD(1, 1), 31 } };
	struct tracepage page;

	tracepage_begin(&page, &sample, sizeof(sample));
	assert_next(&page, 1005, 8, 11);
	assert_next(&page, 1012, 8, 21);
	assert_next(&page, 1016 + (2ull << 27), 4, 31);
	assert_end(&page);
}

static void test_padding_and_stamps(void **state)
{
	const struct sample sample = { (1ull << 60) + 7, 44, {
		HEAD(29, 4), 8, 0,         /* an event that was taken back: 8 bytes behind its head */
		HEAD(1, 0), 41,
		HEAD(31, 9), 3,            /* the time is 9 + 3 * 2^27, below the upper bits */
		HEAD(1, 1), 51,
		HEAD(29, 0), 0 } };        /* the rest is empty */
	struct tracepage page;

	tracepage_begin(&page, &sample, sizeof(sample));
	assert_next(&page, (1ull << 60) + 11, 4, 41);
	assert_next(&page, (1ull << 60) + 10 + (3ull << 27), 4, 51);
	assert_end(&page);
}

static void test_a_page_that_is_cut_ends(void **state)
{
	const struct sample sample = { 0, 1000, { HEAD(28, 1) } };
	const struct sample wrong = { 0, 8, { HEAD(0, 1), 3 } }, head = { 0, 4, { HEAD(0, 1), 8, 1 } };
	struct tracepage page;

	tracepage_begin(&page, &sample, 12);
	assert_end(&page);
	/* 112 bytes are said to follow */
	tracepage_begin(&page, &sample, offsetof(struct sample, words) + 4 + 108);
	assert_end(&page);
	tracepage_begin(&page, &sample, offsetof(struct sample, words) + 4 + 112);
	assert_next(&page, 1, 112, 0);
	tracepage_begin(&page, &wrong, sizeof(wrong));
	assert_end(&page);
	tracepage_begin(&page, &head, sizeof(head));
	assert_end(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_have_the_sum_of_the_times_before),
		cmocka_unit_test(test_padding_and_stamps),
		cmocka_unit_test(test_a_page_that_is_cut_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
