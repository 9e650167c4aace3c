/* SPDX-License-Identifier: MIT */
/* The arguments and results of system calls as text. */
#include "kernel/callargs.h"

#include <inttypes.h>
#include <string.h>

#include "kernel/callflags.h"

/* The largest errno that the kernel returns; more is a valid result. */
#define ERROR_MAX 4095

/* Errors by which the kernel repeats a call after a signal; programs do not see them. */
static const struct {
	int error;
	const char *name, *text;
} repeats[] = {
	{ 512, "ERESTARTSYS", "To be restarted if SA_RESTART is set" },
	{ 513, "ERESTARTNOINTR", "To be restarted" },
	{ 514, "ERESTARTNOHAND", "To be restarted if no handler" },
	{ 516, "ERESTART_RESTARTBLOCK", "Interrupted by signal" },
};

static void parse_kind(const char *kind, size_t bytes, struct callarg *arg)
{
	static const char letters[] = "dulnxpocs";
	static const enum callarg_kind kinds[] = { CALLARG_INT, CALLARG_UNSIGNED, CALLARG_LONG,
		CALLARG_SIZE, CALLARG_HEX, CALLARG_ADDRESS, CALLARG_OCTAL, CALLARG_CREATE_MODE,
		CALLARG_TEXT };
	const char *letter = bytes == 1 ? strchr(letters, *kind) : NULL;

	arg->kind = CALLARG_HEX;
	arg->flags = NULL;
	if (letter && *letter) {
		arg->kind = kinds[letter - letters];
	} else {
		arg->flags = callflags_find(kind, bytes);
		if (arg->flags)
			arg->kind = CALLARG_FLAGS;
	}
}

size_t callargs_parse(const char *text, struct callarg args[CALLARGS_MAX], struct callarg *result)
{
	size_t count = 0;

	*result = (struct callarg){ .name = "", .kind = CALLARG_LONG };
	while (*text && count < CALLARGS_MAX) {
		size_t bytes = strcspn(text, " ");
		const char *colon = memchr(text, ':', bytes);

		if (*text == '=') {
			parse_kind(text + 1, bytes - 1, result);
		} else {
			struct callarg *arg = &args[count++];

			arg->name = text;
			arg->name_bytes = colon ? (size_t)(colon - text) : bytes;
			if (colon)
				parse_kind(colon + 1, bytes - arg->name_bytes - 1, arg);
			else
				parse_kind("d", 1, arg);
		}
		text += bytes;
		text += *text == ' ';
	}
	return count;
}

uint64_t callargs_value(const struct callarg *arg, uint64_t value, bool compat)
{
	switch (arg->kind) {
	case CALLARG_INT:
		return (uint64_t)(int64_t)(int32_t)(uint32_t)value;
	case CALLARG_LONG:
		return compat ? (uint64_t)(int64_t)(int32_t)(uint32_t)value : value;
	case CALLARG_UNSIGNED:
	case CALLARG_FLAGS:
	case CALLARG_OCTAL:
	case CALLARG_CREATE_MODE:
		return (uint32_t)value;
	default:
		return compat ? (uint32_t)value : value;
	}
}

static void print_octal(uint64_t value, GString *out)
{
	g_string_append_printf(out, value ? "0%" PRIo64 : "%" PRIo64, value);
}

void callargs_print(const struct callarg *arg, uint64_t value, bool compat, GString *out)
{
	value = callargs_value(arg, value, compat);
	switch (arg->kind) {
	case CALLARG_INT:
	case CALLARG_LONG:
		g_string_append_printf(out, "%" PRId64, (int64_t)value);
		return;
	case CALLARG_UNSIGNED:
	case CALLARG_SIZE:
		g_string_append_printf(out, "%" PRIu64, value);
		return;
	case CALLARG_HEX:
		g_string_append_printf(out, value ? "0x%" PRIx64 : "%" PRIx64, value);
		return;
	case CALLARG_OCTAL:
	case CALLARG_CREATE_MODE:
		print_octal(value, out);
		return;
	case CALLARG_FLAGS:
		callflags_print(arg->flags, (uint32_t)value, out);
		return;
	case CALLARG_ADDRESS:
	case CALLARG_TEXT:
		break;
	}
	if (value)
		g_string_append_printf(out, "0x%" PRIx64, value);
	else
		g_string_append(out, "NULL");
}

void callargs_print_text(const char *text, size_t bytes, bool cut, GString *out)
{
	static const char escaped[] = "\n\t\r\v\f\"\\", letters[] = "ntrvf\"\\";

	g_string_append_c(out, '"');
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)text[i];
		const char *at = c ? strchr(escaped, c) : NULL;
		bool digit = i + 1 < bytes && text[i + 1] >= '0' && text[i + 1] <= '9';

		if (at) {
			g_string_append_c(out, '\\');
			g_string_append_c(out, letters[at - escaped]);
		} else if (c >= ' ' && c < 127) {
			g_string_append_c(out, (char)c);
		} else {
			/* three digits if the next character would be read as one of them */
			g_string_append_printf(out, digit ? "\\%03o" : "\\%o", c);
		}
	}
	g_string_append(out, cut ? "\"..." : "\"");
}

const char *callargs_error_name(int error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(repeats); i++)
		if (repeats[i].error == error)
			return repeats[i].name;
	return strerrorname_np(error);
}

static void print_error(int error, GString *out)
{
	const char *name = callargs_error_name(error);

	for (size_t i = 0; i < G_N_ELEMENTS(repeats); i++) {
		if (repeats[i].error != error)
			continue;
		g_string_append_printf(out, "? %s (%s)", name, repeats[i].text);
		return;
	}
	if (name)
		g_string_append_printf(out, "-1 %s (%s)", name, strerrordesc_np(error));
	else
		g_string_append_printf(out, "-1 (errno %d)", error);
}

void callargs_print_result(const struct callarg *result, int64_t value, GString *out)
{
	if (value < 0 && value >= -ERROR_MAX)
		print_error((int)-value, out);
	else if (result->kind == CALLARG_ADDRESS && !value)
		g_string_append_c(out, '0');
	else
		callargs_print(result, (uint64_t)value, false, out);
}
