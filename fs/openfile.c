/* SPDX-License-Identifier: MIT */
/* Open files: see openfile.h. */
#include "fs/openfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/reserve.h"
#include "base/units.h"
#include "fs/ctl_words.h"
#include "fs/kperr.h"
#include "fs/report.h"
#include "sys/clock.h"

/*
 * What closed files had, about, before the memory is given back to the machine: what the allocator
 * keeps for the next open would stay with the server otherwise. Giving back walks through the heap.
 */
#define TRIM_BYTES (4 * MIB)
/* The memory of an open file besides its text. */
#define FILE_BYTES 1024
#define STREAM_BYTES (128 * KIB)

struct openfiles {
	struct openfiles_hooks hooks; /* invariant */
	pthread_mutex_t lock; /* a leaf */
	pthread_cond_t closed; /* a stream was */
	GQueue all;	      /* (lock) of struct openfile */
	unsigned int streams; /* (lock) of these */
	uint64_t freed_bytes; /* (lock) since free memory was given back last */
};

struct openfiles *openfiles_create(const struct openfiles_hooks *hooks)
{
	struct openfiles *files = g_new0(struct openfiles, 1);

	files->hooks = *hooks;
	pthread_mutex_init(&files->lock, NULL);
	pthread_cond_init(&files->closed, NULL);
	g_queue_init(&files->all);
	return files;
}

static void free_file(struct openfile *file)
{
	content_clear(&file->content, file->row);
	if (file->writer)
		file->row->writer->close(file->writer);
	pthread_mutex_destroy(&file->lock);
	g_free(file);
}

void openfiles_destroy(struct openfiles *files)
{
	GList *link;

	if (!files)
		return;
	while ((link = g_queue_pop_head_link(&files->all)))
		free_file(link->data);
	pthread_cond_destroy(&files->closed);
	pthread_mutex_destroy(&files->lock);
	g_free(files);
}

uint64_t openfiles_count(struct openfiles *files)
{
	uint64_t count;

	pthread_mutex_lock(&files->lock);
	count = files->all.length;
	pthread_mutex_unlock(&files->lock);
	return count;
}

void openfiles_wait_streams(struct openfiles *files, unsigned int timeout_ms)
{
	const uint64_t until_ns = clock_monotonic_ns() + timeout_ms * NSEC_PER_MSEC;

	pthread_mutex_lock(&files->lock);
	while (files->streams && clock_wait_until(&files->closed, &files->lock, until_ns))
		;
	pthread_mutex_unlock(&files->lock);
}

static bool wants_read(int flags)
{
	return (flags & O_ACCMODE) != O_WRONLY;
}

static bool wants_write(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY;
}

/* Returns the usage for a refusal: of the word, of all words, or of the row; NULL if it is read only. */
static char *describe_usage(const struct dirtab_row *row, const struct ctl_words_word *word)
{
	GString *out;

	if (!row->words)
		return g_strdup(row->usage);
	out = g_string_new(NULL);
	ctl_words_usage(row->words, word, out);
	return g_string_free(out, FALSE);
}

/* usage is NULL if the line does not report an error in what was written. */
static void add_line(struct report *report, const struct node *node, const struct origin *origin,
	unsigned int line, const char *written, size_t size, const char *reason, const char *usage)
{
	g_autoptr(GString) path = g_string_new(NULL);
	struct kperr_entry entry = {
		.pid = origin->pid,
		.uid = origin->uid,
		.line = line,
		.written = written,
		.written_size = size,
		.reason = reason,
		.usage = usage,
		.has_lines = node_row(node)->writer != NULL,
	};

	node_path(node, path);
	entry.file = path->str;
	report_add(report, &entry);
}

static void add_report(struct report *report, const struct node *node, const struct origin *origin,
	unsigned int line, const char *written, size_t size, const char *reason,
	const struct ctl_words_word *word)
{
	g_autofree char *usage = describe_usage(node_row(node), word);

	add_line(report, node, origin, line, written, size, reason, usage);
}

void openfile_report(struct report *report, const struct node *node,
	const struct origin *origin, const char *reason)
{
	add_line(report, node, origin, 0, "", 0, reason, NULL);
}

/*
 * Operations that need memory are refused while there is none. Streams can still be read, so that a
 * capture can be saved, and words of control files are accepted, since some of them free memory.
 */
static bool has_memory(const struct dirtab_row *row, bool reads)
{
	if (reads ? row->type == DIRTAB_STREAM : row->words != NULL)
		return true;
	return reserve_is_whole();
}

static const char no_memory[] = "the server has not enough memory";

/*
 * Only root and users that `mode=` of the mount admits reach this; the kernel refuses others by the
 * mode.
 */
static int refuse_mode(struct report *report, const struct node *node,
	const struct origin *origin, const char *reason)
{
	add_report(report, node, origin, 0, "", 0, reason, NULL);
	return -EACCES;
}

/* Takes the quota of an open; that of a text is taken when its size is known (content.c). */
static int take_quota(struct quotas *quotas, const struct dirtab_row *row, bool reads,
	struct quota_share *share, struct err *err)
{
	int ret = quota_take(quotas, share, QUOTA_FILES, 1, err);

	if (!ret && reads && row->content->quota)
		ret = quota_take(quotas, share, row->content->quota(row), 1, err);
	if (ret)
		quota_return(quotas, share);
	return ret;
}

int openfile_create(struct openfiles *files, struct node *node, struct report *report, int flags,
	const struct origin *origin, struct openfile **file)
{
	const struct dirtab_row *row = node_row(node);
	struct quota_share share = { .uid = origin->uid };
	struct session *session = node_session(node);
	struct err err = { "" };
	struct openfile *f;
	int ret;

	if (wants_read(flags) && !dirtab_can_read(row))
		return refuse_mode(report, node, origin, "it can't be read");
	if (wants_write(flags) && !dirtab_can_write(row))
		return refuse_mode(report, node, origin, "it can't be written to");
	if (wants_write(flags) && row->flags & DIRTAB_PRIVILEGED &&
		!quotas_is_privileged(files->hooks.quotas, origin->uid)) {
		openfile_report(report, node, origin, "only root and the user who mounted may write to it");
		return -EPERM;
	}
	if (wants_read(flags) && !has_memory(row, true)) {
		openfile_report(report, node, origin, no_memory);
		return -ENOMEM;
	}
	ret = take_quota(files->hooks.quotas, row, wants_read(flags), &share, &err);
	if (ret) {
		openfile_report(report, node, origin, err.text);
		return ret;
	}
	f = g_new0(struct openfile, 1);
	f->share = share;
	f->files = files;
	f->session = session;
	f->report = report;
	f->row = row;
	f->node = node;
	node_hold(files->hooks.nodes, node);
	f->flags = flags;
	f->thread = wants_read(flags) ? row->content->thread(session, row) : CONTENT_IN_WORKER;
	if (wants_write(flags) && row->writer)
		f->writer = row->writer->open(session, row);
	f->link.data = f;
	atomic_write_relaxed(&f->references, 1); /* not shared yet */
	pthread_mutex_init(&f->lock, NULL);
	pthread_mutex_lock(&files->lock);
	g_queue_push_tail_link(&files->all, &f->link);
	files->streams += row->type == DIRTAB_STREAM;
	pthread_mutex_unlock(&files->lock);
	*file = f;
	return 0;
}

struct openfile *openfile_get(struct openfile *file)
{
	/* relaxed: the caller has a reference already */
	atomic_add_relaxed(&file->references, 1);
	return file;
}

/* Much freed memory is returned to the kernel by the main thread, since that takes some time. */
static void count_freed(struct openfiles *files, uint64_t bytes)
{
	bool much;

	pthread_mutex_lock(&files->lock);
	files->freed_bytes += bytes;
	much = files->freed_bytes >= TRIM_BYTES;
	if (much)
		files->freed_bytes = 0;
	pthread_mutex_unlock(&files->lock);
	if (much)
		files->hooks.much_freed(files->hooks.arg);
}

void openfile_put(struct openfile *file)
{
	struct openfiles *files = file->files;
	struct node *node = file->node;
	struct quota_share share;
	bool streams;

	/* all other accesses to the file happen before the free by the last one */
	if (atomic_add_acq_rel(&file->references, (unsigned int)-1) != 1)
		return;
	pthread_mutex_lock(&files->lock);
	g_queue_unlink(&files->all, &file->link);
	if (file->row->type == DIRTAB_STREAM) {
		files->streams--;
		pthread_cond_broadcast(&files->closed);
	}
	pthread_mutex_unlock(&files->lock);
	share = file->share;
	streams = file->row->type == DIRTAB_STREAM;
	free_file(file);
	node_forget(files->hooks.nodes, node, 1);
	count_freed(files, share.taken[QUOTA_BYTES] + (streams ? STREAM_BYTES : FILE_BYTES));
	quota_return(files->hooks.quotas, &share);
}

/* With the lock. Returns false if the last reference was dropped; its thread waits for the lock then. */
static bool try_get(struct openfile *file)
{
	if (atomic_add_relaxed(&file->references, 1))
		return true;
	atomic_add_relaxed(&file->references, (unsigned int)-1);
	return false;
}

/* A reference of the file that is open at the node; NULL if there is none. */
static struct openfile *find_open(struct openfiles *files, const struct node *node)
{
	struct openfile *file = NULL;
	GList *link;

	pthread_mutex_lock(&files->lock);
	for (link = files->all.head; link && !file; link = link->next) {
		struct openfile *candidate = link->data;

		if (candidate->node == node && try_get(candidate))
			file = candidate;
	}
	pthread_mutex_unlock(&files->lock);
	return file;
}

uint64_t openfiles_stream_size(struct openfiles *files, const struct node *node)
{
	struct openfile *file = find_open(files, node);
	uint64_t size = 0;

	if (!file)
		return 0;
	pthread_mutex_lock(&file->lock);
	if (file->tailed)
		size = file->row->stream->size(file->content.cursor);
	pthread_mutex_unlock(&file->lock);
	openfile_put(file);
	return size;
}

bool openfile_reads(const struct openfile *file)
{
	return wants_read(file->flags);
}

bool openfile_writes(const struct openfile *file)
{
	return wants_write(file->flags);
}

int openfile_refuse(struct openfile *file, const struct origin *origin, int code,
	const char *reason)
{
	openfile_report(file->report, file->node, origin, reason);
	return -code;
}

int openfile_take(struct openfile *file, const struct origin *origin, enum quota_kind kind,
	struct quota_share *share)
{
	struct err err = { "" };
	int ret;

	*share = (struct quota_share){ .uid = origin->uid };
	ret = quota_take(file->files->hooks.quotas, share, kind, 1, &err);
	return ret ? openfile_refuse(file, origin, -ret, err.text) : 0;
}

void openfile_return(struct openfile *file, struct quota_share *share)
{
	quota_return(file->files->hooks.quotas, share);
}

/* As of a line. */
static size_t without_newline(const char *data, size_t size)
{
	return size && data[size - 1] == '\n' ? size - 1 : size;
}

void openfile_note(struct openfile *file, const struct origin *origin, const char *written,
	size_t size, const char *reason)
{
	add_line(file->report, file->node, origin, 1, written, without_newline(written, size), reason,
		NULL);
}

/* Returns the sentence of an error, or that of its number if there is no other. */
static const char *reason_of(const struct err *err, int ret)
{
	return err->text[0] ? err->text : g_strerror(-ret);
}

int openfile_fill(struct openfile *file, const struct origin *origin)
{
	const struct content_call call = {
		.session = file->session,
		.row = file->row,
		.reader = origin->uid,
		.job = file->maker,
		.quotas = file->files->hooks.quotas,
		.share = &file->share,
	};
	struct err err = { "" };
	int ret;

	if (!openfile_reads(file))
		return 0;
	ret = file->row->content->fill(&call, &file->content, &err);
	if (ret && ret != -EINTR)
		openfile_refuse(file, origin, -ret, reason_of(&err, ret));
	return ret;
}

void openfile_leave_node(struct openfile *file)
{
	if (file->counted)
		node_close_text(file->files->hooks.nodes, file->node);
	file->counted = false;
}

static int run_lines(struct openfile *file, const struct cancel *cancel, const struct origin *origin,
	const char *data, size_t size)
{
	struct ctl_words_call call = {.session = file->session, .file = file, .origin = origin};
	const struct ctl_words_word *word;
	const char *line;
	unsigned int n = 0;
	size_t len;
	int ret;

	while (ctl_words_next_line(&data, &size, &line, &len)) {
		struct err err = { "" };

		if (cancel_requested(cancel))
			return -EINTR;
		n++;
		ret = ctl_words_run(file->row->words, &call, line, len, &word, &err);
		if (!ret && err.text[0] && word)
			add_line(file->report, file->node, origin, n, line, len, err.text, NULL);
		else if (ret || err.text[0])
			add_report(file->report, file->node, origin, n, line, len,
				reason_of(&err, ret), word);
		if (ret)
			return ret;
	}
	return 0;
}

static int write_to(struct openfile *file, const struct cancel *cancel, const struct origin *origin,
	const char *data, size_t size)
{
	struct err err = { "" };
	int ret;

	if (size >= CTL_WORDS_WRITE_MAX && !(file->row->flags & DIRTAB_BULK))
		ret = err_set(&err, EMSGSIZE, "%zu bytes in one write; less than %d are taken",
			size, CTL_WORDS_WRITE_MAX);
	else if (!has_memory(file->row, false))
		ret = err_set(&err, ENOMEM, "%s", no_memory);
	else if (file->row->words)
		return run_lines(file, cancel, origin, data, size);
	else if (file->writer)
		ret = file->row->writer->write(file->writer, data, size, &err);
	else
		ret = file->row->write(file->session, file->row, origin, data, size, &err);
	if (!ret)
		return 0;
	if (file->row->flags & DIRTAB_BULK)
		return openfile_refuse(file, origin, -ret, reason_of(&err, ret)); /* bytes are no text */
	add_report(file->report, file->node, origin, 1, data, without_newline(data, size),
		reason_of(&err, ret), NULL);
	return ret;
}

int openfile_write(struct openfile *file, const struct cancel *cancel, const struct origin *origin,
	const char *data, size_t size)
{
	int ret = write_to(file, cancel, origin, data, size);

	/* also if a line was refused: the lines before it stay in effect */
	node_written(file->files->hooks.nodes, file->node);
	return ret;
}

int openfile_flush(struct openfile *file, const struct origin *origin)
{
	struct err err = { "" };
	int ret = file->writer ? file->row->writer->flush(file->writer, &err) : 0;

	return ret ? openfile_refuse(file, origin, -ret, reason_of(&err, ret)) : 0;
}
