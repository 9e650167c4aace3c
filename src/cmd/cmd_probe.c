/* SPDX-License-Identifier: MIT */
/* kprof probe: runs a program in the language of probes, checks it, or lists probes. */
#include "cmd/commands.h"

#include <getopt.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/live_probe.h"
#include "probes/ast.h"
#include "probes/find_file.h"
#include "probes/listing.h"
#include "probes/tables.h"
#include "probes/targets.h"
#include "symbolizer/file_functions.h"
#include "sys/proc.h"

static const struct cmd_option options[] = {
	{ 'l', "list", NULL, "list the probes that match the argument, or all" },
	{ 'e', "program", "TEXT",
		"the program; then the first argument is $1 and not a program or its file" },
	{ 'n', "dry-run", NULL, "only check the program" },
	{ 'c', "command", "COMMAND", "run COMMAND, and end with it; cpid is its process" },
	{ 'p', "pid", "PID", "only what this process does, until it ends" },
	{ 'f', "format", "FORM", "text, or json in the shape that bpftrace has for it" },
	{ 'o', "output", "FILE", "write to FILE in place of standard output" },
	{ 0 },
};

/* ---- lists ------------------------------------------------------------------------------------- */

static int print_line(void *arg, const char *line)
{
	bool *any = arg;

	*any = true;
	return puts(line) < 0;
}

/* Functions or static probes of a file: "usdt:PATH:PATTERN". */
struct file_list {
	const char *kind, *path;
	GHashTable *lines; /* that were printed: a function may be in two tables, a probe in several places */
};

static int print_found(void *arg, const struct proto_found *found)
{
	struct file_list *list = arg;
	char *line = g_strdup_printf("%s:%s:%s%s%s", list->kind, list->path, found->name,
		*found->arguments ? " " : "", found->arguments);

	return g_hash_table_add(list->lines, line) && puts(line) < 0;
}

/* Lists what a file has, if the pattern names one; false if it does not. */
static bool list_file(const char *pattern, int *status)
{
	static const struct helpers_options plain;
	g_auto(GStrv) parts = g_strsplit(pattern ? pattern : "", ":", 3);
	const bool has_parts = parts[0] && parts[1] && parts[2];
	const struct kind_row *kind = has_parts ? kind_find(parts[0], strlen(parts[0])) : NULL;
	const bool is_static = kind && kind->kind == PROBE_USDT;
	g_autofree char *path = NULL, *names = NULL;
	g_autoptr(GHashTable) lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	struct helpers *helpers;
	struct file_list list;
	struct err err = { "" };
	int fd = -1, ret;

	if (!kind || !*parts[1] ||
		(!is_static && kind->kind != PROBE_UPROBE && kind->kind != PROBE_URETPROBE))
		return false;
	path = find_file(parts[1]);
	/* the provider may be left out */
	names = g_strconcat(is_static && !strchr(parts[2], ':') ? "*:" : "", parts[2], NULL);
	list = (struct file_list){ .kind = kind->name, .path = path, .lines = lines };
	*status = CMD_FAILED;
	if (!path) {
		cmd_error("there is no program or library '%s'", parts[1]);
		return true;
	}
	helpers = helpers_create(&plain);
	ret = file_functions(helpers, &(struct file_functions_query){ .path = path, .pattern = names,
		.flags = is_static ? PROTO_STATIC_PROBES : 0, .each = print_found,
		.arg = &list }, &fd, &err);
	helpers_destroy(helpers);
	if (fd >= 0)
		close(fd);
	if (ret < 0)
		cmd_error("%s", err.text);
	else if (!g_hash_table_size(lines))
		cmd_error("no probe matches '%s'", pattern);
	else
		*status = cmd_finish_output(CMD_OK);
	return true;
}

static int list(const char *pattern)
{
	struct targets *targets;
	struct err err = { "" };
	const char *why = "";
	bool any = false;
	int status;

	if (list_file(pattern, &status))
		return status;
	if (targets_open(NULL, &targets, &err)) {
		cmd_error("%s", err.text);
		return CMD_FAILED;
	}
	listing_run(targets, pattern, print_line, &any);
	if (!targets_types(targets, &why))
		cmd_error("functions of the kernel may be missing: %s", why);
	if (targets_why_no_tracepoints(targets))
		cmd_error("tracepoints are missing: %s", strerror(-targets_why_no_tracepoints(targets)));
	targets_close(targets);
	if (any)
		return cmd_finish_output(CMD_OK);
	cmd_error("no probe matches '%s'", pattern ? pattern : "*");
	return CMD_FAILED;
}

/* ---- programs ---------------------------------------------------------------------------------- */

/* The text of a file, or the argument itself if it is no file but a program. */
static char *read_program(const char *argument)
{
	g_autoptr(GError) error = NULL;
	char *text;
	gsize bytes;

	if (strpbrk(argument, "{\n") && !g_file_test(argument, G_FILE_TEST_EXISTS))
		return g_strdup(argument);
	if (!g_file_get_contents(argument, &text, &bytes, &error)) {
		cmd_error("%s", error->message);
		return NULL;
	}
	if (bytes <= AST_TEXT_MAX && strlen(text) == bytes)
		return text;
	cmd_error("%s is no program: it %s", argument, bytes > AST_TEXT_MAX ? "has more than 64 KiB" :
		"has a NUL byte");
	g_free(text);
	return NULL;
}

static int run_program(const struct command *command, const struct live_probe *probe,
	const char *run_command)
{
	g_auto(GStrv) words = NULL;
	g_autoptr(GError) error = NULL;
	struct live_probe run = *probe;

	if (run_command && !g_shell_parse_argv(run_command, NULL, &words, &error))
		return cmd_usage_error(command, "-c %s: %s", run_command, error->message);
	run.argv = words;
	return live_probe_run(&run);
}

/* 0 for an error, which has been printed. */
static int take_pid(const struct command *command, const char *text, int *status)
{
	uint64_t pid;

	if (units_parse_u64(text, &pid) || !pid || pid > INT32_MAX)
		*status = cmd_usage_error(command, "'%s' is no process", text);
	else if (proc_lives("/proc", (pid_t)pid))
		return (int)pid;
	else
		*status = cmd_usage_error(command, "there is no process %s", text);
	return 0;
}

static bool take_format(const struct command *command, const char *text, bool *as_json, int *status)
{
	*as_json = strcmp(text, "json") == 0;
	if (*as_json || strcmp(text, "text") == 0)
		return true;
	*status = cmd_usage_error(command, "'%s' is neither text nor json", text);
	return false;
}

static int run(const struct command *command, int argc, char **argv)
{
	const char *text = NULL, *run_command = NULL;
	struct live_probe probe = { .text = NULL };
	bool lists = false, checks = false;
	g_autofree char *program = NULL;
	int letter, status;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		if (letter == 'p') {
			probe.pid = take_pid(command, optarg, &status);
			if (!probe.pid)
				return status;
		} else if (letter == 'f' && !take_format(command, optarg, &probe.as_json, &status)) {
			return status;
		}
		if (letter == 'l')
			lists = true;
		else if (letter == 'e')
			text = optarg;
		else if (letter == 'n')
			checks = true;
		else if (letter == 'c')
			run_command = optarg;
		else if (letter == 'o')
			probe.output = optarg;
	}
	if (letter < 0)
		return status;
	if (lists)
		return argc - optind > 1 ? cmd_usage_error(command, "-l takes one pattern") :
			list(argv[optind]);
	if (!text && optind == argc)
		return cmd_usage_error(command, "no program given");
	program = text ? g_strdup(text) : read_program(argv[optind++]);
	if (!program)
		return CMD_FAILED;
	probe.text = program;
	probe.args = (const char *const *)argv + optind;
	/* a child of -c does not run yet: any number that is none of another process */
	if (live_probe_check(program, probe.args, run_command ? 1 : 0, &probe.count))
		return CMD_FAILED;
	return checks ? CMD_OK : run_program(command, &probe, run_command);
}

const struct command cmd_probe = {
	.name = "probe",
	.arguments = "PROGRAM [ARGUMENT...]",
	.summary = "Run a program in the language of probes, as bpftrace does",
	.examples = "kprof probe 'syscall:read:return { @bytes[comm] = hist(retval); }'\n"
		    "kprof probe -l 'tracepoint:sched:*'\n"
		    "kprof probe -c 'ls /' 'syscall:openat:entry /pid == cpid/ { @ = count(); }'\n",
	.options = options,
	.run = run,
	.runs = true,
};
