/* SPDX-License-Identifier: MIT */
/*
 * kprof stat: counts events while a command runs, without samples and without a server. Each event
 * has its own counter on the command, which child processes inherit. If there are more events than
 * hardware counters, the kernel multiplexes these, and the counts are scaled by the time that each
 * one ran.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "cmd/launch.h"
#include "formats/json.h"
#include "prof/events.h"
#include "sys/perf.h"
#include "sys/perf_count.h"

#define SOFTWARE_EVENTS "task-clock,context-switches,cpu-migrations,page-faults"
#define HARDWARE_EVENTS "cycles,instructions,branches,branch-misses"

static const struct cmd_option options[] = {
	{'e', "event", "EVENT", "the events to count, separated by commas; repeatable"},
	{'o', "output", "FILE",
		"write the counts to FILE (-: standard output; default: standard error)"},
	{'j', "json", NULL, "print JSON"},
	{0},
};

struct stat_counter {
	int fd;		/* -1 if not counted */
	int error;      /* why not */
	bool user_only; /* the kernel's part is not counted: not permitted */
	struct perf_counted counted;
};

struct stat_run {
	GString *events; /* "" for the default events */
	const char *output;
	bool json;
	char **argv;
	struct launch launch;
	bool no_pmu; /* so there are fewer default events */
	struct event_list list;
	struct stat_counter counters[EVENTS_MAX];
	FILE *out;
};

/* ---- counting -------------------------------------------------------------------------------- */

static int choose_events(struct stat_run *s, struct err *err)
{
	struct perf_features features;

	if (s->events->len)
		return events_parse(s->events->str, NULL, &s->list, err);
	s->no_pmu = perf_probe(&features) == 0 && !features.has_cycles;
	return events_parse(s->no_pmu ? SOFTWARE_EVENTS : SOFTWARE_EVENTS "," HARDWARE_EVENTS, NULL,
		&s->list, err);
}

static void open_counter(
	const struct stat_run *s, const struct event *event, struct stat_counter *counter)
{
	struct perf_event_attr attr = event->attr;

	counter->fd = -1;
	counter->error = perf_count_open(&attr, s->launch.pid, &counter->fd);
	/* without the kernel's part a tracepoint would count nothing */
	if ((counter->error == -EACCES || counter->error == -EPERM) && !attr.exclude_kernel &&
		!attr.exclude_user && attr.type != PERF_TYPE_TRACEPOINT) {
		attr.exclude_kernel = 1;
		counter->error = perf_count_open(&attr, s->launch.pid, &counter->fd);
		counter->user_only = !counter->error;
	}
}

static int open_counters(struct stat_run *s, struct err *err)
{
	unsigned int i, open = 0;
	int ret;

	for (i = 0; i < s->list.count; i++) {
		open_counter(s, &s->list.events[i], &s->counters[i]);
		open += s->counters[i].fd >= 0;
	}
	if (open)
		return 0;
	ret = s->counters[0].error;
	if (ret == -ENOENT || ret == -EOPNOTSUPP)
		return err_set(err, -ret, "this machine can't count %s", s->list.events[0].text);
	return perf_explain(ret, NULL, err);
}

static void read_counters(struct stat_run *s)
{
	unsigned int i;

	for (i = 0; i < s->list.count; i++) {
		struct stat_counter *counter = &s->counters[i];

		if (counter->fd < 0)
			continue;
		counter->error = perf_count_read(counter->fd, &counter->counted);
		close(counter->fd);
		counter->fd = -1;
	}
}

/* ---- text ------------------------------------------------------------------------------------ */

static uint64_t elapsed_ns(const struct stat_run *s)
{
	return s->launch.end_ns - s->launch.begin_ns;
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* The scaled count of the event of this kind; 0 if it was not counted. */
static uint64_t count_of(const struct stat_run *s, uint32_t type, uint64_t config)
{
	unsigned int i;

	for (i = 0; i < s->list.count; i++) {
		const struct perf_event_attr *attr = &s->list.events[i].attr;

		if (attr->type == type && attr->config == config && !s->counters[i].error)
			return perf_count_scale(&s->counters[i].counted);
	}
	return 0;
}

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

static bool is_clock(const struct event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config <= PERF_COUNT_SW_TASK_CLOCK;
}

/* Derived figures. */
static void append_remark(
	GString *line, const struct stat_run *s, const struct event *event, uint64_t count)
{
	const struct perf_event_attr *attr = &event->attr;
	const uint64_t cycles = count_of(s, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	const uint64_t branches = count_of(s, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);

	if (is_clock(event))
		g_string_append_printf(line, "  # %.3f CPUs in use", ratio(count, elapsed_ns(s)));
	else if (attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_INSTRUCTIONS && cycles)
		g_string_append_printf(line, "  # %.2f a cycle", ratio(count, cycles));
	else if (attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_BRANCH_MISSES &&
		branches)
		g_string_append_printf(line, "  # %.2f%% of all branches", 100 * ratio(count, branches));
	else
		g_string_append_printf(line, "  # %.1f a second",
			ratio(count, elapsed_ns(s)) * (double)NSEC_PER_SEC);
}

static const char *reason_of(const struct stat_counter *counter, struct err *err)
{
	switch (counter->error) {
	case -ENOENT:
	case -EOPNOTSUPP:
		return "this machine can't count it";
	default:
		perf_explain(counter->error, NULL, err);
		return err->text;
	}
}

static void print_counter(const struct stat_run *s, unsigned int i)
{
	const struct event *event = &s->list.events[i];
	const struct stat_counter *counter = &s->counters[i];
	const struct perf_counted *c = &counter->counted;
	g_autoptr(GString) line = g_string_new(NULL);
	const uint64_t count = perf_count_scale(c);
	struct err err = { "" };

	if (counter->error || !c->running_ns)
		g_string_append_printf(line, "%18s     ", "not counted");
	else if (is_clock(event))
		g_string_append_printf(line, "%18.3f ms  ", (double)count / NSEC_PER_MSEC);
	else
		g_string_append_printf(line, "%18" PRIu64 "     ", count);
	g_string_append_printf(line, "%-24s", event->text);
	if (counter->error)
		g_string_append_printf(line, "  # %s", reason_of(counter, &err));
	else if (!c->running_ns)
		g_string_append(line, c->enabled_ns ? "  # the kernel never scheduled it"
						    : "  # the command did not run");
	else
		append_remark(line, s, event, count);
	if (counter->user_only)
		g_string_append(line, ", without the kernel");
	if (!counter->error && c->running_ns && c->running_ns < c->enabled_ns)
		g_string_append_printf(line, ", scaled: counted %.1f%% of the time",
			100 * ratio(c->running_ns, c->enabled_ns));
	fprintf(s->out, "%s\n", line->str);
}

static void print_text(const struct stat_run *s)
{
	g_autoptr(GString) command = g_string_new(NULL);
	unsigned int i;

	for (i = 0; s->argv[i]; i++) {
		if (i)
			g_string_append_c(command, ' ');
		text_append(command, s->argv[i]);
	}
	fprintf(s->out, "# %s\n", command->str);
	for (i = 0; i < s->list.count; i++)
		print_counter(s, i);
	if (s->no_pmu)
		fputs("# cycles and the like: this machine has no counters of the processor\n", s->out);
	fprintf(s->out, "%18.6f s   elapsed\n", (double)elapsed_ns(s) / (double)NSEC_PER_SEC);
	fprintf(s->out, "%18.6f s   user\n", seconds_of(&s->launch.usage.ru_utime));
	fprintf(s->out, "%18.6f s   sys\n", seconds_of(&s->launch.usage.ru_stime));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void append_number(GString *out, const char *name, uint64_t value)
{
	json_append_name(out, name);
	g_string_append_printf(out, "%" PRIu64, value);
}

static void append_counter(
	GString *out, const struct event *event, const struct stat_counter *counter)
{
	struct err err = { "" };

	g_string_append_c(out, '{');
	json_append_member(out, "event", event->text);
	if (counter->error) {
		json_append_member(out, "error", reason_of(counter, &err));
	} else {
		append_number(out, "count", perf_count_scale(&counter->counted));
		append_number(out, "counted", counter->counted.value);
		append_number(out, "enabled_ns", counter->counted.enabled_ns);
		append_number(out, "running_ns", counter->counted.running_ns);
		json_append_name(out, "user_only");
		g_string_append(out, counter->user_only ? "true" : "false");
	}
	g_string_append_c(out, '}');
}

static uint64_t ns_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * NSEC_PER_SEC + (uint64_t)time->tv_usec * NSEC_PER_USEC;
}

static void print_json(const struct stat_run *s)
{
	g_autoptr(GString) out = g_string_new("{\"command\":[");
	unsigned int i;

	for (i = 0; s->argv[i]; i++) {
		if (i)
			g_string_append_c(out, ',');
		json_append_string(out, s->argv[i]);
	}
	g_string_append(out, "],\n\"events\":[");
	for (i = 0; i < s->list.count; i++) {
		g_string_append(out, i ? ",\n" : "\n");
		append_counter(out, &s->list.events[i], &s->counters[i]);
	}
	g_string_append(out, "],\n\"elapsed_ns\":");
	g_string_append_printf(out, "%" PRIu64, elapsed_ns(s));
	append_number(out, "user_ns", ns_of(&s->launch.usage.ru_utime));
	append_number(out, "sys_ns", ns_of(&s->launch.usage.ru_stime));
	append_number(out, "status", (uint64_t)s->launch.status);
	fprintf(s->out, "%s}\n", out->str);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int prepare(struct stat_run *s, struct err *err)
{
	int ret = choose_events(s, err);

	if (!ret)
		ret = open_counters(s, err);
	if (ret)
		return ret;
	if (!s->output)
		s->out = stderr;
	else
		s->out = strcmp(s->output, "-") ? fopen(s->output, "we") : stdout;
	return s->out ? 0 : err_set(err, errno, "%s: %s", s->output, strerror(errno));
}

static int print(struct stat_run *s)
{
	int status = s->launch.status;

	if (s->json)
		print_json(s);
	else
		print_text(s);
	if (fflush(s->out) || ferror(s->out)) {
		cmd_error("%s: %s", s->output ? s->output : "standard error", strerror(errno));
		status = status ? status : CMD_NOT_RUN;
	}
	if (s->output)
		fclose(s->out);
	return status;
}

static int count(struct stat_run *s)
{
	int ret = launch_begin(&s->launch, s->argv, NULL), status = CMD_NOT_RUN;
	struct err err = { "" };

	if (!ret)
		ret = prepare(s, &err);
	if (!ret) {
		ret = launch_go(&s->launch, &err);
		if (ret) {
			status = launch_status(ret);
			err_prefix(&err, "%s", s->argv[0]);
		}
	}
	launch_end(&s->launch);
	read_counters(s);
	if (!ret)
		return print(s);
	cmd_error("%s", *err.text ? err.text : strerror(-ret));
	return status;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct stat_run s = {.events = g_string_new(NULL)};
	int letter, status;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		if (letter == 'e')
			g_string_append_printf(s.events, "%s%s", s.events->len ? "," : "", optarg);
		else if (letter == 'o')
			s.output = optarg;
		s.json |= letter == 'j';
	}
	if (!letter) {
		s.argv = argv + optind;
		status = optind == argc ? cmd_usage_error(command, "no command to run") : count(&s);
	}
	g_string_free(s.events, TRUE);
	return status;
}

const struct command cmd_stat = {
	.name = "stat",
	.arguments = "COMMAND [ARGUMENT...]",
	.summary = "Count events while a command runs",
	.examples = "kprof stat -- ls -R /usr\n"
		    "kprof stat -e page-faults,context-switches -- make\n",
	.options = options,
	.run = run,
	.runs = true,
};
