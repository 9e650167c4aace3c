/* SPDX-License-Identifier: MIT */
/* perf's options for rates and stacks: see rate.h. */
#include "cmd/rate.h"

#include <glib.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "prof/events.h"
#include "sys/perf.h"

static int set(const struct command *command, struct rate *rate, const char *modifier, const char *text)
{
	uint64_t value;
	int64_t most;

	if (rate->modifier && !g_str_has_prefix(rate->modifier + 1, modifier))
		return cmd_usage_error(command, "--freq and --count exclude each other");
	if (strcmp(modifier, "freq") == 0 && strcmp(text, "max") == 0) {
		if (perf_sysctl(NULL, PERF_SYSCTL_MAX_RATE, &most))
			return cmd_usage_error(command, "the highest rate is not known here");
		value = (uint64_t)most;
	} else if (units_parse_u64(text, &value)) {
		return cmd_usage_error(command, "no number: %s", text);
	}
	g_free(rate->modifier);
	rate->modifier = g_strdup_printf(":%s=%" PRIu64, modifier, value);
	return CMD_OK;
}

int rate_set_freq(const struct command *command, struct rate *rate, const char *text)
{
	return set(command, rate, "freq", text);
}

int rate_set_count(const struct command *command, struct rate *rate, const char *text)
{
	return set(command, rate, "period", text);
}

/* The event that `default` stands for: default itself takes no rate. */
static const char *default_event(void)
{
	struct perf_features features;

	return perf_probe(&features) == 0 && features.has_cycles ? "cycles" : "cpu-clock";
}

/* An event without its rate, to be freed. */
static char *remove_rate(const char *event)
{
	g_auto(GStrv) words = g_strsplit(event, ":", -1);
	GString *text = g_string_new(NULL);
	char **word;

	for (word = words; *word; word++)
		if (word == words ||
			(!g_str_has_prefix(*word, "freq=") && !g_str_has_prefix(*word, "period=")))
			g_string_append_printf(text, "%s%s", word == words ? "" : ":", *word);
	return g_string_free(text, FALSE);
}

/* given: by the user, whose rates stay */
static void append_event(GString *text, const struct event *event, bool given, const char *rate)
{
	const bool is_default = strcmp(event->text, "default") == 0;
	g_autofree char *bare = given ? g_strdup(event->text) : remove_rate(event->text);

	g_string_append_printf(text, "%s%s%s", text->len ? "," : "", is_default ? default_event() : bare,
		given && event->rate_given ? "" : rate);
}

int rate_apply(struct rate *rate, const char *current, const char **events, struct err *err)
{
	const char *of = *events ? *events : current;

	g_autoptr(GString) text = NULL;
	struct event_list *list;
	unsigned int i;
	int ret;

	if (!rate->modifier)
		return 0;
	text = g_string_new(NULL);
	list = g_new0(struct event_list, 1);
	ret = events_parse(of ? of : "default", NULL, list, err);
	for (i = 0; !ret && i < list->count; i++)
		append_event(text, &list->events[i], *events != NULL, rate->modifier);
	g_free(list);
	if (ret)
		return ret;
	g_free(rate->events);
	*events = rate->events = g_string_free(g_steal_pointer(&text), FALSE);
	return 0;
}

void rate_fini(struct rate *rate)
{
	g_clear_pointer(&rate->modifier, g_free);
	g_clear_pointer(&rate->events, g_free);
}

int rate_set_graph(const struct command *command, const char *graph, const char **stack)
{
	if (strcmp(graph, "fp") == 0)
		*stack = "both";
	else if (strcmp(graph, "dwarf") == 0 || g_str_has_prefix(graph, "dwarf,"))
		*stack = "dwarf";
	else if (strcmp(graph, "none") == 0 || strcmp(graph, "no") == 0)
		*stack = "none";
	else
		return cmd_usage_error(command, "no way to take stacks: %s (fp, dwarf, none)", graph);
	return CMD_OK;
}
