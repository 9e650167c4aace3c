/* SPDX-License-Identifier: MIT */
/* Maps with stacks as keys, from their text: see stackmap.h. */
#include "formats/stackmap.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define FRAME_INDENT "    "

/* The text while it is taken apart, and an entry of a map. */
struct parsing {
	struct stackmap *map;
	GHashTable *children;  /* "PARENT KIND NAME" -> number of the node */
	GHashTable *functions; /* name -> index of function_names */
	GHashTable *others_of; /* the other keys of an entry -> index of processes */
	GPtrArray *names;      /* of functions */
	const char *name;      /* of the map */
	GString *others;       /* keys that are no stacks */
	GPtrArray *stacks[2];  /* names of frames, innermost first; [1]: the second stack */
	unsigned int count;    /* of stacks */
	bool kernel_first;     /* the first of two is that of the kernel; or the only one is */
};

/* ---- the tree ---------------------------------------------------------------------------------- */

static uint32_t index_of(GHashTable *table, GPtrArray *names, char *name)
{
	gpointer known;

	if (g_hash_table_lookup_extended(table, name, NULL, &known))
		return GPOINTER_TO_UINT(known);
	g_hash_table_insert(table, name, GUINT_TO_POINTER(names->len));
	g_ptr_array_add(names, name);
	return names->len - 1;
}

static struct calltree_node *node_at(const struct parsing *parsing, uint32_t number)
{
	return &g_array_index(parsing->map->tree->nodes, struct calltree_node, number);
}

static uint32_t child_of(struct parsing *parsing, uint32_t parent, enum calltree_kind kind, uint32_t what)
{
	struct calltree_node node = { .parent = parent, .kind = kind, .what = what };
	char *key = g_strdup_printf("%u %d %u", parent, (int)kind, what);
	GArray *nodes = parsing->map->tree->nodes;
	gpointer known;

	if (g_hash_table_lookup_extended(parsing->children, key, NULL, &known)) {
		g_free(key);
		return GPOINTER_TO_UINT(known);
	}
	g_array_append_val(nodes, node);
	g_hash_table_insert(parsing->children, key, GUINT_TO_POINTER(nodes->len - 1));
	return nodes->len - 1;
}

static uint32_t event_of(struct parsing *parsing)
{
	GArray *events = parsing->map->profile.events;
	struct profile_event event = { .text = parsing->name };

	for (uint32_t i = 0; i < events->len; i++)
		if (!strcmp(profile_event(&parsing->map->profile, i)->text, parsing->name))
			return i;
	g_array_append_val(events, event);
	return events->len - 1;
}

/* Below the outermost frame the inner ones. */
static uint32_t add_stack(struct parsing *parsing, uint32_t node, const GPtrArray *frames, bool is_kernel)
{
	for (guint i = frames->len; i; i--)
		node = child_of(parsing, node, is_kernel ? CALLTREE_KERNEL : CALLTREE_USER,
			index_of(parsing->functions, parsing->names, g_ptr_array_index(frames, i - 1)));
	return node;
}

static void add_entry(struct parsing *parsing, uint32_t event, uint64_t value)
{
	struct calltree *tree = parsing->map->tree;
	uint32_t node = event;

	if (parsing->others->len)
		node = child_of(parsing, node, CALLTREE_PROCESS, index_of(parsing->others_of, tree->processes,
			g_string_chunk_insert_const(tree->strings, parsing->others->str)));
	if (parsing->count == 2) {
		node = add_stack(parsing, node, parsing->stacks[parsing->kernel_first], false);
		node = add_stack(parsing, node, parsing->stacks[!parsing->kernel_first], true);
	} else {
		node = add_stack(parsing, node, parsing->stacks[0], parsing->kernel_first);
	}
	profile_add(&node_at(parsing, node)->self, 1, value);
}

/* ---- the text ---------------------------------------------------------------------------------- */

/* Ends a line and moves on to the next; NULL at the end. */
static char *take_line(char **at)
{
	char *line = *at, *end;

	if (!*line)
		return NULL;
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	*at = end ? end + 1 : line + strlen(line);
	return line;
}

/* NAME+OFFSET; addresses without a name are one function. */
static void add_frame(struct parsing *parsing, char *text)
{
	char *plus = strrchr(text, '+');

	if (plus && plus > text && plus[1] && !plus[1 + strspn(plus + 1, "0123456789")])
		*plus = '\0';
	if (g_str_has_prefix(text, "0x"))
		text = (char *)"[unknown]";
	g_ptr_array_add(parsing->stacks[parsing->count - 1],
		g_string_chunk_insert_const(parsing->map->tree->strings, text));
}

static void add_other(struct parsing *parsing, const char *text, size_t bytes)
{
	g_autofree char *key = g_strndup(text, bytes);
	char *begin = key;

	while (*begin == ',' || *begin == ' ')
		begin++;
	g_strchomp(begin);
	if (g_str_has_suffix(begin, ","))
		begin[strlen(begin) - 1] = '\0';
	if (!*begin)
		return;
	if (parsing->others->len)
		g_string_append(parsing->others, ", ");
	g_string_append(parsing->others, begin);
}

/* The value behind the last line of the keys, "...]: 12"; false if it is no number above 0. */
static bool take_end(struct parsing *parsing, const char *line, uint64_t *value)
{
	const char *close = g_strrstr(line, "]: ");

	if (!close)
		return false;
	add_other(parsing, line, (size_t)(close - line));
	return g_ascii_string_to_unsigned(close + 3, 10, 1, UINT64_MAX, value, NULL);
}

/* An entry whose first line, @NAME[KEYS, is not closed: stacks follow. Returns whether it was added. */
static bool take_entry(struct parsing *parsing, char *first, char **at,
	bool (*add)(struct parsing *parsing, uint64_t value))
{
	char *open = strchr(first, '['), *line;
	bool in_stack = false;
	uint64_t value;

	*open = '\0';
	parsing->name = g_string_chunk_insert_const(parsing->map->tree->strings, first);
	parsing->count = 0;
	g_string_truncate(parsing->others, 0);
	add_other(parsing, open + 1, strlen(open + 1));
	while (**at != '@' && (line = take_line(at))) {
		if (!g_str_has_prefix(line, FRAME_INDENT)) {
			in_stack = false;
			if (strstr(line, "]: "))
				return parsing->count && take_end(parsing, line, &value) &&
					add(parsing, value);
			add_other(parsing, line, strlen(line));
			continue;
		}
		if (!in_stack && parsing->count == 2)
			return false;
		if (!in_stack)
			g_ptr_array_set_size(parsing->stacks[parsing->count++], 0);
		in_stack = true;
		add_frame(parsing, line + strlen(FRAME_INDENT));
	}
	return false;
}

static bool note_event(struct parsing *parsing, uint64_t value)
{
	(void)value;
	event_of(parsing);
	return true;
}

static bool count_entry(struct parsing *parsing, uint64_t value)
{
	add_entry(parsing, event_of(parsing), value);
	return true;
}

/* All entries; their number. */
static uint32_t walk(struct parsing *parsing, char *text, bool (*add)(struct parsing *, uint64_t))
{
	uint32_t entries = 0;
	char *line;

	while ((line = take_line(&text))) {
		const char *open = *line == '@' ? strchr(line, '[') : NULL;

		if (open && !strstr(open, "]: ") && !g_str_has_suffix(open, "]:"))
			entries += take_entry(parsing, line, &text, add);
	}
	return entries;
}

/* Which stack is the kernel's, as the program says that follows as a comment. */
static bool is_kernel_first(const char *text)
{
	const char *kernel = strstr(text, "kstack"), *user = strstr(text, "ustack");

	return kernel && (!user || kernel < user);
}

static struct parsing begin(struct stackmap *map, const char *text)
{
	struct calltree *tree = g_new0(struct calltree, 1);

	map->profile.events = g_array_new(FALSE, TRUE, sizeof(struct profile_event));
	map->tree = tree;
	tree->profile = &map->profile;
	tree->nodes = g_array_new(FALSE, FALSE, sizeof(struct calltree_node));
	tree->processes = g_ptr_array_new();
	tree->strings = g_string_chunk_new(65536);
	return (struct parsing){ .map = map, .kernel_first = is_kernel_first(text),
		.children = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
		.functions = g_hash_table_new(g_str_hash, g_str_equal),
		.others_of = g_hash_table_new(g_str_hash, g_str_equal), .names = g_ptr_array_new(),
		.others = g_string_new(NULL), .stacks = { g_ptr_array_new(), g_ptr_array_new() } };
}

/* The names of functions go to the tree. */
static void end(struct parsing *parsing)
{
	g_hash_table_unref(parsing->children);
	g_hash_table_unref(parsing->functions);
	g_hash_table_unref(parsing->others_of);
	g_string_free(parsing->others, TRUE);
	g_ptr_array_free(parsing->stacks[0], TRUE);
	g_ptr_array_free(parsing->stacks[1], TRUE);
	parsing->map->tree->function_names = (const char **)(void *)g_ptr_array_free(parsing->names, FALSE);
}

int stackmap_create(char *text, struct stackmap **map, struct err *err)
{
	struct stackmap *made = g_new0(struct stackmap, 1);
	struct parsing parsing = begin(made, text);
	g_autofree char *copy = g_strdup(text);
	uint32_t entries;

	/* the nodes of the events come first: the text is read twice */
	entries = walk(&parsing, copy, note_event);
	for (uint32_t i = 0; i < made->profile.events->len; i++) {
		struct calltree_node node = { .parent = i, .what = i, .kind = CALLTREE_EVENT };

		g_array_append_val(made->tree->nodes, node);
	}
	walk(&parsing, text, count_entry);
	end(&parsing);
	if (!entries) {
		stackmap_destroy(made);
		return err_set(err, ENODATA, "no map has a stack as a key and a number as its value");
	}
	(void)calltree_finish(made->tree, NULL); /* its one error is that it was cancelled */
	*map = made;
	return 0;
}

void stackmap_destroy(struct stackmap *map)
{
	if (!map)
		return;
	g_array_free(map->profile.events, TRUE);
	calltree_destroy(map->tree);
	g_free(map);
}
