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
#include "cmd/tracecopies.h"
#include "cmd/tracectf.h"

#define COPY_BYTES 65536

static const struct cmd_option options[] = {
	{'f', "follow", NULL, "show the mount's trace as it happens, until the mount ends"},
	{'m', "mount", "DIR", "show the trace of the mount at DIR"},
	{'c', "ctf", "DIR", "write the copies as CTF into a new folder DIR"},
	{0},
};

/* ---- a mount --------------------------------------------------------------------------------- */

static int copy_text(const char *path)
{
	char buffer[COPY_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		while ((n = read(fd, buffer, sizeof(buffer))) > 0 || (n < 0 && errno == EINTR)) {
			if (n < 0)
				continue;
			/* flushed: the reader of --follow waits for each line */
			if (fwrite(buffer, 1, (size_t)n, stdout) != (size_t)n || fflush(stdout))
				break;
		}
	}
	if (n < 0)
		cmd_error("%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return cmd_finish_output(n < 0 ? CMD_FAILED : CMD_OK);
}

static int show_mount(const char *mount, bool follow)
{
	g_autofree char *path = NULL;
	struct err err;

	if (mount_choice_path(mount, follow ? "kptrace_pipe" : "kptrace", &path, &err)) {
		cmd_error("%s", err.text);
		return CMD_FAILED;
	}
	return copy_text(path);
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
	bool follow = false;
	int letter, status;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		if (letter == 'f')
			follow = true;
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
		return show_mount(mount, follow);
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
