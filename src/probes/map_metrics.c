/* SPDX-License-Identifier: MIT */
/* What maps hold as metrics. */
#include "probes/map_metrics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "probes/layout.h"

#define HELP "a map of probes/NAME"

struct adding {
	struct map_metrics *out;
	const struct ast_map *map;
	const struct layout_map *layout;
	const struct value_names *names;
	GString *labels;
};

/* ---- labels ------------------------------------------------------------------------------------ */

/* Whether the text of a key can be its label: none that has another meaning, and none twice. */
static bool is_label(const struct ast_map *map, uint32_t number)
{
	static const char *const taken[] = { "program", "map", "le", "value" };
	const char *name = map->key_names[number];

	if (!name || g_str_has_prefix(name, "arg") || g_str_has_prefix(name, "__"))
		return false;
	for (size_t i = 0; i < G_N_ELEMENTS(taken); i++)
		if (strcmp(name, taken[i]) == 0)
			return false;
	for (uint32_t i = 0; i < map->key_count; i++)
		if (i != number && map->key_names[i] && strcmp(map->key_names[i], name) == 0)
			return false;
	return true;
}

static void add_label(const struct adding *adding, const char *name, const struct ast_type *type,
	const char *data)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (type->kind == AST_STRING)
		value_print_string(data, layout_bytes(type), text);
	else if (type->kind == AST_KSTACK || type->kind == AST_USTACK)
		value_print_folded(type, data, adding->names, text);
	else
		value_print(type, data, adding->names, text);
	openmetrics_append_label(adding->labels, name, text->str);
}

static void add_labels(const struct adding *adding, const char *program, const char *key)
{
	const struct ast_map *map = adding->map;
	char positional[16];

	openmetrics_append_label(adding->labels, "program", program);
	openmetrics_append_label(adding->labels, "map", map->name);
	for (uint32_t i = 0; i < map->key_count; i++) {
		g_snprintf(positional, sizeof(positional), "arg%u", i + 1);
		add_label(adding, is_label(map, i) ? map->key_names[i] : positional, &map->keys[i], key);
		key += layout_bytes(&map->keys[i]);
	}
}

/* ---- histograms -------------------------------------------------------------------------------- */

/* The greatest integer of a bucket, as text. */
static char *bound_of(const struct adding *adding, uint32_t bucket)
{
	const struct ast_map *map = adding->map;
	int64_t low, high;
	uint64_t end;

	if (map->value_kind == AST_HIST) {
		layout_hist_bounds(map->hist_bits, bucket, &low, &end);
		return bucket ? g_strdup_printf("%" PRIu64, end - 1) : g_strdup("-1");
	}
	if (__builtin_mul_overflow((int64_t)bucket, map->step, &high) ||
		__builtin_add_overflow(map->low, high, &high) || high > map->high)
		high = map->high;
	return g_strdup_printf("%" PRId64, high - 1);
}

/* From the first bucket of positive numbers, or of all, to the last one that is not empty. */
static void add_histogram(const struct adding *adding, const uint64_t *value)
{
	const struct layout_map *layout = adding->layout;
	const uint64_t *sum = value + layout_sum_word(layout);
	g_autoptr(GPtrArray) bounds = g_ptr_array_new_with_free_func(g_free);
	g_autofree struct openmetrics_bucket *buckets = g_new(struct openmetrics_bucket, layout->buckets);
	g_autofree char *total = sum[1] ? NULL : g_strdup_printf("%" PRIu64, sum[0]);
	/* the last bucket of lhist() has no end */
	const uint32_t end = layout->buckets - (adding->map->value_kind == AST_LHIST);
	const uint32_t first = value[0] || adding->map->value_kind == AST_LHIST ? 0 : 1;
	uint64_t count = 0;
	uint32_t last = first, made = 0;

	for (uint32_t i = first; i < end; i++)
		if (value[i])
			last = i;
	for (uint32_t i = first; i <= last; i++) {
		count += value[i];
		g_ptr_array_add(bounds, bound_of(adding, i));
		buckets[made++] = (struct openmetrics_bucket){ g_ptr_array_index(bounds, i - first), count };
	}
	for (uint32_t i = end; i < layout->buckets; i++)
		count += value[i];
	openmetrics_add_histogram(adding->out->metrics, "probe_distribution", HELP, adding->labels->str,
		buckets, made, count, total);
	adding->out->samples += made + 3;
}

/* ---- entries ----------------------------------------------------------------------------------- */

static void add_number(const struct adding *adding, const char *metric, uint64_t number, bool is_signed)
{
	g_autofree char *text = is_signed ? g_strdup_printf("%" PRId64, (int64_t)number) :
					    g_strdup_printf("%" PRIu64, number);

	openmetrics_add(adding->out->metrics, metric, HELP, adding->labels->str, text);
	adding->out->samples++;
}

static void add_value(const struct adding *adding, const uint64_t *value)
{
	const struct ast_map *map = adding->map;
	const uint64_t *plain = value + layout_plain_offset(adding->layout) / sizeof(*value);

	switch (map->value_kind) {
	case AST_HIST:
	case AST_LHIST:
		add_histogram(adding, value);
		return;
	case AST_AVG:
	case AST_STATISTICS:
		add_number(adding, "probe_sum_value", value[0], map->value.is_signed);
		add_number(adding, "probe_count_value", value[1], false);
		return;
	case AST_PLAIN:
		if (map->value.kind == AST_INTEGER) {
			add_number(adding, "probe_value", plain[0], map->value.is_signed);
			return;
		}
		add_label(adding, "value", &map->value, (const char *)plain);
		add_number(adding, "probe_text_info", 1, false);
		return;
	case AST_COUNT:
		add_number(adding, "probe_value", value[0], false);
		return;
	default:
		add_number(adding, "probe_value", value[0], map->value.is_signed);
	}
}

void map_metrics_add(struct map_metrics *metrics, const char *program, const struct store *store,
	const struct ast_map *map, const struct value_names *names)
{
	struct adding adding = { .out = metrics, .map = map, .layout = store_layout(store, map),
		.names = names, .labels = g_string_new(NULL) };
	g_autoptr(GArray) entries = store_read(store, map);

	for (guint i = 0; i < entries->len; i++) {
		const struct store_entry *entry = &g_array_index(entries, struct store_entry, i);

		if (metrics->samples >= MAP_METRICS_MAX) {
			metrics->left_out += entries->len - i;
			break;
		}
		g_string_truncate(adding.labels, 0);
		add_labels(&adding, program, entry->key);
		add_value(&adding, (const uint64_t *)(const void *)entry->value);
	}
	g_string_free(adding.labels, TRUE);
}

void map_metrics_end(struct map_metrics *metrics)
{
	g_autofree char *text = g_strdup_printf("%" PRIu64, metrics->left_out);

	openmetrics_add(metrics->metrics, "probe_keys_left_out", "keys of maps without room in this text", "",
		text);
}
