/* SPDX-License-Identifier: MIT */
/* help: lists the files and what can be written to them, from the tables. Runs in any worker. */
#include "fs/file.h"

#include "fs/node.h"
#include "fs/server.h"
#include "fs/session.h"

/* The columns of a command. */
#define USAGE_WIDTH 35

static const char heading[] =
	"Read a file with cat; write a command with echo, as in\n"
	"    echo start > kpctl; sleep 5; echo stop > kpctl; cat views/flat\n"
	"A write that is refused leaves the reason in kperr. kprof(5) has the details.\n";

static void append_words(const struct ctl_words_word *words, GString *out)
{
	const struct ctl_words_word *word;

	for (word = words; word && word->word; word++) {
		g_autoptr(GString) usage = g_string_new(NULL);

		ctl_words_usage(words, word, usage);
		g_string_append_printf(out, "    %-*s", USAGE_WIDTH, usage->str);
		if (usage->len > USAGE_WIDTH)
			g_string_append_printf(out, "\n    %*s", USAGE_WIDTH, "");
		g_string_append_printf(out, " %s\n", word->help);
	}
}

static void append_rows(const struct dirtab_row *dir, const char *prefix, GString *out)
{
	const struct dirtab_row *row;

	for (row = dirtab_first(dir); row; row = dirtab_next(dir, row)) {
		g_autofree char *path = g_strconcat(
			prefix, row->name, row->type == DIRTAB_DIR ? "/" : "", NULL);

		if (row->type == DIRTAB_DIR && !*prefix)
			g_string_append_c(out, '\n');
		g_string_append_printf(out, "%-20s %s%s\n", path, row->help,
			row->flags & DIRTAB_UNLISTED ? " (not listed)" : "");
		append_words(row->words, out);
		if (row->write || row->writer)
			g_string_append_printf(out, "    %s\n", row->usage);
		append_rows(row, path, out);
	}
}

int file_help_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	struct dirtab_row top = *node_row(nodes_root(session->server->nodes));

	/* the directory that the help is in, as file_sessions.c makes it */
	if (session_name(session))
		top.only = DIRTAB_OF_SESSION;
	g_string_append_printf(out, "%s\n", heading);
	append_rows(&top, "", out);
	return 0;
}
