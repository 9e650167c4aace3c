/* SPDX-License-Identifier: MIT */
/* The arguments and results of system calls as text. */
#include "kernel/callargs.h"

#include <string.h>

#include "kernel/callflags.h"

/* The largest errno that the kernel returns; more is a valid result. */
#define ERROR_MAX 4095

/* Errors by which the kernel repeats a call after a signal; programs do not see them. */
static const struct repeat {
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
	static const char letters[] = "dulnxpocsa";
	static const enum callarg_kind kinds[] = { CALLARG_INT, CALLARG_UNSIGNED, CALLARG_LONG,
		CALLARG_SIZE, CALLARG_HEX, CALLARG_ADDRESS, CALLARG_OCTAL, CALLARG_CREATE_MODE,
		CALLARG_TEXT, CALLARG_SOCKET_ADDRESS };
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

bool callargs_is_error(int64_t result)
{
	return result < 0 && result >= -ERROR_MAX;
}

/* NULL for an error that programs see. */
static const struct repeat *find_repeat(int64_t error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(repeats); i++)
		if (repeats[i].error == error)
			return &repeats[i];
	return NULL;
}

bool callargs_is_repeated(int64_t result)
{
	return callargs_is_error(result) && find_repeat(-result);
}

char *callargs_error_name(int error)
{
	const struct repeat *repeat = find_repeat(error);
	const char *name = repeat ? repeat->name : strerrorname_np(error);

	return name ? g_strdup(name) : g_strdup_printf("%d", error);
}

const char *callargs_error_text(int error)
{
	const struct repeat *repeat = find_repeat(error);
	const char *text = repeat ? repeat->text : strerrordesc_np(error);

	return text ? text : "Unknown error";
}
