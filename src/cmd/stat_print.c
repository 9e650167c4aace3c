/* SPDX-License-Identifier: MIT */
/* The output of kprof stat: see stat_print.h. */
#include "cmd/stat_print.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>

#include "base/text.h"
#include "base/units.h"
#include "formats/json.h"

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

static bool is_clock(const struct event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config <= PERF_COUNT_SW_TASK_CLOCK;
}

static const struct event *event_of(const struct stat_result *r, unsigned int i)
{
	return &r->counters->list.events[i];
}

/* ---- text ------------------------------------------------------------------------------------ */

/* The count of the event of this kind; 0 if it was not counted. */
static uint64_t count_of(const struct stat_result *r, uint32_t type, uint64_t config)
{
	unsigned int i;

	for (i = 0; i < r->counters->list.count; i++) {
		const struct perf_event_attr *attr = &event_of(r, i)->attr;

		if (attr->type == type && attr->config == config && !r->counters->all[i].error)
			return r->values[i].count;
	}
	return 0;
}

/* Derived figures. */
static void append_remark(GString *line, const struct stat_result *r, unsigned int i)
{
	const struct perf_event_attr *attr = &event_of(r, i)->attr;
	const uint64_t cycles = count_of(r, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	const uint64_t branches = count_of(r, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	const uint64_t count = r->values[i].count;

	if (is_clock(event_of(r, i)))
		g_string_append_printf(line, "  # %.3f CPUs in use", ratio(count, r->elapsed_ns));
	else if (attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_INSTRUCTIONS && cycles)
		g_string_append_printf(line, "  # %.2f a cycle", ratio(count, cycles));
	else if (attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_BRANCH_MISSES &&
		branches)
		g_string_append_printf(line, "  # %.2f%% of all branches", 100 * ratio(count, branches));
	else
		g_string_append_printf(line, "  # %.1f a second",
			ratio(count, r->elapsed_ns) * (double)NSEC_PER_SEC);
}

static void append_count(GString *line, const struct stat_result *r, unsigned int i)
{
	const struct counter *counter = &r->counters->all[i];
	const uint64_t count = r->values[i].count;

	if (counters_is_unsupported(counter))
		g_string_append_printf(line, "%18s     ", "<not supported>");
	else if (counter->error || !r->values[i].counted.running_ns)
		g_string_append_printf(line, "%18s     ", "<not counted>");
	else if (is_clock(event_of(r, i)))
		g_string_append_printf(line, "%18.3f ms  ", (double)count / NSEC_PER_MSEC);
	else
		g_string_append_printf(line, "%18" PRIu64 "     ", count);
	g_string_append_printf(line, "%-24s", event_of(r, i)->text);
}

static void append_deviation(GString *line, double deviation)
{
	if (deviation >= 0)
		g_string_append_printf(line, "  +- %.2f%%", deviation);
}

/* Whether the count is the mean of some of the runs only. */
static bool is_of_fewer_runs(const struct stat_result *r, unsigned int i)
{
	return r->values[i].runs && r->values[i].runs < r->runs;
}

static void print_counter(const struct stat_result *r, unsigned int i, FILE *out)
{
	const struct counter *counter = &r->counters->all[i];
	const struct perf_counted *c = &r->values[i].counted;
	g_autoptr(GString) line = g_string_new(NULL);
	struct err err = { "" };

	append_count(line, r, i);
	if (counter->error)
		g_string_append_printf(line, "  # %s", counters_reason(counter, &err));
	else if (!c->running_ns)
		g_string_append(line, c->enabled_ns ? "  # the kernel never scheduled it"
						    : "  # it did not run");
	else
		append_remark(line, r, i);
	if (counter->user_only)
		g_string_append(line, ", without the kernel");
	if (!counter->error && c->running_ns && c->running_ns < c->enabled_ns)
		g_string_append_printf(line, ", scaled: counted %.1f%% of the time",
			100 * ratio(c->running_ns, c->enabled_ns));
	if (!counter->error)
		append_deviation(line, r->values[i].deviation);
	if (is_of_fewer_runs(r, i))
		g_string_append_printf(
			line, ", counted in %u of %u runs", r->values[i].runs, r->runs);
	fprintf(out, "%s\n", line->str);
}

static void append_heading(GString *line, const struct stat_result *r)
{
	unsigned int i;

	for (i = 0; r->argv && r->argv[i]; i++) {
		if (i)
			g_string_append_c(line, ' ');
		text_append(line, r->argv[i]);
	}
	if (r->what)
		g_string_append_printf(line, "%s%s", r->argv ? " on " : "", r->what);
	if (r->runs > 1)
		g_string_append_printf(line, ", the means of %u runs", r->runs);
}

void stat_print_text(const struct stat_result *r, FILE *out)
{
	g_autoptr(GString) line = g_string_new("# ");
	unsigned int i;

	append_heading(line, r);
	fprintf(out, "%s\n", line->str);
	for (i = 0; i < r->counters->list.count; i++)
		print_counter(r, i, out);
	if (r->no_pmu)
		fputs("# cycles and the like: this machine has no counters of the processor\n", out);
	g_string_printf(line, "%18.6f s   elapsed", (double)r->elapsed_ns / (double)NSEC_PER_SEC);
	append_deviation(line, r->elapsed_deviation);
	fprintf(out, "%s\n", line->str);
	if (!r->argv)
		return;
	fprintf(out, "%18.6f s   user\n", (double)r->user_ns / (double)NSEC_PER_SEC);
	fprintf(out, "%18.6f s   sys\n", (double)r->sys_ns / (double)NSEC_PER_SEC);
}

/* ---- separated values ------------------------------------------------------------------------ */

/* perf's unit of a rate: a second, or a thousandth of it and so on. */
static double scale_rate(double rate, const char **unit)
{
	static const char *const units[] = {"/sec", "K/sec", "M/sec", "G/sec"};
	size_t i = 0;

	for (; rate > 1000 && i + 1 < G_N_ELEMENTS(units); i++)
		rate /= 1000;
	*unit = units[i];
	return rate;
}

/* The derived figure and its unit, in the words of perf stat -x; without one both are empty. */
static void print_metric(const struct stat_result *r, unsigned int i, const char *separator, FILE *out)
{
	const struct perf_event_attr *attr = &event_of(r, i)->attr;
	const uint64_t clock_ns = count_of(r, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK),
		       cycles = count_of(r, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES),
		       branches = count_of(r, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
		       count = r->values[i].count,
		       hardware = attr->type == PERF_TYPE_HARDWARE ? attr->config : UINT64_MAX;
	const char *unit = "";
	double value = 0;

	if (r->counters->all[i].error || !r->values[i].counted.running_ns)
		unit = "";
	else if (is_clock(event_of(r, i)))
		value = ratio(count, r->elapsed_ns), unit = "CPUs utilized";
	else if (hardware == PERF_COUNT_HW_INSTRUCTIONS && cycles)
		value = ratio(count, cycles), unit = "insn per cycle";
	else if (hardware == PERF_COUNT_HW_BRANCH_MISSES && branches)
		value = 100 * ratio(count, branches), unit = "of all branches";
	else if (hardware == PERF_COUNT_HW_CPU_CYCLES && clock_ns)
		value = ratio(count, clock_ns), unit = "GHz";
	else if (clock_ns)
		value = scale_rate(ratio(count, clock_ns) * (double)NSEC_PER_SEC, &unit);
	if (*unit)
		fprintf(out, "%s%.3f%s%s", separator, value, separator, unit);
	else
		fprintf(out, "%s%s", separator, separator);
}

static void print_values(const struct stat_result *r, unsigned int i, const char *separator, FILE *out)
{
	const struct counter *counter = &r->counters->all[i];
	const struct perf_counted *c = &r->values[i].counted;
	const bool clock = is_clock(event_of(r, i));

	if (counters_is_unsupported(counter))
		fputs("<not supported>", out);
	else if (counter->error || !c->running_ns)
		fputs("<not counted>", out);
	else if (clock)
		fprintf(out, "%.2f", (double)r->values[i].count / NSEC_PER_MSEC);
	else
		fprintf(out, "%" PRIu64, r->values[i].count);
	fprintf(out, "%s%s%s%s", separator, clock ? "msec" : "", separator, event_of(r, i)->text);
	if (r->runs > 1)
		fprintf(out, "%s%.2f%%", separator, MAX(r->values[i].deviation, 0));
	fprintf(out, "%s%" PRIu64 "%s%.2f", separator, c->running_ns / MAX(r->values[i].runs, 1),
		separator, c->enabled_ns ? 100 * ratio(c->running_ns, c->enabled_ns) : 0);
	print_metric(r, i, separator, out);
	fputc('\n', out);
}

void stat_print_separated(const struct stat_result *r, const char *separator, FILE *out)
{
	unsigned int i;

	for (i = 0; i < r->counters->list.count; i++)
		print_values(r, i, separator, out);
}

void stat_print_interval(
	const struct stat_result *r, uint64_t time_ns, const char *separator, FILE *out)
{
	const double seconds = (double)time_ns / (double)NSEC_PER_SEC;
	g_autoptr(GString) line = g_string_new(NULL);
	unsigned int i;

	for (i = 0; i < r->counters->list.count; i++) {
		if (separator) {
			fprintf(out, "%.9f%s", seconds, separator);
			print_values(r, i, separator, out);
			continue;
		}
		g_string_printf(line, "%12.6f s  ", seconds);
		append_count(line, r, i);
		fprintf(out, "%s\n", line->str);
	}
	fflush(out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void append_number(GString *out, const char *name, uint64_t value)
{
	json_append_name(out, name);
	g_string_append_printf(out, "%" PRIu64, value);
}

static void append_percent(GString *out, const char *name, double value)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	if (value < 0)
		return;
	json_append_name(out, name);
	g_string_append(out, g_ascii_formatd(text, sizeof(text), "%.4f", value));
}

static void append_counter(GString *out, const struct stat_result *r, unsigned int i)
{
	const struct counter *counter = &r->counters->all[i];
	const struct stat_value *value = &r->values[i];
	struct err err = { "" };

	g_string_append_c(out, '{');
	json_append_member(out, "event", event_of(r, i)->text);
	if (counter->error) {
		json_append_member(out, "error", counters_reason(counter, &err));
	} else {
		append_number(out, "count", value->count);
		append_number(out, "counted", value->counted.value);
		append_number(out, "enabled_ns", value->counted.enabled_ns);
		append_number(out, "running_ns", value->counted.running_ns);
		append_percent(out, "deviation", value->deviation);
		if (is_of_fewer_runs(r, i))
			append_number(out, "runs", value->runs);
		json_append_name(out, "user_only");
		g_string_append(out, counter->user_only ? "true" : "false");
	}
	g_string_append_c(out, '}');
}

void stat_print_json(const struct stat_result *r, FILE *file)
{
	g_autoptr(GString) out = g_string_new("{\"command\":[");
	unsigned int i;

	for (i = 0; r->argv && r->argv[i]; i++) {
		if (i)
			g_string_append_c(out, ',');
		json_append_string(out, r->argv[i]);
	}
	g_string_append(out, "]");
	if (r->what)
		json_append_member(out, "target", r->what);
	g_string_append(out, ",\n\"events\":[");
	for (i = 0; i < r->counters->list.count; i++) {
		g_string_append(out, i ? ",\n" : "\n");
		append_counter(out, r, i);
	}
	g_string_append(out, "],\n\"elapsed_ns\":");
	g_string_append_printf(out, "%" PRIu64, r->elapsed_ns);
	append_percent(out, "elapsed_deviation", r->elapsed_deviation);
	append_number(out, "runs", r->runs);
	append_number(out, "user_ns", r->user_ns);
	append_number(out, "sys_ns", r->sys_ns);
	append_number(out, "status", (uint64_t)r->status);
	fprintf(file, "%s}\n", out->str);
}
