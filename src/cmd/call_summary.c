/* SPDX-License-Identifier: MIT */
/* Counts the system calls in lines of kptrace. */
#include "cmd/call_summary.h"

#include <glib.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char call_prefix[] = "syscall:";
static const char unit[] = " us)";

struct summary_row {
	char *name;
	uint64_t calls, errors, timed;
	/* in tenths of a microsecond */
	uint64_t total, max;
};

struct call_summary {
	GHashTable *rows; /* name -> struct summary_row */
	uint64_t lost;
};

static void free_row(void *data)
{
	struct summary_row *row = data;

	g_free(row->name);
	g_free(row);
}

struct call_summary *call_summary_create(void)
{
	struct call_summary *summary = g_new0(struct call_summary, 1);

	summary->rows = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_row);
	return summary;
}

void call_summary_destroy(struct call_summary *summary)
{
	if (!summary)
		return;
	g_hash_table_unref(summary->rows);
	g_free(summary);
}

/* ---- lines ------------------------------------------------------------------------------------- */

/* Behind "[T]:cpuN: ", NULL if that is not there. */
static const char *skip_header(const char *line)
{
	const char *at = strstr(line, "]:cpu");

	at = line[0] == '[' && at ? strstr(at, ": ") : NULL;
	return at ? at + 2 : NULL;
}

/* "NAME[PID] LABEL: " or "NAME[PID/TID] LABEL: ": the label, which is to be freed, and what follows. */
static char *take_label(const char *text, const char **rest)
{
	for (const char *at = strstr(text, "] "); at; at = strstr(at + 1, "] ")) {
		const char *digit = at, *end = at + 2 + strcspn(at + 2, " ");

		while (digit > text && (g_ascii_isdigit(digit[-1]) || digit[-1] == '/'))
			digit--;
		if (digit == at || digit == text || digit[-1] != '[' || end == at + 2 || end[-1] != ':')
			continue;
		*rest = *end ? end + 1 : end;
		return g_strndup(at + 2, (gsize)(end - at) - 3);
	}
	return NULL;
}

/* "(N.N us)" at the end of the line, in tenths. */
static bool take_time(const char *text, uint64_t *tenths)
{
	const char *open = strrchr(text, '(');
	char *end;

	if (!open || !g_ascii_isdigit(open[1]))
		return false;
	*tenths = strtoull(open + 1, &end, 10) * 10;
	if (end[0] != '.' || !g_ascii_isdigit(end[1]) || strcmp(end + 2, unit) != 0)
		return false;
	*tenths += (uint64_t)(end[1] - '0');
	return true;
}

/* The last " = " is that of the result: names and texts of errors have none. */
static bool has_failed(const char *text)
{
	const char *result = g_strrstr(text, " = ");

	return result && (g_str_has_prefix(result, " = -1 E") || g_str_has_prefix(result, " = ? E"));
}

/*
 * A call without a time is one that does not return, or whose entry was not recorded. Other lines
 * without one belong to a text with a newline, and the last of them has the time.
 */
static bool is_whole(const char *name, const char *rest)
{
	static const char *const endless[] = { "exit", "exit_group", "rt_sigreturn", NULL };
	static const char *const forks[] = { "clone", "clone3", "fork", "vfork", NULL };

	if (rest[0] != '?')
		return g_strv_contains(endless, name);
	/* the return in the new process belongs to the call of the old one */
	return !(g_str_has_prefix(rest, "? = 0") && g_strv_contains(forks, name));
}

static struct summary_row *find_row(struct call_summary *summary, const char *name)
{
	struct summary_row *row = g_hash_table_lookup(summary->rows, name);

	if (!row) {
		row = g_new0(struct summary_row, 1);
		row->name = g_strdup(name);
		g_hash_table_insert(summary->rows, row->name, row);
	}
	return row;
}

/* "N events lost" */
static void add_lost(struct call_summary *summary, const char *text)
{
	char *end;
	uint64_t count = strtoull(text, &end, 10);

	if (end != text && g_str_has_prefix(end, " events lost"))
		summary->lost += count;
}

void call_summary_add(struct call_summary *summary, const char *line, size_t bytes)
{
	g_autofree char *text = g_strndup(line, bytes), *label = NULL;
	const char *body = skip_header(text), *rest, *name;
	struct summary_row *row;
	bool is_call, timed;
	uint64_t tenths = 0;

	if (!body)
		return;
	label = take_label(body, &rest);
	if (!label) {
		add_lost(summary, body);
		return;
	}
	is_call = g_str_has_prefix(label, call_prefix);
	name = is_call ? label + strlen(call_prefix) : label;
	timed = take_time(rest, &tenths);
	if (is_call && !timed && !is_whole(name, rest))
		return;
	row = find_row(summary, name);
	row->calls++;
	row->errors += is_call && has_failed(rest);
	row->timed += timed;
	row->total += tenths;
	row->max = MAX(row->max, tenths);
}

/* ---- the table --------------------------------------------------------------------------------- */

static gint compare_rows(gconstpointer a, gconstpointer b)
{
	const struct summary_row *x = *(struct summary_row *const *)a, *y = *(struct summary_row *const *)b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void print_time(uint64_t tenths, const char *end, FILE *out)
{
	fprintf(out, "%12" PRIu64 ".%" PRIu64 "%s", tenths / 10, tenths % 10, end);
}

static void print_row(const struct summary_row *row, FILE *out)
{
	fprintf(out, "%10" PRIu64, row->calls);
	if (row->errors)
		fprintf(out, " %9" PRIu64, row->errors);
	else
		fprintf(out, " %9s", "");
	if (row->timed) {
		print_time(row->total, " ", out);
		print_time((row->total + row->timed / 2) / row->timed, " ", out);
		print_time(row->max, " ", out);
	} else {
		fprintf(out, "%14s %14s %14s ", "", "", "");
	}
	fprintf(out, " %s\n", row->name);
}

void call_summary_print(struct call_summary *summary, FILE *out)
{
	g_autoptr(GPtrArray) rows = g_ptr_array_new();
	struct summary_row sum = { .name = (char *)"total" };
	GHashTableIter iter;
	void *value;

	g_hash_table_iter_init(&iter, summary->rows);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		g_ptr_array_add(rows, value);
	g_ptr_array_sort(rows, compare_rows);
	fprintf(out, "%10s %9s %14s %14s %14s  %s\n", "calls", "errors", "total us", "average us",
		"longest us", "name");
	for (guint i = 0; i < rows->len; i++) {
		const struct summary_row *row = g_ptr_array_index(rows, i);

		print_row(row, out);
		sum.calls += row->calls;
		sum.errors += row->errors;
		sum.timed += row->timed;
		sum.total += row->total;
		sum.max = MAX(sum.max, row->max);
	}
	print_row(&sum, out);
	if (summary->lost)
		fprintf(out, "%10" PRIu64 " events were lost, which are not counted above\n", summary->lost);
}
