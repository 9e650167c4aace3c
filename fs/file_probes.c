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
#include "base/cancel.h"
#include "base/fdio.h"
#include "base/log.h"
#include "base/switch_word.h"
#include "bpf/machine.h"
#include "fs/content.h"
#include "fs/kpctl_thread.h"
#include "fs/kperr.h"
#include "fs/openfile.h"
#include "fs/probe_events.h"
#include "fs/probe_names.h"
#include "fs/report.h"
#include "fs/server.h"
#include "fs/session.h"
#include "fs/slow_ops.h"
#include "fs/snapshots.h"
#include "kernel/kernel.h"
#include "probes/ast.h"
#include "probes/gen.h"
#include "probes/listing.h"
#include "probes/probes.h"
#include "probes/targets.h"
#include "prof/events.h"
#include "prof/profiler.h"
#include "symbolizer/file_functions.h"
#include "sys/perf.h"
#include "trace/trace.h"

/*
 * The size of a message. The headers of its lines can make it several times as large in the trace, whose ring
 * has 128 KB by default.
 */
#define MESSAGE_PART_BYTES 4096u
/* Behind the label, if the message ends within a line: as trace/trace_text has it. */
#define LINE_GOES_ON "+: "
#define UTF8_BYTES_MAX 4

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

/* Such a probe is at one counter of the kernel or the CPU. */
static int check_counter(const char *name, const struct event_list *list, struct err *err)
{
	const struct event *event = &list->events[0];

	if (list->count != 1)
		return err_set(err, EINVAL, "'%s': several events; each needs a probe of its own", name);
	if (event->attr.type == PERF_TYPE_TRACEPOINT)
		return err_set(err, EINVAL, "'%s' is a tracepoint: tracepoint:%s", name, name);
	if (event->away.source != EVENT_PERF)
		return err_set(err, EINVAL, "'%s' is an event of kpctl and no counter", name);
	return 0;
}

static int find_event(void *arg, const char *name, uint64_t count, struct perf_link_event *event,
	struct err *err)
{
	g_autofree struct event_list *list = g_new0(struct event_list, 1);
	g_autofree char *text = count ? g_strdup_printf("%s:period=%" G_GUINT64_FORMAT, name, count) :
					g_strdup(name);
	const struct perf_event_attr *attr = &list->events[0].attr;
	int ret = events_parse(name, NULL, list, err);

	/* the name alone first, so that an error is about the name and not about the count */
	if (!ret)
		ret = check_counter(name, list, err);
	if (!ret && count)
		ret = events_parse(text, NULL, list, err);
	if (ret)
		return ret;
	*event = (struct perf_link_event){ .type = attr->type, .config = attr->config,
		.config1 = attr->config1, .config2 = attr->config2, .is_frequency = attr->freq,
		.period = attr->freq ? attr->sample_freq : attr->sample_period,
		.exclude_user = attr->exclude_user, .exclude_kernel = attr->exclude_kernel };
	return 0;
}

/* Helpers of its own for each program with such probes: they are used for some 10 ms only. */
static int take_place(void *arg, const struct proto_found *found)
{
	const struct attach_file *file = arg;
	const struct attach_place place = { .name = found->name, .arguments = found->arguments,
		.offset = found->offset, .address = found->address, .counter = found->counter };

	return file->each(file->arg, &place);
}

static int find_functions(void *arg, const struct attach_file *file, int *fd, struct err *err)
{
	static const uint32_t flags[] = { [ATTACH_STATIC_PROBES] = PROTO_STATIC_PROBES,
		[ATTACH_SYMBOLS] = PROTO_OBJECTS };
	static const struct helpers_options plain;
	const struct file_functions_query query = { .path = file->path, .pattern = file->pattern,
		.flags = flags[file->wanted], .pid = (uint32_t)file->pid,
		.each = take_place, .arg = (void *)file };
	struct helpers *helpers = helpers_create(&plain);
	int ret = file_functions(helpers, &query, fd, err);

	helpers_destroy(helpers);
	return ret;
}

/*
 * A copy that a helper makes: to open a file of FUSE, or to read one of /proc, may take as long as another
 * process likes. One thread at a time: it does what programs ask for.
 */
static int open_file(void *arg, const char *path, size_t bytes)
{
	static const struct helpers_options plain;
	const struct proto_wait wait = { .cancel_fd = -1 };
	g_autofree struct proto_message *message = g_new(struct proto_message, 1);
	struct session *session = arg;
	int ret;

	if (!session->probe_files)
		session->probe_files = helpers_create(&plain);
	proto_init(message, PROTO_OPEN_PATH);
	message->head.flags = PROTO_ANY_MOUNT | PROTO_HEAD;
	message->end = bytes;
	ret = proto_set_path(message, path);
	return ret ? ret : helpers_open(session->probe_files, message, &wait);
}

static void add_outputs(void *arg, uint32_t serial, const char *label, struct outputs *outputs)
{
	struct session *session = arg;

	kernel_add_probe(session->server->kernel, serial, label, outputs);
}

static void end_outputs(void *arg, uint32_t serial)
{
	struct session *session = arg;

	kernel_end_probe(session->server->kernel, serial);
}

/*
 * The bytes of whole lines that are one message; a longer line is one of its own, or goes on in the next one
 * behind `most` bytes, and not within a character of UTF-8. So is a line at the end that has no newline.
 */
static size_t message_part(const char *text, size_t bytes, size_t most)
{
	const char *end;
	size_t part;

	end = memrchr(text, '\n', MIN(bytes, MESSAGE_PART_BYTES));
	if (!end)
		end = memchr(text, '\n', bytes);
	part = end ? (size_t)(end - text) + 1 : bytes;
	if (part <= most)
		return part;
	for (part = most; part > most - UTF8_BYTES_MAX && (text[part] & 0xc0) == 0x80; part--)
		;
	return part;
}

/* A map may have more text than fits into one message. The trace counts what it has no room for. */
static void add_message(void *arg, const char *label, const struct gen_action *action, const char *text,
	size_t bytes)
{
	struct session *session = arg;
	const size_t most = TRACE_MESSAGE_BYTES_MAX - strlen(label) - strlen(LINE_GOES_ON);
	g_autoptr(GString) message = g_string_new(NULL);
	size_t part;

	for (; bytes; text += part, bytes -= part) {
		part = message_part(text, bytes, most);
		g_string_assign(message, label);
		g_string_append(message, text[part - 1] != '\n' ? LINE_GOES_ON : ": ");
		g_string_append_len(message, text, (gssize)part);
		(void)trace_append_at(session->server->trace, action->time_ns, (unsigned int)action->cpu,
			message->str, message->len);
	}
}

static int begin_samples(void *arg, const char *label, const struct samples **samples, struct err *err)
{
	struct session *session = arg;

	return profiler_add_program(session->profiler, label, samples, err);
}

static void end_samples(void *arg, const char *label)
{
	struct session *session = arg;

	profiler_remove_program(session->profiler, label);
}

static void take_snapshot(void *arg, const char *label, const char *name)
{
	struct session *session = arg;
	struct dirtab_owner owner;
	struct origin origin;

	session_owner(session, &owner);
	origin = (struct origin){ .pid = getpid(), .uid = owner.uid, .gid = owner.gid };
	if (snapshots_request(session->snapshots, label, name, &origin))
		kpctl_thread_wake(session->kpctl);
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
				.event = find_event, .functions = find_functions,
				.programs = probe_events_programs, .want_event = probe_events_want },
			.events = { .arg = session, .each = probe_events_each, .value = probe_events_value },
			.arg = session,
			.hold = hold,
			.release = release,
			.add_outputs = add_outputs,
			.end_outputs = end_outputs,
			.message = add_message,
			.begin_samples = begin_samples,
			.end_samples = end_samples,
			.snapshot = take_snapshot,
			.open_file = open_file,
			.names = &probe_names_ops,
			.note = add_note,
		},
		.memory_bytes = options->memory_bytes,
		.serials = options->serials,
		.links = options->links,
		.keys = options->keys,
		.string_bytes = options->string_bytes,
		.pid = options->pid,
		.as_json = options->as_json,
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
	if (writer->session->is_restricted)
		return err_set(err, EPERM, "a session of an ordinary user takes no programs of probes: those "
			"of the kernel see all tasks, and to attach to a file, one of the user's own too, "
			"the kernel stops all forks while a process keeps its memory map locked");
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

/* An answer on its way into its file. */
struct answering {
	int fd;
	int error; /* -errno of the first write that failed */
};

static void write_piece(void *arg, GString *out)
{
	struct answering *answering = arg;

	if (!answering->error)
		answering->error = fdio_write(answering->fd, out->str, out->len);
	g_string_truncate(out, 0);
}

/* From the beginning of the file on. */
static int write_answer(struct session *session, const char *name, const struct value_names *names, int fd)
{
	struct answering answering = { .fd = fd };
	const struct answer_pieces pieces = { .take = write_piece, .arg = &answering };
	g_autoptr(GString) out = g_string_new(NULL);
	int ret;

	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
		return -errno;
	ret = probes_print(session->probes, name, names, &pieces, out);
	write_piece(&answering, out);
	return ret ? ret : answering.error;
}

static int make_answer(struct session *session, const struct dirtab_row *row, int fd, void *job,
	struct err *err)
{
	struct probe_names *names = probe_names_create();
	struct value_names values = probe_names_values(names);
	int ret;

	probes_begin(session->probes, row->name);
	ret = write_answer(session, row->name, &values, fd);
	/* the first time showed which addresses there are */
	if (!ret && probe_names_resolve(names, slow_ops_cancel_fd(job)))
		ret = write_answer(session, row->name, &values, fd);
	slow_ops_close_cancel_fd(job);
	probe_names_destroy(names);
	if (ret == -ENOENT)
		return err_set(err, ENOENT, "the program was removed");
	return ret ? err_set(err, -ret, "the answer can't be stored: %s", g_strerror(-ret)) : 0;
}

static const struct dirtab_row program_row = {
	.type = DIRTAB_TEXT,
	.mode = 0600,
	.flags = DIRTAB_SLOW_WRITE,
	.content = &content_made,
	.make = make_answer,
	.writer = &program_writer,
	.usage = "a program in the language of probes, or clear|" SWITCH_WORD_USAGE,
};

static const struct dirtab_row *make_row(const char *name)
{
	return dirtab_make(&program_row, name, sizeof(program_row));
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
	dirtab_make_all(&program_row, names, rows);
}

/* The file is there for who opens it; it is in the folder when it has a program. */
const struct dirtab_row *file_probes_new(struct session *session, const struct dirtab_row *dir,
	const char *name)
{
	return probes_is_name(name) ? make_row(name) : NULL;
}

int file_probes_remove(struct session *session, const struct dirtab_row *dir, const char *name)
{
	return probes_is_name(name) ? probes_remove(session->probes, name) : -EPERM;
}

/* ---- list -------------------------------------------------------------------------------------- */

/* The text is written in pieces: it has some 230,000 lines. */
#define LIST_PIECE_BYTES 65536u

struct listing {
	GString *out;
	int fd, ret;
	void *job;
};

static int write_list(struct listing *listing)
{
	if (!listing->ret)
		listing->ret = fdio_write(listing->fd, listing->out->str, listing->out->len);
	g_string_truncate(listing->out, 0);
	return listing->ret;
}

static int list_line(void *arg, const char *line)
{
	struct listing *listing = arg;

	g_string_append(listing->out, line);
	g_string_append_c(listing->out, '\n');
	if (listing->out->len < LIST_PIECE_BYTES)
		return 0;
	if (cancel_requested(slow_ops_cancel(listing->job)))
		listing->ret = -EINTR;
	return write_list(listing);
}

/* What this kernel, or what the server may do, does not allow, each with its reason. */
static void list_missing(const struct targets *targets, GString *out)
{
	static const enum machine_part parts[] = { MACHINE_MAPS, MACHINE_TYPES, MACHINE_TRACEPOINTS,
		MACHINE_FUNCTIONS, MACHINE_MANY_FUNCTIONS, MACHINE_KERNEL_MEMORY };
	static const char *const probes[] = { "kprobe", "uprobe" };
	const char *why = "";
	const struct types *types = targets_types(targets, &why);
	g_autofree struct machine *machine = g_new0(struct machine, 1);
	struct err no_types = { "" };
	uint32_t type, bit;

	if (!types)
		err_set(&no_types, EOPNOTSUPP, "%s", why);
	machine_look(machine, types, types ? 0 : -EOPNOTSUPP, &no_types);
	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
		if (!machine->has[parts[i]])
			g_string_append_printf(out, "# %s: %s\n", machine_part_name(parts[i]),
				machine->why[parts[i]].text);
	for (size_t i = 0; i < G_N_ELEMENTS(probes); i++)
		if (perf_pmu_type(probes[i], &type, &bit))
			g_string_append_printf(out, "# %s: this kernel has no %ss for perf\n", probes[i],
				probes[i]);
	if (targets_why_no_tracepoints(targets))
		g_string_append_printf(out, "# tracepoints can't be listed: %s\n",
			g_strerror(-targets_why_no_tracepoints(targets)));
}

int file_probes_list_make(struct session *session, const struct dirtab_row *row, int fd, void *job,
	struct err *err)
{
	g_autoptr(GString) out = g_string_new(NULL);
	struct listing listing = { .out = out, .fd = fd, .job = job };
	struct targets *targets;
	int ret = targets_open(NULL, &targets, err);

	if (ret)
		return ret;
	list_missing(targets, out);
	(void)listing_run(targets, NULL, list_line, &listing); /* listing.ret is the reason */
	targets_close(targets);
	return write_list(&listing);
}
