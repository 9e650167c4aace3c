/* SPDX-License-Identifier: MIT */
/* Copies of cpu/N/trace as CTF: see tracectf.h. */
#include "cmd/tracectf.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/tracecopies.h"
#include "trace/ctf/ctf.h"

/* The files, as in views/ctf. */
struct tracectf_folder {
	const char *dir;
	int fd;       /* -1 if not created */
	GArray *cpus; /* uint32_t, ascending */
	int *fds;     /* of the metadata, and of a stream for each CPU; -1 if not created */
};

/* The items, while they are written. */
struct tracectf_items {
	struct tracecopies *copies;
	struct producer_event meaning; /* of the current item */
	GString *format;               /* of the current item, with a NUL */
};

/* ---- items ----------------------------------------------------------------------------------- */

static bool has_lines(const struct merge_item *item)
{
	struct merge_line line;
	size_t at = 0;

	while (merge_next_line(item, &at, &line))
		;
	return at == item->message_bytes;
}

static void take_event(
	struct tracectf_items *items, const struct tracefile_item *from, struct merge_item *item)
{
	g_string_truncate(items->format, 0);
	g_string_append_len(items->format, from->event.format, from->event.format_bytes);
	items->meaning.format = items->format->str;
	items->meaning.format_bytes = from->event.format_bytes;
	item->event = from->event;
	item->meaning = &items->meaning;
}

static bool next_item(void *arg, struct merge_item *item, struct ctf_missing *missing)
{
	struct tracectf_items *items = arg;
	const struct tracefile_item *from;

	while ((from = tracecopies_next(items->copies))) {
		*item = (struct merge_item){ .time_ns = from->time_ns };
		if (from->type == KPROF_TRACE_EVENT) {
			take_event(items, from, item);
			return true;
		}
		if (from->type == KPROF_TRACE_MISSING) {
			*(from->reason == KPROF_TRACE_LEFT_OUT ? &missing->left_out : &missing->lost) +=
				from->count;
			continue;
		}
		item->message = from->text;
		item->message_bytes = from->bytes;
		if (has_lines(item))
			return true;
		tracecopies_print_error(items->copies, "a message that is no lines is left out");
	}
	return false;
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *name_file(const struct tracectf_folder *f, guint i, char name[24])
{
	if (i)
		g_snprintf(name, 24, "stream_%u", g_array_index(f->cpus, uint32_t, i - 1));
	else
		g_strlcpy(name, "metadata", 24);
	return name;
}

static int create(struct tracectf_folder *f)
{
	char name[24];
	guint i;

	if (mkdir(f->dir, 0700))
		return -errno;
	f->fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->fd < 0)
		return -errno;
	for (i = 0; i <= f->cpus->len; i++) {
		f->fds[i] = openat(f->fd, name_file(f, i, name),
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (f->fds[i] < 0)
			return -errno;
	}
	return 0;
}

/* Deletes the files of an incomplete trace. */
static void finish(struct tracectf_folder *f, bool made)
{
	char name[24];
	guint i;

	for (i = 0; i <= f->cpus->len; i++) {
		if (f->fds[i] < 0)
			continue;
		close(f->fds[i]);
		if (!made)
			(void)unlinkat(f->fd, name_file(f, i, name), 0);
	}
	if (f->fd >= 0) {
		close(f->fd);
		if (!made)
			(void)rmdir(f->dir);
	}
}

static gint compare_cpus(gconstpointer a, gconstpointer b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * The CPUs of the copies, each once, and the clocks of the first copy. False: there is no copy.
 */
static bool find_cpus(const struct tracecopies *copies, int count, GArray *cpus,
	struct tracefile_head *clocks)
{
	struct tracefile_head head;
	int i;
	guint n;

	for (i = 0; i < count; i++) {
		if (!tracecopies_get_head(copies, i, &head))
			continue;
		if (!cpus->len)
			*clocks = head;
		g_array_append_val(cpus, head.cpu);
	}
	g_array_sort(cpus, compare_cpus);
	for (n = 1; n < cpus->len;) {
		if (g_array_index(cpus, uint32_t, n) == g_array_index(cpus, uint32_t, n - 1))
			g_array_remove_index(cpus, n);
		else
			n++;
	}
	return cpus->len > 0;
}

static int write_folder(struct tracectf_folder *f, struct tracectf_items *items,
	const struct tracefile_head *clocks, struct err *err)
{
	const struct ctf_source source = {
		.next = next_item,
		.arg = items,
		.monotonic_ns = clocks->monotonic_ns,
		.realtime_ns = clocks->realtime_ns,
	};
	struct ctf_output output = {
		.cpus = (const uint32_t *)(const void *)f->cpus->data,
		.count = f->cpus->len,
		.bytes_max = UINT64_MAX,
		.metadata_max = CTF_METADATA_MAX,
	};
	int ret = create(f);

	if (ret)
		return err_set(err, -ret, "%s: %s", f->dir, strerror(-ret));
	output.metadata = f->fds[0];
	output.streams = f->fds + 1;
	ctf_make_uuid(output.uuid);
	err->text[0] = '\0';
	ret = ctf_write_from(&source, &output, NULL, err);
	return ret && !err->text[0] ? err_set(err, -ret, "%s: %s", f->dir, strerror(-ret)) : ret;
}

int tracectf_write(struct tracecopies *copies, int count, const char *dir)
{
	struct tracectf_items items = {.copies = copies};
	struct tracectf_folder f = {.dir = dir, .fd = -1};
	struct tracefile_head clocks = { 0 };
	struct err err;
	int ret;

	f.cpus = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	if (!find_cpus(copies, count, f.cpus, &clocks)) { /* the errors have been printed */
		g_array_unref(f.cpus);
		return CMD_FAILED;
	}
	f.fds = g_new(int, f.cpus->len + 1);
	memset(f.fds, -1, (f.cpus->len + 1) * sizeof(*f.fds));
	items.format = g_string_new(NULL);
	ret = write_folder(&f, &items, &clocks, &err);
	if (ret)
		cmd_error("%s", err.text);
	finish(&f, !ret);
	g_string_free(items.format, TRUE);
	g_free(f.fds);
	g_array_unref(f.cpus);
	return ret ? CMD_FAILED : CMD_OK;
}
