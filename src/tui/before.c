/* SPDX-License-Identifier: MIT */
/* The shares that rows had in an earlier capture: see before.h. */
#include "tui/before.h"

#include <string.h>

#include "formats/summary.h"
#include "tui/selection.h"

struct before {
	const struct profile *profile;
	const struct functions *functions;
	bool own;
	/* what the shares are of */
	char *event;
	enum rows_kind kind;
	bool by_total;
	bool has_event;
	GHashTable *shares; /* names of a row -> double */
};

struct before *before_create(const struct profile *profile, const struct functions *functions, bool own)
{
	struct before *before = g_new0(struct before, 1);

	before->profile = profile;
	before->functions = functions;
	before->own = own;
	before->shares = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return before;
}

void before_destroy(struct before *before)
{
	if (!before)
		return;
	g_hash_table_destroy(before->shares);
	g_free(before->event);
	g_free(before);
}

/* No name of a process has a line end. To be freed. */
static char *make_key(const struct rows *rows, const struct row *row)
{
	return g_strdup_printf("%s\n%s", row->process ? row->process : "", rows_name(rows, row));
}

/* UINT32_MAX: there is none. */
static uint32_t find_event(const struct before *before, const struct rows *rows, const char *text)
{
	const uint32_t found = profile_find_event(before->profile, text);

	if (found == UINT32_MAX && before->profile->events->len == 1 && rows->selected &&
		rows->selected->events->len == 1)
		return 0;
	return found;
}

/* Of functions with one name in several files it is the sum. */
static void add_share(struct before *before, const struct rows *rows, const struct row *row)
{
	char *key = make_key(rows, row);
	double *share = g_hash_table_lookup(before->shares, key);

	if (share) {
		g_free(key);
	} else {
		share = g_new0(double, 1);
		g_hash_table_insert(before->shares, key, share);
	}
	*share += summary_share(rows_count(rows, row)->weight, rows->whole);
}

static void make_shares(struct before *before, const struct rows *of, uint32_t event)
{
	const struct selection_choice choice = { .event = event, .own = before->own };
	const struct rows_options options = { .kind = of->options.kind, .order = of->options.order,
		.filter = "" };
	struct rows *rows = rows_create();
	struct err err;
	guint i;

	rows_set(rows, &options);
	if (!rows_take(rows, selection_create(before->profile, &choice), before->functions, &err))
		for (i = 0; i < rows->top->len; i++)
			add_share(before, rows, rows->top->pdata[i]);
	before->has_event = rows->samples > 0;
	rows_destroy(rows);
}

bool before_set(struct before *before, const struct rows *rows, const char *event)
{
	const bool by_total = rows->options.order == ROWS_BY_TOTAL;
	uint32_t found;

	if (before->event && !strcmp(before->event, event) && before->kind == rows->options.kind &&
		before->by_total == by_total)
		return before->has_event;
	g_hash_table_remove_all(before->shares);
	g_free(before->event);
	before->event = g_strdup(event);
	before->kind = rows->options.kind;
	before->by_total = by_total;
	before->has_event = false;
	found = find_event(before, rows, event);
	if (found != UINT32_MAX)
		make_shares(before, rows, found);
	return before->has_event;
}

void before_append(const struct before *before, const struct rows *rows, const struct row *row,
	GString *line)
{
	g_autofree char *key = make_key(rows, row);
	const double *share = row->depth ? NULL : g_hash_table_lookup(before->shares, key);

	if (share)
		g_string_append_printf(line, "%6.2f%%  %+7.2f%%  ", *share,
			summary_share(rows_count(rows, row)->weight, rows->whole) - *share);
	else
		g_string_append_printf(line, "%7s  %8s  ", "", before->has_event && !row->depth ? "+++" : "");
}
