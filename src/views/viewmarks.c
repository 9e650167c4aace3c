/* SPDX-License-Identifier: MIT */
/* Transfers the trace to the process that makes a view: see viewmarks.h. */
#include "views/viewmarks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kprof/ring_abi.h"
#include "sys/memfile.h"
#include "trace/trace_annotations.h"

/* Events that a time line shows: what a browser still takes, in some 40 MiB. */
#define MARKS_MAX 200000

/* The file: this, then each mark. Both ends are the same program. */
struct opening {
	uint64_t left_out, lost;
};

/* A mark; its stack and its strings follow, each of these with its NUL. */
struct packed {
	uint64_t time_ns, duration_ns;
	uint32_t cpu, pid, tid, uid;
	uint32_t kind, stack_count; /* enum view_annotation_kind */
	uint32_t program, name, text; /* bytes with the NUL; 0 for NULL */
};

static uint32_t bytes_of(const char *string)
{
	return string ? (uint32_t)strlen(string) + 1 : 0;
}

/* ---- in the server --------------------------------------------------------------------------- */

static void write_string(const char *string, uint32_t size, FILE *out)
{
	if (string) /* fwrite() takes no NULL, also not of 0 bytes */
		fwrite(string, size, 1, out);
}

static const enum view_annotation_kind kinds[] = {
	[TRACE_ANNOTATION_EVENT] = VIEW_ANNOTATION_EVENT,
	[TRACE_ANNOTATION_SPAN] = VIEW_ANNOTATION_SPAN,
	[TRACE_ANNOTATION_BEGIN] = VIEW_ANNOTATION_BEGIN,
	[TRACE_ANNOTATION_COUNTER] = VIEW_ANNOTATION_COUNTER,
};

static void pack(const struct trace_annotation *mark, FILE *out)
{
	const struct packed packed = {
		.time_ns = mark->time_ns,
		.cpu = mark->cpu == KPROF_CPU_UNKNOWN ? VIEW_CPU_UNKNOWN : mark->cpu,
		.pid = mark->pid,
		.tid = mark->tid,
		.uid = mark->uid,
		.program = bytes_of(mark->program),
		.name = bytes_of(mark->name),
		.text = bytes_of(mark->text),
		.kind = kinds[mark->kind],
		.duration_ns = mark->kind == TRACE_ANNOTATION_SPAN ? mark->duration_ns : 0,
		.stack_count = mark->stack_count,
	};

	fwrite(&packed, sizeof(packed), 1, out);
	if (mark->stack_count)
		fwrite(mark->stack, sizeof(mark->stack[0]), mark->stack_count, out);
	write_string(mark->program, packed.program, out);
	write_string(mark->name, packed.name, out);
	write_string(mark->text, packed.text, out);
}

static int pack_all(
	struct trace_annotations *marks, FILE *out, const struct cancel *cancel)
{
	struct trace_annotations_missing missing;
	struct opening opening;
	struct trace_annotation mark;

	trace_annotations_get_missing(marks, &missing);
	opening = (struct opening){ missing.left_out, missing.lost };
	fwrite(&opening, sizeof(opening), 1, out);
	while (trace_annotations_next(marks, &mark) && !ferror(out)) {
		pack(&mark, out);
		if (cancel_requested(cancel))
			return -EINTR;
	}
	return fflush(out) || ferror(out) ? -ENOSPC : 0;
}

int viewmarks_write(struct readings *readings, uid_t uid, const struct cancel *cancel,
	int *fd)
{
	struct trace_annotations *marks;
	FILE *out;
	int ret = trace_annotations_create(readings, uid, MARKS_MAX, cancel, &marks), file;

	if (ret)
		return ret;
	file = memfile_create("marks");
	out = file < 0 ? NULL : fdopen(dup(file), "w");
	if (out)
		ret = pack_all(marks, out, cancel);
	else
		ret = file < 0 ? file : -errno;
	if (out)
		fclose(out);
	trace_annotations_destroy(marks);
	if (!ret)
		*fd = file;
	else if (file >= 0)
		close(file);
	return ret;
}

/* ---- in the process -------------------------------------------------------------------------- */

struct reader {
	FILE *in;
	/* of the mark that was handed out: */
	uint32_t uid;
	char *program, *name, *text;
	uint64_t addresses[TRACE_ANNOTATIONS_STACK_MAX];
	GString *callers[TRACE_ANNOTATIONS_STACK_MAX];
	const char *stack[TRACE_ANNOTATIONS_STACK_MAX];

	struct backtraces *names;  /* of the addresses; NULL: they get none */
	const struct query *query; /* which ones are wanted; NULL for all */
	struct intervals *spans;   /* of the query's span; NULL if it has none */
};

/* Frees the former *string. Returns false at the end of the file. */
static bool unpack_string(FILE *in, uint32_t bytes, char **string)
{
	free(*string);
	*string = bytes ? malloc(bytes) : NULL;
	return !bytes || (*string && fread(*string, bytes, 1, in) == 1);
}

static bool read_mark(struct reader *reader, struct view_annotation *mark)
{
	struct packed packed;

	if (fread(&packed, sizeof(packed), 1, reader->in) != 1 ||
		packed.stack_count > TRACE_ANNOTATIONS_STACK_MAX ||
		fread(reader->addresses, sizeof(reader->addresses[0]), packed.stack_count,
			reader->in) != packed.stack_count ||
		!unpack_string(reader->in, packed.program, &reader->program) ||
		!unpack_string(reader->in, packed.name, &reader->name) ||
		!unpack_string(reader->in, packed.text, &reader->text))
		return false;
	reader->uid = packed.uid;
	*mark = (struct view_annotation){ packed.time_ns, packed.cpu, packed.pid, packed.tid,
		reader->program, reader->name, reader->text, packed.kind, packed.duration_ns,
		reader->stack, packed.stack_count };
	return true;
}

static void name_stack(struct reader *reader, const struct view_annotation *mark)
{
	uint32_t i;

	for (i = 0; i < mark->stack_count; i++) {
		if (!reader->callers[i])
			reader->callers[i] = g_string_new(NULL);
		g_string_printf(reader->callers[i], "0x%" PRIx64 " ", reader->addresses[i]);
		backtraces_append_name(reader->names, mark->pid, mark->time_ns, reader->addresses[i],
			reader->callers[i]);
		reader->stack[i] = reader->callers[i]->str;
	}
}

static bool is_of_task(const struct reader *reader, const struct view_annotation *mark)
{
	const struct query *q = reader->query;

	return (!query_has(q, QUERY_PID) || q->pid == mark->pid) &&
	       (!query_has(q, QUERY_TID) || q->tid == mark->tid) &&
	       (!query_has(q, QUERY_UID) || q->uid == reader->uid) &&
	       (!query_has(q, QUERY_COMM) || !strcmp(q->comm, mark->program)) &&
	       (!query_has(q, QUERY_SPAN) ||
		       (reader->spans && intervals_have(reader->spans, mark->pid, mark->tid, mark->time_ns)));
}

static bool asks_for_task(const struct query *q)
{
	return query_has(q, QUERY_PID) || query_has(q, QUERY_TID) || query_has(q, QUERY_UID) ||
	       query_has(q, QUERY_COMM) || query_has(q, QUERY_SPAN);
}

/* The file of its program is not known, and it is of no event that is sampled. All are of this machine. */
static bool is_wanted(const struct reader *reader, const struct view_annotation *mark)
{
	const struct query *q = reader->query;

	return query_has_time(q, mark->time_ns) && !(query_has(q, QUERY_CPU) && q->cpu != mark->cpu) &&
	       !query_has(q, QUERY_EXE) && !query_has(q, QUERY_EVENT) &&
	       (!asks_for_task(q) || (mark->program && is_of_task(reader, mark)));
}

static bool next_mark(void *arg, struct view_annotation *mark)
{
	struct reader *reader = arg;

	while (read_mark(reader, mark)) {
		if (reader->query && !is_wanted(reader, mark))
			continue;
		if (reader->names)
			name_stack(reader, mark);
		else
			mark->stack_count = 0;
		return true;
	}
	return false;
}

bool viewmarks_each_address(struct view_annotations *marks,
	void (*address)(void *arg, uint32_t pid, uint64_t time_ns, uint64_t address), void *arg)
{
	struct reader *reader = marks->arg;
	struct view_annotation mark;
	bool any = false;
	uint32_t i;

	while (read_mark(reader, &mark)) {
		for (i = 0; i < mark.stack_count; i++)
			address(arg, mark.pid, mark.time_ns, reader->addresses[i]);
		any |= mark.stack_count != 0;
	}
	fseek(reader->in, sizeof(struct opening), SEEK_SET);
	return any;
}

void viewmarks_set_names(struct view_annotations *marks, struct backtraces *names)
{
	((struct reader *)marks->arg)->names = names;
}

void viewmarks_select(struct view_annotations *marks, const struct query *query, struct intervals *spans)
{
	struct reader *reader = marks->arg;

	reader->query = query;
	reader->spans = spans;
}

static void free_reader(struct reader *reader)
{
	size_t i;

	for (i = 0; i < TRACE_ANNOTATIONS_STACK_MAX; i++)
		if (reader->callers[i])
			g_string_free(reader->callers[i], TRUE);
	backtraces_destroy(reader->names);
	intervals_destroy(reader->spans);
	if (reader->in)
		fclose(reader->in);
	free(reader->program);
	free(reader->name);
	free(reader->text);
	free(reader);
}

int viewmarks_open(int fd, struct view_annotations *marks)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	struct opening opening;
	int own = reader ? dup(fd) : -1;

	if (!reader)
		return -ENOMEM;
	reader->in = own < 0 ? NULL : fdopen(own, "r");
	if (!reader->in || fseek(reader->in, 0, SEEK_SET) ||
		fread(&opening, sizeof(opening), 1, reader->in) != 1) {
		int ret = errno ? -errno : -EIO;

		if (!reader->in && own >= 0)
			close(own);
		free_reader(reader);
		return ret;
	}
	*marks = (struct view_annotations){ next_mark, reader, opening.left_out, opening.lost };
	return 0;
}

void viewmarks_close(struct view_annotations *marks)
{
	if (marks)
		free_reader(marks->arg);
}
