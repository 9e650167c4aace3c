/* SPDX-License-Identifier: MIT */
/* A session: see session.h. */
#include "fs/session.h"

#include <glib.h>

#include "acct/accounting.h"
#include "acct/sched.h"
#include "base/log.h"
#include "fs/kpctl_thread.h"
#include "fs/kperr.h"
#include "fs/report.h"
#include "probes/probes.h"
#include "prof/profiler.h"

static void on_data_ready(void *arg)
{
	struct session *session = arg;

	session->data_ready(session->server);
}

static void on_data_drained(void *arg)
{
	struct session *session = arg;

	session->data_drained(session->server);
}

static void on_cpus_changed(void *arg)
{
	struct session *session = arg;

	kpctl_thread_cpus_changed(session->kpctl);
}

/* Without a source of times these are not recorded; the log has the reason. */
static void on_times_begin(void *arg)
{
	struct session *session = arg;

	(void)accounting_reset(session->run_accounting);
}

static void on_times_read(void *arg, GArray *times)
{
	struct session *session = arg;

	(void)accounting_read(session->run_accounting, times);
}

static int create_profiler(struct session *session, struct err *err)
{
	const struct profiler_hooks hooks = {
		.data_ready = on_data_ready,
		.data_drained = on_data_drained,
		.cpus_changed = on_cpus_changed,
		.times_begin = on_times_begin,
		.times_read = on_times_read,
		.arg = session,
	};
	int ret = profiler_create(&hooks, NULL, &session->profiler);

	return ret ? err_set(err, -ret, "the profiler: %s", g_strerror(-ret)) : 0;
}

/* Without a source of times the session is still useful: the log and mpstat have the reason. */
static int create_accounting(struct session *session, struct log *log, struct err *err)
{
	struct err note = { "" };
	int ret = accounting_create_exact(session->exact, &note, &session->accounting);

	if (!ret)
		ret = accounting_create(NULL, NULL, &note, &session->run_accounting);
	if (ret)
		return err_set(err, -ret, "mpstat: %s", note.text);
	if (note.text[0])
		log_notice(log, "mpstat: %s", note.text);
	return 0;
}

static int create_thread(struct session *session, bool akaros, struct err *err)
{
	int ret = kpctl_thread_create(session->profiler, akaros, &session->kpctl);

	return ret ? err_set(err, -ret, "threads: %s", g_strerror(-ret)) : 0;
}

int session_create(const struct session_options *options, struct session **session, struct err *err)
{
	struct session *s = g_new0(struct session, 1);
	int ret;

	*session = s;
	s->server = options->server;
	s->exact = options->exact;
	s->sched = sched_create(s->exact);
	s->data_ready = options->data_ready;
	s->data_drained = options->data_drained;
	s->kperr = kperr_create(options->owner);
	s->report = report_create(s->kperr, options->log);
	s->probes = options->create_probes(s);
	ret = create_accounting(s, options->log, err);
	if (!ret)
		ret = create_profiler(s, err);
	if (!ret)
		ret = create_thread(s, options->akaros, err);
	return ret;
}

void session_close(struct session *session)
{
	if (session && session->kpctl)
		kpctl_thread_close(session->kpctl);
	if (session)
		probes_close(session->probes);
}

void session_destroy(struct session *session)
{
	if (!session)
		return;
	kpctl_thread_destroy(session->kpctl);
	probes_destroy(session->probes);
	if (session->profiler)
		profiler_destroy(session->profiler);
	if (session->accounting)
		accounting_destroy(session->accounting);
	sched_destroy(session->sched);
	if (session->run_accounting)
		accounting_destroy(session->run_accounting);
	report_destroy(session->report);
	kperr_destroy(session->kperr);
	g_free(session);
}
