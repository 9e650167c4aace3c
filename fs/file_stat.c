/* SPDX-License-Identifier: MIT */
/* kpstat, kperr, views/metrics: the counters, limits and errors of the server. */
#include "fs/file.h"

#include <time.h>

#include "acct/accounting.h"
#include "acct/exact.h"
#include "base/stats.h"
#include "base/units.h"
#include "config.h"
#include "fs/kpctl_thread.h"
#include "fs/kperr.h"
#include "fs/node.h"
#include "fs/openfile.h"
#include "fs/quota.h"
#include "fs/server.h"
#include "fs/session.h"
#include "fs/streams.h"
#include "views/viewproc.h"
#include "probes/probes.h"
#include "prof/profiler.h"
#include "producers/catalog.h"
#include "producers/listener.h"
#include "producers/producers.h"
#include "kernel/kernel.h"
#include "trace/reading.h"
#include "trace/trace.h"
#include "fs/metrics.h"

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

int file_kpstat_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	struct stats *stats = stats_create();

	profiler_print_stats(session->profiler, stats);
	add_trace(session, stats);
	accounting_print_stats(session->accounting, stats); /* a row that can't be had is not there */
	exact_print_stats(session->exact, stats);
	probes_print_stats(session->probes, stats);
	viewproc_stats(session->server->viewproc, stats);
	add_server(session, stats);
	stats_render(stats, out);
	stats_destroy(stats);
	return 0;
}

int file_kperr_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	kperr_print(session->kperr, reader, out);
	return 0;
}

/* Not of a capture: made at the open, like the two files that it is made of. */
int file_metrics_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	g_autoptr(GString) kpstat = g_string_new(NULL);
	g_autoptr(GString) mpstat = g_string_new(NULL);
	int ret = file_kpstat_render(session, row, reader, kpstat, err);

	if (ret)
		return ret;
	(void)accounting_print_raw(session->accounting, mpstat); /* times that can't be had are missing */
	metrics_append(out, kpstat->str, mpstat->str);
	return 0;
}
