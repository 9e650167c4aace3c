/* SPDX-License-Identifier: MIT */
/* kpstat, kperr, views/metrics: the counters, limits and errors of the server. */
#include "fs/file.h"

#include <time.h>

#include "acct/accounting.h"
#include "acct/exact.h"
#include "base/fdio.h"
#include "base/stats.h"
#include "base/units.h"
#include "config.h"
#include "fs/kpctl_thread.h"
#include "fs/kperr.h"
#include "fs/metrics.h"
#include "fs/node.h"
#include "fs/openfile.h"
#include "fs/probe_names.h"
#include "fs/quota.h"
#include "fs/server.h"
#include "fs/session.h"
#include "fs/sessions.h"
#include "fs/snapshots.h"
#include "fs/slow_ops.h"
#include "fs/streams.h"
#include "views/viewproc.h"
#include "probes/probes.h"
#include "prof/disk.h"
#include "prof/profiler.h"
#include "producers/catalog.h"
#include "producers/listener.h"
#include "producers/producers.h"
#include "kernel/kernel.h"
#include "trace/reading.h"
#include "trace/trace.h"
#include "trace/trace_metrics.h"

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static void add_server(struct session *session, struct stats *stats)
{
	uint64_t self_ns = cpu_ns(), samples;

	stats_text(stats, PACKAGE_VERSION, "version");
	stats_u64(stats, self_ns, "self.cpu_ns");
	if (!stats_find_u64(stats, "samples.received", &samples) && samples)
		stats_u64(stats, self_ns / samples, "self.cpu_ns_per_sample");
	stats_u64(stats, kperr_count(session->kperr), "kperr.lines");
	stats_u64(stats, openfiles_count(session->server->files), "fs.open_files");
	quotas_print_stats(session->server->quotas, stats);
	sessions_print_stats(session->server->sessions, stats);
	snapshots_print_stats(session->snapshots, stats);
	if (session->disk)
		disk_print_stats(session->disk, stats);
	stats_u64(stats, nodes_count(session->server->nodes), "fs.nodes");
	stats_u64(stats, streams_waiting(session->server->streams), "fs.waiting_reads");
	stats_u64(stats, kpctl_thread_waiting(session->kpctl), "fs.waiting_commands");
}

static void add_trace(struct session *session, struct stats *stats)
{
	struct producers_totals programs;
	struct catalog_counts events;

	producers_total(session->server->producers, &programs);
	catalog_count(session->server->catalog, &events);
	trace_print_stats(session->server->trace, &programs, stats);
	readings_print_stats(session->server->readings, stats);
	kernel_print_stats(session->server->kernel, stats);
	stats_u64(stats, programs.ever, "trace.attached");
	stats_u64(stats, programs.refused, "trace.refused");
	stats_u64(stats, programs.corrupt, "trace.corrupt_producers");
	stats_u64(stats, programs.exited, "trace.dead_producers");
	stats_u64(stats, programs.exited_bytes, "trace.dead_bytes");
	stats_u64(stats, programs.pool_bytes, "trace.pool_bytes");
	stats_u64(stats, programs.cleared, "trace.cleared");
	stats_u64(stats, programs.slow_clocks, "trace.slow_clocks");
	stats_u64(stats, events.events, "trace.events");
	stats_u64(stats, events.settings, "trace.settings");
	if (session->server->listener)
		listener_print_stats(session->server->listener, stats);
}

static void print_stats(struct session *session, GString *out)
{
	struct stats *stats = stats_create();

	profiler_print_stats(session->profiler, stats);
	add_trace(session, stats);
	accounting_print_stats(session->accounting, stats); /* a row that can't be had is not there */
	exact_print_stats(session->exact, stats);
	probes_print_stats(session->probes, stats);
	viewproc_stats(session_viewproc(session), stats);
	add_server(session, stats);
	stats_render(stats, out);
	stats_destroy(stats);
}

int file_kpstat_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	probes_measure(session->probes);
	print_stats(session, out);
	return 0;
}

bool file_kpstat_is_long(struct session *session)
{
	return probes_exist(session->probes);
}

int file_kperr_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	kperr_print(session->kperr, reader, out);
	return 0;
}

/* The names of the addresses that are keys of maps: they are symbolized before the text is made. */
static struct probe_names *find_names(struct session *session, void *job)
{
	struct openmetrics *unused = openmetrics_create("");
	struct probe_names *names = probe_names_create();
	const struct value_names values = probe_names_values(names);

	probes_add_metrics(session->probes, &values, unused);
	openmetrics_destroy(unused);
	(void)probe_names_resolve(names, slow_ops_cancel_fd(job)); /* false: there is no address */
	slow_ops_close_cancel_fd(job);
	return names;
}

/* Without programs that have events the trace is not copied. */
static int add_programs(struct session *session, void *job, struct openmetrics *metrics, struct err *err)
{
	struct server *server = session->server;
	struct catalog_counts counts;
	int ret;

	catalog_count(server->catalog, &counts);
	ret = trace_metrics_add(session_trace_metrics(session),
		counts.events || counts.kept ? session_readings(session) : NULL, slow_ops_uid(job),
		slow_ops_cancel(job), metrics);
	return ret ? err_set(err, -ret, "the trace can't be copied: %s", g_strerror(-ret)) : 0;
}

/* Not of a capture: made at the open, like the files that it is made of. */
int file_metrics_make(struct session *session, const struct dirtab_row *row, int fd, void *job,
	struct err *err)
{
	struct probe_names *names = find_names(session, job);
	const struct value_names values = probe_names_values(names);
	g_autoptr(GString) kpstat = g_string_new(NULL), mpstat = g_string_new(NULL), out = g_string_new(NULL);
	struct openmetrics *metrics;
	int ret;

	/* what is read all the time does not make each run of a program slower */
	print_stats(session, kpstat);
	(void)accounting_print_raw(session->accounting, mpstat); /* times that can't be had are missing */
	metrics = metrics_create(kpstat->str, mpstat->str);
	probes_add_metrics(session->probes, &values, metrics);
	ret = add_programs(session, job, metrics, err);
	if (!ret) {
		openmetrics_render(metrics, out);
		ret = fdio_write(fd, out->str, out->len);
	}
	openmetrics_destroy(metrics);
	probe_names_destroy(names);
	return ret;
}
