/* SPDX-License-Identifier: MIT */
/* kprof flame: draws the maps with stacks as keys of an answer of probes/. */
#include "cmd/commands.h"

#include <errno.h>
#include <getopt.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/mount_choice.h"
#include "formats/flame.h"
#include "formats/stackmap.h"

#define READ_BYTES 65536

static const struct cmd_option options[] = {
	{ 'm', "mount", "DIR", "read probes/NAME of the mount at DIR" },
	{ 'o', "output", "FILE", "write to FILE in place of standard output" },
	{ 0 },
};

/* A file; or probes/NAME of a mount, if there is no such file here. NULL after an error was printed. */
static FILE *open_answer(const char *name, const char *mount)
{
	g_autofree char *path = NULL;
	struct err err = { "" };
	FILE *file;

	if (!strcmp(name, "-"))
		return stdin;
	file = mount ? NULL : fopen(name, "re");
	if (!file && (mount || (errno == ENOENT && g_str_has_prefix(name, "probes/")))) {
		if (mount_choice_path(mount, name, &path, &err)) {
			cmd_error("%s", err.text);
			return NULL;
		}
		file = fopen(path, "re");
	}
	if (!file)
		cmd_error("%s: %s", path ? path : name, strerror(errno));
	return file;
}

static char *read_answer(FILE *file, const char *name)
{
	g_autoptr(GString) text = g_string_new(NULL);
	char buffer[READ_BYTES];
	size_t n;

	while ((n = fread(buffer, 1, sizeof(buffer), file)) > 0 && text->len <= STACKMAP_BYTES_MAX)
		g_string_append_len(text, buffer, (gssize)n);
	if (ferror(file))
		cmd_error("%s can't be read: %s", name, strerror(errno));
	else if (text->len > STACKMAP_BYTES_MAX)
		cmd_error("%s has more than %u bytes", name, STACKMAP_BYTES_MAX);
	else if (strlen(text->str) != text->len)
		cmd_error("%s is no text: kprof convert -t flame.svg draws a copy of kpdata", name);
	else
		return g_string_free(g_steal_pointer(&text), FALSE);
	return NULL;
}

static int write_graph(const struct stackmap *map, const char *output)
{
	FILE *out = output ? fopen(output, "we") : stdout;
	bool failed;

	if (!out) {
		cmd_error("%s: %s", output, strerror(errno));
		return CMD_FAILED;
	}
	flame_write_map(map->tree, out);
	if (!output)
		return cmd_finish_output(CMD_OK);
	failed = ferror(out);
	if (!fclose(out) && !failed)
		return CMD_OK;
	cmd_error("%s can't be written: %s", output, strerror(errno));
	return CMD_FAILED;
}

static int draw(const char *name, const char *mount, const char *output)
{
	FILE *file = open_answer(name, mount);
	g_autofree char *text = NULL;
	struct stackmap *map;
	struct err err = { "" };
	int status;

	if (!file)
		return CMD_FAILED;
	text = read_answer(file, name);
	if (file != stdin)
		fclose(file);
	if (!text)
		return CMD_FAILED;
	if (stackmap_create(text, &map, &err)) {
		cmd_error("%s: %s", name, err.text);
		return CMD_FAILED;
	}
	status = write_graph(map, output);
	stackmap_destroy(map);
	return status;
}

static int run(const struct command *command, int argc, char **argv)
{
	const char *mount = NULL, *output = NULL;
	int letter, status;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		if (letter == 'm')
			mount = optarg;
		else if (letter == 'o')
			output = optarg;
	}
	if (letter < 0)
		return status;
	if (argc - optind != 1)
		return cmd_usage_error(command, "one FILE is needed: probes/NAME, or a copy of it");
	if (!output && isatty(STDOUT_FILENO))
		return cmd_usage_error(command, "a graph is not for a terminal: use -o FILE");
	return draw(argv[optind], mount, output);
}

const struct command cmd_flame = {
	.name = "flame",
	.arguments = "FILE",
	.summary = "Draw the maps of a program of probes/ that have stacks as keys",
	.examples = "kprof flame -o kernel.svg probes/kernel\n"
		    "kprof probe -c 'sleep 1' 'profile:hz:99 { @[kstack] = count(); }' |\n"
		    "  kprof flame -o kernel.svg -\n",
	.options = options,
	.run = run,
};
