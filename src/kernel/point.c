/* SPDX-License-Identifier: MIT */
/* Tracepoints: their fields. */
#include "kernel/point.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/targets.h"

/* What the kernel's text of a tracepoint has before the letters of a state, as pairs {0x1, "S"}. */
static const char states_begin[] = "__print_flags(REC->prev_state ";

/* The field that has them. */
static const char state_field[] = "prev_state";

/* Whether the text has the letters of point.h for the bits; how many zeros are before a bit differs. */
static bool has_known_states(const char *format)
{
	const char *at = strstr(format, states_begin);

	for (size_t i = 0; at && POINT_STATE_LETTERS[i]; i++) {
		char *end;

		at = strchr(at, '{');
		if (!at || strtoul(at + 1, &end, 16) != 1ul << i || strncmp(end, ", \"", 3) != 0 ||
			end[3] != POINT_STATE_LETTERS[i] || end[4] != '"')
			return false;
		at = end;
	}
	return at != NULL;
}

void point_print_state(uint64_t state, GString *out)
{
	const uint64_t bits = state & (POINT_STATES | POINT_STATE_IDLE);
	const char *separator = "";

	if (!bits)
		g_string_append_c(out, 'R');
	for (size_t i = 0; POINT_STATE_LETTERS[i]; i++)
		if (bits >> i & 1) {
			g_string_append_printf(out, "%s%c", separator, POINT_STATE_LETTERS[i]);
			separator = "|";
		}
	if (state & POINT_STATE_PREEMPTED)
		g_string_append_c(out, '+');
}

static enum point_kind kind_of(const struct targets_field *field)
{
	const bool is_char = strstr(field->type, "char") != NULL;

	if (field->is_location && is_char)
		return POINT_STRING;
	if (field->is_location || field->is_relative)
		return POINT_BYTES;
	if (field->is_array)
		return is_char ? POINT_TEXT : POINT_BYTES;
	if (strchr(field->type, '*'))
		return POINT_POINTER;
	return field->bytes == 1 || field->bytes == 2 || field->bytes == 4 || field->bytes == 8 ?
		POINT_NUMBER :
		POINT_BYTES;
}

static void add_field(struct point *point, const struct targets_field *field, bool known_states, int *strings)
{
	struct point_field *kept = &point->fields[point->count++];
	uint32_t end = field->offset + field->bytes;
	char declaration[TARGETS_DECLARATION_MAX];

	targets_declare(field, declaration);
	*kept = (struct point_field){ .name = g_strdup(field->name), .declaration = g_strdup(declaration),
		.kind = kind_of(field), .offset = field->offset, .bytes = field->bytes,
		.is_signed = field->is_signed, .string = -1 };
	if (kept->kind == POINT_NUMBER && known_states && strcmp(field->name, state_field) == 0)
		kept->kind = POINT_STATE;
	if (kept->kind == POINT_STRING && *strings < (int)KERNEL_CALL_STRINGS)
		kept->string = (*strings)++;
	if (end - POINT_HEADER > point->body)
		point->body = end - POINT_HEADER;
}

int point_parse(const char *format, struct point **point, struct err *err)
{
	g_autofree struct targets_format *parsed = g_new(struct targets_format, 1);
	const bool known_states = has_known_states(format);
	struct point *made;
	int strings = 0;

	if (targets_parse_format(format, parsed))
		return err_set(err, EINVAL, "the kernel's description of the tracepoint is not understood");
	made = g_new0(struct point, 1);
	made->event = parsed->id;
	made->fields = g_new0(struct point_field, TARGETS_FIELDS_MAX);
	for (uint32_t i = 0; i < parsed->count; i++) {
		const struct targets_field *field = &parsed->fields[i];

		/* what lies behind the part that is copied can't be shown */
		if (field->offset >= POINT_HEADER && field->offset <= POINT_HEADER + POINT_BODY_MAX &&
			field->bytes <= POINT_HEADER + POINT_BODY_MAX - field->offset)
			add_field(made, field, known_states, &strings);
	}
	*point = made;
	return 0;
}

void point_destroy(struct point *point)
{
	if (!point)
		return;
	for (uint32_t i = 0; i < point->count; i++) {
		g_free(point->fields[i].name);
		g_free(point->fields[i].declaration);
	}
	g_free(point->fields);
	g_free(point);
}

int point_filter(const struct point *point, const char *text, struct filter **filter, struct err *err)
{
	g_autofree struct filter_field *fields = g_new0(struct filter_field, point->count + 1);

	for (uint32_t i = 0; i < point->count; i++) {
		const struct point_field *field = &point->fields[i];

		fields[i] = (struct filter_field){ .name = field->name, .offset = field->offset,
			.bytes = field->bytes, .is_signed = field->is_signed, .source = FILTER_RECORD };
		if (field->kind == POINT_TEXT)
			fields[i].source = FILTER_TEXT;
		else if (field->kind == POINT_STRING || field->kind == POINT_BYTES ||
			field->offset % field->bytes)
			fields[i].source = FILTER_REFUSED;
	}
	return filter_create(text, fields, point->count, filter, err);
}
