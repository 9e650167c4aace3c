/* SPDX-License-Identifier: MIT */
/* A text in the form of OpenMetrics while it is collected. */
#include "base/openmetrics.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

struct openmetrics {
	char *prefix;
	GTree *families; /* name -> struct family */
};

/* The samples of one metric, in the order in which they came. */
struct family {
	const char *type;
	GString *help, *samples;
};

static void free_family(gpointer data)
{
	struct family *family = data;

	g_string_free(family->help, TRUE);
	g_string_free(family->samples, TRUE);
	g_free(family);
}

static int compare(gconstpointer a, gconstpointer b, gpointer arg)
{
	return strcmp(a, b);
}

struct openmetrics *openmetrics_create(const char *prefix)
{
	struct openmetrics *metrics = g_new(struct openmetrics, 1);

	metrics->prefix = g_strdup(prefix);
	metrics->families = g_tree_new_full(compare, NULL, g_free, free_family);
	return metrics;
}

void openmetrics_destroy(struct openmetrics *metrics)
{
	g_tree_destroy(metrics->families);
	g_free(metrics->prefix);
	g_free(metrics);
}

/* ---- names and labels -------------------------------------------------------------------------- */

static void append_clean(GString *name, const char *word)
{
	for (; *word; word++)
		g_string_append_c(name, g_ascii_isalnum(*word) ? *word : '_');
}

void openmetrics_append_word(GString *name, const char *word)
{
	if (name->len)
		g_string_append_c(name, '_');
	append_clean(name, word);
}

/* In a label's quotes. */
static void append_value(GString *labels, const char *value)
{
	g_autoptr(GString) text = g_string_new(NULL);

	text_append(text, value);
	for (const char *c = text->str; *c; c++) {
		if (*c == '"' || *c == '\\')
			g_string_append_c(labels, '\\');
		g_string_append_c(labels, *c);
	}
}

void openmetrics_append_label(GString *labels, const char *name, const char *value)
{
	if (labels->len)
		g_string_append_c(labels, ',');
	append_clean(labels, name);
	g_string_append(labels, "=\"");
	append_value(labels, value);
	g_string_append_c(labels, '"');
}

/* ---- samples ----------------------------------------------------------------------------------- */

static struct family *find_family(struct openmetrics *metrics, const char *name, const char *type,
	const char *help)
{
	struct family *family = g_tree_lookup(metrics->families, name);

	if (!family) {
		family = g_new(struct family, 1);
		family->type = type;
		family->help = g_string_new(help);
		family->samples = g_string_new(NULL);
		g_tree_insert(metrics->families, g_strdup(name), family);
	}
	return family;
}

void openmetrics_add(struct openmetrics *metrics, const char *name, const char *help, const char *labels,
	const char *value)
{
	struct family *family = find_family(metrics, name, "gauge", help);

	g_string_append_printf(family->samples, "%s%s%s%s%s %s\n", metrics->prefix, name, *labels ? "{" : "",
		labels, *labels ? "}" : "", value);
}

static void add_bucket(const struct openmetrics *metrics, GString *out, const char *name,
	const char *labels, const char *bound, uint64_t count)
{
	g_string_append_printf(out, "%s%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", metrics->prefix, name, labels,
		*labels ? "," : "", bound, count);
}

void openmetrics_add_histogram(struct openmetrics *metrics, const char *name, const char *help,
	const char *labels, const struct openmetrics_bucket *buckets, size_t bucket_count, uint64_t count,
	const char *sum)
{
	GString *out = find_family(metrics, name, "histogram", help)->samples;
	const char *open = *labels ? "{" : "", *close = *labels ? "}" : "";

	for (size_t i = 0; i < bucket_count; i++)
		add_bucket(metrics, out, name, labels, buckets[i].bound, buckets[i].count);
	add_bucket(metrics, out, name, labels, "+Inf", count);
	if (!sum)
		return;
	g_string_append_printf(out, "%s%s_count%s%s%s %" PRIu64 "\n", metrics->prefix, name, open, labels,
		close, count);
	g_string_append_printf(out, "%s%s_sum%s%s%s %s\n", metrics->prefix, name, open, labels, close, sum);
}

/* ---- the text ---------------------------------------------------------------------------------- */

struct rendering {
	const struct openmetrics *metrics;
	GString *out;
};

static gboolean render_family(gpointer name, gpointer value, gpointer arg)
{
	const struct rendering *rendering = arg;
	const char *prefix = rendering->metrics->prefix;
	const struct family *family = value;

	g_string_append_printf(rendering->out, "# TYPE %s%s %s\n# HELP %s%s %s, see kprof(5)\n", prefix,
		(const char *)name, family->type, prefix, (const char *)name, family->help->str);
	g_string_append_len(rendering->out, family->samples->str, (gssize)family->samples->len);
	return FALSE;
}

void openmetrics_render(const struct openmetrics *metrics, GString *out)
{
	struct rendering rendering = { .metrics = metrics, .out = out };

	g_tree_foreach(metrics->families, render_family, &rendering);
	g_string_append(out, "# EOF\n");
}
