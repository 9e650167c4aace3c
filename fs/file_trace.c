/* SPDX-License-Identifier: MIT */
/* kptrace, kptrace_ctl and kprintx: the trace. Run in any worker; trace.c answers from memory. */
#include "fs/file.h"

#include <errno.h>

#include "fs/server.h"
#include "fs/session.h"
#include "producers/catalog.h"
#include "trace/trace_records.h"
#include "producers/producers.h"
#include "trace/reading.h"
#include "trace/trace.h"

static int render_messages(struct session *session, GString *out)
{
	return trace_print(session->server->trace, out);
}

static int begin_trace(struct session *session, const struct dirtab_row *row, void *job,
	struct lazy **lazy, struct err *err)
{
	const struct trace_records_cpu all = {.cpu = TRACE_RECORDS_TEXT};

	return file_reading_begin(session, &all, job, lazy);
}

const struct lazy_ops file_kptrace_lazy = {
	.is_long = file_reading_is_long,
	.begin = begin_trace,
	.render = render_messages,
};

uint64_t file_kptrace_size(struct session *session, const struct dirtab_row *row)
{
	return readings_size(session->server->readings);
}

int file_kptrace_write(struct session *session, const struct dirtab_row *row,
	const struct origin *origin, const char *data, size_t size, struct err *err)
{
	int ret = trace_append(session->server->trace, data, size);

	if (ret == -EINVAL)
		return err_set(err, EINVAL, "a NUL byte in the message");
	if (ret == -EMSGSIZE)
		return err_set(err, EMSGSIZE,
			"with its headers the message is larger than the trace (trace_size)");
	return ret;
}

static int run_clear(struct ctl_words_call *call, struct err *err)
{
	trace_clear(call->session->server->trace);
	file_events_clear(call->session);
	return 0;
}

const struct ctl_words_word file_kptrace_ctl_words[] = {
	{"clear", "", 0, 0, run_clear, "empty the trace"},
	{NULL},
};

/* A control file that has nothing to show reads as empty. */
int file_kptrace_ctl_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	return 0;
}

int file_kprintx_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	g_string_append(out, catalog_printx(session->server->catalog) ? "on" : "off");
	return 0;
}

static int run_printx(struct ctl_words_call *call, struct err *err)
{
	catalog_set_printx(call->session->server->catalog, call->to);
	return 0;
}

const struct ctl_words_word file_kprintx_words[] = {
	{SWITCH_WORD_USAGE, "", 0, 0, run_printx, "whether kprof_printx() writes", true},
	{NULL},
};
