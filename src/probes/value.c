/* SPDX-License-Identifier: MIT */
/* Values as text, as bpftrace writes them. */
#include "probes/value.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "probes/layout.h"
#include "sys/clock.h"
#include "sys/users.h"

/* Longer names are cut; useradd(8) makes none. */
#define USER_NAME_BYTES 256

static uint64_t word_at(const void *data, uint32_t index)
{
	uint64_t word;

	memcpy(&word, (const char *)data + index * sizeof(word), sizeof(word));
	return word;
}

void value_print_string(const char *data, uint32_t bytes, GString *out)
{
	g_string_append_len(out, data, (gssize)strnlen(data, bytes));
}

/* Any user chooses the name of a process: it could have lines of an answer, or sequences for terminals. */
static void print_escaped(const char *data, uint32_t bytes, GString *out)
{
	for (uint32_t i = 0; i < bytes && data[i]; i++) {
		if (g_ascii_iscntrl(data[i]))
			g_string_append_printf(out, "\\x%02x", (unsigned char)data[i]);
		else
			g_string_append_c(out, data[i]);
	}
}

static void print_address(uint64_t address, bool is_user, uint32_t pid, bool is_frame,
	const struct value_names *names, GString *out)
{
	bool known = false;

	if (is_user && names->user)
		known = names->user(names->arg, pid, address, is_frame, out);
	else if (!is_user && names->kernel)
		known = names->kernel(names->arg, address, is_frame, out);
	if (!known)
		g_string_append_printf(out, "0x%" PRIx64, address);
}

bool value_has_addresses(const struct ast_type *type)
{
	for (uint32_t i = 0; type->kind == AST_TUPLE && i < type->count; i++)
		if (value_has_addresses(&type->parts[i]))
			return true;
	return type->kind == AST_KSYM || type->kind == AST_USYM || type->kind == AST_KSTACK ||
		type->kind == AST_USTACK;
}

void value_print_frames(const uint64_t *frames, uint32_t count, bool is_user, uint32_t pid,
	const struct value_names *names, GString *out)
{
	for (uint32_t i = 0; i < count; i++) {
		g_string_append(out, "\n    ");
		print_address(frames[i], is_user, pid, true, names, out);
	}
	g_string_append_c(out, '\n');
}

static void print_stack(const struct ast_type *type, const void *data, const struct value_names *names,
	GString *out)
{
	const bool is_user = type->kind == AST_USTACK;
	uint64_t frames[AST_FRAMES_MAX];
	uint32_t count = 0;

	if (names->stack)
		count = names->stack(names->arg, word_at(data, 0), frames, AST_FRAMES_MAX);
	value_print_frames(frames, count, is_user, is_user ? (uint32_t)word_at(data, 1) : 0, names, out);
}

void value_print_folded(const struct ast_type *type, const void *data, const struct value_names *names,
	GString *out)
{
	const bool is_user = type->kind == AST_USTACK;
	const uint32_t pid = is_user ? (uint32_t)word_at(data, 1) : 0;
	uint64_t frames[AST_FRAMES_MAX];
	uint32_t count = 0;

	if (names->stack)
		count = names->stack(names->arg, word_at(data, 0), frames, AST_FRAMES_MAX);
	for (uint32_t i = count; i; i--) {
		print_address(frames[i - 1], is_user, pid, false, names, out);
		if (i > 1)
			g_string_append_c(out, ';');
	}
}

static void print_inet(const char *data, GString *out)
{
	char text[INET6_ADDRSTRLEN] = "";

	inet_ntop(word_at(data, 0) == 16 ? AF_INET6 : AF_INET, data + 8, text, sizeof(text));
	g_string_append(out, text);
}

/* Printable bytes as they are, others as \xNN. */
static void print_buffer(const char *data, uint32_t most, GString *out)
{
	uint64_t length = word_at(data, 0);

	for (uint64_t i = 0; i < length && i < most; i++) {
		const unsigned char byte = (unsigned char)data[8 + i];

		if (byte >= 32 && byte < 127)
			g_string_append_c(out, (char)byte);
		else
			g_string_append_printf(out, "\\x%02x", byte);
	}
}

static void print_user(uint64_t uid, GString *out)
{
	char name[USER_NAME_BYTES];

	if (users_name(NULL, (uid_t)uid, name, sizeof(name)))
		g_string_append(out, name);
	else
		g_string_append_printf(out, "%" PRIu64, uid);
}

static void print_target(uint64_t value, const struct value_names *names, GString *out)
{
	const uint64_t number = value & ~VALUE_TARGET_NAME;
	const char *last;

	for (uint64_t i = 0; names->targets && names->targets[i]; i++)
		if (i == number) {
			last = strrchr(names->targets[i], ':');
			g_string_append(out, last && value != number ? last + 1 : names->targets[i]);
			return;
		}
	g_string_append_printf(out, "%" PRIu64, number);
}

/* The format with the microseconds for %f, as bpftrace has it: strftime(3) has no conversion for them. */
static GString *with_fraction(const char *format, uint64_t wall_ns)
{
	GString *out = g_string_new(NULL);

	for (; *format; format++) {
		if (format[0] != '%' || !format[1]) {
			g_string_append_c(out, *format);
		} else if (format[1] == 'f') {
			g_string_append_printf(out, "%06" PRIu64, wall_ns % 1000000000 / 1000);
			format++;
		} else {
			g_string_append_len(out, format++, 2);
		}
	}
	return out;
}

bool value_is_time_format(const char *format)
{
	/* the longest names of a month and of a day; a byte in front, so that only a long text gives 0 */
	const struct tm longest = { .tm_year = 2026 - 1900, .tm_mon = 8, .tm_mday = 30, .tm_hour = 23,
		.tm_min = 59, .tm_sec = 59, .tm_wday = 3, .tm_yday = 272 };
	g_autoptr(GString) whole = with_fraction(format, 0);
	char text[VALUE_TIME_MAX + 2];

	g_string_prepend_c(whole, ' ');
	return strftime(text, sizeof(text), whole->str, &longest) > 0;
}

static void print_time(const char *format, uint64_t monotonic_ns, GString *out)
{
	const uint64_t wall_ns = clock_realtime_at(monotonic_ns);
	const time_t seconds = (time_t)(wall_ns / 1000000000);
	g_autoptr(GString) whole = with_fraction(format, wall_ns);
	char text[VALUE_TIME_MAX + 1];
	struct tm local;

	if (localtime_r(&seconds, &local) && strftime(text, sizeof(text), whole->str, &local))
		g_string_append(out, text);
}

static void print_tuple(const struct ast_type *type, const char *data, const struct value_names *names,
	GString *out)
{
	g_string_append_c(out, '(');
	for (uint32_t i = 0; i < type->count; i++) {
		if (i)
			g_string_append(out, ", ");
		value_print(&type->parts[i], data, names, out);
		data += layout_bytes(&type->parts[i]);
	}
	g_string_append_c(out, ')');
}

void value_print(const struct ast_type *type, const void *data, const struct value_names *names, GString *out)
{
	switch (type->kind) {
	case AST_STRING:
		print_escaped(data, layout_bytes(type), out);
		return;
	case AST_TUPLE:
		print_tuple(type, data, names, out);
		return;
	case AST_KSTACK:
	case AST_USTACK:
		print_stack(type, data, names, out);
		return;
	case AST_KSYM:
		print_address(word_at(data, 0), false, 0, false, names, out);
		return;
	case AST_USYM:
		print_address(word_at(data, 0), true, (uint32_t)word_at(data, 1), false, names, out);
		return;
	case AST_INET:
		print_inet(data, out);
		return;
	case AST_BUFFER:
		print_buffer(data, type->bytes, out);
		return;
	case AST_PROBE:
		print_target(word_at(data, 0), names, out);
		return;
	case AST_USERNAME:
		print_user(word_at(data, 0), out);
		return;
	case AST_TIMESTAMP:
		print_time(type->format, word_at(data, 0), out);
		return;
	case AST_POINTER:
	case AST_STRUCT:
	case AST_ARRAY:
		g_string_append_printf(out, "0x%" PRIx64, word_at(data, 0));
		return;
	default:
		if (type->kind == AST_INTEGER && !type->is_signed)
			g_string_append_printf(out, "%" PRIu64, word_at(data, 0));
		else
			g_string_append_printf(out, "%" PRId64, (int64_t)word_at(data, 0));
	}
}

/* ---- JSON -------------------------------------------------------------------------------------- */

void value_json_string(const char *text, size_t bytes, GString *out)
{
	g_autofree char *valid = g_utf8_make_valid(text, (gssize)bytes);

	g_string_append_c(out, '"');
	for (const char *at = valid; *at; at++) {
		if (*at == '\n')
			g_string_append(out, "\\n");
		else if (*at == '"' || *at == '\\')
			g_string_append_printf(out, "\\%c", *at);
		else if ((unsigned char)*at < 32 || *at == 127)
			g_string_append_printf(out, "\\u%04x", (unsigned char)*at);
		else
			g_string_append_c(out, *at);
	}
	g_string_append_c(out, '"');
}

void value_json(const struct ast_type *type, const void *data, const struct value_names *names, GString *out)
{
	g_autoptr(GString) text = NULL;
	const char *part = data;

	if (type->kind == AST_TUPLE) {
		for (uint32_t i = 0; i < type->count; i++) {
			g_string_append(out, i ? "," : "[");
			value_json(&type->parts[i], part, names, out);
			part += layout_bytes(&type->parts[i]);
		}
		g_string_append_c(out, ']');
		return;
	}
	if (type->kind == AST_INTEGER || type->kind == AST_NONE) {
		value_print(type, data, names, out);
		return;
	}
	text = g_string_new(NULL);
	if (type->kind == AST_STRING)
		value_print_string(data, layout_bytes(type), text);
	else
		value_print(type, data, names, text);
	value_json_string(text->str, text->len, out);
}
