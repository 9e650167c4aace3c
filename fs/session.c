/* SPDX-License-Identifier: MIT */
/* A session: see session.h. */
#include "fs/session.h"

#include <glib.h>
#include <unistd.h>

#include "acct/accounting.h"
#include "acct/sched.h"
#include "base/log.h"
#include "fs/kpctl_thread.h"
#include "fs/kperr.h"
#include "fs/report.h"
#include "fs/server.h"
#include "fs/settings_file.h"
#include "fs/snapshots.h"
#include "probes/probes.h"
#include "prof/disk.h"
#include "prof/profiler.h"
#include "symbolizer/helpers.h"
#include "trace/reading.h"
#include "trace/trace_metrics.h"
#include "views/viewproc.h"

static void on_data_ready(void *arg)
{
	struct session *session = arg;

	session->data_ready(session->server);
}

/* In the control thread, or that of the sampler. */
static void report_disk(struct session *session)
{
	struct kperr_entry entry = { .pid = getpid(), .uid = getuid(), .file = "kpctl", .written = "" };
	g_autofree char *text = NULL;
	int code;

	if (!session->disk || !disk_take_error(session->disk, &code))
		return;
	text = g_strdup_printf("state=: %s: what needs more room there is not kept; state.errors counts it",
		g_strerror(code));
	entry.reason = text;
	report_add(session->report, &entry);
}

static void on_data_drained(void *arg)
{
	struct session *session = arg;

	report_disk(session);
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

/* The mode of a new session's directory. */
#define SESSION_MODE 0700

/* What it had captured stays in its files, or is set aside. */
static void report_restore(struct session *session, const char *why)
{
	g_autofree char *text = g_strdup_printf("state=: session '%s': %s",
		session->name ? session->name : "/", why);
	struct kperr_entry entry = { .pid = getpid(), .uid = getuid(), .file = "kpdata", .written = "",
		.reason = text };

	report_add(session->report, &entry);
}

/* What the profiler holds from the beginning; NULL if that is nothing. */
static struct profiler_image *find_image(struct session *session, const struct session_options *options)
{
	struct profiler_image *image = options->image;
	struct err note = { "" };

	if (options->is_restored)
		(void)profiler_read_image(options->memory, options->disk, options->name, options->budget,
			&image, &note);
	if (note.text[0])
		report_restore(session, note.text);
	return image;
}

static int create_profiler(struct session *session, const struct session_options *options, struct err *err)
{
	const struct profiler_hooks hooks = {
		.data_ready = on_data_ready,
		.data_drained = on_data_drained,
		.cpus_changed = on_cpus_changed,
		.times_begin = on_times_begin,
		.times_read = on_times_read,
		.userwatch = session->server->userwatch,
		.arg = session,
	};
	const struct profiler_paths paths = { .memory = options->memory };
	struct profiler_image *image = find_image(session, options);
	int ret;

	if (image)
		ret = profiler_create_of_image(&hooks, &paths, image, &session->profiler, err);
	else
		ret = profiler_create(&hooks, &paths, options->budget, &session->profiler, err);
	if (!ret && options->is_restricted)
		profiler_restrict(session->profiler, options->owner, options->group,
			options->any_rate);
	if (!ret && options->disk)
		profiler_keep_files(session->profiler, options->disk, options->name);
	return ret;
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

static void on_hold_ended(void *arg)
{
	struct session *session = arg;

	if (session->left)
		session->left(session->arg, session);
}

static void write_settings(struct session *session)
{
	struct settings_file_head head = { .maker = session->maker,
		.maker_group = session->maker_group, .is_numbered = session->is_numbered };

	if (!session->disk || !atomic_read_relaxed(&session->keeps_settings))
		return;
	session_owner(session, &head.owner);
	settings_file_write(session->disk, session->name, &head, session->profiler, &session->settings);
	report_disk(session);
}

static uint64_t on_serve(void *arg)
{
	struct session *session = arg;

	write_settings(session);
	return snapshots_serve(session->snapshots);
}

static int create_thread(struct session *session, bool akaros, struct err *err)
{
	const struct kpctl_thread_options options = {
		.profiler = session->profiler,
		.akaros = akaros,
		.serve = on_serve,
		.hold_ended = on_hold_ended,
		.arg = session,
	};
	int ret = kpctl_thread_create(&options, &session->kpctl);

	return ret ? err_set(err, -ret, "threads: %s", g_strerror(-ret)) : 0;
}

static void create_own(struct session *session)
{
	session->viewproc = viewproc_create_as(session->maker, session->maker_group);
	session->readings = readings_create_of(session->server->readings, session->maker);
	session->trace_metrics = trace_metrics_create();
}

int session_create(const struct session_options *options, struct session **session, struct err *err)
{
	struct session *s = g_new0(struct session, 1);
	int ret;

	*session = s;
	pthread_mutex_init(&s->lock, NULL);
	atomic_write_relaxed(&s->references, 1); /* not shared yet */
	s->name = g_strdup(options->name);
	s->owner = (struct dirtab_owner){
		.uid = options->owner, .gid = options->group, .mode_given = true, .mode = SESSION_MODE
	};
	s->unused = options->unused;
	s->left = options->left;
	s->arg = options->arg;
	s->server = options->server;
	s->is_restricted = options->is_restricted;
	s->maker = options->owner;
	s->maker_group = options->group;
	if (s->is_restricted)
		create_own(s);
	s->exact = options->exact;
	s->sched = sched_create(s->exact);
	s->data_ready = options->data_ready;
	s->data_drained = options->data_drained;
	s->kperr = kperr_create(options->owner);
	s->report = report_create(s->kperr, options->log);
	s->snapshots = snapshots_create(s, options->snapshots, s->report);
	s->is_numbered = options->is_numbered;
	s->disk = options->disk;
	atomic_write_relaxed(&s->keeps_settings, !options->is_restored);
	s->probes = options->create_probes(s);
	/* first, since it takes the image */
	ret = create_profiler(s, options, err);
	if (!ret)
		ret = create_accounting(s, options->log, err);
	if (!ret)
		write_settings(s); /* it is there from now on, also if the server is killed */
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
	if (session->profiler && session->disk && session_is_removed(session))
		profiler_forget_files(session->profiler);
	helpers_destroy(session->probe_files);
	if (session->profiler)
		profiler_destroy(session->profiler);
	if (session->accounting)
		accounting_destroy(session->accounting);
	sched_destroy(session->sched);
	if (session->run_accounting)
		accounting_destroy(session->run_accounting);
	snapshots_destroy(session->snapshots);
	viewproc_destroy(session->viewproc);
	trace_metrics_destroy(session->trace_metrics);
	readings_destroy(session->readings);
	report_destroy(session->report);
	kperr_destroy(session->kperr);
	pthread_mutex_destroy(&session->lock);
	g_free(session->settings);
	g_free(session->name);
	g_free(session);
}

struct session *session_get(struct session *session)
{
	/* relaxed: the caller has a reference already */
	atomic_add_relaxed(&session->references, 1);
	return session;
}

void session_put(struct session *session)
{
	/* all other accesses happen before the end by the last one */
	if (atomic_add_acq_rel(&session->references, (unsigned int)-1) == 1)
		session->unused(session->arg, session);
}

const char *session_name(const struct session *session)
{
	return session->name;
}

struct viewproc *session_viewproc(const struct session *session)
{
	return session->is_restricted ? session->viewproc : session->server->viewproc;
}

struct readings *session_readings(const struct session *session)
{
	return session->is_restricted ? session->readings : session->server->readings;
}

struct trace_metrics *session_trace_metrics(const struct session *session)
{
	return session->is_restricted ? session->trace_metrics : session->server->trace_metrics;
}

void session_keep_settings(struct session *session)
{
	/* relaxed: the control thread takes a lock between this and its reading */
	atomic_write_relaxed(&session->keeps_settings, true);
	kpctl_thread_wake(session->kpctl);
}

void session_set_removed(struct session *session)
{
	/* relaxed: the caller wakes the thread that reads it */
	atomic_write_relaxed(&session->removed, true);
}

bool session_is_removed(struct session *session)
{
	return atomic_read_relaxed(&session->removed);
}

void session_owner(struct session *session, struct dirtab_owner *owner)
{
	pthread_mutex_lock(&session->lock);
	*owner = session->owner;
	pthread_mutex_unlock(&session->lock);
}

void session_set_owner(struct session *session, const struct dirtab_owner *owner)
{
	pthread_mutex_lock(&session->lock);
	session->owner = *owner;
	pthread_mutex_unlock(&session->lock);
	kperr_set_owner(session->kperr, owner->uid);
	kpctl_thread_wake(session->kpctl); /* which writes it to its file */
}
