/* SPDX-License-Identifier: MIT */
/* Notes of a private server: see server_notes.h. */
#include "cmd/server_notes.h"

#include <glib.h>
#include <inttypes.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/kpctl_client.h"

struct note {
	char *file; /* of the first line with this reason */
	char *reason;
	guint others;
};

struct server_notes {
	GPtrArray *notes;  /* of struct note, not printed yet */
	uint64_t since_ns; /* of the last line that was taken */
};

static void free_note(void *data)
{
	struct note *note = data;

	g_free(note->file);
	g_free(note->reason);
	g_free(note);
}

struct server_notes *server_notes_create(void)
{
	struct server_notes *notes = g_new0(struct server_notes, 1);

	notes->notes = g_ptr_array_new_with_free_func(free_note);
	return notes;
}

void server_notes_destroy(struct server_notes *notes)
{
	if (!notes)
		return;
	g_ptr_array_unref(notes->notes);
	g_free(notes);
}

static void take(void *arg, const char *file, const char *reason)
{
	struct server_notes *notes = arg;
	struct note *note;

	for (guint i = 0; i < notes->notes->len; i++) {
		note = g_ptr_array_index(notes->notes, i);
		if (strcmp(note->reason, reason) == 0) {
			note->others++;
			return;
		}
	}
	note = g_new0(struct note, 1);
	note->file = g_strdup(file);
	note->reason = g_strdup(reason);
	g_ptr_array_add(notes->notes, note);
}

void server_notes_collect(struct server_notes *notes, const char *dir)
{
	kpctl_client_notes(dir, &notes->since_ns, take, notes);
}

void server_notes_print(struct server_notes *notes)
{
	for (guint i = 0; i < notes->notes->len; i++) {
		const struct note *note = g_ptr_array_index(notes->notes, i);

		if (note->others)
			cmd_error("note: %s and %u others: %s", note->file, note->others, note->reason);
		else
			cmd_error("note: %s: %s", note->file, note->reason);
	}
	g_ptr_array_set_size(notes->notes, 0);
}

void server_notes_print_missing(const char *dir)
{
	const uint64_t missed = kpctl_client_stat(dir, "trace.kernel.missed");
	const uint64_t threads = kpctl_client_stat(dir, "trace.kernel.threads_lost");

	if (missed)
		cmd_error("note: up to %" PRIu64 " events are missing: they happened while a program of the "
			"kernel ran on the same CPU, or were calls of a function that was in too many "
			"threads", missed);
	if (threads)
		cmd_error("note: %" PRIu64 " threads were not followed: more are traced than there is room "
			"for", threads);
}
