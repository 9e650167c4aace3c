/* SPDX-License-Identifier: MIT */
/*
 * kpctl and kpdata: the profiler. Writes are carried out in the control thread, everything else in
 * any worker.
 */
#include "fs/file.h"

#include <errno.h>
#include <string.h>

#include "base/reserve.h"
#include "base/units.h"
#include "capture/query.h"
#include "fs/kpctl_thread.h"
#include "fs/openfile.h"
#include "fs/session.h"
#include "fs/snapshots.h"
#include "prof/profiler.h"

/* The longest text of a number that fits: 22 octal digits and a 0 in front, with room for more. */
#define NUMBER_TEXT_MAX 31

/* ---- kpctl ----------------------------------------------------------------------------------- */

int file_kpctl_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	profiler_print_settings(session->profiler, out);
	return 0;
}

static int run_start(struct ctl_words_call *call, struct err *err)
{
	if (!reserve_is_whole())
		return err_set(err, ENOMEM, "the server has not enough memory");
	return profiler_start(call->session->profiler, err);
}

static int run_stop(struct ctl_words_call *call, struct err *err)
{
	return profiler_stop(call->session->profiler, err);
}

static int run_flush(struct ctl_words_call *call, struct err *err)
{
	return profiler_flush(call->session->profiler, err);
}

static int run_clear(struct ctl_words_call *call, struct err *err)
{
	return profiler_clear(call->session->profiler, err);
}

static int run_event(struct ctl_words_call *call, struct err *err)
{
	return profiler_set_events(call->session->profiler, call->argv[0], err);
}

static int run_cpus(struct ctl_words_call *call, struct err *err)
{
	return profiler_set_cpus(call->session->profiler, call->argv[0], err);
}

static int run_stack(struct ctl_words_call *call, struct err *err)
{
	return profiler_set_stack(call->session->profiler, call->argv[0],
		call->argc > 1 ? call->argv[1] : NULL, err);
}

static int run_only(struct ctl_words_call *call, struct err *err)
{
	return profiler_set_only(call->session->profiler, call->argv[0], err);
}

static int run_qlimit(struct ctl_words_call *call, struct err *err)
{
	uint64_t kb;
	int ret = ctl_words_number(call, 0, &kb, err);

	return ret ? ret : profiler_set_qlimit_kb(call->session->profiler, kb, err);
}

static int run_cpubufsz(struct ctl_words_call *call, struct err *err)
{
	uint64_t kb;
	int ret = ctl_words_number(call, 0, &kb, err);

	return ret ? ret : profiler_set_cpubufsz_kb(call->session->profiler, kb, err);
}

static int run_mode(struct ctl_words_call *call, struct err *err)
{
	struct profiler *profiler = call->session->profiler;

	if (!strcmp(call->argv[0], "discard"))
		return profiler_set_mode(profiler, PROFILER_DISCARD, err);
	if (!strcmp(call->argv[0], "overwrite"))
		return profiler_set_mode(profiler, PROFILER_OVERWRITE, err);
	return err_set(err, EINVAL, "neither discard nor overwrite");
}

static int run_hold(struct ctl_words_call *call, struct err *err)
{
	return kpctl_thread_hold(call->session->kpctl, call->file, err);
}

/* NAME, or NAME after TIME */
static int run_snapshot(struct ctl_words_call *call, struct err *err)
{
	struct snapshots *snapshots = call->session->snapshots;
	uint64_t after_ns;

	if (!reserve_is_whole())
		return err_set(err, ENOMEM, "the server has not enough memory");
	if (call->argc == 1)
		return snapshots_take(snapshots, call->argv[0], call->origin, err);
	if (call->argc != 3 || strcmp(call->argv[1], "after") != 0)
		return err_set(err, EINVAL, "after NAME only `after TIME` may follow");
	if (query_parse_duration(call->argv[2], &after_ns))
		return err_set(err, EINVAL, "'%.64s' is no duration: a number with ns, us, ms, s, m or h, "
			"as 5s", call->argv[2]);
	return snapshots_take_later(snapshots, call->argv[0], after_ns, call->origin, err);
}

const struct ctl_words_word file_kpctl_words[] = {
	{"start", "", 0, 0, run_start, "begin sampling"},
	{"stop", "", 0, 0, run_stop, "stop sampling; what the CPUs still hold goes to kpdata"},
	{"flush", "", 0, 0, run_flush, "bring what the CPUs hold to kpdata and go on"},
	{"clear", "", 0, 0, run_clear, "forget the samples"},
	{"event", "SPEC[,SPEC...]|default", 1, 1, run_event, "choose the events to sample"},
	{"cpus", "LIST|all", 1, 1, run_cpus, "choose the CPUs to sample on"},
	{"stack", "user|kernel|both|dwarf|none [DEPTH]", 1, 2, run_stack,
		"choose the stacks to take"},
	{"only", "EXPR|all", 1, 1, run_only, "choose the tasks to sample", .is_text = true},
	{"prof_qlimit", "KB", 1, 1, run_qlimit, "limit what kpdata may hold"},
	{"prof_cpubufsz", "KB", 1, 1, run_cpubufsz, "size the buffer of one CPU"},
	{"mode", "discard|overwrite", 1, 1, run_mode, "choose what goes when kpdata is full"},
	{"snapshot", "NAME [after TIME]", 1, 3, run_snapshot,
		"keep what is captured now, or TIME later, as the session NAME"},
	{"hold", "", 0, 0, run_hold, "end the run when this open file is closed"},
	{NULL},
};

/* ---- kpdata ---------------------------------------------------------------------------------- */

static int open_data(struct session *session, const struct dirtab_row *row, uid_t reader, void *job,
	void **cursor)
{
	struct cursor *c;
	int ret = profiler_open_cursor(session->profiler, &c);

	if (!ret)
		*cursor = c;
	return ret;
}

static void close_data(void *cursor)
{
	profiler_close_cursor(cursor);
}

static ssize_t begin_data(void *cursor, size_t want, struct iovec *iov, int *count, bool *eof)
{
	return cursor_begin(cursor, want, iov, count, eof);
}

static void end_data(void *cursor, bool taken)
{
	cursor_end(cursor, taken);
}

static bool data_readable(void *cursor)
{
	return cursor_readable(cursor);
}

const struct stream_ops file_kpdata_stream = {
	.quota = QUOTA_CAPTURES,
	.open = open_data,
	.close = close_data,
	.begin = begin_data,
	.end = end_data,
	.readable = data_readable,
};

uint64_t file_kpdata_size(struct session *session, const struct dirtab_row *row)
{
	return profiler_stream_bytes(session->profiler);
}

/* An address, as text with or without a newline: one sample of the kernel at that address. */
int file_kpdata_write(struct session *session, const struct dirtab_row *row,
	const struct origin *origin, const char *data, size_t size, struct err *err)
{
	char text[NUMBER_TEXT_MAX + 1];
	uint64_t address;
	int ret;

	if (size && data[size - 1] == '\n')
		size--;
	if (size > NUMBER_TEXT_MAX || memchr(data, '\0', size))
		return err_set(err, EINVAL, "not a number");
	memcpy(text, data, size);
	text[size] = '\0';
	ret = units_parse_u64(text, &address);
	if (ret)
		return err_set(err, EINVAL, ret == -ERANGE ? "the number is too large" :
							     "not a number");
	return profiler_add_address(session->profiler, address, (uint32_t)origin->pid, err);
}
