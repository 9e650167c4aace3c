/* SPDX-License-Identifier: MIT */
/* Sessions from files: see restore.h. */
#include "fs/restore.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "fs/ctl_words.h"
#include "fs/file.h"
#include "fs/kperr.h"
#include "fs/openfile.h"
#include "fs/report.h"
#include "fs/server.h"
#include "fs/session.h"
#include "fs/sessions.h"
#include "fs/settings_file.h"
#include "fs/snapshots.h"
#include "prof/capture.h"
#include "prof/disk.h"

static void say(struct session *session, const char *name, const char *what)
{
	g_autofree char *text = g_strdup_printf("state=: session '%s': %s", *name ? name : "/", what);
	struct kperr_entry entry = { .pid = getpid(), .uid = getuid(), .file = "kpctl", .written = "",
		.reason = text };

	report_add(session->report, &entry);
}

/* A session is stopped at first, and no file of it is open. */
static bool is_setting(const char *line, size_t len)
{
	return len && strncmp(line, "start", len) != 0 && strncmp(line, "stop", len) != 0;
}

/* One that this machine does not take any more is said, and the others are set. */
static void set(struct session *top, struct session *session, const char *name, const char *words)
{
	struct ctl_words_call call = { .session = session };
	const struct ctl_words_word *word;
	size_t left = strlen(words), len;
	const char *line;

	while (ctl_words_next_line(&words, &left, &line, &len)) {
		struct err err = { "" };

		if (is_setting(line, len) && ctl_words_run(file_kpctl_words, &call, line, len, &word, &err))
			say(top, name, err.text);
	}
}

/* The session at the top is there, without its settings. */
static void set_aside(struct disk *disk, const char *name)
{
	if (*name)
		disk_set_session_aside(disk, name);
	else
		disk_set_aside(disk, SETTINGS_FILE_KIND, name);
}

static void restore_one(struct server *server, struct session *top, const char *name)
{
	struct session *session;
	struct err err = { "" };
	struct settings_file_head head;
	char *words = NULL;
	int ret = settings_file_read(server->disk, name, &head, &words);

	if (ret) {
		say(top, name, ret == -EPROTO ? "its settings were written by another version of kprofs, or "
			"are damaged" : g_strerror(-ret));
		set_aside(server->disk, name);
		return;
	}
	if (!*name) {
		set(top, top, name, words);
	} else {
		const struct origin maker = { .uid = head.maker, .gid = head.maker_group };
		const struct snapshots_made made = { .name = name, .origin = &maker,
			.is_numbered = head.is_numbered };

		session = sessions_restore(server->sessions, &made, &head.owner, &err);
		if (session) {
			set(top, session, name, words);
			session_keep_settings(session);
		} else {
			say(top, name, err.text);
			set_aside(server->disk, name);
		}
	}
	g_free(words);
}

/* What is left of a session that was being made or removed. */
static void remove_rest(struct disk *disk, const char *kind, GPtrArray *sessions)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	disk_list(disk, kind, names);
	for (guint i = 0; i < names->len; i++) {
		const char *name = g_ptr_array_index(names, i);

		if (*name && !g_ptr_array_find_with_equal_func(sessions, name, g_str_equal, NULL))
			disk_remove(disk, kind, name);
	}
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void restore_sessions(struct server *server, struct session *top)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	disk_list(server->disk, SETTINGS_FILE_KIND, names);
	/* that at the top first: with its own prof_qlimit it leaves the others the memory that they had */
	g_ptr_array_sort(names, compare_names);
	for (guint i = 0; i < names->len; i++)
		restore_one(server, top, g_ptr_array_index(names, i));
	session_keep_settings(top);
	remove_rest(server->disk, "index", names);
	remove_rest(server->disk, "journal", names);
	/* what was not read stays, for the version that wrote it */
	capture_pool_settle(server->memory);
}
