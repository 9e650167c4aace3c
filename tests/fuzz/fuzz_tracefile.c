/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: copies of cpu/N/trace, which may be malformed. Invariants: reading ends, damage
 * is said with a place, and whatever is shown has no control bytes.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/tracefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("records", MFD_CLOEXEC);
	struct tracefile *file = tracefile_create(fd);
	struct trace_text *line = trace_text_create();
	GString *out = g_string_new(NULL);
	struct tracefile_item item;
	struct err err = { "" };
	size_t items = 0;
	int ret;

	FUZZ_CHECK(write(fd, data, size) == (ssize_t)size);
	FUZZ_CHECK(lseek(fd, 0, SEEK_SET) == 0);
	while ((ret = tracefile_next(file, &item, &err)) > 0) {
		FUZZ_CHECK(++items <= size / 8);
		g_string_truncate(out, 0);
		tracefile_show(&item, line, out);
		for (gsize i = 0; i < out->len; i++) {
			unsigned char byte = (unsigned char)out->str[i];

			FUZZ_CHECK((byte >= 32 && byte != 127) || byte == '\n' || byte == '\t');
		}
	}
	FUZZ_CHECK(ret == 0 || g_str_has_prefix(err.text, "offset "));
	FUZZ_CHECK(tracefile_next(file, &item, &err) == ret);
	g_string_free(out, TRUE);
	trace_text_destroy(line);
	tracefile_destroy(file);
	close(fd);
	return 0;
}

static void add(GByteArray *out, const void *block, size_t bytes, const char *rest, size_t more)
{
	static const uint8_t zeroes[8];

	g_byte_array_append(out, block, (guint)bytes);
	g_byte_array_append(out, (const uint8_t *)rest, (guint)more);
	g_byte_array_append(out, zeroes, (8 - more % 8) % 8);
}

/* One of everything, valid. */
bool fuzz_seed(unsigned int number, GByteArray *out)
{
	const struct kprof_trace_header header = { .magic = KPROF_TRACE_MAGIC,
		.version = KPROF_TRACE_VERSION, .byte_order = KPROF_TRACE_BYTE_ORDER,
		.header_bytes = sizeof(header) };
	const struct kprof_trace_program program = {
		.block = { KPROF_TRACE_PROGRAM, 32 }, .program = 1, .pid = 7, .name_bytes = 4 };
	const struct kprof_trace_meaning meaning = { .block = { KPROF_TRACE_MEANING, 40 },
		.program = 1, .id = 2, .label_bytes = 3, .format_bytes = 7 };
	const struct kprof_trace_event event = { .block = { KPROF_TRACE_EVENT, 56 }, .time_ns = 5,
		.program = 1, .tid = 8, .id = 2 };
	const struct kprof_trace_message message = {
		.block = { KPROF_TRACE_MESSAGE, 32 }, .time_ns = 6, .text_bytes = 8 };
	const struct kprof_trace_missing missing = {
		.block = { KPROF_TRACE_MISSING, 32 }, .time_ns = 7, .count = 9 };

	if (number > 0)
		return false;
	add(out, &header, sizeof(header), "", 0);
	add(out, &program, sizeof(program), "prog", 4);
	add(out, &meaning, sizeof(meaning), "a:b%s %d %p", 10);
	add(out, &event, sizeof(event), "\3\0abc\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
	add(out, &message, sizeof(message), "[1]: hi\n", 8);
	add(out, &missing, sizeof(missing), "", 0);
	return true;
}
