/* SPDX-License-Identifier: MIT */
/*
 * probes/: programs in the language of probes, one file each. Reads make the answer in a thread for
 * views. What an open file writes is collected until it is a whole text; the control thread checks and
 * attaches it.
 */
#include "fs/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/fdio.h"
#include "base/log.h"
#include "fs/content.h"
#include "fs/kperr.h"
#include "fs/openfile.h"
#include "fs/probe_names.h"
#include "fs/report.h"
#include "fs/server.h"
#include "fs/session.h"
#include "fs/slow_ops.h"
#include "kernel/kernel.h"
#include "probes/ast.h"
#include "probes/probes.h"
#include "probes/targets.h"
#include "prof/events.h"
#include "trace/trace.h"

struct probe_row {
	struct dirtab_row row; /* first, so that one is the other */
	char name[];
};

/* What one open file has written: in the control thread. */
struct writer {
	struct session *session;
	char *name;
	GString *text;
	bool has_news;	 /* something was written since the last flush */
	bool is_partial; /* the text ends too early so far */
	bool is_set;	 /* the text is the program's */
};

/* ---- the server for probes --------------------------------------------------------------------- */

/* Whatever the kernel lacks, probes are not possible here: the sentence says what would give them. */
static int hold(void *arg, const struct emit_machine **machine, struct err *err)
{
	struct session *session = arg;
	int ret = kernel_hold(session->server->kernel, machine, err);

	/* the main thread gives back what was made */
	if (ret)
		bell_ring(session->server->bell);
	return ret && ret != -ENOMEM ? -EOPNOTSUPP : ret;
}

static void release(void *arg)
{
	struct session *session = arg;

	kernel_release(session->server->kernel);
}

static int call_number(void *arg, const char *name)
{
	struct session *session = arg;

	return kernel_call_number(session->server->kernel, name);
}

static int find_event(void *arg, const char *name, uint64_t count, struct perf_link_event *event,
	struct err *err)
{
	g_autofree struct event_list *list = g_new0(struct event_list, 1);
	g_autofree char *text = count ? g_strdup_printf("%s:period=%" G_GUINT64_FORMAT, name, count) :
					g_strdup(name);
	const struct perf_event_attr *attr = &list->events[0].attr;
	int ret = events_parse(text, NULL, list, err);

	if (ret)
		return ret;
	*event = (struct perf_link_event){ .type = attr->type, .config = attr->config,
		.config1 = attr->config1, .config2 = attr->config2, .is_frequency = attr->freq,
		.period = attr->freq ? attr->sample_freq : attr->sample_period,
		.exclude_user = attr->exclude_user, .exclude_kernel = attr->exclude_kernel };
	return 0;
}

static void add_outputs(void *arg, uint32_t serial, const char *label, struct outputs *outputs)
{
	struct session *session = arg;

	kernel_add_probe(session->server->kernel, serial, label, outputs);
}

static void add_message(void *arg, const char *label, uint64_t time_ns, const char *text, size_t bytes)
{
	struct session *session = arg;
	g_autoptr(GString) line = g_string_new(label);

	g_string_append(line, ": ");
	g_string_append_len(line, text, (gssize)MIN(bytes, TRACE_MESSAGE_BYTES_MAX - line->len - 1));
	(void)trace_append(session->server->trace, line->str, line->len);
}

static void add_note(void *arg, const char *name, const char *text)
{
	struct session *session = arg;
	g_autofree char *file = g_strconcat("probes/", name, NULL);
	struct kperr_entry entry = { .pid = getpid(), .uid = getuid(), .file = file, .written = "",
		.reason = text };

	report_add(session->report, &entry);
}

struct probes *file_probes_create(struct session *session, const struct file_probes_options *options)
{
	const struct probes_options made = {
		.hooks = {
			.attach = { .arg = session, .call_number = call_number,
				.event = find_event },
			.arg = session,
			.hold = hold,
			.release = release,
			.add_outputs = add_outputs,
			.message = add_message,
			.note = add_note,
		},
		.memory_bytes = options->memory_bytes,
		.keys = options->keys,
		.string_bytes = options->string_bytes,
	};

	return probes_create(&made);
}

/* ---- writing ----------------------------------------------------------------------------------- */

static void *open_writer(struct session *session, const struct dirtab_row *row)
{
	struct writer *writer = g_new0(struct writer, 1);

	writer->session = session;
	writer->name = g_strdup(row->name);
	writer->text = g_string_new(NULL);
	return writer;
}

static bool is_blank(const char *text, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes && g_ascii_isspace(text[i]); i++)
		;
	return i == bytes;
}

static int write_text(void *data, const char *text, size_t bytes, struct err *err)
{
	struct writer *writer = data;
	const gsize before = writer->text->len;
	const bool was_set = writer->is_set, had_news = writer->has_news;
	bool is_word = false;
	int ret;

	if (!bytes)
		return 0;
	if (memchr(text, '\0', bytes))
		return err_set(err, EINVAL, "a NUL byte in the program");
	if (before + bytes > AST_TEXT_MAX)
		return err_set(err, EMSGSIZE, "the program has more than %u bytes", AST_TEXT_MAX);
	if (writer->is_set && is_blank(text, bytes))
		return 0;
	g_string_append_len(writer->text, text, (gssize)bytes);
	writer->has_news = true;
	ret = probes_set(writer->session->probes, writer->name, writer->text->str, writer->text->len,
		&is_word,
		err);
	writer->is_partial = ret == -EAGAIN;
	/* what is refused leaves the text before it, whose BEGIN runs at the flush */
	writer->is_set = !is_word && (!ret || (was_set && ret != -EAGAIN));
	/* what comes behind a word, or behind what was refused, begins anew */
	if (is_word || (ret && ret != -EAGAIN)) {
		g_string_truncate(writer->text, is_word ? 0 : before);
		writer->has_news = !is_word && was_set && had_news;
	}
	if (writer->is_partial) {
		err->text[0] = '\0';
		return 0;
	}
	return ret;
}

static int flush_text(void *data, struct err *err)
{
	struct writer *writer = data;
	bool is_word;
	int ret = 0;

	if (!writer->has_news)
		return 0;
	writer->has_news = false;
	if (writer->is_partial) {
		/* once more, for the sentence that says what is missing */
		ret = probes_set(writer->session->probes, writer->name, writer->text->str, writer->text->len,
			&is_word, err);
		return ret == -EAGAIN ? -EINVAL : ret;
	}
	if (writer->is_set)
		probes_begin(writer->session->probes, writer->name);
	return 0;
}

static void close_writer(void *data)
{
	struct writer *writer = data;

	g_string_free(writer->text, TRUE);
	g_free(writer->name);
	g_free(writer);
}

static const struct writer_ops program_writer = {
	.open = open_writer,
	.write = write_text,
	.flush = flush_text,
	.close = close_writer,
};

/* ---- rows -------------------------------------------------------------------------------------- */

static int make_answer(struct session *session, const struct dirtab_row *row, int fd, void *job,
	struct err *err)
{
	struct probe_names *names = probe_names_create();
	struct value_names values = probe_names_values(names);
	g_autoptr(GString) out = g_string_new(NULL);
	int ret;

	probes_begin(session->probes, row->name);
	ret = probes_print(session->probes, row->name, &values, out);
	if (!ret && probe_names_resolve(names, slow_ops_cancel_fd(job))) {
		g_string_truncate(out, 0);
		ret = probes_print(session->probes, row->name, &values, out);
	}
	slow_ops_close_cancel_fd(job);
	probe_names_destroy(names);
	if (ret)
		return err_set(err, -ret, "the program was removed");
	return fdio_write(fd, out->str, out->len);
}

static void put_row(const struct dirtab_row *row)
{
	g_free((struct probe_row *)row);
}

static const struct dirtab_row *make_row(const char *name)
{
	size_t bytes = strlen(name) + 1;
	struct probe_row *made = g_malloc0(sizeof(*made) + bytes);

	memcpy(made->name, name, bytes);
	made->row = (struct dirtab_row){
		.name = made->name,
		.type = DIRTAB_TEXT,
		.mode = 0600,
		.flags = DIRTAB_SLOW_WRITE,
		.content = &content_made,
		.make = make_answer,
		.writer = &program_writer,
		.usage = "a program in the language of probes, or clear, off, on",
		.put = put_row,
	};
	return &made->row;
}

const struct dirtab_row *file_probes_lookup(struct session *session, const struct dirtab_row *dir,
	const char *name)
{
	return probes_has(session->probes, name) ? make_row(name) : NULL;
}

void file_probes_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	probes_list(session->probes, names);
	for (guint i = 0; i < names->len; i++)
		g_ptr_array_add(rows, (gpointer)make_row(g_ptr_array_index(names, i)));
}

/* The file is there for who opens it; it is in the folder when it has a program. */
const struct dirtab_row *file_probes_new(struct session *session, const struct dirtab_row *dir,
	const char *name)
{
	return probes_is_name(name) ? make_row(name) : NULL;
}

int file_probes_remove(struct session *session, const struct dirtab_row *dir, const char *name)
{
	return probes_remove(session->probes, name);
}

/* ---- list -------------------------------------------------------------------------------------- */

struct listing {
	const struct targets *targets;
	struct targets_format *format;
	GString *out;
};

static int list_tracepoint(void *arg, const char *system, const char *name)
{
	struct listing *listing = arg;

	g_string_append_printf(listing->out, "tracepoint:%s:%s", system, name);
	if (!targets_format(listing->targets, system, name, listing->format, NULL))
		for (uint32_t i = 0; i < listing->format->count; i++)
			g_string_append_printf(listing->out, "%s %s %s", i ? "," : "",
				listing->format->fields[i].type, listing->format->fields[i].name);
	g_string_append_c(listing->out, '\n');
	return 0;
}

int file_probes_list_make(struct session *session, const struct dirtab_row *row, int fd, void *job,
	struct err *err)
{
	g_autoptr(GString) out = g_string_new("BEGIN\nEND\nprofile:hz:N\ninterval:s:N\n");
	g_autofree struct targets_format *format = g_new(struct targets_format, 1);
	struct listing listing = { .format = format, .out = out };
	struct targets *targets;
	int ret = targets_open(NULL, &targets, err);

	if (ret)
		return ret;
	listing.targets = targets;
	ret = targets_tracepoints(targets, "*", "*", list_tracepoint, &listing);
	targets_close(targets);
	if (ret)
		g_string_append_printf(out, "# tracepoints can't be listed: %s\n", g_strerror(-ret));
	return fdio_write(fd, out->str, out->len);
}
