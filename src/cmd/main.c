/* SPDX-License-Identifier: MIT */
/*
 * kprof: samples commands, and reads what kprofs captured.
 *
 *	main
 *	  commands[]		one row and one file a subcommand: cmd_NAME.c
 *	    cmd_next_option	its options, from the same row (cmd.c); completions.c lists them
 *
 *	What samples (record, top) or counts (stat):
 *	    session_open	the server that is mounted, or one of our own (session.c,
 *instance.c) launch_begin	the command that is measured, and its signals (launch.c) follow_read
 *kpdata as it comes, into a file (follow.c); recent_samples_take: a look at it (live.c)
 *process_filter_wants what belongs to the command (capture/process_filter.c)
 *
 *	What reads (report, annotate, dump, convert):
 *	    input_open		a file, standard input, or the mounted kpdata (input.c)
 *	    decode_next		the records (capture/decode.c)
 *	    profile_load	all of them as a model (capture/profile.c, processes.c, stacks.c)
 *	    functions_create	its functions (capture/functions.c, which asks sym/)
 *	    flat_write		one file a format (formats/flat.c, dump.c)
 *
 *	    tracecopies_next	copies of cpu/N/trace (trace/tracefile.c), merged, as lines
 *(trace/trace_text.c) tracectf_write	or as CTF (trace/ctf/ctf.c)
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
	     "Reads what kprofs captured: the mounted kpdata, or a copy of it.\n");
	for (i = 0; i < COUNT; i++)
		printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
	puts("\n  kprof COMMAND --help tells about one of them, kprof --version the version.");
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
