/* SPDX-License-Identifier: MIT */
/* Words of control files for shells: see completion_ctl.h. */
#include "cmd/completion_ctl.h"

#include <glib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/mount_choice.h"
#include "cmd/private_server.h"

/* The columns of kprofs --dump-words. */
enum { FILE_COLUMN, WORD_COLUMN, LEAST_COLUMN, MOST_COLUMN, USAGE_COLUMN, COLUMNS };

/* The lines of the table, to be freed with g_strfreev(); NULL if there is no kprofs. */
static char **read_table(void)
{
	g_autofree char *server = private_server_find_server(), *text = NULL;
	char *args[] = {server, (char *)"--dump-words", NULL};

	if (!server || !g_spawn_sync(NULL, args, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &text,
				NULL, NULL, NULL))
		return NULL;
	return g_strsplit(text, "\n", -1);
}

/* ---- files ------------------------------------------------------------------------------------ */

/* A folder of a mount, of which `inside` is what was typed up to the last slash. */
static void offer_folder(const struct completion *completion, const char *mount, const char *inside)
{
	g_autofree char *path = g_build_filename(mount, inside, NULL);
	GDir *dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(path, name, NULL);
		g_autofree char *value = NULL;
		struct stat st;

		if (lstat(file, &st))
			continue;
		value = g_strconcat(inside, name, S_ISDIR(st.st_mode) ? "/" : "", NULL);
		if (S_ISDIR(st.st_mode) || (st.st_mode & 0222))
			completion_offer(completion, value, NULL);
	}
	if (dir)
		g_dir_close(dir);
}

static void offer_table_files(const struct completion *completion)
{
	g_auto(GStrv) lines = read_table();
	g_autofree char *last = NULL;
	char **line;

	for (line = lines; line && *line; line++) {
		g_auto(GStrv) columns = g_strsplit(*line, "\t", COLUMNS);

		/* all words of a file are together */
		if (!columns[0] || g_strcmp0(columns[FILE_COLUMN], last) == 0)
			continue;
		g_free(last);
		last = g_strdup(columns[FILE_COLUMN]);
		completion_offer(completion, last, NULL);
	}
}

void completion_ctl_files(struct completion *completion)
{
	const char *slash = strrchr(completion->typed + completion->done, '/');
	const char *typed = completion->typed + completion->done;
	g_autofree char *inside = g_strndup(typed, slash ? (gsize)(slash + 1 - typed) : 0);
	g_autofree char *found = NULL;
	const char *mount = completion->choice.mount;
	struct err err;

	if (!mount && mount_choice_find_quietly(&found, &err) == 0)
		mount = found;
	if (mount)
		offer_folder(completion, mount, inside);
	else
		offer_table_files(completion);
}

/* ---- words and their arguments ------------------------------------------------------------------ */

/* Capitals stand for values: in `SPEC[,SPEC...]|default` only `default` is a word. */
static void offer_alternatives(struct completion *completion, const char *usage)
{
	g_auto(GStrv) alternatives = g_strsplit_set(usage, "|", -1);
	char **alternative;
	bool has_events = false;

	for (alternative = alternatives; *alternative; alternative++) {
		if (g_ascii_islower(**alternative) && strcmp(*alternative, "default") != 0)
			completion_offer(completion, *alternative, NULL);
		has_events |= g_str_has_prefix(*alternative, "SPEC");
	}
	if (has_events)
		completion_offer_events(completion); /* with `default` */
}

static void offer_arguments(struct completion *completion, const char *usage)
{
	g_auto(GStrv) arguments = g_strsplit(usage, " ", -1);

	if (completion->argument < (int)g_strv_length(arguments))
		offer_alternatives(completion, arguments[completion->argument]);
}

static void offer_row(struct completion *completion, char **columns)
{
	const char *word = columns[WORD_COLUMN];

	if (completion->word && strcmp(completion->word, word) == 0) {
		offer_arguments(completion, columns[USAGE_COLUMN]);
	} else if (!completion->word && strcmp(word, "NUMBER") == 0) {
		completion_offer(completion, "1", NULL);
		completion_offer(completion, "0", NULL);
	} else if (!completion->word) {
		completion_offer(completion, word, columns[USAGE_COLUMN]);
	}
}

/* All switches of events take the same words. */
static const char *row_of(const char *file)
{
	if (!file)
		return "kpctl";
	if (g_str_has_prefix(file, "events/") && strcmp(file, "events/reset") != 0)
		return "events/all";
	return file;
}

void completion_ctl_words(struct completion *completion)
{
	const char *file = row_of(completion->file);
	g_auto(GStrv) lines = read_table();
	char **line;

	for (line = lines; line && *line; line++) {
		g_auto(GStrv) columns = g_strsplit(*line, "\t", COLUMNS);

		if (g_strv_length(columns) == COLUMNS && strcmp(columns[FILE_COLUMN], file) == 0)
			offer_row(completion, columns);
	}
}
