/* SPDX-License-Identifier: MIT */
/* The file info: each event with the types of its fields, the format of its line and its setting. */
#include "kernel/kernel_state.h"

#include <string.h>

#include "kernel/callargs.h"
#include "kernel/calltext.h"
#include "kernel/describe.h"

static void add_field(GString *fields, const char *declaration)
{
	g_string_append_printf(fields, "%s%s", fields->len ? ", " : "", declaration);
}

static char *info_of_point(const char *name, GString *fields)
{
	struct point *point;
	char *format;

	if (kernel_read_point(name, &point, NULL))
		return NULL;
	for (uint32_t i = 0; i < point->count; i++)
		add_field(fields, point->fields[i].declaration);
	format = describe_point_format(point);
	point_destroy(point);
	return format;
}

static char *info_of_function(struct kernel *kernel, const char *name, GString *fields)
{
	struct function *function;
	char *format = kernel_format_function(kernel, name, &function);

	for (uint32_t i = 0; function && i < function->count; i++)
		add_field(fields, function->params[i].declaration ? : function->params[i].name);
	if (function && function->result.bytes)
		add_field(fields, function->result.declaration ? : "result");
	function_destroy(function);
	return format;
}

/*
 * The types are those of the call's own tracepoint, whose first field is the number of the call; the names
 * are ours, which lines and filters have.
 */
static void add_arguments(const struct kernel *kernel, int number, GString *fields)
{
	g_autofree char *tracepoint = kernel_call_tracepoint(kernel, number);
	struct callarg args[CALLARGS_MAX], result;
	const size_t count = callargs_parse(kernel->callnames.args[number], args, &result);
	struct point *point = NULL;

	if (kernel_read_point(tracepoint, &point, NULL))
		point = NULL;
	for (size_t i = 0; i < count; i++) {
		g_autofree char *declaration = g_strndup(args[i].name, args[i].name_bytes);

		if (point && point->count == count + 1) {
			const struct point_field *field = &point->fields[i + 1];
			const size_t type = strlen(field->declaration) - strlen(field->name);
			char *typed = g_strdup_printf("%.*s%s", (int)type, field->declaration, declaration);

			g_free(declaration);
			declaration = typed;
		}
		add_field(fields, declaration);
	}
	add_field(fields, "long result");
	point_destroy(point);
}

static char *info_of_call(struct kernel *kernel, const char *name, GString *fields)
{
	const int number = callnames_find(&kernel->callnames, name + strlen(KERNEL_ONE_CALL));

	add_arguments(kernel, number, fields);
	return calltext_format(kernel->calltext, (uint32_t)number);
}

void kernel_print_info(struct kernel *kernel, GString *out)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GString) fields = g_string_new(NULL);

	kernel_list(kernel, names);
	for (guint i = 0; i < names->len; i++) {
		const char *name = g_ptr_array_index(names, i);
		g_autofree char *format = NULL;

		g_string_truncate(fields, 0);
		if (g_str_has_prefix(name, KERNEL_ONE_CALL))
			format = info_of_call(kernel, name, fields);
		else if (kernel_is_call(kernel, name))
			format = g_strdup("");
		else if (kernel_is_function(name))
			format = info_of_function(kernel, name, fields);
		else
			format = info_of_point(name, fields);
		if (!format) /* the module of a tracepoint has gone */
			continue;
		g_string_append_printf(out, "name '%s' fields '%s' format '%s' ", name, fields->str, format);
		kernel_get(kernel, name, out);
	}
}
