/* SPDX-License-Identifier: MIT */
/*
 * kprof: samples commands, and reads what kprofs captured.
 *
 *	main
 *	  commands[]            one row and one file for each subcommand: cmd_NAME.c
 *	  cmd_next_option       parses its options, from the same row (cmd.c); completions.c lists
 *them
 *
 *	Subcommands that sample (record, top) or count (stat):
 *	  sampling_open         uses the mounted server, or a private one (sampling.c,
 *private_server.c) launch_begin          starts the measured command, handles its signals
 *(launch.c) kpdata_copy_read      copies kpdata to a file while it grows (kpdata_copy.c)
 *	  recent_samples_take   reads the new samples of kpdata (recent_samples.c)
 *	  process_filter_wants  selects the records of the command (capture/process_filter.c)
 *
 *	Subcommands that read (report, annotate, dump, convert):
 *	  input_open            opens a file, standard input, or the mounted kpdata (input.c)
 *	  decode_next           decodes the records (capture/decode.c)
 *	  profile_load          makes a model of them (capture/profile.c, processes.c, stacks.c)
 *	  functions_create      finds its functions (capture/functions.c, with src/symbolizer)
 *	  flat_write            writes one format, a file each (formats/flat.c, capture/dump.c)
 *
 *	Subcommand trace:
 *	  tracecopies_next      merges copies of cpu/N/trace (trace/tracefile.c)
 *	  tracectf_write        writes them as CTF (trace/ctf/); else as lines (trace/trace_text.c)
 *
 * One process, one thread, no state between two runs.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/stdfds.h"
#include "cmd/cmd.h"
#include "cmd/completions.h"

static const struct command *const commands[] = {
	&cmd_record,
	&cmd_stat,
	&cmd_report,
	&cmd_top,
	&cmd_annotate,
	&cmd_dump,
	&cmd_convert,
	&cmd_trace,
	&cmd_list,
	&cmd_doctor,
	NULL,
};

#define COUNT (sizeof(commands) / sizeof(commands[0]) - 1)

static int print_help(void)
{
	size_t i;

	puts("usage: kprof COMMAND [OPTIONS] [ARGUMENTS]\n\n"
	     "Samples commands, and reads what kprofs captured: the mounted kpdata, or a copy of "
	     "it.\n");
	for (i = 0; i < COUNT; i++)
		printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
	puts("\n`kprof COMMAND --help` lists the options of a command, `kprof --version` prints "
	     "the version.");
	return cmd_finish_output(CMD_OK);
}

int main(int argc, char **argv)
{
	size_t i;

	if (stdfds_fill())
		return CMD_FAILED;
	if (argc < 2) {
		cmd_error("no command; see kprof --help");
		return CMD_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return print_help();
	if (strcmp(argv[1], "--version") == 0) {
		puts(PACKAGE_STRING);
		return cmd_finish_output(CMD_OK);
	}
	/* for completions/: not in the help */
	if (strcmp(argv[1], "--list-options") == 0) {
		completions_list(commands);
		return cmd_finish_output(CMD_OK);
	}
	for (i = 0; i < COUNT; i++) {
		if (strcmp(argv[1], commands[i]->name) == 0)
			return commands[i]->run(commands[i], argc - 1, argv + 1);
	}
	cmd_error("no command %s; see kprof --help", argv[1]);
	return CMD_USAGE;
}
