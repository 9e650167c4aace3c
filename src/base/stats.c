/* SPDX-License-Identifier: MIT */
/* The rows of kpstat: see stats.h. */
#include "base/stats.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/units.h"

struct stats {
	GPtrArray *lines; /* of char *, each "name value" */
};

struct stats *stats_create(void)
{
	struct stats *stats = g_new0(struct stats, 1);

	stats->lines = g_ptr_array_new_with_free_func(g_free);
	return stats;
}

void stats_destroy(struct stats *stats)
{
	if (!stats)
		return;
	g_ptr_array_free(stats->lines, TRUE);
	g_free(stats);
}

/* takes ownership of `value` */
static void add_line(struct stats *stats, char *value, const char *name, va_list ap)
{
	g_autofree char *owned = value;
	g_autofree char *full = g_strdup_vprintf(name, ap);

	g_strdelimit(owned, "\n", ' ');
	g_ptr_array_add(stats->lines, g_strdup_printf("%s %s", full, owned));
}

void stats_u64(struct stats *stats, uint64_t value, const char *name, ...)
{
	va_list ap;

	va_start(ap, name);
	add_line(stats, g_strdup_printf("%" PRIu64, value), name, ap);
	va_end(ap);
}

void stats_i64(struct stats *stats, int64_t value, const char *name, ...)
{
	va_list ap;

	va_start(ap, name);
	add_line(stats, g_strdup_printf("%" PRId64, value), name, ap);
	va_end(ap);
}

void stats_text(struct stats *stats, const char *value, const char *name, ...)
{
	va_list ap;

	va_start(ap, name);
	add_line(stats, g_strdup(value), name, ap);
	va_end(ap);
}

int stats_find_u64(const struct stats *stats, const char *name, uint64_t *value)
{
	size_t len = strlen(name);
	guint i;

	for (i = 0; i < stats->lines->len; i++) {
		const char *line = g_ptr_array_index(stats->lines, i);

		if (!strncmp(line, name, len) && line[len] == ' ')
			return units_parse_u64(line + len + 1, value) ? -ENOENT : 0;
	}
	return -ENOENT;
}

static gint compare_lines(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void stats_render(struct stats *stats, GString *out)
{
	guint i;

	g_ptr_array_sort(stats->lines, compare_lines);
	for (i = 0; i < stats->lines->len; i++) {
		g_string_append(out, g_ptr_array_index(stats->lines, i));
		g_string_append_c(out, '\n');
	}
}
