/* SPDX-License-Identifier: MIT */
/*
 * kprof trace: the trace as text. For a mount it is the text of kptrace; for copies of cpu/N/trace
 * the same text, merged by time, by the code that the server uses (trace/trace_text.h).
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

#include "cmd/mount_choice.h"
#include "cmd/trace_names.h"
#include "cmd/tracecopies.h"
#include "cmd/tracectf.h"

#define COPY_BYTES 65536

static const struct cmd_option options[] = {
	{'f', "follow", NULL, "show the mount's trace as it happens, until the mount ends"},
	{'m', "mount", "DIR", "show the trace of the mount at DIR"},
	{'a', "addresses", NULL, "print addresses of stacks without names"},
	{'c', "ctf", "DIR", "write the copies as CTF into a new folder DIR"},
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
	struct trace_names *names = addresses ? NULL : trace_names_create();
	g_autofree char *path = NULL;
	int status = CMD_FAILED;
	struct err err;

	if (mount_choice_path(mount, follow ? "kptrace_pipe" : "kptrace", &path, &err))
		cmd_error("%s", err.text);
	else
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

static int run(const struct command *command, int argc, char **argv)
{
	const char *mount = NULL, *ctf_dir = NULL;
	bool follow = false, addresses = false;
	int letter, status;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		if (letter == 'f')
			follow = true;
		else if (letter == 'a')
			addresses = true;
		else if (letter == 'm')
			mount = optarg;
		else if (letter == 'c')
			ctf_dir = optarg;
	}
	if (letter < 0)
		return status;
	if (optind == argc && ctf_dir)
		return cmd_usage_error(command,
			"--ctf needs copies of cpu/N/trace; of a mounted tree copy "
			"views/ctf with `cp -r`");
	if (optind == argc)
		return show_mount(mount, follow, addresses);
	if (mount || follow)
		return cmd_usage_error(
			command, "--follow and --mount are for a mounted trace, not for a FILE");
	return show_copies(argv + optind, argc - optind, ctf_dir);
}

const struct command cmd_trace = {
	.name = "trace",
	.arguments = "[FILE...]",
	.summary = "Show the trace, or copies of cpu/N/trace merged, as text or CTF",
	.examples = "kprof trace --follow\n"
		    "kprof trace copy.0 copy.1\n"
		    "kprof trace --ctf folder copy.0 copy.1\n",
	.options = options,
	.run = run,
};
