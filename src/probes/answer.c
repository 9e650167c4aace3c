/* SPDX-License-Identifier: MIT */
/* What maps hold as text. */
#include "probes/answer.h"

#include <inttypes.h>
#include <string.h>

#include "probes/layout.h"

#define BAR_WIDTH 52
#define LABEL_WIDTH 16
#define COUNT_WIDTH 8
/* Of a text that is taken in pieces; one key has some KB more. */
#define PIECE_BYTES 65536u

/* ---- histograms -------------------------------------------------------------------------------- */

/* A bound: of powers of two with their letter, as [4K, 8K). */
static void print_power(uint64_t number, GString *out)
{
	static const char letters[] = "\0KMGTPE";
	uint32_t i = 0;

	for (; number && !(number & 1023) && letters[i + 1]; i++)
		number >>= 10;
	g_string_append_printf(out, "%" PRIu64, number);
	if (i)
		g_string_append_c(out, letters[i]);
}

static void print_linear(int64_t number, GString *out)
{
	if (number && number % (1 << 20) == 0)
		g_string_append_printf(out, "%" PRId64 "M", number >> 20);
	else if (number && number % 1024 == 0)
		g_string_append_printf(out, "%" PRId64 "K", number / 1024);
	else
		g_string_append_printf(out, "%" PRId64, number);
}

static void label_power(const struct ast_map *map, uint32_t bucket, GString *out)
{
	int64_t low;
	uint64_t high;

	if (!bucket) {
		g_string_append(out, "(..., 0)");
		return;
	}
	layout_hist_bounds(map->hist_bits, bucket, &low, &high);
	g_string_append_c(out, '[');
	print_power((uint64_t)low, out);
	if (high - (uint64_t)low == 1) {
		g_string_append_c(out, ']');
		return;
	}
	g_string_append(out, ", ");
	print_power(high, out);
	g_string_append_c(out, ')');
}

/* Where a row of lhist() begins; it wraps where the step is as large as a number can be. */
static int64_t row_begin(const struct ast_map *map, uint32_t bucket)
{
	return (int64_t)((uint64_t)map->low + ((uint64_t)bucket - 1) * (uint64_t)map->step);
}

static void label_linear(const struct ast_map *map, uint32_t bucket, uint32_t buckets, GString *out)
{
	const int64_t low = row_begin(map, bucket);

	if (!bucket) {
		g_string_append(out, "(..., ");
		print_linear(map->low, out);
		g_string_append_c(out, ')');
		return;
	}
	g_string_append_c(out, '[');
	if (bucket == buckets - 1) {
		print_linear(map->high, out);
		g_string_append(out, ", ...)");
		return;
	}
	print_linear(low, out);
	g_string_append(out, ", ");
	print_linear(row_begin(map, bucket + 1), out);
	g_string_append_c(out, ')');
}

void answer_print_hist(const struct ast_map *map, const uint64_t *counts, uint32_t buckets, uint64_t divisor,
	GString *out)
{
	uint32_t first = buckets, last = 0;
	uint64_t most = 0;

	for (uint32_t i = 0; i < buckets; i++) {
		if (!counts[i])
			continue;
		if (first == buckets)
			first = i;
		last = i;
		most = MAX(most, counts[i]);
	}
	for (uint32_t i = first; i <= last && i < buckets; i++) {
		g_autoptr(GString) label = g_string_new(NULL);
		const int bar = (int)((float)counts[i] / (float)most * BAR_WIDTH);
		g_autofree char *marks = g_strnfill((gsize)bar, '@');

		if (map->value_kind == AST_HIST)
			label_power(map, i, label);
		else
			label_linear(map, i, buckets, label);
		g_string_append_printf(out, "%-*s%*" PRIu64 " |%-*s|\n", LABEL_WIDTH, label->str, COUNT_WIDTH,
			counts[i] / divisor, BAR_WIDTH, marks);
	}
}

/* ---- entries ----------------------------------------------------------------------------------- */

/* An entry with what it is sorted by. */
struct shown {
	GString *label;
	const uint64_t *value;
	int64_t rank;
	bool is_signed;
};

static int64_t rank_of(const struct ast_map *map, const struct layout_map *layout, const uint64_t *value)
{
	uint64_t sum = 0;

	switch (map->value_kind) {
	case AST_AVG:
	case AST_STATISTICS:
		return value[1] ? (int64_t)value[0] / (int64_t)value[1] : 0;
	case AST_HIST:
	case AST_LHIST:
		for (uint32_t i = 0; i < layout->buckets; i++)
			sum += value[i];
		return (int64_t)sum;
	case AST_PLAIN:
		/* texts and the like stay in the order of their keys */
		return layout_is_word(&map->value) ? (int64_t)value[layout_plain_offset(layout) / 8] : 0;
	default:
		return (int64_t)value[0];
	}
}

static int compare(const void *a, const void *b)
{
	const struct shown *one = a, *other = b;
	bool is_less = one->is_signed ? one->rank < other->rank : (uint64_t)one->rank < (uint64_t)other->rank;

	if (one->rank != other->rank)
		return is_less ? -1 : 1;
	return strcmp(one->label->str, other->label->str);
}

static void print_label(const struct ast_map *map, const char *key, const struct value_names *names,
	GString *out)
{
	g_string_append_printf(out, "@%s", map->name);
	if (!map->key_count)
		return;
	g_string_append_c(out, '[');
	for (uint32_t i = 0; i < map->key_count; i++) {
		if (i)
			g_string_append(out, ", ");
		value_print(&map->keys[i], key, names, out);
		key += layout_bytes(&map->keys[i]);
	}
	g_string_append_c(out, ']');
}

static void print_number(const struct ast_map *map, uint64_t number, uint64_t divisor, GString *out)
{
	if (map->value.is_signed)
		g_string_append_printf(out, "%" PRId64, (int64_t)number / (int64_t)divisor);
	else
		g_string_append_printf(out, "%" PRIu64, number / divisor);
}

static void print_value(const struct ast_map *map, const struct layout_map *layout, const uint64_t *value,
	uint64_t divisor, const struct value_names *names, GString *out)
{
	const uint64_t *plain = value + layout_plain_offset(layout) / 8;

	switch (map->value_kind) {
	case AST_PLAIN:
		if (map->value.kind == AST_INTEGER)
			print_number(map, plain[0], divisor, out);
		else
			value_print(&map->value, plain, names, out);
		return;
	case AST_AVG:
		g_string_append_printf(out, "%" PRId64, rank_of(map, layout, value) / (int64_t)divisor);
		return;
	case AST_STATISTICS:
		g_string_append_printf(out, "count %" PRIu64 ", average %" PRId64 ", total ", value[1],
			rank_of(map, layout, value) / (int64_t)divisor);
		print_number(map, value[0], divisor, out);
		return;
	case AST_COUNT:
		g_string_append_printf(out, "%" PRIu64, value[0] / divisor);
		return;
	default:
		print_number(map, value[0], divisor, out);
	}
}

static void print_shown(const struct ast_map *map, const struct layout_map *layout, const struct shown *shown,
	uint64_t divisor, const struct value_names *names, GString *out)
{
	g_string_append_len(out, shown->label->str, (gssize)shown->label->len);
	if (map->value_kind == AST_HIST || map->value_kind == AST_LHIST) {
		g_string_append(out, ":\n");
		answer_print_hist(map, shown->value, layout->buckets, divisor, out);
	} else {
		g_string_append(out, ": ");
		print_value(map, layout, shown->value, divisor, names, out);
	}
	g_string_append_c(out, '\n');
}

static GArray *read_entries(const struct store *store, const struct ast_map *map,
	const struct answer_limits *limits)
{
	return limits->key ? store_read_key(store, map, limits->key) : store_read(store, map);
}

static void free_shown(gpointer data)
{
	g_string_free(((struct shown *)data)->label, TRUE);
}

/* Sorted, and only those that are wanted; the last array has what they are made of. */
static GArray *collect(const struct store *store, const struct ast_map *map,
	const struct answer_limits *limits, const struct value_names *names,
	void (*label)(const struct ast_map *map, const char *key, const struct value_names *names,
		GString *out),
	GArray *entries)
{
	const struct layout_map *layout = store_layout(store, map);
	GArray *all = g_array_new(FALSE, FALSE, sizeof(struct shown));

	g_array_set_clear_func(all, free_shown);
	for (guint i = 0; i < entries->len; i++) {
		const struct store_entry *entry = &g_array_index(entries, struct store_entry, i);
		struct shown shown = { .label = g_string_new(NULL),
			.value = (const uint64_t *)(const void *)entry->value };

		shown.rank = rank_of(map, layout, shown.value);
		shown.is_signed = map->value.is_signed && map->value_kind != AST_COUNT;
		label(map, entry->key, names, shown.label);
		g_array_append_val(all, shown);
	}
	g_array_sort(all, compare);
	if (limits->top && limits->top < all->len)
		g_array_remove_range(all, 0, all->len - (guint)limits->top);
	return all;
}

void answer_print_map(const struct store *store, const struct ast_map *map,
	const struct answer_limits *limits, const struct value_names *names, GString *out)
{
	g_autoptr(GArray) entries = read_entries(store, map, limits);
	g_autoptr(GArray) all = collect(store, map, limits, names, print_label, entries);

	for (guint i = 0; i < all->len; i++) {
		print_shown(map, store_layout(store, map), &g_array_index(all, struct shown, i),
			limits->divisor ? limits->divisor : 1, names, out);
		if (limits->pieces && out->len >= PIECE_BYTES)
			limits->pieces->take(limits->pieces->arg, out);
	}
}

/* ---- JSON -------------------------------------------------------------------------------------- */

/* The parts of a key, with commas between them and no blanks. */
static void json_label(const struct ast_map *map, const char *key, const struct value_names *names,
	GString *out)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (uint32_t i = 0; i < map->key_count; i++) {
		if (i)
			g_string_append_c(text, ',');
		if (map->keys[i].kind == AST_STRING)
			value_print_string(key, layout_bytes(&map->keys[i]), text);
		else
			value_print(&map->keys[i], key, names, text);
		key += layout_bytes(&map->keys[i]);
	}
	value_json_string(text->str, text->len, out);
}

static void json_bound(const char *name, int64_t bound, GString *out)
{
	g_string_append_printf(out, "\"%s\": %" PRId64 ", ", name, bound);
}

/* Both bounds of a row are in it; what has none is open on that side. */
static void json_row(const struct ast_map *map, uint32_t bucket, uint32_t buckets, GString *out)
{
	int64_t low, high;
	uint64_t end;

	if (map->value_kind == AST_HIST) {
		layout_hist_bounds(map->hist_bits, bucket, &low, &end);
		if (bucket)
			json_bound("min", low, out);
		json_bound("max", bucket ? (int64_t)(end - 1) : -1, out);
		return;
	}
	low = row_begin(map, bucket);
	high = (int64_t)((uint64_t)row_begin(map, bucket + 1) - 1);
	if (bucket)
		json_bound("min", bucket == buckets - 1 ? map->high : low, out);
	if (bucket != buckets - 1)
		json_bound("max", bucket ? high : map->low - 1, out);
}

static void json_hist(const struct ast_map *map, const uint64_t *counts, uint32_t buckets, uint64_t divisor,
	GString *out)
{
	uint32_t first = 0, last = buckets;

	while (first < buckets && !counts[first])
		first++;
	while (last > first && !counts[last - 1])
		last--;
	g_string_append_c(out, '[');
	for (uint32_t i = first; i < last; i++) {
		g_string_append(out, i > first ? ", {" : "{");
		json_row(map, i, buckets, out);
		g_string_append_printf(out, "\"count\": %" PRIu64 "}", counts[i] / divisor);
	}
	g_string_append_c(out, ']');
}

static void json_value(const struct ast_map *map, const struct layout_map *layout, const uint64_t *value,
	uint64_t divisor, const struct value_names *names, GString *out)
{
	const uint64_t *plain = value + layout_plain_offset(layout) / 8;

	if (map->value_kind == AST_HIST || map->value_kind == AST_LHIST) {
		json_hist(map, value, layout->buckets, divisor, out);
	} else if (map->value_kind == AST_STATISTICS) {
		g_string_append_printf(out, "{\"count\": %" PRIu64 ", \"average\": %" PRId64 ", \"total\": ",
			value[1], rank_of(map, layout, value) / (int64_t)divisor);
		print_number(map, value[0], divisor, out);
		g_string_append_c(out, '}');
	} else if (map->value_kind == AST_PLAIN && map->value.kind != AST_INTEGER) {
		value_json(&map->value, plain, names, out);
	} else {
		print_value(map, layout, value, divisor, names, out);
	}
}

static const char *json_type(const struct ast_map *map)
{
	switch (map->value_kind) {
	case AST_HIST:
	case AST_LHIST:
		return "hist";
	case AST_AVG:
	case AST_STATISTICS:
		return "stats";
	default:
		return "map";
	}
}

static void json_begin(const struct ast_map *map, GString *out)
{
	g_string_append_printf(out, "{\"type\": \"%s\", \"data\": {\"@%s\": ", json_type(map), map->name);
}

void answer_json_map(const struct store *store, const struct ast_map *map,
	const struct answer_limits *limits, const struct value_names *names, GString *out)
{
	gsize begin = out->len;
	bool is_first = true;
	g_autoptr(GArray) entries = read_entries(store, map, limits);
	g_autoptr(GArray) all = collect(store, map, limits, names, json_label, entries);

	if (!all->len)
		return;
	json_begin(map, out);
	for (guint i = 0; i < all->len; i++) {
		const struct shown *shown = &g_array_index(all, struct shown, i);

		if (i && limits->line_bytes && out->len - begin >= limits->line_bytes) {
			g_string_append(out, "}}}\n");
			begin = out->len;
			json_begin(map, out);
			is_first = true;
		}
		if (map->key_count)
			g_string_append_printf(out, "%s%s: ", is_first ? "{" : ", ", shown->label->str);
		is_first = false;
		json_value(map, store_layout(store, map), shown->value, limits->divisor ? limits->divisor : 1,
			names, out);
		if (limits->pieces && out->len >= PIECE_BYTES)
			limits->pieces->take(limits->pieces->arg, out);
	}
	g_string_append(out, map->key_count ? "}}}\n" : "}}\n");
}
