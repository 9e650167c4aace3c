/* SPDX-License-Identifier: MIT */
/*
 * kprof: samples commands, and reads what kprofs captured.
 *
 *	main
 *	  commands[]            one row and one file for each subcommand: cmd_NAME.c
 *	  cmd_next_option       parses its options, from the same row (cmd.c)
 *	  completions_print     lists what a shell completes (completions.c, completion_values.c)
 *
 *	Subcommands that sample (record, top) or count (stat):
 *	  sampling_open         uses the mounted server, or a private one (sampling.c, private_server.c)
 *	  launch_begin          starts the measured command, handles its signals (launch.c)
 *	  kpdata_copy_read      copies kpdata to a file while it grows (kpdata_copy.c)
 *	  recent_samples_take   reads the new samples of kpdata (recent_samples.c)
 *	  process_filter_wants  selects the records of the command (capture/process_filter.c)
 *
 *	Subcommands that read (report, annotate, script, dump, convert):
 *	  input_open            opens a file, standard input, or the mounted kpdata (input.c)
 *	  input_source_find     chooses one of them (input_source.c, mount_choice.c)
 *	  decode_next           decodes the records (capture/decode.c)
 *	  profile_load          makes a model of them (capture/profile.c, processes.c, stacks.c)
 *	  functions_create      finds its functions (capture/functions.c, with src/symbolizer)
 *	  flat_write            writes one format, a file each (formats/flat.c, capture/dump.c)
 *
 *	Subcommand ctl: kpctl_client_write_file (kpctl_client.c)
 *
 *	Subcommand mark: mark_client_send (producers/mark_client.c)
 *
 *	Subcommand probe: live_probe_run (live_probe.c) runs a program in a private server;
 *	  listing_run (probes/listing.c) lists what can be probed
 *
 *	Subcommand flame: stackmap_create (formats/stackmap.c) reads maps, flame_write_map draws them
 *
 *	Subcommand trace:
 *	  live_trace_run        traces a command in a private server (live_trace.c); as live_probe.c it reads
 *	                        kptrace_pipe by live_pipe_read (live_pipe.c)
 *	  tracecopies_next      merges copies of cpu/N/trace (trace/tracefile.c)
 *	  tracectf_write        writes them as CTF (trace/ctf/); else as lines (trace/trace_text.c)
 *
 * One process, one thread, no state between two runs.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/stdfds.h"
#include "cmd/commands.h"
#include "cmd/completions.h"
#include "cmd/perf_options.h"

static const struct command *const commands[] = {
	&cmd_record,
	&cmd_stat,
	&cmd_report,
	&cmd_top,
	&cmd_annotate,
	&cmd_script,
	&cmd_dump,
	&cmd_convert,
	&cmd_trace,
	&cmd_ctl,
	&cmd_mark,
	&cmd_probe,
	&cmd_flame,
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
	puts("\n`kprof help COMMAND` or `kprof COMMAND --help` lists the options of a command, with\n"
	     "examples; `kprof -V` prints the version. First steps:\n\n"
	     "  kprof record -- make\n"
	     "  kprof report");
	return cmd_finish_output(CMD_OK);
}

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT; i++)
		if (strcmp(name, commands[i]->name) == 0)
			return commands[i];
	return NULL;
}

static int refuse_command(const char *name)
{
	struct nearest nearest;
	char text[NEAREST_TEXT_MAX], answer[192];
	size_t i;

	if (perf_options_answer_command(name, answer, sizeof(answer))) {
		cmd_error("no command %s (%s); see kprof --help", name, answer);
		return CMD_USAGE;
	}
	nearest_init(&nearest, name);
	for (i = 0; i < COUNT; i++)
		nearest_offer(&nearest, commands[i]->name);
	cmd_error("no command %s%s; see kprof --help", name,
		nearest_text(&nearest, text, sizeof(text)));
	return CMD_USAGE;
}

static int print_help_of(const char *name)
{
	const struct command *command = find_command(name);

	if (!command)
		return refuse_command(name);
	cmd_print_help(command);
	return cmd_finish_output(CMD_OK);
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

/* `kprof -m DIR COMMAND` is `kprof COMMAND -m DIR`. */
static void put_command_first(char **argv)
{
	char *command = argv[3];

	argv[3] = argv[2];
	argv[2] = argv[1];
	argv[1] = command;
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (stdfds_fill())
		return CMD_FAILED;
	if (argc < 2)
		return print_help();
	if (is_one_of(argv[1], "--help", "-h", "help"))
		return argc > 2 ? print_help_of(argv[2]) : print_help();
	if (is_one_of(argv[1], "--version", "-V", "version")) {
		puts(PACKAGE_STRING);
		return cmd_finish_output(CMD_OK);
	}
	/* for completions/: not in the help */
	if (strcmp(argv[1], "--complete") == 0) {
		completions_print(commands, argc - 2, argv + 2);
		return cmd_finish_output(CMD_OK);
	}
	if (argc > 3 && (strcmp(argv[1], "-m") == 0 || strcmp(argv[1], "--mount") == 0))
		put_command_first(argv);
	command = find_command(argv[1]);
	return command ? command->run(command, argc - 1, argv + 1) : refuse_command(argv[1]);
}
