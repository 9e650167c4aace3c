/* SPDX-License-Identifier: MIT */
/* Events: see events.h. The syntaxes of one SPEC are in event_parse.c. */
#include "prof/events.h"

#include <errno.h>
#include <string.h>

#include "kprof/records.h"
#include "prof/event_offcpu.h"
#include "prof/offcpu.h"
#include "prof/event_parse.h"
#include "sys/perf.h"

#define DEFAULT_TEXT "default"

/* the kernel's default of kernel.perf_event_max_sample_rate, used if the sysctl cannot be read */
#define MAX_RATE_UNKNOWN 100000

/* perf_event_open(2) refuses periods with the highest bit. */
#define PERIOD_MAX INT64_MAX

static uint64_t read_max_rate(const struct events_paths *paths)
{
	int64_t rate;

	if (perf_sysctl(paths ? paths->proc : NULL, PERF_SYSCTL_MAX_RATE, &rate) || rate <= 0)
		return MAX_RATE_UNKNOWN;
	return rate;
}

static void set_freq(struct event *event, uint64_t hz)
{
	event->attr.freq = 1;
	event->attr.sample_freq = hz;
	event->flags |= KPROF_EVENT_FREQ;
}

static void init_event(struct event *event, const char *text, size_t length)
{
	memset(event, 0, sizeof(*event));
	memcpy(event->text, text, length);
	event->attr.size = sizeof(event->attr);
}

static void set_default(struct event *event)
{
	event->is_default = true;
	event_parse_default(&event->attr);
	set_freq(event, EVENT_DEFAULT_HZ);
}

void events_init(struct event_list *list)
{
	memset(list, 0, sizeof(*list));
	list->count = 1;
	init_event(&list->events[0], DEFAULT_TEXT, strlen(DEFAULT_TEXT));
	set_default(&list->events[0]);
}

/* Checks the rate of the text, or sets the default one. */
static int settle_rate(struct event *event, uint64_t max_rate, struct err *err)
{
	uint64_t rate = event_rate(event);

	if (!event->rate_given) {
		if (event->attr.type == PERF_TYPE_TRACEPOINT)
			event->attr.sample_period = 1;
		else
			set_freq(event, EVENT_DEFAULT_HZ);
		return 0;
	}
	if (!rate)
		return err_set(err, EINVAL, "'%s': a rate of 0 samples nothing", event->text);
	if (!event->attr.freq) {
		if (rate > PERIOD_MAX)
			return err_set(err, EINVAL, "'%s': the period is above %llu, the limit",
				event->text, (unsigned long long)PERIOD_MAX);
		return 0;
	}
	event->flags |= KPROF_EVENT_FREQ;
	if (rate > max_rate)
		return err_set(err, EINVAL,
			"'%s': the frequency is above kernel.perf_event_max_sample_rate (%llu)",
			event->text, (unsigned long long)max_rate);
	return 0;
}

static int check_text(const char *text, size_t length, struct err *err)
{
	size_t i;

	if (!length)
		return err_set(err, EINVAL, "an event is missing between commas");
	if (length >= EVENT_TEXT_MAX)
		return err_set(err, EINVAL, "an event has %zu bytes; the limit is %d", length,
			EVENT_TEXT_MAX - 1);
	for (i = 0; i < length; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return err_set(err, EINVAL, "an event has a byte that is not printable ASCII");
	return 0;
}

/*
 * Whether samples of the two would be confused: if two software events of one kind sample at the
 * same time, the kernel gives both samples the id of one of them (see sys/perf.h). Each clock has
 * its own timer.
 */
static bool are_confused(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->type == PERF_TYPE_SOFTWARE && b->type == PERF_TYPE_SOFTWARE &&
		a->config == b->config && a->config != PERF_COUNT_SW_CPU_CLOCK &&
		a->config != PERF_COUNT_SW_TASK_CLOCK &&
		((!a->exclude_user && !b->exclude_user) ||
			(!a->exclude_kernel && !b->exclude_kernel));
}

static int parse_event(
	struct event_parse *parser, uint64_t max_rate, struct event *event, struct err *err)
{
	int ret;

	if (!strcmp(event->text, DEFAULT_TEXT)) {
		set_default(event);
		return 0;
	}
	if (!strncmp(event->text, DEFAULT_TEXT ":", strlen(DEFAULT_TEXT ":")))
		return err_set(err, EINVAL, "'%s': default takes no modifiers", event->text);
	ret = event_offcpu_parse(event->text, &event->away, &event->attr, &event->rate_given, err);
	if (ret != -ESRCH) {
		event->flags = event->away.source == EVENT_WALL ? KPROF_EVENT_WALL : KPROF_EVENT_OFFCPU;
		return ret ? ret : settle_rate(event, max_rate, err);
	}
	ret = event_parse_parse(parser, event->text, &event->attr, &event->rate_given, err);
	return ret ? ret : settle_rate(event, max_rate, err);
}

static int add_event(struct event_list *list, struct event_parse *parser, uint64_t max_rate,
	const char *text, size_t length, struct err *err)
{
	struct event *event = &list->events[list->count];
	unsigned int i;
	int ret;

	ret = check_text(text, length, err);
	if (ret)
		return ret;
	if (list->count == EVENTS_MAX)
		return err_set(err, EINVAL, "the list has more than %d events, the limit", EVENTS_MAX);
	init_event(event, text, length);
	for (i = 0; i < list->count; i++)
		if (!strcmp(list->events[i].text, event->text))
			return err_set(err, EINVAL, "'%s' is in the list twice", event->text);
	ret = parse_event(parser, max_rate, event, err);
	if (ret)
		return ret;
	if (event->away.source != EVENT_PERF && events_offcpu(list))
		return err_set(err, EINVAL,
			"'%s' and '%s' would both report when tasks are away from the CPU",
			events_offcpu(list)->text, event->text);
	for (i = 0; i < list->count; i++)
		if (are_confused(&list->events[i].attr, &event->attr))
			return err_set(err, EINVAL,
				"'%s' and '%s' are the same software event: the kernel would mix"
				" their samples up",
				list->events[i].text, event->text);
	list->count++;
	return 0;
}

int events_parse(const char *specs, const struct events_paths *paths, struct event_list *list,
	struct err *err)
{
	struct event_list parsed = { 0 };
	uint64_t max_rate = read_max_rate(paths);
	struct event_parse parser;
	const char *at = specs;
	int ret;

	event_parse_init(&parser, paths ? paths->tracefs : NULL);
	for (;;) {
		size_t length = strcspn(at, ",");

		ret = add_event(&parsed, &parser, max_rate, at, length, err);
		if (ret || !at[length])
			break;
		at += length + 1;
	}
	event_parse_fini(&parser);
	if (!ret && parsed.count == EVENTS_MAX && events_offcpu(&parsed) &&
		events_offcpu(&parsed)->away.source == EVENT_WALL)
		ret = err_set(err, EINVAL, "a list with wall has at most %d events", EVENTS_MAX - 1);
	if (!ret)
		*list = parsed;
	return ret;
}

int events_fit(struct event_list *list, const struct events_paths *paths, struct err *err)
{
	uint64_t max_rate = read_max_rate(paths);
	unsigned int i;
	int ret;

	for (i = 0; i < list->count; i++) {
		struct event *event = &list->events[i];

		if (!event->attr.freq || event->attr.sample_freq <= max_rate)
			continue;
		if (!event->rate_given) {
			event->attr.sample_freq = max_rate;
			continue;
		}
		ret = settle_rate(event, max_rate, err);
		if (ret)
			return ret;
	}
	return 0;
}

const struct event *events_offcpu(const struct event_list *list)
{
	unsigned int i;

	for (i = 0; i < list->count; i++)
		if (list->events[i].away.source != EVENT_PERF)
			return &list->events[i];
	return NULL;
}

int events_try_offcpu(struct err *err)
{
	return offcpu_try(err);
}

void events_expand(struct event_list *list)
{
	unsigned int i;

	for (i = 0; i < list->count && list->count < EVENTS_MAX; i++) {
		if (list->events[i].away.source != EVENT_WALL)
			continue;
		memmove(&list->events[i + 1], &list->events[i],
			(list->count - i) * sizeof(list->events[0]));
		list->count++;
		i++;
		event_offcpu_side(&list->events[i].away, &list->events[i].attr);
		list->events[i].flags = KPROF_EVENT_OFFCPU;
	}
}

void events_print(const struct event_list *list, GString *out)
{
	unsigned int i;

	for (i = 0; i < list->count; i++) {
		if (i)
			g_string_append_c(out, ',');
		g_string_append(out, list->events[i].text);
	}
}

bool event_fallback(struct event *event)
{
	if (!event->is_default || event->flags & KPROF_EVENT_FALLBACK)
		return false;
	event_parse_fallback(&event->attr);
	event->flags |= KPROF_EVENT_FALLBACK;
	return true;
}

uint64_t event_rate(const struct event *event)
{
	return event->attr.sample_period; /* one word with sample_freq */
}

const char *events_generic(size_t i, bool *hardware)
{
	return event_parse_generic_name(i, hardware);
}
