/* SPDX-License-Identifier: MIT */
/*
 * client/text: strings of every length at every offset in a block, before an unmapped page, become the
 * right records.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "client/text.h"

#define PAGE 4096u
#define LENGTHS 64u

static char *page; /* the next one can't be read */

static int make_page(void **state)
{
	(void)state;
	page = mmap(NULL, (size_t)2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		0);
	return page == MAP_FAILED || mprotect(page + PAGE, PAGE, PROT_NONE) != 0;
}

static int drop_page(void **state)
{
	(void)state;
	return munmap(page, (size_t)2 * PAGE);
}

/* A string of so many bytes, with its NUL `behind` bytes before the end of the page. */
static char *put(uint32_t bytes, uint32_t behind)
{
	char *text = page + PAGE - behind - 1 - bytes;

	memset(page, '#', PAGE);
	for (uint32_t i = 0; i < bytes; i++)
		text[i] = (char)('a' + i % 26);
	text[bytes] = '\0';
	return text;
}

static void test_lengths_are_found_at_every_alignment(void **state)
{
	(void)state;
	for (uint32_t bytes = 0; bytes < LENGTHS; bytes++)
		for (uint32_t behind = 0; behind < 64; behind++) {
			char *text = put(bytes, behind);
			uint32_t first = 16 - (uint32_t)(uintptr_t)text % 16, found;

			memset(text - 8, '\0', 8); /* what stands before it does not end it */
			found = text_short(text);
#ifdef TEXT_BLOCK
			/* its end is in the block of its beginning or in the next */
			if (bytes < first + 16) {
				assert_int_equal(found, bytes);
				assert_true(bytes <= TEXT_SHORT_MAX);
				continue;
			}
#endif
			(void)first;
			assert_int_equal(found, TEXT_LONG);
		}
}

/* u16 length, the bytes, zeroes up to the next word, and not a byte more. */
static void check_record(const uint64_t *words, const uint64_t *end, const char *text, uint32_t bytes)
{
	unsigned char expected[128];
	uint32_t units = (2 + bytes + 7) / 8;

	memset(expected, 0xee, sizeof(expected));
	memset(expected, 0, units * 8u);
	expected[0] = (unsigned char)bytes; /* little-endian machines, or shorter than 256 */
	expected[1] = 0;
	memcpy(expected + 2, text, bytes);
	assert_ptr_equal(end, words + units);
	assert_memory_equal(words, expected, sizeof(expected));
}

static void test_stored_texts_are_whole_and_padded(void **state)
{
	uint64_t words[16];

	(void)state;
	for (uint32_t bytes = 0; bytes < LENGTHS; bytes++)
		for (uint32_t behind = 0; behind < 16; behind++) {
			const char *text = put(bytes, behind);

			memset(words, 0xee, sizeof(words));
			check_record(words, text_store(words, text, bytes), text, bytes);
		}
	memset(words, 0xee, sizeof(words));
	assert_ptr_equal(text_store(words, NULL, KPROF_STRING_NULL), words + 1);
	assert_int_equal(words[0], 0xffff);
	assert_int_equal(words[1], 0xeeeeeeeeeeeeeeee);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths_are_found_at_every_alignment),
		cmocka_unit_test(test_stored_texts_are_whole_and_padded),
	};

	return cmocka_run_group_tests(tests, make_page, drop_page);
}
