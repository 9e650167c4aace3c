/* SPDX-License-Identifier: MIT */
/*
 * kprof top: the hottest functions of the last seconds, refreshed, in the browser of src/tui. If
 * standard output is not a terminal, it prints one report after one interval (top_text.c).
 *
 * If the profiler runs already, kprof top only reads from it, unless options say what to sample.
 * Otherwise it starts the profiler, and stops it at the end. The whole machine is sampled; other samples
 * than those of the chosen processes, threads and functions are left out here (top_filter.c).
 */
#include "cmd/commands.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "cmd/part.h"
#include "cmd/rate.h"
#include "cmd/recent_samples.h"
#include "cmd/report_browser.h"
#include "cmd/report_input.h"
#include "cmd/sampling.h"
#include "cmd/top_filter.h"
#include "cmd/top_text.h"

#define DEFAULT_DELAY 2.0
#define DELAY_MAX 3600.0

enum {
	OPTION_SELF = CMD_LONG_ONLY,
	OPTION_CALL_GRAPH,
	OPTION_CHILDREN,
	OPTION_COMMS,
	OPTION_DSOS,
	OPTION_SYMBOLS,
	OPTION_PERCENT_LIMIT,
	OPTION_STDIO,
	OPTION_ONLY,
};

static const struct cmd_option options[] = {
	{'d', "delay", "SECONDS", "the time between refreshes (default: 2)"},
	{'e', "event", "EVENT", "the events to sample, if the profiler does not run yet"},
	{'F', "freq", "HZ", "samples a second of each event: a number, or max"},
	{'c', "count", "PERIOD", "one sample each time that many events occurred"},
	{'g', "callgraph", NULL, "take stacks by frame pointers, as --call-graph fp"},
	{OPTION_CALL_GRAPH, "call-graph", "GRAPH", "take stacks: fp, dwarf or none"},
	{'a', "all-cpus", NULL, "the whole machine (default)"},
	{'C', "cpu", "CPUS", "these CPUs only, for example 0-3,8"},
	{'p', "pid", "PID", "these processes and their descendants: PID[,PID...]"},
	{'t', "tid", "TID", "these threads: TID[,TID...]"},
	{'u', "uid", "USER", "this user's processes"},
	PART_OPTIONS_TIME,
	PART_OPTIONS_PROGRAM,
	PART_OPTION_VERSUS,
	{OPTION_ONLY, "only", "EXPR", "sample only tasks for which this holds, as kpctl's `only`"},
	{OPTION_COMMS, "comms", "NAME", "processes and threads with these names: NAME[,NAME...]"},
	{OPTION_DSOS, "dsos", "FILE", "functions of these files: FILE[,FILE...]"},
	{OPTION_SYMBOLS, "symbols", "FUNCTION", "these functions: FUNCTION[,FUNCTION...]"},
	{'K', "hide_kernel_symbols", NULL, "hide functions of the kernel"},
	{'U', "hide_user_symbols", NULL, "hide functions of user space"},
	{'s', "sort", "ORDER", "sort by self, total, process, function or file (default: self)"},
	{OPTION_CHILDREN, "children", NULL, "sort by the total, with what a function calls"},
	{OPTION_PERCENT_LIMIT, "percent-limit", "PERCENT", "leave out rows below this share"},
	{OPTION_STDIO, "stdio", NULL, "print text on a terminal, too: no browser"},
	{OPTION_SELF, "self", NULL, "count the samples in kprof top, kprofs and their helpers too"},
	{'m', "mount", "DIR", "use the server mounted at DIR"},
	{'P', "private", NULL, "use a private server, even if one is mounted"},
	{0},
};

struct top {
	double delay_s;
	struct sampling_settings settings; /* NULL keeps the current one */
	struct rate rate;
	struct sampling_choice choice;
	struct top_filter filter;
	struct query query; /* of which part of the samples */
	const char *versus; /* as given; NULL: no earlier capture */
	struct rows_options rows;
	bool callers, stdio;

	struct sampling sampling;
	struct recent_samples *recent;
	struct symbols *symbols;
	struct report_input earlier; /* of --versus */
	struct before *before;
	int signal_fd;
	sigset_t blocked_before;
};

/* ---- looks ----------------------------------------------------------------------------------- */

/* The samples since the previous call: see struct browser_live. */
static int look(void *arg, struct browser_look *look, struct err *err)
{
	struct top *t = arg;
	int ret = recent_samples_take(t->recent, t->symbols, &look->profile, err);

	if (ret)
		return ret;
	look->functions = functions_create(look->profile, t->symbols, NULL);
	look->stopped = !recent_samples_runs(t->recent);
	top_filter_apply(&t->filter, look->profile, look->functions);
	return 0;
}

static const char *events(const struct top *t)
{
	const char *text = t->settings.event ? t->settings.event : t->sampling.kpctl.event;

	return text && *text ? text : "default";
}

static bool selects(const struct top_filter *f)
{
	return f->has_cpus || record_target_is_set(&f->target) || f->comms || f->dsos || f->symbols;
}

/* The source and the part; to be freed. */
static char *describe_source(const struct top *t, const char *from)
{
	g_autoptr(GString) words = g_string_new(NULL);
	GString *text = g_string_new(from);

	if (!query_is_empty(&t->query)) {
		query_append(words, &t->query);
		g_string_append(text, "; only ");
		text_append(text, words->str);
	}
	return g_string_free(text, FALSE);
}

static int show(struct top *t, struct err *err)
{
	g_auto(GStrv) names = g_strsplit(events(t), ",", 2);
	const struct browser_live live = {
		.every_ns = (uint64_t)(t->delay_s * (double)NSEC_PER_SEC),
		.event = names[0],
		.look = look,
		.arg = t,
	};
	const char *from = t->sampling.server.dir ? "a private server" : t->sampling.dir;
	g_autofree char *text_of_source = describe_source(t, from);
	const struct summary_source source = { .text = text_of_source };
	const struct browser_options browser = {
		.source = &source,
		.own = t->filter.own,
		.rows = t->rows,
		.colours = cmd_has_colours(),
		.before = t->before,
		.annotate = report_browser_annotate,
		.arg = (void *)from,
	};
	const struct top_text_options text = {
		.rows = t->rows,
		.events = events(t),
		.own = t->filter.own,
		.callers = t->callers,
		.selected = selects(&t->filter),
		.before = t->before,
		.signal_fd = t->signal_fd,
	};

	if (!t->stdio && report_browser_is_possible()) {
		int ret = browser_run_live(&browser, &live, err);

		if (ret != -ENOTTY)
			return ret;
		cmd_error("text, not the browser: %s", err->text);
	}
	return top_text(&text, &live, err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Options that only a start carries out. */
static bool wants_start(const struct top *t)
{
	return t->settings.event || t->settings.stack || t->settings.only || t->rate.modifier;
}

/* The samples of --versus, chosen as those that are shown. Returns CMD_FAILED after an error was printed. */
static int open_earlier(struct top *t)
{
	const struct input_choice later = { .mount = t->choice.mount, .query = t->query };
	const struct report_input_options load = { .lines = false };
	g_autofree char *path = NULL;
	struct input_choice choice;
	int status;

	if (!t->versus)
		return CMD_OK;
	status = part_versus(t->versus, &later, &choice, &path);
	if (status == CMD_OK)
		status = report_input_open(&t->earlier, &choice, &load);
	if (status != CMD_OK)
		return status;
	top_filter_apply(&t->filter, t->earlier.profile, t->earlier.names);
	t->before = before_create(t->earlier.profile, t->earlier.names, t->filter.own);
	return CMD_OK;
}

static void close_earlier(struct top *t)
{
	if (!t->before)
		return;
	before_destroy(t->before);
	report_input_close(&t->earlier);
}

static int begin_sampling(struct top *t, struct err *err)
{
	int ret;

	t->choice.shares = !wants_start(t);
	ret = sampling_open(&t->sampling, &t->choice, &t->blocked_before, err);
	if (ret)
		return ret;
	ret = rate_apply(&t->rate, t->sampling.kpctl.event, &t->settings.event, err);
	if (!ret && (!t->sampling.kpctl.running || wants_start(t)))
		ret = sampling_start(&t->sampling, &t->settings, err);
	if (!ret)
		sampling_print_scope(&t->sampling);
	return ret;
}

static int begin(struct top *t, struct err *err)
{
	sigset_t set;
	int ret;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &t->blocked_before);
	t->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (t->signal_fd < 0)
		return err_set(err, errno, "signalfd: %s", strerror(errno));
	ret = begin_sampling(t, err);
	if (!ret)
		ret = recent_samples_open(t->sampling.dir, &t->recent, err);
	if (ret)
		return ret;
	recent_samples_select(t->recent, &t->query);
	report_input_warn_of_names();
	t->symbols = functions_open_symbols(NULL);
	return 0;
}

static int top(struct top *t)
{
	struct err err = { "" };
	int ret = begin(t, &err);

	if (!ret)
		ret = show(t, &err);
	symbols_destroy(t->symbols);
	recent_samples_close(t->recent);
	sampling_close(&t->sampling);
	if (t->signal_fd >= 0)
		close(t->signal_fd);
	if (ret)
		cmd_error("%s", *err.text ? err.text : strerror(-ret));
	if (ret && t->choice.mount && !g_file_test(t->choice.mount, G_FILE_TEST_IS_DIR))
		cmd_explain_letter(&cmd_top, 'm');
	return cmd_finish_output(ret ? CMD_FAILED : CMD_OK);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static int set_delay(const struct command *command, struct top *t, const char *text)
{
	char *end;

	t->delay_s = g_ascii_strtod(text, &end);
	if (end == text || *end || !(t->delay_s >= 0.1 && t->delay_s <= DELAY_MAX))
		return cmd_usage_error(command, "a delay is from 0.1 to %g seconds, not %s", DELAY_MAX,
			text);
	return CMD_OK;
}

static int set_limit(const struct command *command, struct top *t, const char *text)
{
	char *end;

	t->rows.limit = g_ascii_strtod(text, &end);
	if (end == text || *end || !(t->rows.limit >= 0 && t->rows.limit <= 100))
		return cmd_usage_error(command, "a limit is a number from 0 to 100, not %s", text);
	return CMD_OK;
}

static int set_order(const struct command *command, struct top *t, const char *text)
{
	static const char *const perf_names[ROWS_ORDERS] = {
		[ROWS_BY_PROCESS] = "comm", [ROWS_BY_FUNCTION] = "symbol", [ROWS_BY_FILE] = "dso",
	};
	unsigned int i;

	for (i = 0; i < ROWS_ORDERS; i++) {
		if (strcmp(rows_order_names[i], text) == 0 || g_strcmp0(perf_names[i], text) == 0) {
			t->rows.order = i;
			return CMD_OK;
		}
	}
	return cmd_usage_error(command,
		"no order %s: self, total, process, function or file; kprof report --sort selects columns",
		text);
}

static int take_target(const struct command *command, struct top *t, int letter)
{
	struct err err;
	int ret;

	if (letter == 'u')
		ret = record_target_add_user(&t->filter.target, optarg, &err);
	else
		ret = record_target_add_list(&t->filter.target, optarg, letter == 't', &err);
	return ret ? cmd_usage_error(command, "%s", err.text) : CMD_OK;
}

static int set_cpus(const struct command *command, struct top *t, const char *list)
{
	struct err err;

	t->settings.cpus = list;
	if (top_filter_set_cpus(&t->filter, list, &err))
		return cmd_usage_error(command, "%s", err.text);
	return CMD_OK;
}

/* Options that say what is sampled. */
static int take_sampling_option(const struct command *command, struct top *t, int letter)
{
	switch (letter) {
	case 'e':
		t->settings.event = optarg;
		break;
	case 'F':
		return rate_set_freq(command, &t->rate, optarg);
	case 'c':
		return rate_set_count(command, &t->rate, optarg);
	case 'g':
		t->callers = true;
		return rate_set_graph(command, "fp", &t->settings.stack);
	case OPTION_CALL_GRAPH:
		t->callers = true;
		return rate_set_graph(command, optarg, &t->settings.stack);
	case OPTION_ONLY:
		t->settings.only = optarg;
		break;
	case 'C':
		return set_cpus(command, t, optarg);
	case 'p':
	case 't':
	case 'u':
		return take_target(command, t, letter);
	case 'm':
		t->choice.mount = optarg;
		break;
	case 'P':
		t->choice.private = true;
		break;
	}
	return CMD_OK;
}

static int take_option(const struct command *command, struct top *t, int letter)
{
	if (part_has(letter))
		return part_take(command, &t->query, letter, optarg);
	switch (letter) {
	case PART_VERSUS:
		t->versus = optarg;
		break;
	case 'd':
		return set_delay(command, t, optarg);
	case 's':
		return set_order(command, t, optarg);
	case OPTION_PERCENT_LIMIT:
		return set_limit(command, t, optarg);
	case OPTION_CHILDREN:
		t->rows.order = ROWS_BY_TOTAL;
		break;
	case OPTION_COMMS:
		top_filter_set_names(&t->filter.comms, optarg);
		break;
	case OPTION_DSOS:
		top_filter_set_names(&t->filter.dsos, optarg);
		break;
	case OPTION_SYMBOLS:
		top_filter_set_names(&t->filter.symbols, optarg);
		break;
	case OPTION_SELF:
		t->filter.own = true;
		break;
	case OPTION_STDIO:
		t->stdio = true;
		break;
	case 'K':
		t->rows.no_kernel = true;
		break;
	case 'U':
		t->rows.no_user = true;
		break;
	default:
		return take_sampling_option(command, t, letter);
	}
	return CMD_OK;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct top t = { .delay_s = DEFAULT_DELAY, .signal_fd = -1 };
	int letter = 0, status = CMD_OK;

	top_filter_init(&t.filter);
	while (status == CMD_OK && (letter = cmd_next_option(command, argc, argv, &status)) > 0)
		status = take_option(command, &t, letter);
	if (status == CMD_OK && letter == 0) {
		if (optind < argc)
			status = cmd_usage_error(command, "it takes no arguments");
		else if (t.choice.private && t.choice.mount)
			status = cmd_usage_error(command, "give --mount or --private, not both");
		else
			status = open_earlier(&t);
		if (status == CMD_OK) {
			status = top(&t);
			close_earlier(&t);
		}
	}
	top_filter_fini(&t.filter);
	rate_fini(&t.rate);
	return status;
}

const struct command cmd_top = {
	.name = "top",
	.arguments = "",
	.summary = "Show the hottest functions as they are now",
	.examples = "kprof top\n"
		    "kprof top -p 1234\n"
		    "kprof top -d 5 -e cycles\n"
		    "kprof top -g -K --percent-limit 1\n"
		    "kprof top --versus yesterday.data\n",
	.options = options,
	.run = run,
};
