/* SPDX-License-Identifier: MIT */
/* What programs print. */
#include "probes/output.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "probes/layout.h"
#include "sys/clock.h"

/* A conversion of a format: "%-16s". Longer ones are not read by the checker. */
#define CONVERSION_MAX 32

static void free_type(struct ast_type *type)
{
	for (uint32_t i = 0; type->kind == AST_TUPLE && i < type->count; i++)
		free_type((struct ast_type *)&type->parts[i]);
	if (type->kind == AST_TUPLE)
		g_free((struct ast_type *)type->parts);
	g_free((char *)type->format);
}

static struct ast_type copy_type(const struct ast_type *type)
{
	struct ast_type copy = *type, *parts;

	copy.own = NULL;
	copy.item = NULL;
	copy.parts = NULL;
	copy.format = g_strdup(type->format);
	if (type->kind != AST_TUPLE)
		return copy;
	parts = g_new0(struct ast_type, type->count);
	for (uint32_t i = 0; i < type->count; i++)
		parts[i] = copy_type(&type->parts[i]);
	copy.parts = parts;
	return copy;
}

static void free_output(gpointer data)
{
	struct output *output = data;

	for (uint32_t i = 0; i < output->count; i++)
		free_type(&output->parts[i].type);
	g_free(output->parts);
	g_free(output->format);
	g_free(output->map);
	g_free(output);
}

struct outputs *outputs_create(const struct ast *ast)
{
	struct outputs *outputs = g_atomic_rc_box_new0(struct outputs);

	outputs->items = g_ptr_array_new_with_free_func(free_output);
	outputs->targets = g_new0(char *, ast->target_count + 1);
	for (const struct ast_unit *unit = ast->units; unit; unit = unit->next)
		for (const struct ast_target *target = unit->targets; target; target = target->next)
			if (target->number < ast->target_count && !outputs->targets[target->number])
				outputs->targets[target->number] = g_strdup(target->text);
	return outputs;
}

static void clear_outputs(gpointer data)
{
	struct outputs *outputs = data;

	g_ptr_array_unref(outputs->items);
	g_strfreev(outputs->targets);
}

struct outputs *outputs_get(struct outputs *outputs)
{
	return g_atomic_rc_box_acquire(outputs);
}

void outputs_put(struct outputs *outputs)
{
	if (outputs)
		g_atomic_rc_box_release_full(outputs, clear_outputs);
}

struct output *outputs_add(struct outputs *outputs, enum function_id id)
{
	struct output *output = g_new0(struct output, 1);

	output->id = id;
	g_ptr_array_add(outputs->items, output);
	return output;
}

struct output_part *output_add_part(struct output *output, const struct ast_type *type, uint32_t bytes,
	uint32_t frames)
{
	output->parts = g_renew(struct output_part, output->parts, output->count + 1);
	output->parts[output->count++] = (struct output_part){ .type = copy_type(type),
		.offset = output->bytes, .frames = frames };
	output->bytes += bytes;
	output->has_addresses |= value_has_addresses(type);
	return &output->parts[output->count - 1];
}

bool outputs_have_addresses(const struct outputs *outputs, uint32_t index)
{
	return index < outputs->items->len &&
		((const struct output *)g_ptr_array_index(outputs->items, index))->has_addresses;
}

/* ---- text -------------------------------------------------------------------------------------- */

static void print_part(const struct output_part *part, const char *data, uint32_t bytes,
	const struct value_names *names, GString *out)
{
	uint64_t count, pid = 0;

	if (!part->frames) {
		if (part->offset + layout_bytes(&part->type) <= bytes)
			value_print(&part->type, data + part->offset, names, out);
		return;
	}
	/* the process, the count, the frames */
	if (part->offset + 8 * (2 + part->frames) > bytes)
		return;
	memcpy(&pid, data + part->offset, sizeof(pid));
	memcpy(&count, data + part->offset + 8, sizeof(count));
	value_print_frames((const uint64_t *)(const void *)(data + part->offset + 16),
		(uint32_t)MIN(count, part->frames), part->type.kind == AST_USTACK, (uint32_t)pid, names, out);
}

static uint64_t number_of(const struct output_part *part, const char *data, uint32_t bytes)
{
	uint64_t word = 0;

	if (part->offset + sizeof(word) <= bytes)
		memcpy(&word, data + part->offset, sizeof(word));
	return word;
}

/* Flags, width and precision of a conversion; whether it is for a long; returns the letter. */
static char read_conversion(const char **format, char spec[CONVERSION_MAX], bool *is_long)
{
	size_t length = 0;
	const char *at = *format;

	spec[length++] = '%';
	for (; *at && strchr("-+ #0123456789.", *at); at++)
		if (length < CONVERSION_MAX - 4)
			spec[length++] = *at;
	*is_long = *at && strchr("lqjzt", *at);
	while (*at && strchr("hlqjzt", *at))
		at++;
	spec[length] = '\0';
	*format = *at ? at + 1 : at;
	return *at;
}

/* Numbers of at most 32 bits are an int as for printf(3): an unsigned one can be negative, and so on. */
static uint64_t as_int(const struct output_part *part, char letter, uint64_t number)
{
	const bool is_int = part->type.bytes <= sizeof(int32_t) ||
		(part->is_register && number <= UINT32_MAX);

	if (part->type.kind != AST_INTEGER || !is_int)
		return number;
	return letter == 'd' || letter == 'i' ? (uint64_t)(int32_t)number : (uint32_t)number;
}

static void print_conversion(const struct output_part *part, char letter, const char *spec, bool is_long,
	const char *data, uint32_t bytes, const struct value_names *names, GString *out)
{
	const uint64_t number = number_of(part, data, bytes);
	g_autofree char *format = NULL;

	if (letter == 's' || letter == 'r') {
		g_autoptr(GString) text = g_string_new(NULL);

		format = g_strconcat(spec, "s", NULL);
		print_part(part, data, bytes, names, text);
		g_string_append_printf(out, format, text->str);
	} else if (letter == 'c') {
		format = g_strconcat(spec, "c", NULL);
		g_string_append_printf(out, format, (int)number);
	} else if (letter == 'p') {
		format = g_strconcat(spec, "p", NULL);
		g_string_append_printf(out, format, (void *)(uintptr_t)number);
	} else {
		char length[4] = { 'l', 'l', letter, '\0' };

		format = g_strconcat(spec, length, NULL);
		g_string_append_printf(out, format,
			(long long)(is_long ? number : as_int(part, letter, number)));
	}
}

static void print_format(const struct output *output, const char *data, uint32_t bytes,
	const struct value_names *names, GString *out)
{
	const char *format = output->format;
	char spec[CONVERSION_MAX];
	uint32_t next = 0;
	bool is_long;
	char letter;

	while (*format) {
		if (*format != '%') {
			g_string_append_c(out, *format++);
			continue;
		}
		format++;
		letter = read_conversion(&format, spec, &is_long);
		if (letter == '%')
			g_string_append_c(out, '%');
		else if (letter && strchr("diuxXocsrp", letter) && next < output->count)
			print_conversion(&output->parts[next++], letter, spec, is_long, data, bytes, names,
				out);
	}
}

static void print_time(const char *format, uint64_t time_ns, GString *out)
{
	const time_t second = (time_t)(clock_realtime_at(time_ns) / NSEC_PER_SEC);
	char text[256];
	struct tm local;

	localtime_r(&second, &local);
	if (strftime(text, sizeof(text), format && format[0] ? format : "%H:%M:%S\n", &local))
		g_string_append(out, text);
}

/* The strings up to the first empty one, with the separator between them. */
static void print_join(const struct output *output, const char *data, uint32_t bytes, GString *out)
{
	for (uint32_t i = 0; i < output->count; i++) {
		const struct output_part *part = &output->parts[i];

		if (part->offset + part->type.bytes > bytes || !data[part->offset])
			break;
		if (i)
			g_string_append(out, output->format);
		value_print_string(data + part->offset, part->type.bytes, out);
	}
	g_string_append_c(out, '\n');
}

static const char *json_type(const struct output *output)
{
	switch (output->id) {
	case FUNCTION_JOIN:
		return "join";
	case FUNCTION_TIME:
		return "time";
	case FUNCTION_CAT:
		return "cat";
	case FUNCTION_PRINT:
		return output->map ? "map" : "value";
	default:
		return "printf";
	}
}

static void begin_json(const struct output *output, GString *out)
{
	g_string_append_printf(out, "{\"type\": \"%s\", \"data\": ", json_type(output));
}

void output_json(const struct output *output, const char *text, size_t bytes, GString *out)
{
	begin_json(output, out);
	value_json_string(text, bytes, out);
	g_string_append(out, "}\n");
}

static void print_text(const struct output *output, uint64_t time_ns, const void *data, uint32_t bytes,
	const struct value_names *names, GString *out)
{
	if (output->id == FUNCTION_PRINTF) {
		print_format(output, data, bytes, names, out);
	} else if (output->id == FUNCTION_JOIN) {
		print_join(output, data, bytes, out);
	} else if (output->id == FUNCTION_TIME) {
		print_time(output->format, time_ns, out);
	} else if (output->id == FUNCTION_MARK) {
		g_string_append(out, output->format);
	} else if (output->count) {
		if (output->map)
			g_string_append_printf(out, "@%s: ", output->map);
		print_part(&output->parts[0], data, bytes, names, out);
		g_string_append_c(out, '\n');
	}
}

/* A value that is no stack keeps its type. */
static bool print_json_value(const struct output *output, const char *data, uint32_t bytes,
	const struct value_names *names, GString *out)
{
	const struct output_part *part = output->parts;

	if (output->id != FUNCTION_PRINT || !output->count || part->frames ||
		layout_bytes(&part->type) > bytes)
		return false;
	begin_json(output, out);
	if (output->map)
		g_string_append_printf(out, "{\"@%s\": ", output->map);
	value_json(&part->type, data, names, out);
	g_string_append(out, output->map ? "}}\n" : "}\n");
	return true;
}

/* The number that print(@m, top, divisor) prints of the integer of its map. */
static uint64_t divided(const struct output *output, uint64_t number)
{
	if (output->parts->type.is_signed)
		return (uint64_t)((int64_t)number / (int64_t)output->divisor);
	return number / output->divisor;
}

void output_print(const struct outputs *outputs, uint32_t index, uint64_t time_ns, const void *data,
	uint32_t bytes, const struct value_names *names, GString *out)
{
	g_autoptr(GString) text = NULL;
	const struct output *output;
	uint64_t quotient;

	if (index >= outputs->items->len)
		return;
	output = g_ptr_array_index(outputs->items, index);
	if (output->count && output->divisor && output->parts->type.kind == AST_INTEGER &&
		bytes >= sizeof(quotient)) {
		quotient = divided(output, number_of(output->parts, data, bytes));
		data = &quotient;
		bytes = sizeof(quotient);
	}
	if (!outputs->as_json) {
		print_text(output, time_ns, data, bytes, names, out);
		/* a mark is a line */
		if (output->id == FUNCTION_MARK)
			g_string_append_c(out, '\n');
	} else if (!print_json_value(output, data, bytes, names, out)) {
		text = g_string_new(NULL);
		print_text(output, time_ns, data, bytes, names, text);
		output_json(output, text->str, text->len, out);
	}
}
