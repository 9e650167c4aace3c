/* SPDX-License-Identifier: MIT */
/*
 * events/kernel/: the switches of kernel events. Reads run in any worker and answer from memory; a name is
 * looked up in tracefs. Writes attach and detach, so the control thread carries them out.
 */
#include "fs/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/fdio.h"
#include "base/switch_word.h"
#include "fs/content.h"
#include "fs/kperr.h"
#include "fs/openfile.h"
#include "fs/report.h"
#include "fs/server.h"
#include "fs/session.h"
#include "kernel/kernel.h"

/* A filter is at most 1024 bytes. */
#define SETTING_BYTES_MAX 2048
/* Some thousands of processes. */
#define PIDS_BYTES_MAX 32768

static int render_switch(struct session *session, const struct dirtab_row *row, uid_t reader, GString *out,
	struct err *err)
{
	kernel_get(session->server->kernel, row->name, out);
	return 0;
}

/* What the records lack is a line of kperr. */
static void add_note(struct session *session, const struct origin *origin, const char *name)
{
	g_autofree char *file = g_strconcat("events/kernel/", name, NULL);
	g_autoptr(GString) text = g_string_new(NULL);
	struct kperr_entry entry = { .pid = origin->pid, .uid = origin->uid, .file = file, .written = "" };

	kernel_note(session->server->kernel, name, text);
	entry.reason = text->str;
	if (text->len)
		report_add(session->report, &entry);
}

static int write_switch(struct session *session, const struct dirtab_row *row, const struct origin *origin,
	const char *data, size_t size, struct err *err)
{
	g_autofree char *text = NULL;
	int ret;

	if (!size)
		return 0;
	if (size > SETTING_BYTES_MAX || memchr(data, '\0', size))
		return err_set(err, EINVAL, "what a switch takes has at most %d bytes, without NUL",
			SETTING_BYTES_MAX);
	text = g_strndup(data, size);
	ret = kernel_set(session->server->kernel, row->name, text, err);
	if (!ret)
		add_note(session, origin, row->name);
	/* the main thread gives memory back that is not needed for a while */
	bell_ring(session->server->bell);
	return ret;
}

int file_kernel_pids_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	kernel_get_pids(session->server->kernel, out);
	return 0;
}

int file_kernel_pids_write(struct session *session, const struct dirtab_row *row,
	const struct origin *origin, const char *data, size_t size, struct err *err)
{
	g_autofree char *text = NULL;
	int ret;

	if (!size)
		return 0;
	if (size > PIDS_BYTES_MAX || memchr(data, '\0', size))
		return err_set(err, EINVAL, "processes are PID[,PID...], of at most %d bytes",
			PIDS_BYTES_MAX);
	text = g_strndup(data, size);
	ret = kernel_set_pids(session->server->kernel, text, err);
	bell_ring(session->server->bell);
	return ret;
}

static const struct dirtab_row switch_row = {
	.type = DIRTAB_TEXT,
	.mode = 0600,
	.flags = DIRTAB_SLOW_WRITE,
	.content = &content_rendered,
	.render = render_switch,
	.write = write_switch,
	.usage = SWITCH_WORD_USAGE " [stack] [/FILTER/]",
};

static const struct dirtab_row *make_row(const char *name)
{
	return dirtab_make(&switch_row, name, sizeof(switch_row));
}

const struct dirtab_row *file_kernel_lookup(struct session *session, const struct dirtab_row *dir,
	const char *name)
{
	return kernel_has(session->server->kernel, name) ? make_row(name) : NULL;
}

void file_kernel_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	kernel_list(session->server->kernel, names);
	dirtab_make_all(&switch_row, names, rows);
}

int file_kernel_info_make(struct session *session, const struct dirtab_row *row, int fd, void *job,
	struct err *err)
{
	g_autoptr(GString) out = g_string_new(NULL);

	kernel_print_info(session->server->kernel, out);
	return fdio_write(fd, out->str, out->len);
}
