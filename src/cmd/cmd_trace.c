/* SPDX-License-Identifier: MIT */
/*
 * kprof trace: traces a command or processes, or shows a trace as text. For a mount it is the text of
 * kptrace; for copies of cpu/N/trace the same text, merged by time, by the code that the server uses
 * (trace/trace_text.h).
 */
#include "cmd/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/live_trace.h"
#include "cmd/mount_choice.h"
#include "cmd/trace_names.h"
#include "cmd/tracecopies.h"
#include "cmd/tracectf.h"

#define COPY_BYTES 65536
#define SECONDS_MAX (24 * 3600)

enum {
	OPTION_CTF = CMD_LONG_ONLY,
	OPTION_DURATION,
	OPTION_FILTER,
};

static const struct cmd_option options[] = {
	{'e', "event", "EVENTS",
		"trace these kernel events of a command or of processes, separated by commas: syscalls, "
		"openat, syscall:open*, sched:*, function:NAME; repeatable; default: syscalls"},
	{'p', "pid", "PID", "trace these processes and what they start: PID[,PID...]"},
	{OPTION_FILTER, "filter", "EXPR", "trace only events for which EXPR is true"},
	{'s', "stack", NULL, "print the stacks of kernel and program for each event"},
	{'c', "summary", NULL, "count calls, errors and times in a table, in place of the lines"},
	{'o', "output", "FILE",
		"write the trace of a command to FILE (-: standard output; default: standard error)"},
	{OPTION_DURATION, "duration", "SECONDS", "stop tracing after this time"},
	{'f', "follow", NULL, "show the mount's trace as it happens, until the mount ends"},
	{'m', "mount", "DIR", "show the trace of the mount at DIR"},
	{'a', "addresses", NULL, "print addresses of stacks without names"},
	{OPTION_CTF, "ctf", "DIR", "write the copies as CTF into a new folder DIR"},
	{0},
};

/* ---- a mount --------------------------------------------------------------------------------- */

/* Flushed, because the reader of --follow waits for each line. */
static bool print_text(const char *text, size_t bytes)
{
	return fwrite(text, 1, bytes, stdout) == bytes && !fflush(stdout);
}

/*
 * Prints the whole lines of `held`, with names, and keeps the rest. A line that does not end is
 * printed as it is.
 */
static bool print_lines(struct trace_names *names, GString *held, bool at_end)
{
	const char *last = g_strrstr_len(held->str, (gssize)held->len, "\n");
	size_t bytes = last ? (size_t)(last - held->str) + 1 : 0;
	g_autoptr(GString) out = g_string_new(NULL);

	if (at_end || (!bytes && held->len > COPY_BYTES))
		bytes = held->len;
	trace_names_append(names, held->str, bytes, out);
	g_string_erase(held, 0, (gssize)bytes);
	return print_text(out->str, out->len);
}

/* names: NULL to print the text as it is */
static int copy_text(const char *path, struct trace_names *names)
{
	g_autoptr(GString) held = g_string_new(NULL);
	char buffer[COPY_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool prints = true;
	ssize_t n = -1;

	while (fd >= 0 && prints) {
		n = read(fd, buffer, sizeof(buffer));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if (!names) {
			prints = print_text(buffer, (size_t)n);
			continue;
		}
		g_string_append_len(held, buffer, n);
		prints = print_lines(names, held, false);
	}
	if (n < 0)
		cmd_error("%s: %s", path, strerror(errno));
	if (names && prints)
		print_lines(names, held, true);
	if (fd >= 0)
		close(fd);
	return cmd_finish_output(n < 0 ? CMD_FAILED : CMD_OK);
}

static int show_mount(const char *mount, bool follow, bool addresses)
{
	struct trace_names *names = NULL;
	g_autofree char *chosen = NULL, *path = NULL, *capture = NULL;
	int status;
	struct err err;

	if ((!mount && mount_choice_find(&chosen, &err)) ||
		mount_choice_path(mount ? mount : chosen, follow ? "kptrace_pipe" : "kptrace", &path, &err)) {
		cmd_error("%s", err.text);
		return CMD_FAILED;
	}
	/* a program that is followed runs; of one that has ended the capture may know more */
	if (!follow)
		capture = g_build_filename(mount ? mount : chosen, "kpdata", NULL);
	if (!addresses)
		names = trace_names_create(capture);
	status = copy_text(path, names);
	if (names)
		trace_names_destroy(names);
	return status;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static int show(struct tracecopies *copies)
{
	const struct tracefile_item *item;
	struct trace_text *line = trace_text_create();
	GString *out = g_string_new(NULL);

	while ((item = tracecopies_next(copies))) {
		tracefile_show(item, line, out);
		if (out->len >= COPY_BYTES) {
			if (fwrite(out->str, 1, out->len, stdout) != out->len)
				break;
			g_string_truncate(out, 0);
		}
	}
	fwrite(out->str, 1, out->len, stdout);
	g_string_free(out, TRUE);
	trace_text_destroy(line);
	return cmd_finish_output(CMD_OK);
}

static int show_copies(char **names, int count, const char *ctf_dir)
{
	struct tracecopies *copies = tracecopies_open(names, count);
	int status = ctf_dir ? tracectf_write(copies, count, ctf_dir) : show(copies);

	if (tracecopies_close(copies))
		status = CMD_FAILED;
	return status;
}

/* ---- arguments ------------------------------------------------------------------------------- */

struct trace_arguments {
	const char *mount, *ctf_dir;
	bool follow, addresses;
	bool is_live; /* a command or processes are traced */
	struct live_trace live;
};

static int set_duration(const struct command *command, struct live_trace *live)
{
	char *end;
	double seconds = g_ascii_strtod(optarg, &end);

	if (end == optarg || *end || !(seconds > 0) || seconds > SECONDS_MAX)
		return cmd_usage_error(command, "no number of seconds from 0 to %d: %s", SECONDS_MAX, optarg);
	live->duration_ms = seconds * 1000;
	return CMD_OK;
}

static int add_events(const struct command *command, struct live_trace *live, const char *list)
{
	g_auto(GStrv) names = g_strsplit(list, ",", -1);

	for (char **name = names; *name; name++) {
		if (!**name)
			return cmd_usage_error(command, "an event is missing: '%s'", list);
		g_ptr_array_add(live->events, g_strdup(*name));
	}
	return *names ? CMD_OK : cmd_usage_error(command, "an event is missing: ''");
}

static int take_live_option(const struct command *command, struct live_trace *live, int letter)
{
	struct err err;

	switch (letter) {
	case 'e':
		return add_events(command, live, optarg);
	case 'p':
		if (record_target_add_list(&live->target, optarg, false, &err))
			return cmd_usage_error(command, "%s", err.text);
		break;
	case OPTION_FILTER:
		live->filter = optarg;
		break;
	case 's':
		live->stack = true;
		break;
	case 'c':
		live->summary = true;
		break;
	case 'o':
		live->output = optarg;
		break;
	case OPTION_DURATION:
		return set_duration(command, live);
	}
	return CMD_OK;
}

static int take_option(const struct command *command, struct trace_arguments *args, int letter)
{
	switch (letter) {
	case 'f':
		args->follow = true;
		break;
	case 'a':
		args->addresses = true;
		break;
	case 'm':
		args->mount = optarg;
		break;
	case OPTION_CTF:
		args->ctf_dir = optarg;
		break;
	default:
		args->is_live = true;
		return take_live_option(command, &args->live, letter);
	}
	return CMD_OK;
}

/* Options of a trace that is there. */
static bool has_copy_options(const struct trace_arguments *args)
{
	return args->mount || args->follow || args->addresses || args->ctf_dir;
}

static int run_live(const struct command *command, struct trace_arguments *args, char **argv)
{
	if (has_copy_options(args))
		return cmd_usage_error(command, "--mount, --follow, --addresses and --ctf are for a trace "
			"that is there, not for a command or processes that are traced now");
	args->live.argv = *argv ? argv : NULL;
	if (!args->live.argv && !args->live.target.processes->len)
		return cmd_usage_error(command, "no command to run, and no --pid");
	return live_trace_run(&args->live);
}

/* Whether the first argument is a program, not a copy: there is no file of this name. */
static bool is_program(const char *name)
{
	g_autofree char *path = NULL;

	if (g_file_test(name, G_FILE_TEST_EXISTS))
		return false;
	path = g_find_program_in_path(name);
	return path != NULL;
}

static int run_with(const struct command *command, struct trace_arguments *args, int argc, char **argv)
{
	args->is_live |= optind < argc && !has_copy_options(args) && is_program(argv[optind]);
	if (args->is_live)
		return run_live(command, args, argv + optind);
	if (optind == argc && args->ctf_dir)
		return cmd_usage_error(command,
			"--ctf needs copies of cpu/N/trace; of a mounted tree copy "
			"views/ctf with `cp -r`");
	if (optind == argc)
		return show_mount(args->mount, args->follow, args->addresses);
	if (args->mount || args->follow)
		return cmd_usage_error(
			command, "--follow and --mount are for a mounted trace, not for a FILE");
	return show_copies(argv + optind, argc - optind, args->ctf_dir);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct trace_arguments args = { 0 };
	int letter = 0, status = CMD_OK;

	live_trace_init(&args.live);
	while (status == CMD_OK && (letter = cmd_next_option(command, argc, argv, &status)) > 0)
		status = take_option(command, &args, letter);
	if (status == CMD_OK && !letter)
		status = run_with(command, &args, argc, argv);
	live_trace_fini(&args.live);
	return status;
}

const struct command cmd_trace = {
	.name = "trace",
	.arguments = "[FILE... | COMMAND [ARGUMENT...]]",
	.summary = "Trace a command, or show the trace, or copies of cpu/N/trace merged, as text or CTF",
	.examples = "kprof trace -e openat,connect -- curl example.org\n"
		    "kprof trace -e 'sched:*' -p 1234\n"
		    "kprof trace -c -- make\n"
		    "kprof trace --follow\n"
		    "kprof trace copy.0 copy.1\n"
		    "kprof trace --ctf folder copy.0 copy.1\n",
	.options = options,
	.run = run,
	.runs = true,
};
