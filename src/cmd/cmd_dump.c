/* SPDX-License-Identifier: MIT */
/*
 * kprof dump: every record of a capture as one line of text, for scripts and tests. The format of
 * the lines is that of capture/dump.h. Records are printed as they are read, so endless pipes work
 * too.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <getopt.h>
#include <glib.h>
#include <stdio.h>

#include "capture/dump.h"
#include "cmd/input.h"

static const struct cmd_option options[] = {
	CMD_OPTION_MOUNT,
	{ 0 },
};

static int dump(struct input *input)
{
	GString *line = g_string_new(NULL);
	struct decode_record record;
	int ret, status = CMD_OK;
	struct err err;

	while ((ret = decode_next(&input->decoder, &record, &err)) > 0 || ret == -EBADMSG) {
		if (ret < 0) {
			/*
			 * keeps the order if standard output and standard error are the same file
			 */
			fflush(stdout);
			cmd_error("%s: %s", input->name, err.text);
			status = CMD_FAILED;
			continue;
		}
		g_string_truncate(line, 0);
		dump_record(&record, line);
		if (fwrite(line->str, 1, line->len, stdout) < line->len)
			break;
	}
	g_string_free(line, TRUE);
	if (ret < 0) {
		fflush(stdout);
		cmd_error("%s: %s", input->name, err.text);
		status = CMD_FAILED;
	}
	return cmd_finish_output(status);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct input_choice choice = { NULL, NULL };
	struct input input;
	int letter, status;
	struct err err;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		if (letter == 'm')
			choice.mount = optarg;
	}
	if (letter < 0)
		return status;
	status = input_choose(command, argc, argv, &choice);
	if (status != CMD_OK)
		return status;
	if (input_open(&input, &choice, false, &err) < 0) {
		cmd_error("%s", err.text);
		return CMD_FAILED;
	}
	input_print_source(&input, &choice);
	status = dump(&input);
	input_close(&input);
	return status;
}

const struct command cmd_dump = {
	.name = "dump",
	.arguments = "[FILE]",
	.summary = "Print every record of a capture as a line of text",
	.examples = "kprof dump | less\n"
		    "kprof dump -m /mnt/kprof | grep _trace\n",
	.options = options,
	.run = run,
};
