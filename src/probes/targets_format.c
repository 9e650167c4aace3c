/* SPDX-License-Identifier: MIT */
/* The `format` file of a tracepoint. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/targets.h"

/* Takes a word from the beginning of the declaration. */
static bool take_prefix(char *text, const char *word)
{
	const size_t length = strlen(word);

	if (strncmp(text, word, length) != 0)
		return false;
	memmove(text, text + length, strlen(text + length) + 1);
	return true;
}

/* "[16]", "[]", "[2][3]": cut off; the number of items. */
static void take_items(char *text, struct targets_field *field)
{
	char *bracket = strchr(text, '[');

	if (!bracket)
		return;
	field->is_array = true;
	field->count = (uint32_t)strtoul(bracket + 1, NULL, 10);
	if (strchr(bracket + 1, '['))
		field->count = 0; /* of more than one dimension: bytes say how long it is */
	*bracket = '\0';
}

/* "char comm[16]", "const char * name", "__data_loc char[] name" */
static bool parse_declaration(char *text, struct targets_field *field)
{
	char *name;

	field->is_location = take_prefix(text, "__data_loc ");
	field->is_relative = !field->is_location && take_prefix(text, "__rel_loc ");
	name = strrchr(text, ' ');
	if (!name || !name[1])
		return false;
	*name++ = '\0';
	take_items(name, field);
	take_items(text, field);
	while (*name == '*' && strlen(text) + 1 < sizeof(field->type)) {
		strcat(text, "*");
		name++;
	}
	if (!*name || strlen(name) >= sizeof(field->name) || strlen(text) >= sizeof(field->type))
		return false;
	strcpy(field->name, name);
	strcpy(field->type, text);
	return true;
}

/* "\tfield:TYPE NAME;\toffset:N;\tsize:N;\tsigned:N;" */
static bool parse_field(const char *line, size_t length, struct targets_field *field)
{
	const char *begin = line + strlen("field:"), *end = memchr(line, ';', length);
	char text[sizeof(field->type) + sizeof(field->name) + 16];
	unsigned int is_signed = 0;

	*field = (struct targets_field){ .offset = 0 };
	if (!end || end <= begin || (size_t)(end - begin) >= sizeof(text) - 2 ||
		sscanf(end, "; offset:%u; size:%u; signed:%u;", &field->offset, &field->bytes,
			&is_signed) < 2)
		return false;
	field->is_signed = is_signed;
	memcpy(text, begin, (size_t)(end - begin));
	text[end - begin] = '\0';
	return parse_declaration(text, field);
}

int targets_parse_format(const char *text, struct targets_format *format)
{
	const char *line = text, *field, *end;

	*format = (struct targets_format){ .count = 0 };
	for (; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (strncmp(line, "ID: ", 4) == 0)
			format->id = strtoull(line + 4, NULL, 10);
		if (strncmp(line, "print fmt:", 10) == 0)
			break;
		field = line + strspn(line, " \t");
		if (strncmp(field, "field:", 6) != 0)
			continue;
		if (format->count == TARGETS_FIELDS_MAX ||
			!parse_field(field, (size_t)(end - field), &format->fields[format->count]))
			return -EINVAL;
		format->count += strncmp(format->fields[format->count].name, "common_", 7) != 0;
	}
	return format->id ? 0 : -EINVAL;
}

void targets_declare(const struct targets_field *field, char text[TARGETS_DECLARATION_MAX])
{
	const bool has_items = field->is_array || field->is_location || field->is_relative;
	const size_t length = strlen(field->type);
	char items[16] = "";

	if (has_items && field->count)
		snprintf(items, sizeof(items), "[%u]", field->count);
	else if (has_items)
		strcpy(items, "[]");
	snprintf(text, TARGETS_DECLARATION_MAX, "%s%s%s%s", field->type,
		length && field->type[length - 1] == '*' ? "" : " ", field->name, items);
}
