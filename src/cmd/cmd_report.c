/* SPDX-License-Identifier: MIT */
/*
 * kprof report: shows where a capture's samples were taken, hottest first. On a terminal it begins
 * a browser (report_browser.c), unless an option selects rows. Without options that select rows,
 * the text is that of formats/flat.h. Otherwise the samples are broken down by the selected fields
 * (formats/breakdown.h), as text (formats/breakdown_text.h) or JSON (report_json.c).
 */
#include "cmd/commands.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/convert.h"
#include "cmd/pager.h"
#include "cmd/part.h"
#include "cmd/report.h"
#include "cmd/report_browser.h"
#include "cmd/report_input.h"
#include "formats/flat.h"
#include "formats/tree.h"

enum {
	OPTION_SELF = CMD_LONG_ONLY,
	OPTION_ADDRESSES,
	OPTION_NO_PAGER,
	OPTION_HTML,
	OPTION_STDIO,
	OPTION_CHILDREN,
	OPTION_NO_CHILDREN,
	OPTION_COMMS,
	OPTION_DSOS,
};

static const struct cmd_option options[] = {
	CMD_OPTION_MOUNT,
	PART_OPTIONS,
	PART_OPTION_EVENT,
	PART_OPTION_VERSUS,
	{'s', "sort", "FIELDS",
		"the fields of a row, as perf has them: comm, dso, sym, pid, tid, cpu, srcline"},
	{'b', "by", "FIELDS",
		"the same: host, process, pid, thread, comm, cpu, address, line, function, file"},
	{'t', "total", NULL,
		"add the totals of each function with all that it calls, and sort by them"},
	{OPTION_CHILDREN, "children", NULL, "the same as --total"},
	{OPTION_NO_CHILDREN, "no-children", NULL, "no totals, as without --total (default)"},
	{'c', "callers", NULL, "list the callers of each function below it"},
	{'g', "caller-tree", NULL, "show below each function its callers, to any depth"},
	{'G', "callee-tree", NULL, "show below each process its functions and what they call"},
	{OPTION_ADDRESSES, "addresses", NULL,
		"show each address of a file without symbols, not one row for all"},
	{'i', "include", "FIELD=GLOB",
		"count only matching samples (without FIELD=: functions); repeatable"},
	{'x', "exclude", "FIELD=GLOB", "leave out matching samples; repeatable"},
	{OPTION_COMMS, "comms", "NAME", "count only these processes and threads: NAME[,NAME...]"},
	{OPTION_DSOS, "dsos", "FILE", "count only functions of these files: FILE[,FILE...]"},
	{'S', "symbols", "FUNCTION", "count only these functions: FUNCTION[,FUNCTION...]"},
	{'O', "order", "FIELD", "order by this field (default: the hottest first)"},
	{'r', "reverse", NULL, "reverse the order"},
	{'T', "percent-limit", "PERCENT",
		"leave out rows below this share; their number is printed"},
	{'e', "events", NULL, "show the events side by side"},
	{'d', "diff", "FILE", "compare with FILE, the earlier capture"},
	{OPTION_SELF, "self", NULL, "count the samples taken in the server itself too"},
	{'n', "no-head", NULL, "leave out the lines about the capture"},
	{'j', "json", NULL, "print JSON"},
	{OPTION_HTML, "html", "FILE", "write a page for a browser to FILE, with --diff compared"},
	{OPTION_NO_PAGER, "no-pager", NULL, "on a terminal, do not use a pager"},
	{OPTION_STDIO, "stdio", NULL, "print text on a terminal, too: no browser"},
	{0},
};

struct report_arguments {
	struct input_choice choice;
	const char *diff, *versus; /* as given */
	const char *before; /* the earlier capture of either; NULL if none is compared */
	struct input_choice earlier; /* the same */
	char *path; /* of --versus; owned */
	struct flat_options flat;
	struct report report;
	struct breakdown_order order;
	GArray *filters; /* struct breakdown_filter */
	GPtrArray *globs; /* of the filters that are not from the command line itself */
	GString *letters; /* of the options that were given */
	bool rows;       /* an option was given that the flat profile does not support */
	bool json;
	struct tree_options tree; /* --caller-tree, --callee-tree */
	bool limited; /* --percent-limit is given */
	bool addresses, no_pager;
	bool text;        /* an option was given that a page does not support */
	const char *html; /* the page's file; NULL if none is written */
	bool stdio; /* print text on a terminal, too */
};

/* ---- reports --------------------------------------------------------------------------------- */

static void report_rows(
	struct report_arguments *a, const struct report_input *captures, size_t count)
{
	struct breakdown_input inputs[2];
	struct breakdown *rows;
	size_t i;

	for (i = 0; i < count; i++)
		inputs[i] = (struct breakdown_input){ captures[i].profile, captures[i].names };
	a->report.captures = captures;
	a->report.count = count;
	rows = breakdown_create(inputs, count, &a->report.options);
	a->order.total = a->report.options.total;
	a->order.difference = count > 1;
	breakdown_sort(rows, &a->order);
	a->report.rows = rows;
	if (a->json)
		report_json(&a->report, stdout);
	else
		report_text(&a->report, stdout);
	breakdown_destroy(rows);
}

/* These fields take long to compute. */
static bool needs_lines(const struct breakdown_options *rows)
{
	size_t i;

	if (rows->fields & 1u << BREAKDOWN_LINE)
		return true;
	for (i = 0; i < rows->filter_count; i++)
		if (rows->filters[i].field == BREAKDOWN_LINE)
			return true;
	return false;
}

static int report_tree(const struct report_arguments *a, const struct report_input *capture)
{
	const struct view_input input = {
		.profile = capture->profile,
		.functions = capture->names,
		.capture_fd = -1,
		.source = &capture->input.origin,
	};
	struct err err = { "" };
	int ret = tree_write_with(&input, &a->tree, stdout, &err);

	if (ret)
		cmd_error("%s: %s", capture->input.name, *err.text ? err.text : strerror(-ret));
	return ret ? CMD_FAILED : CMD_OK;
}

static int report_html(const struct report_arguments *a)
{
	if (a->before)
		return convert_difference(view_find("report.html"), &a->choice, &a->earlier, a->html);
	return convert_capture(view_find("report.html"), false, &a->choice, a->html);
}

static int report_all(struct report_arguments *a, struct report_input *captures, size_t count)
{
	size_t i;

	a->flat.source = &captures[0].input.origin;
	for (i = 0; i < count && !a->addresses; i++)
		functions_merge_unresolved(captures[i].names, captures[i].profile);
	if (count == 1 && a->report.head && !a->json)
		printf("# %s\n", captures[0].input.source);
	if (a->tree.callers || a->tree.callees)
		return report_tree(a, captures);
	if (a->rows)
		report_rows(a, captures, count);
	else
		flat_write(captures[0].profile, captures[0].names, &a->flat, stdout);
	return CMD_OK;
}

/* Shows the capture in the browser. Returns false if it is to be printed. */
static bool in_browser(struct report_arguments *a, const struct report_input *capture)
{
	if (a->stdio || a->rows || a->addresses || a->flat.callers || a->tree.callers || a->tree.callees ||
		!report_browser_is_possible())
		return false;
	if (report_browser(capture, &a->flat) == 0)
		return true;
	a->no_pager = true; /* a terminal that can't show the browser shows no pager well either */
	return false;
}

static int report_captures(struct report_arguments *a)
{
	const struct report_input_options load = {.lines = needs_lines(&a->report.options)};
	struct report_input captures[2];
	struct pager pager = {0};
	size_t count = 0, i;
	int status = CMD_OK;

	if (a->before)
		status = report_input_open(&captures[count], &a->earlier, &load);
	if (status == CMD_OK && a->before)
		count++;
	if (status == CMD_OK)
		status = report_input_open(&captures[count], &a->choice, &load);
	if (status == CMD_OK)
		count++;
	if (status == CMD_OK && !in_browser(a, &captures[count - 1])) {
		if (!a->no_pager)
			pager_begin(&pager);
		status = report_all(a, captures, count);
	}
	for (i = 0; i < count; i++) {
		status |= report_input_print_damage(&captures[i]);
		report_input_close(&captures[i]);
	}
	status = cmd_finish_output(status);
	pager_end(&pager);
	return status;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static int refuse_field(const struct command *command, const char *name)
{
	g_autofree char *all = NULL;
	const char *names[BREAKDOWN_FIELDS + 1] = { NULL };
	int i;

	for (i = 0; i < BREAKDOWN_FIELDS; i++)
		names[i] = breakdown_fields[i];
	all = g_strjoinv(", ", (char **)names);
	return cmd_usage_error(command, "no field %s (there are: %s)", name, all);
}

/* Columns of perf's that each row has in any case. */
static bool is_always_shown(const char *name)
{
	return !strcmp(name, "overhead") || !strcmp(name, "sample");
}

static int set_fields(const struct command *command, struct report_arguments *a, const char *list)
{
	g_auto(GStrv) names = g_strsplit(list, ",", -1);
	int i;

	a->report.options.fields = 0;
	for (i = 0; names[i]; i++) {
		enum breakdown_field field = breakdown_find_field(names[i]);

		if (is_always_shown(names[i]))
			continue;
		if (field == BREAKDOWN_FIELDS)
			return refuse_field(command, names[i]);
		a->report.options.fields |= 1u << field;
		if (!strcmp(names[i], "tid")) /* perf shows the names beside the numbers, too */
			a->report.options.fields |= 1u << BREAKDOWN_COMM;
	}
	return CMD_OK;
}

/* Is the text before `=` meant as a field? Names of C++ operators contain `=` too. */
static bool is_meant_as_field(const char *name)
{
	return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz")] &&
		strcmp(name, "operator") != 0;
}

/* perf's -i FILE: a file is there with this name, which a function does not have, or it ends as one. */
static bool is_meant_as_input(const char *text)
{
	return g_str_has_suffix(text, ".data") ||
	       (strpbrk(text, "./") && g_file_test(text, G_FILE_TEST_IS_REGULAR));
}

/* FIELD=GLOB, or a GLOB for functions. */
static int add_filter(
	const struct command *command, struct report_arguments *a, const char *text, bool exclude)
{
	struct breakdown_filter filter = {
		.field = BREAKDOWN_FUNCTION,
		.exclude = exclude,
		.glob = text,
	};
	const char *equals = strchr(text, '=');

	if (equals) {
		g_autofree char *name = g_strndup(text, (gsize)(equals - text));
		enum breakdown_field field = breakdown_find_field(name);

		if (field < BREAKDOWN_FIELDS) {
			filter.field = field;
			filter.glob = equals + 1;
		} else if (is_meant_as_field(name)) {
			return refuse_field(command, name);
		}
	}
	if (!equals && !exclude && is_meant_as_input(text))
		return cmd_usage_error(command, "-i selects functions; to read %s: kprof report %s",
			text, text);
	g_array_append_val(a->filters, filter);
	return CMD_OK;
}

/* As a glob that matches this text only, after `before`. */
static char *make_glob(const char *before, const char *text)
{
	GString *glob = g_string_new(before);

	for (; *text; text++) {
		if (strchr("*?[\\", *text))
			g_string_append_c(glob, '\\');
		g_string_append_c(glob, *text);
	}
	return g_string_free(glob, FALSE);
}

static void add_name(struct report_arguments *a, enum breakdown_field field, const char *before,
	const char *name)
{
	const struct breakdown_filter filter = { .field = field, .glob = make_glob(before, name) };

	g_ptr_array_add(a->globs, (gpointer)filter.glob);
	g_array_append_val(a->filters, filter);
}

/* NAME[,NAME...], as perf has it; a file is meant by its whole path or by its last part. */
static void add_names(struct report_arguments *a, enum breakdown_field field, const char *list)
{
	g_auto(GStrv) names = g_strsplit(list, ",", -1);
	int i;

	a->rows = true;
	for (i = 0; names[i]; i++) {
		add_name(a, field, "", names[i]);
		if (field == BREAKDOWN_FILE)
			add_name(a, field, "*/", names[i]);
	}
}

static int set_threshold(
	const struct command *command, struct report_arguments *a, const char *text)
{
	char *end;

	a->report.threshold = a->tree.threshold = g_ascii_strtod(text, &end);
	a->limited = true;
	if (end == text || *end || !(a->report.threshold >= 0 && a->report.threshold <= 100))
		return cmd_usage_error(command, "a threshold is a number from 0 to 100, not %s", text);
	return CMD_OK;
}

static int set_order(const struct command *command, struct report_arguments *a, const char *name)
{
	a->order.field = breakdown_find_field(name);
	if (a->order.field == BREAKDOWN_FIELDS)
		return refuse_field(command, name);
	return CMD_OK;
}

static int take_option(const struct command *command, struct report_arguments *a, int letter)
{
	if (letter < CMD_LONG_ONLY)
		g_string_append_c(a->letters, (char)letter);
	if (part_has(letter))
		return part_take(command, &a->choice.query, letter, optarg);
	a->rows |= letter < CMD_LONG_ONLY && strchr("sbixOredj", letter);
	a->text |= letter >= CMD_LONG_ONLY ? letter != OPTION_HTML && letter != PART_VERSUS :
					     !strchr("md", letter);
	switch (letter) {
	case 'm':
		a->choice.mount = optarg;
		break;
	case OPTION_SELF:
		a->flat.own = a->report.options.own = true;
		break;
	case 't':
	case OPTION_CHILDREN:
		a->flat.total = a->report.options.total = true;
		break;
	case OPTION_NO_CHILDREN:
		a->flat.total = a->report.options.total = false;
		break;
	case 'c':
		a->flat.callers = true;
		break;
	case 's':
	case 'b':
		return set_fields(command, a, optarg);
	case 'i':
	case 'x':
		return add_filter(command, a, optarg, letter == 'x');
	case OPTION_COMMS:
		add_names(a, BREAKDOWN_COMM, optarg);
		break;
	case OPTION_DSOS:
		add_names(a, BREAKDOWN_FILE, optarg);
		break;
	case 'S':
		add_names(a, BREAKDOWN_FUNCTION, optarg);
		break;
	case 'O':
		return set_order(command, a, optarg);
	case 'r':
		a->order.reverse = true;
		break;
	case 'T':
		return set_threshold(command, a, optarg);
	case 'e':
		a->report.options.side_by_side = true;
		break;
	case 'd':
		a->diff = optarg;
		break;
	case PART_VERSUS:
		a->versus = optarg;
		a->rows = true;
		break;
	case 'n':
		a->report.head = false;
		break;
	case 'g':
		a->tree.callers = true;
		break;
	case 'G':
		a->tree.callees = true;
		break;
	case OPTION_ADDRESSES:
		a->addresses = true;
		break;
	case OPTION_HTML:
		a->html = optarg;
		break;
	case OPTION_NO_PAGER:
		a->no_pager = true;
		break;
	case 'j':
		a->json = true;
		break;
	case OPTION_STDIO:
		a->stdio = true;
		break;
	}
	return CMD_OK;
}

/* Refuses options that exclude each other; completes the fields. */
static int check_arguments(const struct command *command, struct report_arguments *a)
{
	struct breakdown_options *o = &a->report.options;

	if (a->html && a->text)
		return cmd_usage_error(command, "--html goes with --diff, --versus and --mount only");
	if ((a->tree.callers || a->tree.callees) && (a->rows || a->flat.callers || a->flat.total ||
		a->flat.own))
		return cmd_usage_error(command,
			"--caller-tree and --callee-tree go with --percent-limit and --addresses only");
	if (!a->tree.callers && !a->tree.callees)
		a->rows |= a->limited || !a->report.head;
	if (a->flat.callers && a->rows)
		return cmd_usage_error(command, "--callers goes with --self and --total only");
	if (a->diff && a->versus)
		return cmd_usage_error(command, "--diff or --versus, not both");
	if (o->side_by_side && (a->diff || a->versus))
		return cmd_usage_error(command, "--events or --diff, not both");
	if (o->side_by_side)
		o->fields &= ~(1u << BREAKDOWN_EVENT);
	else
		o->fields |= 1u << BREAKDOWN_EVENT;
	if (o->side_by_side && !o->fields)
		return cmd_usage_error(command, "--events needs another field");
	if (a->order.field < BREAKDOWN_FIELDS && !(o->fields & 1u << a->order.field))
		return cmd_usage_error(command, "--order takes a field that --sort names");
	o->filters = (const struct breakdown_filter *)(void *)a->filters->data;
	o->filter_count = a->filters->len;
	return CMD_OK;
}

/* Finds the earlier capture, if one is compared. */
static int find_earlier(struct report_arguments *a)
{
	int status = CMD_OK;

	if (a->versus)
		status = part_versus(a->versus, &a->choice, &a->earlier, &a->path);
	else if (a->diff)
		a->earlier = (struct input_choice){ .file = a->diff, .query = a->choice.query };
	a->before = a->earlier.file;
	return status;
}

static bool is_missing(const char *file)
{
	return file && strcmp(file, "-") && !g_file_test(file, G_FILE_TEST_EXISTS);
}

/* After an error that perf's meaning of a letter may have caused. */
static void explain_letters(const struct command *command, const struct report_arguments *a, int status)
{
	size_t i;

	if (status != CMD_USAGE && !is_missing(a->choice.file) && !is_missing(a->before))
		return;
	for (i = 0; i < a->letters->len; i++)
		if (!memchr(a->letters->str, a->letters->str[i], i))
			cmd_explain_letter(command, a->letters->str[i]);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct report_arguments a = {
		.report.head = true,
		.report.options.fields =
			1u << BREAKDOWN_PROCESS | 1u << BREAKDOWN_FUNCTION | 1u << BREAKDOWN_FILE,
		.order.field = BREAKDOWN_FIELDS,
		.tree.threshold = TREE_THRESHOLD,
	};
	int letter = 0, status = CMD_OK;

	a.flat.colours = a.report.colours = cmd_has_colours();
	a.filters = g_array_new(FALSE, FALSE, sizeof(struct breakdown_filter));
	a.globs = g_ptr_array_new_with_free_func(g_free);
	a.letters = g_string_new(NULL);
	while (status == CMD_OK && (letter = cmd_next_option(command, argc, argv, &status)) > 0)
		status = take_option(command, &a, letter);
	if (status == CMD_OK && letter == 0) {
		status = input_choose_several(command, argc, argv, &a.choice);
		if (status == CMD_OK)
			status = check_arguments(command, &a);
		if (status == CMD_OK)
			status = find_earlier(&a);
		if (status == CMD_OK)
			status = a.html ? report_html(&a) : report_captures(&a);
	}
	explain_letters(command, &a, status);
	g_free(a.path);
	g_array_free(a.filters, TRUE);
	g_ptr_array_free(a.globs, TRUE);
	g_string_free(a.letters, TRUE);
	return status;
}

const struct command cmd_report = {
	.name = "report",
	.arguments = "[FILE...]",
	.summary = "Show where samples were taken, hottest first",
	.examples = "kprof report\n"
		    "kprof report --callers\n"
		    "kprof report --sort comm,dso --comms postgres\n"
		    "kprof report -g --percent-limit 2\n"
		    "kprof report --diff before.data after.data\n"
		    "kprof report --by host,function host1.data host2.data\n"
		    "kprof report --html report.html\n",
	.options = options,
	.run = run,
};
