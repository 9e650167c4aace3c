/* SPDX-License-Identifier: MIT */
/* What programs of probes/ ask the server for: exit(), print(@map), clear(), cat(). */
#include <string.h>
#include <unistd.h>

#include "probes/probe_state.h"

#include "probes/answer.h"
#include "probes/gen.h"

/* Of a file that cat() prints: what fits into a message of the trace. */
#define CAT_BYTES_MAX 65000u
/* A map that print() prints as JSON goes on in another line after so many bytes, which a message can hold. */
#define JSON_LINE_BYTES 32768u

static const struct ast_map *find_map(const struct probe *probe, const char *name)
{
	for (const struct ast_map *map = probe->ast->maps; map; map = map->next)
		if (name && strcmp(map->name, name) == 0)
			return map;
	return NULL;
}

static void clear_map(struct probe *probe, const struct ast_map *map)
{
	store_clear(probe->store, map);
	store_sweep(probe->store);
}

/* `key`: of the entry that is printed, NULL for all. */
static void print_map_with(struct probe *probe, const struct ast_map *map, const struct output *output,
	const void *key, const struct value_names *addresses, GString *text)
{
	const struct answer_limits limits = { .top = output->top, .divisor = output->divisor,
		.line_bytes = JSON_LINE_BYTES, .key = key };
	const struct naming naming = { .probe = probe, .addresses = addresses };
	const struct value_names names = probe_names_of(&naming, probe->outputs);

	if (probe->as_json)
		answer_json_map(probe->store, map, &limits, &names, text);
	else
		answer_print_map(probe->store, map, &limits, &names, text);
}

static bool has_addresses(const struct ast_map *map)
{
	for (uint32_t i = 0; i < map->key_count; i++)
		if (value_has_addresses(&map->keys[i]))
			return true;
	return map->value_kind == AST_PLAIN && value_has_addresses(&map->value);
}

/* Addresses are printed to nowhere first, which collects them. */
static void print_map(struct probe *probe, const struct ast_map *map, const struct output *output,
	const void *key, GString *text)
{
	const struct value_names_ops *ops = probe->hooks->names;
	struct value_names names = { 0 };

	if (ops && has_addresses(map)) {
		if (!probe->found)
			probe->found = ops->create();
		ops->begin(probe->found);
		names = ops->values(probe->found);
		print_map_with(probe, map, output, key, &names, text);
		g_string_truncate(text, 0);
		ops->resolve(probe->found, -1);
	}
	print_map_with(probe, map, output, key, &names, text);
}

/* Text that no call has made; `text` is empty before. */
static void take_text(const struct probe *probe, const struct output *output, const char *made, GString *text)
{
	if (probe->as_json)
		output_json(output, made, strlen(made), text);
	else
		g_string_append(text, made);
}

/* cat(path) */
static void read_file(const struct probe *probe, const char *path, GString *text)
{
	int fd = probe->hooks->open_file ? probe->hooks->open_file(probe->hooks->arg, path, CAT_BYTES_MAX) :
		-EOPNOTSUPP;
	ssize_t got;

	if (fd < 0) {
		g_string_append_printf(text, "'%s' can't be read: %s\n", path, g_strerror(-fd));
		return;
	}
	g_string_set_size(text, CAT_BYTES_MAX);
	got = read(fd, text->str, CAT_BYTES_MAX);
	g_string_truncate(text, got > 0 ? (gsize)got : 0);
	close(fd);
}

void probe_act(struct probe *probe, const struct gen_action *action, const void *key, size_t key_bytes)
{
	g_autoptr(GString) text = g_string_new(NULL), file = g_string_new(NULL);
	const struct output *output;
	const struct ast_map *map;

	if (!probe->outputs || action->output >= probe->outputs->items->len)
		return;
	output = g_ptr_array_index(probe->outputs->items, action->output);
	map = find_map(probe, output->map);
	if (output->id == FUNCTION_EXIT) {
		probe_off(probe);
		return;
	}
	if (output->id == FUNCTION_SNAPSHOT) {
		if (probe->hooks->snapshot)
			probe->hooks->snapshot(probe->hooks->arg, probe->label, output->format);
		return;
	}
	if (map && output->id == FUNCTION_CLEAR)
		clear_map(probe, map);
	else if (map && output->id == FUNCTION_ZERO)
		store_zero(probe->store, map);
	else if (output->id == FUNCTION_CAT)
		read_file(probe, output->format, file);
	else if (map)
		print_map(probe, map, output, key_bytes ? key : NULL, text);
	if (file->len)
		take_text(probe, output, file->str, text);
	if (text->len)
		probe->hooks->message(probe->hooks->arg, probe->label, action, text->str, text->len);
}
