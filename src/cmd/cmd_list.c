/* SPDX-License-Identifier: MIT */
/* kprof list: the events that can be sampled, and which of them this machine has. */
#include "cmd/commands.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmd/eventlist.h"
#include "formats/json.h"

static const struct cmd_option options[] = {
	{'a', "all", NULL,
		"list the events of all PMUs that libpfm4 knows, not only this machine's"},
	{'j', "json", NULL, "print JSON"},
	{0},
};

static const char *const kinds[] = {
	[EVENTLIST_SOFTWARE] = "software",
	[EVENTLIST_HARDWARE] = "hardware",
	[EVENTLIST_PMU] = "pmu",
	[EVENTLIST_TRACEPOINT] = "tracepoint",
	[EVENTLIST_TIME] = "time",
};

/* ---- text ------------------------------------------------------------------------------------ */

static void append_described(GString *line, int width, const char *name, const char *text)
{
	if (!*text) {
		g_string_append(line, name);
		return;
	}
	g_string_append_printf(line, "%-*s  ", width, name);
	text_append(line, text);
}

static void append_event(GString *out, const struct eventlist_event *event)
{
	guint i;

	g_string_append_printf(out, "%c %-10s  ", event->available ? '*' : ' ', kinds[event->kind]);
	append_described(out, 40, event->name, event->text);
	g_string_append_c(out, '\n');
	if (event->kind != EVENTLIST_PMU && event->kind != EVENTLIST_TIME)
		return; /* the modifiers of the others are all the same; kprof-list(1) has them */
	for (i = 0; i < event->masks->len; i++) {
		const struct eventlist_mask *mask =
			&g_array_index(event->masks, struct eventlist_mask, i);
		g_autofree char *name = g_strconcat(":", mask->name,
			mask->is_default ? " (default)" : "", NULL);

		g_string_append_printf(out, "%16s", "");
		append_described(out, 38, name, mask->text);
		g_string_append_c(out, '\n');
	}
	g_string_append_printf(out, "%16smodifiers:", "");
	for (i = 0; i < event->modifiers->len; i++)
		g_string_append_printf(out, " %s", (const char *)event->modifiers->pdata[i]);
	g_string_append_c(out, '\n');
}

static void print_text(const struct eventlist *list)
{
	guint i;

	puts("# * this machine can count it");
	for (i = 0; i < list->events->len; i++) {
		g_autoptr(GString) out = g_string_new(NULL);

		append_event(out, list->events->pdata[i]);
		fputs(out->str, stdout);
	}
	if (*list->pfm.text)
		printf("# no events of processors are shown: %s\n", list->pfm.text);
	if (list->tracepoints)
		printf("# no tracepoints are shown: %s\n", strerror(-list->tracepoints));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void append_bool(GString *out, const char *name, bool value)
{
	json_append_name(out, name);
	g_string_append(out, value ? "true" : "false");
}

static void append_json(GString *out, const struct eventlist_event *event)
{
	guint i;

	g_string_append_c(out, '{');
	json_append_member(out, "name", event->name);
	json_append_member(out, "kind", kinds[event->kind]);
	append_bool(out, "available", event->available);
	if (*event->pmu)
		json_append_member(out, "pmu", event->pmu);
	json_append_member(out, "description", event->text);
	json_append_name(out, "umasks");
	g_string_append_c(out, '[');
	for (i = 0; i < event->masks->len; i++) {
		const struct eventlist_mask *mask =
			&g_array_index(event->masks, struct eventlist_mask, i);

		g_string_append(out, i ? ",{" : "{");
		json_append_member(out, "name", mask->name);
		json_append_member(out, "description", mask->text);
		append_bool(out, "default", mask->is_default);
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
	json_append_name(out, "modifiers");
	g_string_append_c(out, '[');
	for (i = 0; i < event->modifiers->len; i++) {
		if (i)
			g_string_append_c(out, ',');
		json_append_string(out, event->modifiers->pdata[i]);
	}
	g_string_append(out, "]}");
}

static void print_json(const struct eventlist *list)
{
	guint i;

	fputs("{\"events\":[", stdout);
	for (i = 0; i < list->events->len; i++) {
		g_autoptr(GString) out = g_string_new(i ? ",\n" : "\n");

		append_json(out, list->events->pdata[i]);
		fputs(out->str, stdout);
	}
	puts("]}");
}

/* ---- the command ----------------------------------------------------------------------------- */

static int list_events(const regex_t *pattern, bool all, bool json)
{
	struct eventlist *list = eventlist_create(pattern, all);
	int status = CMD_OK;

	if (json) {
		print_json(list);
	} else if (list->events->len) {
		print_text(list);
	} else {
		cmd_error("no event matches%s",
			all ? "" : "; --all lists those of other machines too");
		status = CMD_FAILED;
	}
	eventlist_destroy(list);
	return cmd_finish_output(status);
}

static int run(const struct command *command, int argc, char **argv)
{
	bool all = false, json = false;
	int letter, status, ret;
	regex_t pattern;
	char why[128];

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		all |= letter == 'a';
		json |= letter == 'j';
	}
	if (letter < 0)
		return status;
	if (optind + 1 < argc)
		return cmd_usage_error(command, "give at most one REGEX");
	if (optind == argc)
		return list_events(NULL, all, json);
	ret = regcomp(&pattern, argv[optind], REG_EXTENDED | REG_ICASE | REG_NOSUB);
	if (ret) {
		regerror(ret, &pattern, why, sizeof(why));
		return cmd_usage_error(command, "%s: %s", argv[optind], why);
	}
	status = list_events(&pattern, all, json);
	regfree(&pattern);
	return status;
}

const struct command cmd_list = {
	.name = "list",
	.arguments = "[REGEX]",
	.summary = "List the events that can be sampled and counted",
	.examples = "kprof list fault\n"
		    "kprof list --all \"^cycles\"\n",
	.options = options,
	.run = run,
};
