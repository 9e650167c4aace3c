/* SPDX-License-Identifier: MIT */
/*
 * kprof stat: counts events, without samples and without a server: while a command runs, in it and its
 * descendants; or in other processes, or on CPUs, while a command runs or until a signal. If there are
 * more events than hardware counters, the kernel multiplexes these, and the counts are scaled by the
 * time that each one ran.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <getopt.h>
#include <glib.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cmd/counters.h"
#include "cmd/launch.h"
#include "cmd/record_target.h"
#include "cmd/stat_print.h"
#include "cmd/stat_sum.h"
#include "sys/clock.h"
#include "sys/cpu.h"
#include "sys/perf.h"

#define SOFTWARE_EVENTS "task-clock,context-switches,cpu-migrations,page-faults"
#define HARDWARE_EVENTS "cycles,instructions,branches,branch-misses"
#define LOOK_MS 250 /* how often it is checked whether the processes of --pid live */
#define RUNS_MAX 100000
#define INTERVAL_MAX_MS (24 * 3600 * 1000)

static const struct cmd_option options[] = {
	{'e', "event", "EVENT", "the events to count, separated by commas; repeatable"},
	{'a', "all-cpus", NULL, "count on all CPUs, whatever runs there"},
	{'C', "cpu", "CPUS", "count on these CPUs, for example 0-3,8"},
	{'p', "pid", "PID", "count in these processes: PID[,PID...]"},
	{'t', "tid", "TID", "count in these threads: TID[,TID...]"},
	{'r', "repeat", "N", "run the command N times; print means and deviations"},
	{'I', "interval-print", "MS", "print the counts of each interval of MS milliseconds"},
	{'x', "field-separator", "SEP", "print values separated by SEP, as perf stat -x"},
	{'o', "output", "FILE",
		"write the counts to FILE (-: standard output; default: standard error)"},
	{'j', "json", NULL, "print JSON"},
	{0},
};

struct stat_run {
	GString *events; /* "" for the default events */
	const char *output;
	const char *separator; /* NULL for text or JSON */
	bool json;
	uint64_t repeats, interval_ms; /* 0 if not given */
	struct record_target target;
	GArray *cpus; /* uint32_t */
	char *what;   /* the target as text; NULL for the command */
	char **argv;

	struct launch launch;
	bool no_pmu; /* so there are fewer default events */
	struct counters counters;
	struct perf_counted last[EVENTS_MAX]; /* at the end of the last interval */
	struct stat_value values[EVENTS_MAX];
	struct stat_sum sums[EVENTS_MAX], elapsed;
	uint64_t user_ns, sys_ns; /* sums */
	unsigned int runs;
	FILE *out;
};

/* ---- counting -------------------------------------------------------------------------------- */

static int choose_events(struct stat_run *s, struct err *err)
{
	struct perf_features features;
	int ret;

	if (s->events->len) {
		ret = events_parse(s->events->str, NULL, &s->counters.list, err);
		if (!ret && events_offcpu(&s->counters.list))
			ret = err_set(err, EINVAL, "'%s' can only be sampled: use kprof record",
				events_offcpu(&s->counters.list)->text);
		return ret;
	}
	s->no_pmu = perf_probe(&features) == 0 && !features.has_cycles;
	return events_parse(s->no_pmu ? SOFTWARE_EVENTS : SOFTWARE_EVENTS "," HARDWARE_EVENTS, NULL,
		&s->counters.list, err);
}

static int open_counters(struct stat_run *s, struct err *err)
{
	const struct counters_target target = {
		.command = s->what ? 0 : s->launch.pid,
		.processes = s->target.processes,
		.threads = s->target.threads,
		.cpus = s->cpus,
	};

	memset(s->last, 0, sizeof(s->last));
	return counters_open(&s->counters, &target, err);
}

static struct stat_result result_of(const struct stat_run *s)
{
	return (struct stat_result){
		.counters = &s->counters,
		.values = s->values,
		.argv = s->argv,
		.what = s->what,
		.runs = s->runs,
		.elapsed_deviation = -1,
		.no_pmu = s->no_pmu,
		.status = s->launch.status,
	};
}

static void print_interval(struct stat_run *s)
{
	const struct stat_result result = result_of(s);
	unsigned int i;

	counters_read(&s->counters);
	for (i = 0; i < s->counters.list.count; i++) {
		const struct perf_counted now = s->counters.all[i].counted;
		struct stat_value *value = &s->values[i];

		value->counted = (struct perf_counted){now.value - s->last[i].value,
			now.enabled_ns - s->last[i].enabled_ns,
			now.running_ns - s->last[i].running_ns};
		value->count = perf_count_scale(&value->counted);
		s->last[i] = now;
	}
	stat_print_interval(
		&result, clock_monotonic_ns() - s->launch.begin_ns, s->separator, s->out);
}

/* Until the next interval ends (next_ns is 0 if there are none), or the processes are looked at. */
static int wait_ms(const struct stat_run *s, uint64_t next_ns)
{
	const uint64_t now = clock_monotonic_ns();
	const int look = !s->argv && record_target_is_set(&s->target) ? LOOK_MS : -1;
	int left;

	if (!next_ns)
		return look;
	left = next_ns > now ? (int)((next_ns - now) / NSEC_PER_MSEC) + 1 : 0;
	return look >= 0 && look < left ? look : left;
}

/* Until the command has ended, or a signal, or the end of the processes. */
static void watch(struct stat_run *s)
{
	struct pollfd fd = {.fd = s->launch.signal_fd, .events = POLLIN};
	uint64_t next_ns =
		s->interval_ms ? s->launch.begin_ns + s->interval_ms * NSEC_PER_MSEC : 0;

	launch_signals(&s->launch);
	while (!s->launch.ended) {
		poll(&fd, 1, wait_ms(s, next_ns));
		launch_signals(&s->launch);
		if (next_ns && !s->launch.ended && clock_monotonic_ns() >= next_ns) {
			print_interval(s);
			next_ns += s->interval_ms * NSEC_PER_MSEC;
		}
		if (!s->argv && !record_target_lives(&s->target))
			break;
	}
	if (!s->launch.end_ns)
		s->launch.end_ns = clock_monotonic_ns();
	if (s->interval_ms)
		print_interval(s);
}

/* ---- several runs ---------------------------------------------------------------------------- */

static uint64_t ns_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * NSEC_PER_SEC + (uint64_t)time->tv_usec * NSEC_PER_USEC;
}

static void add_run(struct stat_run *s)
{
	unsigned int i;

	counters_read(&s->counters);
	for (i = 0; i < s->counters.list.count; i++) {
		const struct perf_counted *counted = &s->counters.all[i].counted;

		if (!s->runs)
			memset(&s->values[i].counted, 0, sizeof(s->values[i].counted));
		s->values[i].counted.value += counted->value;
		s->values[i].counted.enabled_ns += counted->enabled_ns;
		s->values[i].counted.running_ns += counted->running_ns;
		stat_sum_add_count(&s->sums[i], s->counters.all[i].error, counted);
	}
	stat_sum_add(&s->elapsed, (double)(s->launch.end_ns - s->launch.begin_ns));
	s->user_ns += ns_of(&s->launch.usage.ru_utime);
	s->sys_ns += ns_of(&s->launch.usage.ru_stime);
	s->runs++;
}

/* One run exactly; of several the means of those in which the event was counted. */
static void set_values(struct stat_run *s)
{
	unsigned int i;

	for (i = 0; i < s->counters.list.count; i++) {
		struct stat_value *value = &s->values[i];

		value->runs = s->sums[i].runs;
		if (value->runs)
			s->counters.all[i].error = 0; /* it failed in the last run only */
		value->deviation = stat_sum_deviation(&s->sums[i]);
		if (s->runs < 2)
			value->count = perf_count_scale(&value->counted);
		else
			value->count = (uint64_t)(stat_sum_mean(&s->sums[i]) + 0.5);
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int open_output(struct stat_run *s, struct err *err)
{
	if (s->out)
		return 0;
	if (!s->output)
		s->out = stderr;
	else
		s->out = strcmp(s->output, "-") ? fopen(s->output, "we") : stdout;
	return s->out ? 0 : err_set(err, errno, "%s: %s", s->output, strerror(errno));
}

static int print(struct stat_run *s)
{
	struct stat_result result = result_of(s);
	int status = s->launch.status;

	set_values(s);
	result.elapsed_ns = (uint64_t)stat_sum_mean(&s->elapsed);
	result.elapsed_deviation = stat_sum_deviation(&s->elapsed);
	result.user_ns = s->user_ns / s->runs;
	result.sys_ns = s->sys_ns / s->runs;
	if (s->json)
		stat_print_json(&result, s->out);
	else if (s->separator && !s->interval_ms)
		stat_print_separated(&result, s->separator, s->out);
	else if (!s->interval_ms)
		stat_print_text(&result, s->out);
	if (fflush(s->out) || ferror(s->out)) {
		cmd_error("%s: %s", s->output ? s->output : "standard error", strerror(errno));
		status = status ? status : CMD_NOT_RUN;
	}
	if (s->output)
		fclose(s->out);
	return status;
}

/* Counts while the command runs once. *status is set if it fails. */
static int run_once(struct stat_run *s, int *status, struct err *err)
{
	int ret = launch_begin(&s->launch, s->argv, err);

	if (!ret)
		ret = open_counters(s, err);
	if (!ret)
		ret = open_output(s, err);
	if (!ret) {
		ret = launch_go(&s->launch, err);
		if (ret) {
			*status = launch_status(ret);
			err_prefix(err, "%s", s->argv[0]);
		}
	}
	if (!ret)
		watch(s);
	launch_end(&s->launch);
	if (!ret)
		add_run(s);
	counters_close(&s->counters);
	return ret;
}

static int count(struct stat_run *s)
{
	struct err err = { "" };
	int status = CMD_NOT_RUN, ret = choose_events(s, &err);

	do
		ret = ret ? ret : run_once(s, &status, &err);
	while (!ret && s->runs < s->repeats && s->launch.status < 128);
	if (!ret)
		return print(s);
	cmd_error("%s", *err.text ? err.text : strerror(-ret));
	return status;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static int add_cpus(struct stat_run *s, const char *list, struct err *err)
{
	g_autofree unsigned char *bitmap = g_malloc0(CPU_BITMAP_BYTES);
	int ret = list ? units_parse_cpulist(list, bitmap, CPU_NUMBERS)
		       : cpu_read_list(CPU_ONLINE_PATH, bitmap);
	uint32_t cpu;

	if (ret)
		return err_set(err, -ret, list ? "no list of CPUs: %s" : "the CPUs are not known", list);
	g_array_set_size(s->cpus, 0);
	for (cpu = 0; cpu < CPU_NUMBERS; cpu++)
		if (cpu_in_bitmap(bitmap, cpu))
			g_array_append_val(s->cpus, cpu);
	return 0;
}

/* The last list of CPUs replaces the one before; processes and threads are added. */
static int set_target(struct stat_run *s, int letter, struct err *err)
{
	g_autofree char *before = s->what;

	if (letter == 'a' || letter == 'C') {
		s->what = letter == 'a' ? g_strdup("all CPUs") : g_strdup_printf("CPU %s", optarg);
		return add_cpus(s, letter == 'C' ? optarg : NULL, err);
	}
	s->what = g_strdup_printf("%s%s%s %s", before ? before : "", before ? ", " : "",
		letter == 'p' ? "process" : "thread", optarg);
	return record_target_add_list(&s->target, optarg, letter == 't', err);
}

static int set_number(const struct command *command, uint64_t most, uint64_t *number)
{
	if (units_parse_u64(optarg, number) || !*number || *number > most)
		return cmd_usage_error(command, "no number from 1 to %llu: %s",
			(unsigned long long)most, optarg);
	return CMD_OK;
}

static int take_option(const struct command *command, struct stat_run *s, int letter)
{
	struct err err;

	switch (letter) {
	case 'e':
		g_string_append_printf(s->events, "%s%s", s->events->len ? "," : "", optarg);
		break;
	case 'a':
	case 'C':
	case 'p':
	case 't':
		if (set_target(s, letter, &err))
			return cmd_usage_error(command, "%s", err.text);
		break;
	case 'r':
		return set_number(command, RUNS_MAX, &s->repeats);
	case 'I':
		return set_number(command, INTERVAL_MAX_MS, &s->interval_ms);
	case 'x':
		s->separator = optarg;
		break;
	case 'o':
		s->output = optarg;
		break;
	case 'j':
		s->json = true;
		break;
	}
	return CMD_OK;
}

static int check_arguments(const struct command *command, const struct stat_run *s)
{
	if (!s->argv && !s->what)
		return cmd_usage_error(command, "no command to run, and no --all-cpus, --cpu, --pid or"
			" --tid, which count without one until Ctrl-C");
	if (s->cpus->len && record_target_is_set(&s->target))
		return cmd_usage_error(command, "give CPUs, or processes and threads, not both");
	if (s->repeats && (!s->argv || s->interval_ms))
		return cmd_usage_error(
			command, "--repeat needs a command, and goes without --interval-print");
	if (s->json && (s->separator || s->interval_ms))
		return cmd_usage_error(
			command, "--json goes without --field-separator and --interval-print");
	return CMD_OK;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct stat_run s = {.events = g_string_new(NULL)};
	int letter, status = CMD_OK;

	record_target_init(&s.target);
	s.cpus = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	while (status == CMD_OK && (letter = cmd_next_option(command, argc, argv, &status)) > 0)
		status = take_option(command, &s, letter);
	if (status == CMD_OK && !letter) {
		s.argv = optind < argc ? argv + optind : NULL;
		status = check_arguments(command, &s);
		if (status == CMD_OK)
			status = count(&s);
	}
	record_target_fini(&s.target);
	g_array_free(s.cpus, TRUE);
	g_string_free(s.events, TRUE);
	g_free(s.what);
	return status;
}

const struct command cmd_stat = {
	.name = "stat",
	.arguments = "[COMMAND [ARGUMENT...]]",
	.summary = "Count events while a command runs, in processes, or on CPUs",
	.examples = "kprof stat -- ls -R /usr\n"
		    "kprof stat -r 10 -e page-faults,context-switches -- make\n"
		    "kprof stat -a -I 1000                until Ctrl-C\n"
		    "kprof stat -p 1234 -x , -- sleep 10\n",
	.options = options,
	.run = run,
	.runs = true,
};
