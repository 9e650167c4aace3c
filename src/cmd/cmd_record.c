/* SPDX-License-Identifier: MIT */
/*
 * kprof record: samples while a command runs, and keeps the samples of the command and its
 * descendants as a capture for the other subcommands. With options that select processes, threads,
 * a user or CPUs it keeps the samples of these, while the command runs or until a signal.
 *
 * The whole machine is sampled, by the mounted server or a private one (sampling.h). kpdata is
 * copied to a file while the command runs (kpdata_copy.h). When the command has exited, and all
 * forks are known, the selected records are copied to the output (record_output.h).
 */
#include "cmd/commands.h"

#include <errno.h>
#include <getopt.h>
#include <glib.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "capture/process_filter.h"
#include "cmd/input_source.h"
#include "cmd/kpdata_copy.h"
#include "cmd/launch.h"
#include "cmd/rate.h"
#include "cmd/record_output.h"
#include "cmd/record_target.h"
#include "cmd/sampling.h"
#include "sys/clock.h"

#define MS_MAX (24 * 3600 * 1000.0) /* --delay, --duration */
#define LOOK_MS 250 /* how often it is checked whether the processes of --pid and --user live */

enum {
	OPTION_STACK = CMD_LONG_ONLY,
	OPTION_CALL_GRAPH,
	OPTION_DURATION,
	OPTION_ONLY,
	OPTION_SWITCH,
};

static const struct cmd_option options[] = {
	{'e', "event", "EVENT", "the events to sample, as for kpctl's `event`"},
	{'F', "freq", "HZ", "samples a second of each event: a number, or max"},
	{'c', "count", "PERIOD", "one sample each time that many events occurred"},
	{'g', "callgraph", NULL, "take stacks by frame pointers, as --call-graph fp"},
	{OPTION_CALL_GRAPH, "call-graph", "GRAPH", "take stacks: fp, dwarf or none"},
	{OPTION_STACK, "stack", "MODE", "the stacks to take, as for kpctl's `stack`"},
	{'a', "all-cpus", NULL, "keep the samples of the whole machine"},
	{'C', "cpu", "CPUS", "sample these CPUs only, for example 0-3,8"},
	{'p', "pid", "PID", "keep the samples of these processes: PID[,PID...]"},
	{'t', "tid", "TID", "keep the samples of these threads: TID[,TID...]"},
	{'u', "uid", "USER", "keep the samples of this user's processes"},
	{OPTION_ONLY, "only", "EXPR", "sample only tasks for which this holds, as kpctl's `only`"},
	{'D', "delay", "MS", "leave out the samples of the first MS milliseconds"},
	{OPTION_DURATION, "duration", "SECONDS", "stop sampling after this time"},
	{'o', "output", "FILE",
		"write to FILE (-: standard output) instead of " INPUT_SOURCE_FILE},
	{OPTION_SWITCH, "switch-output", NULL,
		"write FILE.1, FILE.2, ...: begin another one at each SIGUSR2"},
	{'m', "mount", "DIR", "use the server mounted at DIR"},
	{'P', "private", NULL, "use a private server, even if one is mounted"},
	{'q', "quiet", NULL, "don't print how much was sampled"},
	{0},
};

struct record_run {
	struct sampling_settings settings; /* NULL keeps the current one */
	struct rate rate;
	struct sampling_choice choice;
	bool all;
	double delay_ms, duration_ms; /* 0 if there is none */
	struct record_target target;
	char **argv; /* NULL to record until a signal */

	struct launch launch;
	struct sampling sampling;
	struct kpdata_copy copy;
	uint64_t begin; /* in the copied kpdata: after the records that are not for the next output */
	unsigned int switches; /* that were carried out */
	struct record_output output;
};

/* ---- before the command runs ----------------------------------------------------------------- */

/* Copies the rest of kpdata, of a profiler that is stopped or was stopped just now. */
static int take_held(struct record_run *r, struct err *err)
{
	uint64_t before;
	int ret;

	do {
		before = r->copy.size;
		ret = kpdata_copy_read(&r->copy, err);
	} while (!ret && !r->copy.ended && r->copy.size > before);
	return ret;
}

/* Skips the records of an earlier run: this run's records follow them. */
static int skip_earlier(struct record_run *r, struct err *err)
{
	int ret = take_held(r, err);

	r->begin = r->copy.size;
	return ret;
}

static int prepare(struct record_run *r, struct err *err)
{
	g_autofree char *folder = g_path_get_dirname(r->output.path);
	int ret = sampling_open(&r->sampling, &r->choice, &r->launch.before, err);

	if (!ret)
		ret = rate_apply(&r->rate, r->sampling.kpctl.event, &r->settings.event, err);
	if (!ret)
		ret = kpdata_copy_open(&r->copy, r->sampling.dir, folder, err);
	if (!ret)
		ret = skip_earlier(r, err);
	if (!ret)
		ret = sampling_start(&r->sampling, &r->settings, err);
	if (!ret && !r->output.quiet)
		sampling_print_scope(&r->sampling);
	return ret;
}

/* ---- while the command runs ------------------------------------------------------------------ */

/* Writes what was sampled since the last switch; it ends at a complete record. */
static int switch_output(struct record_run *r, struct err *err)
{
	int ret = kpctl_client_write(r->sampling.dir, "flush\n", err);

	r->switches++;
	if (!ret)
		ret = kpdata_copy_read(&r->copy, err);
	return ret ? ret : record_output_write(&r->output, r->copy.file, &r->begin, err);
}

/* Until the duration is over, or the next check of the processes. */
static int wait_ms(const struct record_run *r)
{
	int wait = record_target_is_set(&r->target) ? LOOK_MS : -1;
	double left;

	if (!r->duration_ms)
		return wait;
	left = r->duration_ms -
	       (double)(clock_monotonic_ns() - r->launch.begin_ns) / (double)NSEC_PER_MSEC;
	if (left <= 0)
		return 0;
	return wait < 0 || left < wait ? (int)left + 1 : wait;
}

static bool is_over(struct record_run *r)
{
	if (r->launch.ended || wait_ms(r) == 0)
		return true;
	record_target_look(&r->target, false);
	return !r->argv && !record_target_lives(&r->target);
}

/*
 * Until the command has exited, or the duration is over. If kpdata can't be read any more, the
 * command continues without being sampled.
 */
static int watch(struct record_run *r, struct err *err)
{
	struct pollfd fds[] = {
		{.fd = r->launch.signal_fd, .events = POLLIN},
		{.fd = r->copy.fd, .events = POLLIN},
	};
	int ret = 0;

	while (!ret && !is_over(r)) {
		if (poll(fds, 2, wait_ms(r)) < 0 && errno != EINTR)
			return err_set(err, errno, "poll: %s", strerror(errno));
		launch_signals(&r->launch);
		if (fds[1].revents)
			ret = kpdata_copy_read(&r->copy, err);
		if (!ret && r->switches < r->launch.switches)
			ret = switch_output(r, err);
		if (!ret && r->copy.ended && !r->launch.ended)
			ret = err_set(err, ECANCELED, "another process stopped the profiler at %s",
				r->sampling.dir);
	}
	return ret;
}

/* The rest of the samples. */
static int stop(struct record_run *r, struct err *err)
{
	int ret = sampling_stop(&r->sampling, err);

	return ret ? ret : take_held(r, err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void clean_up(struct record_run *r, bool failed)
{
	kpdata_copy_close(&r->copy);
	sampling_close(&r->sampling);
	record_output_close(&r->output, failed);
	record_target_fini(&r->target);
	rate_fini(&r->rate);
}

static void set_output(struct record_run *r)
{
	struct record_output *o = &r->output;

	o->processes = r->target.processes;
	o->threads = r->target.threads;
	o->remark = record_target_remark(&r->target);
	if (record_target_is_set(&r->target))
		o->root = PROCESS_FILTER_NO_ROOT;
	else
		o->root = r->all || !r->argv ? KPROF_PID_KERNEL : (uint32_t)r->launch.pid;
	if (r->delay_ms)
		o->from_ns = r->launch.begin_ns + (uint64_t)(r->delay_ms * (double)NSEC_PER_MSEC);
}

/* If the sampling fails, the command still runs to its end. */
static int run_command(struct record_run *r, struct err *err)
{
	struct err later = { "" };
	int ret, stopped;

	set_output(r);
	ret = watch(r, err);
	stopped = stop(r, &later);
	if (!ret && stopped) {
		ret = stopped;
		*err = later;
	}
	record_target_look(&r->target, true);
	if (r->copy.size > r->begin) {
		stopped = record_output_write(&r->output, r->copy.file, &r->begin, &later);
		if (!ret && stopped) {
			ret = stopped;
			*err = later;
		}
	}
	return ret;
}

static int record(struct record_run *r)
{
	struct err err = { "" };
	int ret, status = CMD_NOT_RUN;
	bool runs = false;

	ret = launch_begin(&r->launch, r->argv, &err);
	r->launch.takes_switches = r->output.numbered;
	if (!ret)
		ret = record_output_open(&r->output, &err);
	if (!ret)
		ret = prepare(r, &err);
	if (!ret) {
		ret = launch_go(&r->launch, &err);
		runs = !ret;
		if (runs) {
			ret = run_command(r, &err);
		} else {
			status = launch_status(ret);
			err_prefix(&err, "%s", r->argv[0]);
		}
	}
	if (ret)
		cmd_error("%s", *err.text ? err.text : strerror(-ret));
	if (ret && r->choice.mount && !g_file_test(r->choice.mount, G_FILE_TEST_IS_DIR))
		cmd_explain_letter(&cmd_record, 'm');
	clean_up(r, ret);
	launch_end(&r->launch);
	/*
	 * the status of a command that failed is more useful than that its samples could not be
	 * kept
	 */
	return runs && (!ret || r->launch.status) ? r->launch.status : status;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static int set_ms(const struct command *command, const char *text, double unit_ms, double *ms)
{
	char *end;

	*ms = g_ascii_strtod(text, &end) * unit_ms;
	if (end == text || *end || !(*ms > 0 && *ms <= MS_MAX))
		return cmd_usage_error(command, "no time from 0 to a day: %s", text);
	return CMD_OK;
}

static int take_target(const struct command *command, struct record_run *r, int letter)
{
	struct err err;
	int ret;

	if (letter == 'u')
		ret = record_target_add_user(&r->target, optarg, &err);
	else
		ret = record_target_add_list(&r->target, optarg, letter == 't', &err);
	return ret ? cmd_usage_error(command, "%s", err.text) : CMD_OK;
}

static int take_option(const struct command *command, struct record_run *r, int letter)
{
	switch (letter) {
	case 'e':
		r->settings.event = optarg;
		break;
	case 'F':
		return rate_set_freq(command, &r->rate, optarg);
	case 'c':
		return rate_set_count(command, &r->rate, optarg);
	case 'g':
		return rate_set_graph(command, "fp", &r->settings.stack);
	case OPTION_CALL_GRAPH:
		return rate_set_graph(command, optarg, &r->settings.stack);
	case OPTION_STACK:
		r->settings.stack = optarg;
		break;
	case 'C':
		r->settings.cpus = optarg;
		break;
	case OPTION_ONLY:
		r->settings.only = optarg;
		break;
	case 'p':
	case 't':
	case 'u':
		return take_target(command, r, letter);
	case 'D':
		return set_ms(command, optarg, 1, &r->delay_ms);
	case OPTION_DURATION:
		return set_ms(command, optarg, 1000, &r->duration_ms);
	case 'o':
		r->output.path = optarg;
		break;
	case 'm':
		r->choice.mount = optarg;
		break;
	}
	r->all |= letter == 'a';
	r->output.numbered |= letter == OPTION_SWITCH;
	r->choice.private |= letter == 'P';
	r->output.quiet |= letter == 'q';
	return CMD_OK;
}

static int check_arguments(const struct command *command, const struct record_run *r)
{
	const bool target = record_target_is_set(&r->target);

	if (r->choice.private && r->choice.mount)
		return cmd_usage_error(command, "give --mount or --private, not both");
	if (r->all && target)
		return cmd_usage_error(command, "give --all-cpus, or --pid, --tid and --uid, not both");
	if (!r->argv && !r->all && !target && !r->settings.cpus && !r->settings.only)
		return cmd_usage_error(command, "no command to run, and no --all-cpus, --cpu, --only, --pid,"
			" --tid or --uid, which record without one until Ctrl-C");
	if (r->output.numbered && strcmp(r->output.path, "-") == 0)
		return cmd_usage_error(command, "--switch-output needs a file");
	return CMD_OK;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct record_run r = {.output.path = INPUT_SOURCE_FILE};
	int letter, status = CMD_OK;

	record_target_init(&r.target);
	while (status == CMD_OK && (letter = cmd_next_option(command, argc, argv, &status)) > 0)
		status = take_option(command, &r, letter);
	if (status == CMD_OK && letter == 0) {
		r.argv = optind < argc ? argv + optind : NULL;
		status = check_arguments(command, &r);
		if (status == CMD_OK)
			return record(&r);
	}
	record_target_fini(&r.target);
	rate_fini(&r.rate);
	return status;
}

const struct command cmd_record = {
	.name = "record",
	.arguments = "[COMMAND [ARGUMENT...]]",
	.summary = "Sample while a command runs, and keep what it and its descendants did",
	.examples = "kprof record -- make -j4\n"
		    "kprof record -g -F max -- ./program\n"
		    "kprof record -p 1234 --duration 10\n"
		    "kprof record -a -o machine           until Ctrl-C\n"
		    "kprof record -e page-faults -c 1 -o faults -- ls\n",
	.options = options,
	.run = run,
	.runs = true,
};
