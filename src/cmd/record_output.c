/* SPDX-License-Identifier: MIT */
/* The output of kprof record: see record_output.h. */
#include "cmd/record_output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "capture/decode.h"
#include "capture/process_filter.h"
#include "cmd/cmd.h"

/* ---- files ----------------------------------------------------------------------------------- */

static bool is_to_stdout(const struct record_output *o)
{
	return strcmp(o->path, "-") == 0;
}

int record_output_open(struct record_output *o, struct err *err)
{
	/* the file has kernel addresses and the names of processes: readable by the owner only */
	const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY;
	int fd;

	o->number++;
	o->name = o->numbered ? g_strdup_printf("%s.%u", o->path, o->number) : g_strdup(o->path);
	if (is_to_stdout(o)) {
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	} else {
		fd = open(o->name, flags | O_EXCL, 0600);
		o->made = fd >= 0;
		if (fd < 0 && errno == EEXIST)
			fd = open(o->name, flags, 0600);
	}
	if (fd < 0)
		return err_set(err, errno, "%s: %s", o->name, strerror(errno));
	o->out = fdopen(fd, "w");
	return o->out ? 0 : err_set(err, errno, "%s: %s", o->name, strerror(errno));
}

/* Whether the path is still that of the open file, a regular one that is not empty. */
static bool has_former(const struct record_output *o)
{
	struct stat open_file, there;

	return fstat(fileno(o->out), &open_file) == 0 && lstat(o->name, &there) == 0 &&
	       S_ISREG(there.st_mode) && there.st_size && there.st_dev == open_file.st_dev &&
	       there.st_ino == open_file.st_ino;
}

/* Renames the capture of an earlier run, as perf does, and opens a new file in its place. */
static int keep_former(struct record_output *o, struct err *err)
{
	g_autofree char *old = NULL;
	unsigned int number = o->number;
	int ret;

	if (is_to_stdout(o) || !has_former(o))
		return 0;
	old = g_strconcat(o->name, ".old", NULL);
	if (rename(o->name, old)) {
		cmd_error("the former %s can't be renamed to %s and is replaced: %s", o->name, old,
			strerror(errno));
		return 0;
	}
	record_output_close(o, false);
	o->number = number - 1;
	ret = record_output_open(o, err);
	o->old = g_steal_pointer(&old);
	return ret;
}

void record_output_close(struct record_output *o, bool failed)
{
	g_clear_pointer(&o->old, g_free);
	if (o->out)
		fclose(o->out);
	o->out = NULL;
	if (failed && o->made)
		unlink(o->name);
	g_clear_pointer(&o->name, g_free);
}

/* ---- records --------------------------------------------------------------------------------- */

static struct process_filter *create_filter(const struct record_output *o, uint64_t begin)
{
	struct process_filter *filter = process_filter_create(o->root, begin);
	guint i;

	for (i = 0; o->processes && i < o->processes->len; i++)
		process_filter_add_process(filter, g_array_index(o->processes, uint32_t, i));
	for (i = 0; o->threads && i < o->threads->len; i++)
		process_filter_add_thread(filter, g_array_index(o->threads, uint32_t, i));
	process_filter_begin_at(filter, o->from_ns);
	return filter;
}

/* Returns the offset after the last complete record. */
static uint64_t learn(struct decoder *decoder, struct process_filter *filter)
{
	struct decode_record record;
	int ret;

	while ((ret = decode_next(decoder, &record, NULL)) > 0 || ret == -EBADMSG)
		if (ret > 0)
			process_filter_learn(filter, &record);
	return decoder->offset;
}

/* The scope of the events, if that is not the whole machine. */
static const char *scope_of(const struct decode_record *record)
{
	if (record->type != KPROF_REC_EVENT)
		return NULL;
	if (record->event.flags & KPROF_EVENT_SCOPE_OWN)
		return "own processes, user space only";
	return record->event.flags & KPROF_EVENT_SCOPE_USER ? "user space only" : NULL;
}

static void free_bytes(gpointer bytes)
{
	g_byte_array_free(bytes, TRUE);
}

/* state: of a CPU and event, the last PERIOD or TASK before the part; its samples refer to it. */
static void keep_state(GHashTable *state, const struct decode_record *record, size_t size)
{
	const bool task = record->type == KPROF_REC_TASK;
	GByteArray *bytes = g_byte_array_sized_new((guint)size);
	gint64 *key = g_new(gint64, 1);

	*key = task ? (gint64)record->task.cpu << 32
		    : (gint64)record->period.cpu << 32 | (uint32_t)(record->period.event + 1);
	g_byte_array_append(bytes, record->payload + record->size - size, (guint)size);
	g_hash_table_replace(state, key, bytes);
}

static void put_state(const struct record_output *o, GHashTable *state)
{
	GHashTableIter iter;
	gpointer bytes;

	g_hash_table_iter_init(&iter, state);
	while (g_hash_table_iter_next(&iter, NULL, &bytes))
		fwrite(((GByteArray *)bytes)->data, 1, ((GByteArray *)bytes)->len, o->out);
	g_hash_table_remove_all(state);
}

static bool is_state(const struct decode_record *record)
{
	return record->type == KPROF_REC_TASK || record->type == KPROF_REC_PERIOD;
}

/* Of parts after the first one the state before `begin` is kept, since it is of the same run. */
static int copy(const struct record_output *o, struct process_filter *filter,
	struct decoder *decoder, uint64_t begin, uint64_t end, const char **scope, struct err *err)
{
	g_autoptr(GHashTable) state =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_bytes);
	struct decode_record record;
	const char *limited;
	int ret = 0;

	while (decoder->offset < end && (ret = decode_next(decoder, &record, err)) > 0) {
		const size_t size = (size_t)(decoder->offset - record.offset);

		if (record.offset >= begin)
			put_state(o, state);
		else if (o->number > 1 && is_state(&record))
			keep_state(state, &record, size);
		if (!process_filter_matches(filter, &record))
			continue;
		limited = scope_of(&record);
		if (limited)
			*scope = limited;
		fwrite(record.payload + record.size - size, 1, size, o->out);
	}
	if (ret < 0)
		return ret;
	if (fflush(o->out) || ferror(o->out))
		return err_set(err, errno, "%s: %s", o->name, strerror(errno));
	return 0;
}

/* ---- what was written ------------------------------------------------------------------------ */

static void append_losses(GString *line, const struct process_filter_counts *counts)
{
	static const char *const reasons[PROFILE_LOST_REASONS] = {
		[0] = "for other reasons",
		[KPROF_LOST_RING] = "a ring was full",
		[KPROF_LOST_QUEUE] = "kpdata was full",
		[KPROF_LOST_OVERWRITE] = "overwritten",
		[KPROF_LOST_INVALID] = "not understood",
		[KPROF_LOST_RING_RECORDS] = "records: a ring was full",
	};
	const char *before = "; lost on the machine: ";
	size_t i;

	for (i = 0; i < PROFILE_LOST_REASONS; i++) {
		if (!counts->lost[i])
			continue;
		g_string_append_printf(
			line, "%s%" PRIu64 " (%s)", before, counts->lost[i], reasons[i]);
		before = ", ";
	}
	if (*before == ';')
		g_string_append(line, "; none was lost");
}

static void say(const struct record_output *o, const struct process_filter_counts *counts,
	const char *scope)
{
	g_autoptr(GString) line = g_string_new(NULL);

	g_string_append_printf(line, "%s: ", o->name);
	text_append_count(line, counts->samples, "sample", "samples");
	if (o->root != KPROF_PID_KERNEL) {
		g_string_append(line, " of ");
		text_append_count(line, counts->processes, "process", "processes");
		g_string_append_printf(line, ", %" PRIu64 " of others left out", counts->others);
	}
	if (counts->early)
		g_string_append_printf(
			line, ", %" PRIu64 " before the delay left out", counts->early);
	if (counts->gone)
		g_string_append_printf(line, ", %" PRIu64 " of exited tasks", counts->gone);
	append_losses(line, counts);
	if (scope)
		g_string_append_printf(line, "; %s", scope);
	if (o->remark)
		g_string_append_printf(line, "; %s", o->remark);
	if (o->old)
		g_string_append_printf(line, "; the former file is %s", o->old);
	fprintf(stderr, "kprof record: %s\n", line->str);
}

static int write_part(struct record_output *o, struct decoder *decoder, uint64_t *begin,
	struct err *err)
{
	struct process_filter *filter = create_filter(o, *begin);
	const uint64_t end = learn(decoder, filter);
	const char *scope = NULL;
	int ret = decode_rewind(decoder);

	if (!ret) {
		o->made = false;
		ret = copy(o, filter, decoder, *begin, end, &scope, err);
	}
	*begin = end;
	if (!ret && !o->quiet)
		say(o, process_filter_counts(filter), scope);
	process_filter_destroy(filter);
	return ret;
}

int record_output_write(struct record_output *o, int copy_fd, uint64_t *begin, struct err *err)
{
	struct decoder decoder;
	int ret = o->out ? 0 : record_output_open(o, err);

	if (!ret)
		ret = keep_former(o, err);
	/* truncates what has come to the file meanwhile; the output of the command is kept */
	if (!ret && !is_to_stdout(o) && ftruncate(fileno(o->out), 0) && errno != EINVAL)
		ret = err_set(err, errno, "%s: %s", o->name, strerror(errno));
	if (ret)
		return ret;
	decode_init_pread(&decoder, copy_fd, 0);
	ret = write_part(o, &decoder, begin, err);
	decode_fini(&decoder);
	if (o->numbered)
		record_output_close(o, ret < 0);
	return ret;
}
