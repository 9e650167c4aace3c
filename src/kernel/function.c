/* SPDX-License-Identifier: MIT */
/* Functions of the kernel: what their parameters are. */
#include "kernel/function.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/emit.h"
#include "sys/kallsyms.h"

/* The longest name that the kernel has. */
#define NAME_MAX_BYTES 512

bool function_is_name(const char *name)
{
	size_t bytes = strlen(name);

	return bytes && bytes < NAME_MAX_BYTES && !g_ascii_isdigit(name[0]) && name[0] != '.' &&
		strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.$") == bytes;
}

void function_destroy(struct function *function)
{
	if (!function)
		return;
	for (uint32_t i = 0; i < function->count; i++) {
		g_free(function->params[i].name);
		g_free(function->params[i].declaration);
	}
	g_free(function->result.declaration);
	g_free(function->name);
	g_free(function);
}

struct function *function_copy(const struct function *function)
{
	struct function *copy = g_memdup2(function, sizeof(*function));

	copy->name = g_strdup(function->name);
	for (uint32_t i = 0; i < copy->count; i++) {
		copy->params[i].name = g_strdup(function->params[i].name);
		copy->params[i].declaration = g_strdup(function->params[i].declaration);
	}
	copy->result.declaration = g_strdup(function->result.declaration);
	return copy;
}

static void describe(const struct types_param *param, const char *name, struct function_value *value)
{
	const struct types_value *type = &param->value;
	char declaration[TYPES_DECLARATION_MAX];
	const bool is_number = type->class == TYPES_INTEGER || type->class == TYPES_ENUMERATION ||
		type->class == TYPES_POINTER;

	value->is_pointer = type->class == TYPES_POINTER;
	value->is_signed = type->is_signed;
	if (is_number && (type->bytes == 1 || type->bytes == 2 || type->bytes == 4 || type->bytes == 8))
		value->bytes = type->bytes;
	types_declare(type, name, declaration);
	value->declaration = g_strdup(declaration);
}

struct function *function_make(const char *name, const struct types_function *types)
{
	struct function *function = g_new0(struct function, 1);

	function->name = g_strdup(name);
	function->type = types->type;
	function->count = types->count;
	for (uint32_t i = 0; i < types->count; i++) {
		struct function_value *value = &function->params[i];

		value->name = types->params[i].name[0] ? g_strdup(types->params[i].name) :
							 g_strdup_printf("arg%u", i);
		describe(&types->params[i], value->name, value);
		value->slot = types_slot(types, i);
	}
	function->slots = types_slot(types, types->count);
	describe(&types->result, "result", &function->result);
	return function;
}

void function_limit(struct function *function)
{
	while (function->slots > EMIT_PARAMS) {
		struct function_value *last = &function->params[--function->count];

		function->slots = last->slot;
		g_clear_pointer(&last->name, g_free);
		g_clear_pointer(&last->declaration, g_free);
	}
}

/* One that the kernel does not describe: the registers are what is known. */
static struct function *make_unknown(const char *name)
{
	struct function *function = g_new0(struct function, 1);

	function->name = g_strdup(name);
	function->count = function->slots = EMIT_PARAMS;
	for (uint32_t i = 0; i < EMIT_PARAMS; i++)
		function->params[i] = (struct function_value){ .name = g_strdup_printf("arg%u", i), .slot = i,
			.bytes = 8, .is_pointer = true };
	function->result = (struct function_value){ .bytes = 8, .is_pointer = true };
	return function;
}

static int find_in_module(const struct types *kernel, const char *name, const char *module,
	struct function **function, int *btf_fd, struct err *why)
{
	struct types *types;
	struct types_function found;
	int fd, ret = types_open_module(kernel, module, &types, &fd, why);

	if (ret)
		return ret;
	ret = types_function(types, name, &found);
	if (!ret) {
		*function = function_make(name, &found);
		*btf_fd = fd;
	} else {
		err_set(why, -ret, ret == -E2BIG ? "it has too many parameters" :
						   "the types of the module '%s' do not have it", module);
		close(fd);
	}
	types_close(types);
	return ret;
}

/* -ENOENT if the kernel does not describe it. */
static int find_in_kernel(const struct types *types, const char *name, struct function **function,
	struct err *why)
{
	struct types_function found;
	int ret = types_function(types, name, &found);

	if (!ret)
		*function = function_make(name, &found);
	else
		err_set(why, -ret, ret == -E2BIG ? "it has too many parameters" :
						   "the types of the kernel do not have it");
	return ret;
}

int function_find(const char *name, struct function **function, int *btf_fd, struct err *why,
	struct err *err)
{
	char module[KALLSYMS_MODULE_MAX] = "";
	struct types *types = NULL;
	int ret;

	*btf_fd = -1;
	if (types_open(NULL, &types, why))
		types = NULL;
	ret = types ? find_in_kernel(types, name, function, why) : -ENOENT;
	if (ret) {
		ret = kallsyms_find(NULL, name, module);
		if (!ret && (!module[0] || !types ||
				    find_in_module(types, name, module, function, btf_fd, why)))
			*function = make_unknown(name);
	}
	types_close(types);
	if (ret)
		return err_set(err, ENOENT, "the kernel has no function '%s'", name);
	return 0;
}

/* ---- filter and format -------------------------------------------------------------------------- */

int function_filter(const struct function *function, const char *text, struct filter **filter,
	struct err *err)
{
	struct filter_field fields[TYPES_PARAMS_MAX + 3];
	uint32_t count = 0;

	for (uint32_t i = 0; i < function->count; i++) {
		const struct function_value *value = &function->params[i];

		fields[count++] = (struct filter_field){ .name = value->name, .offset = value->slot,
			.source = value->bytes ? FILTER_ARGUMENT : FILTER_REFUSED, .bytes = value->bytes,
			.is_signed = value->is_signed };
	}
	if (function->result.bytes)
		for (int i = 0; i < 2; i++)
			fields[count++] = (struct filter_field){ .name = i ? "retval" : "result",
				.source = FILTER_RESULT, .bytes = function->result.bytes,
				.is_signed = function->result.is_signed };
	fields[count++] = (struct filter_field){ .name = "duration_ns", .source = FILTER_DURATION };
	return filter_create(text, fields, count, filter, err);
}

static const char *conversion_of(const struct function_value *value)
{
	return value->is_pointer ? "%#lx" : value->is_signed ? "%ld" : "%lu";
}

char *function_format(const struct function *function, uint32_t flags)
{
	GString *format = g_string_new(NULL);

	if (flags & KERNEL_RECORD_NO_ARGS)
		g_string_append(format, " ?");
	for (uint32_t i = 0; i < function->count && !(flags & KERNEL_RECORD_NO_ARGS); i++)
		if (function->params[i].bytes)
			g_string_append_printf(format, " %s=%s", function->params[i].name,
				conversion_of(&function->params[i]));
	if (function->result.bytes)
		g_string_append_printf(format, " = %s", conversion_of(&function->result));
	if (!(flags & KERNEL_RECORD_NO_ENTRY))
		g_string_append(format, " (%.1f us)");
	if (format->len)
		g_string_erase(format, 0, 1);
	return g_string_free(format, FALSE);
}

/* The low bytes of a word, extended to 64 bits. */
static void add_value(GString *args, const struct function_value *value, uint64_t word)
{
	const unsigned int shift = 64 - value->bytes * 8;

	word <<= shift;
	word = value->is_signed ? (uint64_t)((int64_t)word >> shift) : word >> shift;
	g_string_append_len(args, (const char *)&word, sizeof(word));
}

void function_args(const struct function *function, const struct kernel_record *record, size_t bytes,
	GString *args)
{
	const struct kernel_function *values = (const struct kernel_function *)(const void *)(record + 1);
	const uint32_t flags = KERNEL_HEAD_FLAGS(record->head);
	double duration_us;

	if (bytes < sizeof(*record) + sizeof(*values) + function->slots * sizeof(uint64_t))
		return;
	for (uint32_t i = 0; i < function->count && !(flags & KERNEL_RECORD_NO_ARGS); i++)
		if (function->params[i].bytes)
			add_value(args, &function->params[i], values->args[function->params[i].slot]);
	if (function->result.bytes)
		add_value(args, &function->result, values->result);
	if (!(flags & KERNEL_RECORD_NO_ENTRY)) {
		duration_us = (double)values->duration_ns / 1e3;
		g_string_append_len(args, (const char *)&duration_us, sizeof(duration_us));
	}
}
