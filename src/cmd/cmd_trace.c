/* SPDX-License-Identifier: MIT */
/*
 * kprof trace: the trace as text. Of a mount it is what kptrace says; of copies of cpu/N/trace the
 * same text, merged by time, made by the code that makes it in the server (trace/line.h).
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/input.h"
#include "trace/tracefile.h"

#define COPY_BYTES 65536

static const struct cmd_option options[] = {
	{ 'f', "follow", NULL, "show the mount's trace as it happens, until the mount ends" },
	{ 'm', "mount", "DIR", "the trace that is mounted at DIR" },
	{ 0 },
};

/* ---- a mount ---------------------------------------------------------------------------------- */

static int copy_text(const char *path)
{
	char buffer[COPY_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		while ((n = read(fd, buffer, sizeof(buffer))) > 0 || (n < 0 && errno == EINTR)) {
			if (n < 0)
				continue;
			/* flushed: who follows wants it now */
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

	if (input_path(mount, follow ? "kptrace_pipe" : "kptrace", &path, &err)) {
		cmd_error("%s", err.text);
		return CMD_FAILED;
	}
	return copy_text(path);
}

/* ---- files ------------------------------------------------------------------------------------ */

struct source {
	const char *name;
	int fd;
	struct tracefile *file;
	struct tracefile_item item; /* the next one */
	bool has_item;
};

/* False: it is damaged here, which is said. */
static bool advance(struct source *source)
{
	struct err err;
	int ret = tracefile_next(source->file, &source->item, &err);

	source->has_item = ret > 0;
	if (ret < 0)
		cmd_error("%s: %s", source->name, err.text);
	return ret >= 0;
}

static struct source *find_first(struct source *sources, int count)
{
	struct source *first = NULL;
	int i;

	for (i = 0; i < count; i++)
		if (sources[i].has_item &&
			(!first || tracefile_before(&sources[i].item, &first->item)))
			first = &sources[i];
	return first;
}

static int merge(struct source *sources, int count, int status)
{
	struct line *line = line_create();
	GString *out = g_string_new(NULL);
	struct source *first;

	while ((first = find_first(sources, count))) {
		tracefile_show(&first->item, line, out);
		if (out->len >= COPY_BYTES) {
			if (fwrite(out->str, 1, out->len, stdout) != out->len)
				break;
			g_string_truncate(out, 0);
		}
		if (!advance(first))
			status = CMD_FAILED;
	}
	fwrite(out->str, 1, out->len, stdout);
	g_string_free(out, TRUE);
	line_destroy(line);
	return cmd_finish_output(status);
}

static int show_files(char **names, int count)
{
	struct source *sources = g_new0(struct source, count);
	int i, status = CMD_OK;

	for (i = 0; i < count; i++) {
		sources[i].name = names[i];
		sources[i].fd = open(names[i], O_RDONLY | O_CLOEXEC);
		if (sources[i].fd < 0) {
			cmd_error("%s: %s", names[i], strerror(errno));
			status = CMD_FAILED;
			continue;
		}
		sources[i].file = tracefile_create(sources[i].fd);
		if (!advance(&sources[i]))
			status = CMD_FAILED;
	}
	status = merge(sources, count, status);
	for (i = 0; i < count; i++) {
		tracefile_destroy(sources[i].file);
		if (sources[i].fd >= 0)
			close(sources[i].fd);
	}
	g_free(sources);
	return status;
}

static int run(const struct command *command, int argc, char **argv)
{
	const char *mount = NULL;
	bool follow = false;
	int letter, status;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		if (letter == 'f')
			follow = true;
		else if (letter == 'm')
			mount = optarg;
	}
	if (letter < 0)
		return status;
	if (optind == argc)
		return show_mount(mount, follow);
	if (mount || follow)
		return cmd_usage_error(command, "a FILE is read to its end, and needs no mount");
	return show_files(argv + optind, argc - optind);
}

const struct command cmd_trace = {
	.name = "trace",
	.arguments = "[FILE...]",
	.summary = "Show the trace, or copies of cpu/N/trace merged, as text",
	.options = options,
	.run = run,
};
