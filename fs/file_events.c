/* SPDX-License-Identifier: MIT */
/*
 * events/: the events of programs, one switch each, and the switches above them. The functions run
 * in any worker; the catalog answers from memory.
 *
 * The files of events appear and disappear with programs. Each lookup and each listing makes its
 * own rows, which are freed with their node, so names without users need no memory.
 */
#include "fs/file.h"

#include <errno.h>
#include <inttypes.h>

#include "fs/content.h"
#include "fs/openfile.h"
#include "fs/server.h"
#include "fs/session.h"
#include "fs/switches.h"
#include "kernel/kernel.h"
#include "producers/catalog.h"
#include "producers/producers.h"

/* ---- one event ------------------------------------------------------------------------------- */

static int run_event(struct ctl_words_call *call, struct err *err)
{
	int ret = catalog_set(call->session->server->catalog, call->file->row->name, call->to);

	return ret == -ENOSPC ? err_set(err, ENOSPC,
					"%u settings of events that no program has are remembered",
					CATALOG_SETTINGS_MAX) :
				ret;
}

static const struct ctl_words_word event_words[] = {
	{SWITCH_WORD_USAGE, "", 0, 0, run_event,
		"0: off; any other number: on, where the master switch is", true},
	{NULL},
};

static void append_switch(GString *out, bool on)
{
	g_string_append(out, on ? "1\n" : "0\n");
}

static int render_event(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	bool on;

	if (catalog_get(session->server->catalog, row->name, &on))
		return err_set(err, ENOENT, "no program has this event any more");
	append_switch(out, on);
	return 0;
}

static const struct dirtab_row event_row = {
	.type = DIRTAB_TEXT,
	.mode = 0600,
	.flags = DIRTAB_SWITCH,
	.content = &content_rendered,
	.render = render_event,
	.words = event_words,
};

static const struct dirtab_row *make_row(const char *label)
{
	return dirtab_make(&event_row, label, sizeof(event_row));
}

const struct dirtab_row *file_events_lookup(struct session *session, const struct dirtab_row *dir,
	const char *name)
{
	bool on;

	return catalog_get(session->server->catalog, name, &on) ? NULL : make_row(name);
}

const struct dirtab_row *file_events_create(struct session *session, const struct dirtab_row *dir,
	const char *name)
{
	return catalog_is_label(name) ? make_row(name) : NULL;
}

void file_events_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows)
{
	g_autoptr(GPtrArray) labels = g_ptr_array_new_with_free_func(g_free);

	catalog_list(session->server->catalog, labels);
	dirtab_make_all(&event_row, labels, rows);
}

/* ---- all of them ----------------------------------------------------------------------------- */

int file_events_enabled_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	append_switch(out, catalog_enabled(session->server->catalog));
	return 0;
}

static int run_enabled(struct ctl_words_call *call, struct err *err)
{
	struct server *server = call->session->server;

	catalog_set_enabled(server->catalog, call->to);
	kernel_enable(server->kernel, catalog_enabled(server->catalog));
	return 0;
}

const struct ctl_words_word file_events_enabled_words[] = {
	{SWITCH_WORD_USAGE, "", 0, 0, run_enabled,
		"off: nothing is written; on: events that are on are written", true},
	{NULL},
};

int file_events_all_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	append_switch(out, catalog_all(session->server->catalog));
	return 0;
}

static int run_all(struct ctl_words_call *call, struct err *err)
{
	catalog_set_all(call->session->server->catalog, call->to);
	return 0;
}

const struct ctl_words_word file_events_all_words[] = {
	{SWITCH_WORD_USAGE, "", 0, 0, run_all, "switch all events, those to come too", true},
	{NULL},
};

int file_events_info_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	catalog_print_info(session->server->catalog, out);
	return 0;
}

int file_events_overflow_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	struct producers_totals totals;

	producers_total(session->server->producers, &totals);
	g_string_append_printf(out, "%" PRIu64 "\n", totals.overwritten + totals.dropped +
		kernel_overwritten(session->server->kernel));
	return 0;
}

void file_events_clear(struct session *session)
{
	producers_clear(session->server->producers);
	kernel_note_clear(session->server->kernel, producers_cleared_ns(session->server->producers));
	switches_changed(session->server->switches, session->server->listener);
}

static int run_reset(struct ctl_words_call *call, struct err *err)
{
	if (call->to != SWITCH_WORD_ON)
		return err_set(err, EINVAL, "0 forgets nothing; any other number forgets all events");
	file_events_clear(call->session);
	return 0;
}

const struct ctl_words_word file_events_reset_words[] = {
	{"on|NUMBER", "", 0, 0, run_reset, "on, or any number but 0: forget all events", true},
	{NULL},
};
