/* SPDX-License-Identifier: MIT */
/*
 * kprof convert: writes a capture in another format, with the code that makes the files of views/.
 * The formats are the rows of formats/view.c.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fdio.h"
#include "capture/functions.h"
#include "capture/profile.h"
#include "cmd/input.h"
#include "cmd/progress.h"
#include "cmd/report_input.h"
#include "formats/view.h"
#include "sys/memfile.h"

static const struct cmd_option options[] = {
	{'t', "to", "FORMAT", "the format: a name in views/; without -t they are listed"},
	{'o', "output", "FILE", "write to FILE (default -: standard output)"},
	CMD_OPTION_MOUNT,
	{0},
};

struct convert {
	const struct view_format *format;
	const char *output; /* NULL: standard output */
	struct input_choice choice;
};

static int list_formats(void)
{
	const struct view_format *format;

	for (format = view_formats; format->name; format++)
		printf("%-14s %s\n", format->name, format->help);
	return cmd_finish_output(CMD_OK);
}

/* Returns the bytes after an offset. */
static int copy_rest(int from, off_t at, int to)
{
	char buffer[65536];
	ssize_t n;
	int ret = 0;

	while (!ret && (n = pread(from, buffer, sizeof(buffer), at)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		ret = fdio_write(to, buffer, (size_t)n);
		at += n;
	}
	return ret;
}

/*
 * A descriptor in which the capture begins at offset 0: the input's own, or a copy of what was read
 * ahead, or of the rest of a file. The caller closes it.
 */
static int open_capture(const struct input *input)
{
	int fd, ret;

	if (!input->data && input->decoder.begin == 0) {
		fd = dup(input->fd);
		return fd < 0 ? -errno : fd;
	}
	fd = memfile_create("capture");
	if (fd < 0)
		return fd;
	ret = input->data ? fdio_write(fd, input->decoder.window, input->decoder.filled)
			  : copy_rest(input->fd, input->decoder.begin, fd);
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}

static int write_view(const struct convert *c, const struct input *input,
	const struct profile *profile, const struct functions *names, int capture_fd)
{
	struct view_input view = {
		.profile = profile,
		.functions = names,
		.capture_fd = capture_fd,
	};
	struct err err = { "" };
	int ret = c->format->write(&view, stdout, &err);

	if (ret)
		cmd_error("%s: %s: %s", input->name, c->format->name,
			*err.text ? err.text : strerror(-ret));
	return ret ? CMD_FAILED : CMD_OK;
}

static int convert(const struct convert *c, struct input *input)
{
	struct progress *progress;
	int capture_fd, status;
	struct symbols *symbols;
	struct profile *profile;
	struct functions *names;
	struct err err;

	if (input_unwind(input, &err) < 0) {
		cmd_error("%s: %s", input->name, err.text);
		return CMD_FAILED;
	}
	capture_fd = open_capture(input);
	if (capture_fd < 0) {
		cmd_error("%s: %s", input->name, strerror(-capture_fd));
		return CMD_FAILED;
	}
	progress = progress_begin();
	symbols = progress_open_symbols(progress);
	if (c->format->needs & VIEW_NAMES)
		symbols_prepare(symbols);
	if (view_load(c->format, &input->decoder, 0, &profile, &err) < 0) {
		cmd_error("%s: %s", input->name, err.text);
		symbols_destroy(symbols);
		close(capture_fd);
		return CMD_FAILED;
	}
	progress_set_files(progress, processes_file_count(profile->processes));
	names = view_name(c->format, profile, symbols, -1);
	progress_end(progress);
	status = write_view(c, input, profile, names, capture_fd);
	functions_destroy(names);
	symbols_destroy(symbols); /* also frees its progress */
	status |= report_input_print_profile_damage(input->name, profile);
	profile_destroy(profile);
	close(capture_fd);
	return cmd_finish_output(status);
}

static int open_and_convert(const struct convert *c)
{
	struct input input;
	struct err err;
	int status;

	if (input_open(&input, &c->choice, true, &err) < 0) {
		cmd_error("%s", err.text);
		return CMD_FAILED;
	}
	if (c->output && strcmp(c->output, "-") && !freopen(c->output, "w", stdout)) {
		cmd_error("%s: %s", c->output, strerror(errno));
		input_close(&input);
		return CMD_FAILED;
	}
	input_print_source(&input, &c->choice);
	status = convert(c, &input);
	input_close(&input);
	return status;
}

/* Files of views/ that are not made of a capture. */
static int refuse_format(const struct command *command, const char *format)
{
	if (strcmp(format, "ctf") == 0)
		return cmd_usage_error(command,
			"ctf is a format of the trace, and a capture has no "
			"trace: copy views/ctf of the mounted tree with `cp -r`, or use `kprof "
			"trace --ctf` "
			"with copies of cpu/N/trace");
	if (strcmp(format, "metrics") == 0)
		return cmd_usage_error(command, "metrics describe the server, not a capture: copy "
						"views/metrics of the mounted tree with `cp`");
	return cmd_usage_error(command, "no format %s", format);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct convert c = { .format = NULL };
	const char *format = NULL;
	int letter, status;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		if (letter == 't')
			format = optarg;
		else if (letter == 'o')
			c.output = optarg;
		else if (letter == 'm')
			c.choice.mount = optarg;
	}
	if (letter < 0)
		return status;
	if (optind < argc)
		c.choice.file = argv[optind++];
	if (optind < argc || (c.choice.file && c.choice.mount))
		return cmd_usage_error(command, "give at most one FILE or --mount DIR");
	if (!format)
		return list_formats();
	c.format = view_find(format);
	if (!c.format)
		return refuse_format(command, format);
	return open_and_convert(&c);
}

const struct command cmd_convert = {
	.name = "convert",
	.arguments = "[FILE]",
	.summary = "Write a capture in another format: perf.data, pprof and others",
	.examples = "kprof convert                          lists the formats\n"
		    "kprof convert -t flame.svg -o flame.svg\n"
		    "kprof convert -t perf.data kprof.data | perf report -i -\n",
	.options = options,
	.run = run,
};
