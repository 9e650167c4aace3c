/* SPDX-License-Identifier: MIT */
/* Formats and arguments of tracepoints. */
#include "kernel/describe.h"

#include <string.h>

#include <kprof/ring_abi.h>

static void add_word(GString *args, uint64_t word)
{
	g_string_append_len(args, (const char *)&word, sizeof(word));
}

/* A text without its NUL, as a u16 length and bytes, up to a multiple of 8. */
static void add_text(GString *args, const char *text, size_t length)
{
	uint16_t bytes = text ? (uint16_t)length : KPROF_STRING_NULL;
	size_t begin = args->len;

	g_string_append_len(args, (const char *)&bytes, sizeof(bytes));
	if (text)
		g_string_append_len(args, text, (gssize)length);
	while ((args->len - begin) % 8)
		g_string_append_c(args, '\0');
}

char *describe_point_format(const struct point *point)
{
	GString *format = g_string_new(NULL);

	for (uint32_t i = 0; i < point->count; i++) {
		const struct point_field *field = &point->fields[i];
		const char *conversion = "%s";

		if (field->kind == POINT_BYTES)
			continue;
		if (field->kind == POINT_NUMBER)
			conversion = field->is_signed ? "%ld" : "%lu";
		else if (field->kind == POINT_POINTER)
			conversion = "%#lx";
		g_string_append_printf(format, "%s%s=%s", format->len ? " " : "", field->name, conversion);
	}
	return g_string_free(format, FALSE);
}

/* The number at `at`, extended to 64 bits. */
static uint64_t read_number(const char *at, uint32_t bytes, bool is_signed)
{
	uint64_t word = 0;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	memcpy((char *)&word + 8 - bytes, at, bytes);
#else
	memcpy(&word, at, bytes);
#endif
	if (is_signed && bytes < 8 && word >> (bytes * 8 - 1) & 1)
		word |= UINT64_MAX << bytes * 8;
	return word;
}

static void add_state(GString *args, uint64_t state)
{
	g_autoptr(GString) letters = g_string_new(NULL);

	point_print_state(state, letters);
	add_text(args, letters->str, letters->len);
}

/* The text number `index` behind the fixed part, NULL if it is not there or was not readable. */
static const char *find_text(const char *at, const char *end, int index, size_t *length)
{
	const struct kernel_string *string;

	for (;; index--) {
		uint64_t bytes;

		if (end - at < (ptrdiff_t)sizeof(*string))
			return NULL;
		string = (const struct kernel_string *)(const void *)at;
		bytes = string->bytes;
		at += sizeof(*string);
		if (bytes > KERNEL_STRING_BYTES || bytes > (uint64_t)(end - at))
			return NULL;
		if (!index) {
			*length = bytes ? strnlen(at, bytes) : 0;
			return bytes ? at : NULL;
		}
		at += (bytes + 7) / 8 * 8;
	}
}

void describe_point(const struct point *point, const struct kernel_record *record, uint32_t bytes,
	GString *args)
{
	const char *body = (const char *)(record + 1), *end = (const char *)record + bytes;
	const char *texts = body + (point->body + 7) / 8 * 8;

	for (uint32_t i = 0; i < point->count; i++) {
		const struct point_field *field = &point->fields[i];
		const char *at = body + field->offset - 8, *text;
		size_t length = 0;

		if (field->kind == POINT_BYTES)
			continue;
		if (field->kind == POINT_STRING) {
			text = field->string < 0 ? NULL : find_text(texts, end, field->string, &length);
			add_text(args, text, length);
		} else if (field->kind == POINT_TEXT) {
			add_text(args, at, strnlen(at, field->bytes));
		} else if (field->kind == POINT_STATE) {
			add_state(args, read_number(at, field->bytes, field->is_signed));
		} else {
			add_word(args, read_number(at, field->bytes, field->is_signed));
		}
	}
}
