/* SPDX-License-Identifier: MIT */
/* Writes a capture in one of the formats of views/: see convert.h. */
#include "cmd/convert.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fdio.h"
#include "capture/functions.h"
#include "capture/profile.h"
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "cmd/report_input.h"
#include "sys/memfile.h"

/* A capture with what a format needs of it. */
struct convert {
	struct input input;
	int capture_fd;
	struct symbols *symbols;
	struct profile *profile;
	struct functions *names;
};

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
 * Returns a descriptor in which the capture begins at offset 0: the input's own, or that of a copy
 * of what was read ahead or of the rest of a file. The caller closes it.
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

static int fail(const struct input *input, const char *reason)
{
	cmd_error("%s: %s", input->name, reason);
	return CMD_FAILED;
}

/* Opens the capture; after CMD_OK it is closed by convert_close(). */
static int convert_open(struct convert *c, const struct input_choice *choice)
{
	struct err err;

	*c = (struct convert){ .capture_fd = -1 };
	if (input_open(&c->input, choice, true, &err) == 0)
		return CMD_OK;
	cmd_error("%s", err.text);
	return CMD_FAILED;
}

static void convert_close(struct convert *c)
{
	functions_destroy(c->names);
	symbols_destroy(c->symbols); /* also frees its progress */
	profile_destroy(c->profile);
	if (c->capture_fd >= 0)
		close(c->capture_fd);
	input_close(&c->input);
}

/* Loads what the format needs. */
static int convert_load(struct convert *c, const struct view_format *format, bool wakers)
{
	struct progress *progress;
	struct err err;

	if (input_unwind(&c->input, &err) < 0)
		return fail(&c->input, err.text);
	c->capture_fd = open_capture(&c->input);
	if (c->capture_fd < 0)
		return fail(&c->input, strerror(-c->capture_fd));
	progress = progress_begin();
	c->symbols = progress_open_symbols(progress);
	if (format->needs & VIEW_NAMES)
		symbols_prepare(c->symbols);
	if (view_load(format, &c->input.decoder, 0, wakers, &c->profile, &err) < 0)
		return fail(&c->input, err.text);
	progress_set_files(progress, processes_file_count(c->profile->processes));
	c->names = view_name(format, c->profile, c->symbols, -1);
	progress_end(progress);
	return CMD_OK;
}

/* Redirects standard output, unless that is what is meant. */
static int open_output(const char *output)
{
	if (!output || !strcmp(output, "-") || freopen(output, "w", stdout))
		return CMD_OK;
	cmd_error("%s: %s", output, strerror(errno));
	return CMD_FAILED;
}

static struct view_input view_of(const struct convert *c)
{
	return (struct view_input){
		.profile = c->profile,
		.functions = c->names,
		.capture_fd = c->capture_fd,
		.source = &c->input.origin,
	};
}

/* Writes the format; `before` is an earlier capture for a format that shows differences, or NULL. */
static int convert_write(
	const struct convert *c, const struct convert *before, const struct view_format *format)
{
	struct view_input view = view_of(c), earlier;
	struct err err = { "" };
	int ret;

	if (before) {
		earlier = view_of(before);
		view.before = &earlier;
	}
	ret = format->write(&view, stdout, &err);
	if (ret)
		cmd_error("%s: %s: %s", c->input.name, format->name,
			*err.text ? err.text : strerror(-ret));
	return ret ? CMD_FAILED : CMD_OK;
}

/* `before` is loaded, or NULL. */
static int convert_one(const struct view_format *format, bool wakers, const struct input_choice *choice,
	const struct convert *before, const char *output)
{
	struct convert c;
	int status = convert_open(&c, choice);

	if (status != CMD_OK)
		return status;
	status = open_output(output);
	if (status == CMD_OK) {
		input_print_source(&c.input, choice);
		status = convert_load(&c, format, wakers);
	}
	if (status == CMD_OK) {
		status = convert_write(&c, before, format);
		status |= report_input_print_profile_damage(c.input.name, c.profile);
		status |= c.input.damaged ? CMD_FAILED : CMD_OK;
		status = cmd_finish_output(status);
	}
	convert_close(&c);
	return status;
}

int convert_capture(const struct view_format *format, bool wakers, const struct input_choice *choice,
	const char *output)
{
	return convert_one(format, wakers, choice, NULL, output);
}

int convert_difference(const struct view_format *format, const struct input_choice *choice,
	const struct input_choice *before, const char *output)
{
	struct convert earlier;
	int status = convert_open(&earlier, before);

	if (status != CMD_OK)
		return status;
	status = convert_load(&earlier, format, false);
	if (status == CMD_OK) {
		status = convert_one(format, false, choice, &earlier, output);
		status |= report_input_print_profile_damage(
			earlier.input.name, earlier.profile);
	}
	convert_close(&earlier);
	return status;
}
