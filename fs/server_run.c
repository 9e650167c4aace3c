/* SPDX-License-Identifier: MIT */
/*
 * Creates the modules of a server and connects them, mounts, waits for the end, and destroys them.
 * HACKING lists the threads and the order of the locks.
 *
 * The order at the end: streams answer their readers, the control thread answers its writers and
 * stops the run, the workers end, the tree is unmounted. Then no other thread is left that could
 * use freed memory.
 */
#include "fs/server_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <kprof/attach_abi.h>

#include "acct/exact.h"
#include "base/bell.h"
#include "base/trim.h"
#include "base/units.h"
#include "bpf/file_links.h"
#include "fs/cpus.h"
#include "fs/file.h"
#include "fs/kperr.h"
#include "fs/node.h"
#include "fs/openfile.h"
#include "fs/fuse_ops.h"
#include "fs/options.h"
#include "fs/pipes.h"
#include "fs/probe_names.h"
#include "fs/quota.h"
#include "fs/report.h"
#include "fs/session.h"
#include "fs/restore.h"
#include "fs/sessions.h"
#include "fs/streams.h"
#include "fs/switches.h"
#include "fs/tree.h"
#include "views/viewproc.h"
#include "fs/slow_ops.h"
#include "fs/snapshots.h"
#include "sys/clock.h"
#include "sys/mounts.h"
#include "probes/probes.h"
#include "prof/disk.h"
#include "prof/profiler.h"
#include "prof/userwatch.h"
#include "producers/catalog.h"
#include "producers/endpoint.h"
#include "producers/listener.h"
#include "producers/producers.h"
#include "kernel/kernel.h"
#include "kernel/kernel_names.h"
#include "trace/reading.h"
#include "trace/trace.h"
#include "trace/trace_metrics.h"

/* ---- hooks: from a thread of a module into another module ------------------------------------ */

static void on_data_ready(struct server *server)
{
	streams_wake(server->streams);
}

static void on_data_drained(struct server *server)
{
	streams_serve(server->streams);
}

static void on_switched(void *arg)
{
	struct server *server = arg;

	switches_changed(server->switches, server->listener);
}

static void on_producer_refused(void *arg, pid_t pid, uid_t uid, const char *program,
	const char *reason)
{
	struct kperr_entry entry = {
		.pid = pid,
		.uid = uid,
		.file = "events",
		.written = program,
		.written_size = strlen(program),
		.reason = reason,
		.usage = "see libkprof(3)",
	};

	struct server *server = arg;

	report_add(server->session_at_top->report, &entry);
}

static void on_ready(struct server *server)
{
	/* release, pairs with the acquire in wait_until_ready: what INIT settled */
	atomic_write_release(&server->ready, true);
	bell_ring(server->bell);
}

static void on_worker_ended(struct server *server)
{
	/* relaxed: a flag that the bell goes with */
	atomic_write_relaxed(&server->ended, true);
	bell_ring(server->bell);
}

/* Much memory has been freed: the main thread gives it back, since that takes a while. */
static void on_much_freed(void *arg)
{
	struct server *server = arg;

	/* relaxed: a flag that the bell goes with */
	atomic_write_relaxed(&server->trim, true);
	bell_ring(server->bell);
}

/*
 * The kernel keeps many folders of queries, or that of a session that was removed: the main thread makes it
 * forget those without users.
 */
static void on_many_names(void *arg)
{
	struct server *server = arg;

	/* relaxed: a flag that the bell goes with */
	atomic_write_relaxed(&server->names, true);
	bell_ring(server->bell);
}

/* In the listener's thread. */
static void on_file(void *arg)
{
	struct server *server = arg;

	/* relaxed: the same */
	atomic_write_relaxed(&server->programs, true);
	bell_ring(server->bell);
}

/* In the thread kp-links: the links of programs in files are gone. */
static void on_links_lost(void *arg)
{
	on_file(arg);
}

/* Calls a function of the probes of all sessions. */
static void each_probes(struct server *server, void (*call)(struct probes *probes, uint64_t arg),
	uint64_t arg)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new();

	call(server->session_at_top->probes, arg);
	sessions_list(server->sessions, all);
	for (guint i = 0; i < all->len; i++) {
		struct session *session = g_ptr_array_index(all, i);

		call(session->probes, arg);
		session_put(session);
	}
}

static void look(struct probes *probes, uint64_t unused)
{
	(void)unused;
	probes_look(probes);
}

static void look_at_programs(struct server *server)
{
	each_probes(server, look, 0);
}

/* What print(@map) and cat() have been called for before is in the trace. Waits for all sessions together. */
static void settle_trace(void *arg)
{
	each_probes(arg, probes_settle, clock_monotonic_ns() + PROBES_SETTLE_NS);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static struct probes *create_probes(struct session *session)
{
	struct file_probes_options options = { 0 };
	struct sysinfo machine = { .mem_unit = 0 };

	sysinfo(&machine);
	options.memory_bytes = machine.totalram * machine.mem_unit;
	options.serials = &session->server->probe_serials;
	options.keys = session->server->probe_keys;
	options.string_bytes = session->server->probe_strlen;
	options.pid = session->server->probe_pid;
	options.as_json = session->server->probe_json;
	options.links = session->server->file_links;
	return file_probes_create(session, &options);
}

static int check_snapshot(struct session *session, const char *name, const struct origin *origin,
	struct err *err)
{
	return sessions_check_snapshot(session->server->sessions, session, name, origin, err);
}

static int take_snapshot(struct session *session, const struct snapshots_made *made, struct err *err)
{
	return sessions_take_snapshot(session->server->sessions, session, made, err);
}

static void remove_numbered(struct session *session, const char *name)
{
	sessions_remove_numbered(session->server->sessions, name);
}

static const struct snapshots_ops snapshots_ops = {
	.check = check_snapshot,
	.take = take_snapshot,
	.remove = remove_numbered,
};

static struct session_options session_options(struct server *server, const struct options *options)
{
	return (struct session_options){
		.server = server,
		.create_probes = create_probes,
		.snapshots = &snapshots_ops,
		.log = &server->log,
		.exact = server->exact,
		.budget = server->budget,
		.disk = server->disk,
		.memory = server->memory,
		.owner = getuid(),
		.akaros = options->akaros,
		.any_rate = options->user_rates,
		.data_ready = on_data_ready,
		.data_drained = on_data_drained,
	};
}

static int create_session(struct server *server, const struct options *options, struct err *err)
{
	struct session_options session = session_options(server, options);
	int ret;

	session.is_restored = server->disk != NULL;
	server->probe_keys = options->probe_keys;
	server->probe_strlen = options->probe_strlen;
	server->probe_pid = options->probe_pid;
	server->probe_json = options->probe_json;
	ret = session_create(&session, &server->session_at_top, err);

	server->nodes = nodes_create(server->session_at_top, tree_root(), &options->owner);
	nodes_set_owners(server->nodes, session_owner);
	nodes_set_removed(server->nodes, session_is_removed);
	nodes_watch(server->nodes, on_many_names, server);
	return ret;
}

static void create_sessions(struct server *server, const struct options *options)
{
	struct session_options session = session_options(server, options);
	const struct sessions_options sessions = {
		.session = &session,
		.nodes = server->nodes,
		.quotas = server->quotas,
		.max = options->sessions,
		.user_max = options->user_sessions,
		.removed = on_many_names,
		.arg = server,
	};

	/* else each close of a kpctl would remove its session */
	session.akaros = false;
	server->sessions = sessions_create(&sessions);
}

/* The limit of open files, after it was raised to the hard limit. */
static uint64_t raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 1024;
	if (limit.rlim_cur < limit.rlim_max) {
		const struct rlimit most = { limit.rlim_max, limit.rlim_max };

		if (!setrlimit(RLIMIT_NOFILE, &most))
			limit = most;
	}
	return limit.rlim_cur;
}

static int create_trace(struct server *server, const struct options *options, struct err *err)
{
	struct sysinfo machine = { .mem_unit = 0 };
	struct producers_limits limits;
	uint64_t descriptors = raise_descriptors();
	int ret = trace_create(options->trace_bytes, &server->trace);

	if (ret)
		return err_set(err, -ret, "the trace: %s", g_strerror(-ret));
	server->switches = switches_create();
	sysinfo(&machine);
	producers_limits_init(&limits, descriptors, machine.totalram * machine.mem_unit);
	server->catalog = catalog_create(&(struct catalog_hooks){ on_switched, server });
	server->producers = producers_create(server->catalog, &limits);
	producers_on_file(server->producers, on_file, server);
	server->cpus = cpus_create();
	server->cpudir = file_cpudir_create(server->cpus);
	server->quotas = quotas_create(getuid(), descriptors, cpus_count(server->cpus));
	nodes_set_quotas(server->nodes, server->quotas);
	server->kernel = kernel_create(options->trace_kernel_kb, machine.totalram * machine.mem_unit);
	kernel_set_bell(server->kernel, server->bell);
	kernel_set_names(server->kernel, &probe_names_ops);
	server->trace_metrics = trace_metrics_create();
	server->readings = readings_create(server->trace, server->producers, server->kernel,
		options->trace_max, getuid());
	readings_on_settle(server->readings, settle_trace, server);
	server->limits = limits;
	create_sessions(server, options);
	ret = file_ctf_create(server->cpus, &server->ctf);
	return ret ? err_set(err, -ret, "views/ctf: %s", g_strerror(-ret)) : 0;
}

static int create_threads(struct server *server, const struct options *options, struct err *err)
{
	const struct openfiles_hooks hooks = {
		.nodes = server->nodes,
		.quotas = server->quotas,
		.much_freed = on_much_freed,
		.arg = server,
	};
	int ret = streams_create(&server->streams);

	server->files = openfiles_create(&hooks);
	server->view_ops = slow_ops_create("kp-view", SLOW_OPS_THREADS, false, server->quotas);
	if (!ret)
		server->pipes = pipes_create(server->readings, server->streams);
	server->trace_ops =
		slow_ops_create("kp-trace", SLOW_OPS_TRACE_THREADS, true, server->quotas);
	if (!ret)
		ret = viewproc_create(options->debuginfod, &server->viewproc);
	return ret ? err_set(err, -ret, "threads: %s", g_strerror(-ret)) : 0;
}

static int create_signals(struct server *server, struct err *err)
{
	sigset_t signals;

	server_run_signals(&signals);
	server->signals = signalfd(-1, &signals, SFD_CLOEXEC);
	server->bell = bell_open();
	if (server->signals < 0 || server->bell < 0)
		return err_set(err, errno, "descriptors: %s", g_strerror(errno));
	return 0;
}

int server_run_create(struct server *server, const struct options *options, struct err *err)
{
	int ret;

	*server = (struct server){ .bell = -1, .signals = -1, .mounts = -1 };
	log_init(&server->log, false);
	server->exact = exact_create(options->mpstat, options->mpstat_hold_s);
	server->budget = profiler_budget_create();
	server->userwatch = userwatch_create(NULL, NULL);
	server->file_links = file_links_create(on_links_lost, server);
	ret = create_signals(server, err);
	if (!ret && options->state)
		ret = disk_open(options->state, &server->disk, err);
	if (!ret && server->disk)
		server->memory = capture_pool_create(server->disk);
	if (!ret)
		ret = create_session(server, options, err);
	if (!ret)
		ret = create_trace(server, options, err);
	if (!ret)
		ret = create_threads(server, options, err);
	if (!ret)
		ret = fuse_ops_create(server, options, on_ready, &server->fuse, err);
	if (!ret && server->disk)
		restore_sessions(server, server->session_at_top);
	return ret;
}

static void *run_worker(void *arg)
{
	struct server *server = arg;

	pthread_setname_np(pthread_self(), "kp-fuse");
	fuse_ops_serve(server->fuse);
	on_worker_ended(server);
	return NULL;
}

static int start_workers(struct server *server, struct err *err)
{
	int ret;

	while (server->n_workers < SERVER_WORKERS) {
		ret = pthread_create(&server->workers[server->n_workers], NULL, run_worker, server);
		if (ret)
			return err_set(err, ret, "threads: %s", g_strerror(ret));
		server->n_workers++;
	}
	return 0;
}

/* The kernel's first request (INIT) negotiates; before that the mount cannot be used. */
static int wait_until_ready(struct server *server, struct err *err)
{
	while (!atomic_read_acquire(&server->ready)) {
		if (atomic_read_relaxed(&server->ended))
			return err_set(err, EPROTO, "the kernel and libfuse do not agree");
		bell_wait(server->bell);
	}
	return 0;
}

/*
 * After `umount -l` the kernel sends the server nothing as long as files are open, perhaps those of
 * a stopped process for ever. The mount table does.
 */
static bool is_unmounted(const struct server *server)
{
	bool present;

	return server->mounts >= 0 &&
		!mounts_has_device(server->mounts, server->device, &present) && !present;
}

/* If no mount table can be watched, only a lazy unmount is not noticed. */
static void watch_mount_table(struct server *server, const char *mountpoint)
{
	struct statx st;

	/* without a request, which would be one to ourselves */
	if (statx(AT_FDCWD, mountpoint, AT_STATX_DONT_SYNC, 0, &st) ||
		mounts_open(MOUNTS_PATH, &server->mounts))
		return;
	server->device = makedev(st.stx_dev_major, st.stx_dev_minor);
	/* one that does not show the mount cannot show its end */
	if (is_unmounted(server)) {
		close(server->mounts);
		server->mounts = -1;
	}
}

/* Writes a message that a user sent (`kprof mark`) like one of a program named kprof. */
static int on_mark(void *arg, pid_t pid, const char *text, size_t bytes)
{
	struct server *server = arg;
	char line[KPROF_MARK_MAX + 64];
	int length = snprintf(line, sizeof(line), "kprof[%d]: %.*s", (int)pid, (int)bytes, text);

	return trace_append(server->trace, line, (size_t)length);
}

/* Without producers the server is still useful: kperr has the reason. */
static void accept_producers(struct server *server, const struct options *options)
{
	const struct endpoint_options endpoint = {
		.path = options->socket,
		.who = options->attach,
		.owner = options->owner.uid,
		.group = options->attach_group,
	};
	struct listener_options listening;
	struct err err = { "" };
	int ret;

	if (options->socket && !options->socket[0])
		return;
	listener_options_init(&listening, server->limits.programs, server->limits.user_programs);
	listening.owner = options->owner.uid;
	listening.report = on_producer_refused;
	listening.mark = on_mark;
	listening.arg = server;
	ret = endpoint_open(&endpoint, &server->endpoint, &err);
	if (!ret)
		ret = listener_create(server->producers, endpoint_take_fd(server->endpoint), &listening,
			&server->listener);
	if (ret) {
		g_autofree char *reason = g_strdup_printf("no programs can attach: %s",
			err.text[0] ? err.text : g_strerror(-ret));
		struct kperr_entry entry = {
			.pid = getpid(),
			.uid = getuid(),
			.file = "events",
			.written = "",
			.reason = reason,
			.usage = "mount option socket=PATH, or socket=none",
		};

		report_add(server->session_at_top->report, &entry);
	}
}

/* What can't be taken over is removed, and said; the server serves. */
static int keep_kernel_events(struct server *server, const char *path, struct err *err)
{
	int ret = kernel_keep(server->kernel, path, err);

	if (ret == -ESTALE) {
		log_notice(&server->log, "%s", err->text);
		ret = 0;
	}
	producers_restore_clear(server->producers, kernel_kept_clear_ns(server->kernel));
	return ret;
}

int server_run_mount(struct server *server, const struct options *options, const char *mountpoint,
	struct err *err)
{
	int ret = fuse_ops_mount(server->fuse, mountpoint, err);

	server->mountpoint = g_strdup(mountpoint);
	if (!ret) {
		accept_producers(server, options);
		/* after the processes that are forked, which would keep programs attached */
		ret = options->keep ? keep_kernel_events(server, options->keep, err) : 0;
	}
	if (!ret)
		ret = start_workers(server, err);
	if (!ret)
		ret = wait_until_ready(server, err);
	if (!ret)
		watch_mount_table(server, mountpoint);
	return ret;
}

/* ---- running --------------------------------------------------------------------------------- */

void server_run_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGHUP);
}

void server_run_wait(struct server *server)
{
	while (!atomic_read_relaxed(&server->ended)) {
		struct pollfd fds[] = {
			{ .fd = server->signals, .events = POLLIN },
			{ .fd = server->bell, .events = POLLIN },
			{ .fd = server->mounts, .events = POLLPRI },
			{ .fd = file_ctf_timer(server->ctf), .events = POLLIN },
			{ .fd = viewproc_timer(server->viewproc), .events = POLLIN },
		};

		unsigned int expires_s = kernel_expires_in(server->kernel);

		if (poll(fds, G_N_ELEMENTS(fds), expires_s ? (int)expires_s * 1000 : -1) < 0)
			continue;
		kernel_expire(server->kernel);
		if (fds[0].revents)
			return;
		if (fds[1].revents)
			bell_take(server->bell);
		/* relaxed: memory freed before may also be returned at the next bell */
		if (atomic_read_relaxed(&server->trim)) {
			atomic_write_relaxed(&server->trim, false);
			trim_memory();
		}
		if (atomic_read_relaxed(&server->names)) {
			atomic_write_relaxed(&server->names, false);
			fuse_ops_drop_names(server->fuse);
		}
		if (atomic_read_relaxed(&server->programs)) {
			atomic_write_relaxed(&server->programs, false);
			look_at_programs(server);
		}
		if (fds[2].revents && is_unmounted(server))
			return;
		if (fds[3].revents)
			file_ctf_expire(server->ctf);
		if (fds[4].revents)
			viewproc_expire(server->viewproc);
	}
}

/* ---- teardown -------------------------------------------------------------------------------- */

static void end_workers(struct server *server)
{
	unsigned int i;

	if (server->n_workers)
		fuse_ops_stop(server->fuse);
	for (i = 0; i < server->n_workers; i++)
		pthread_join(server->workers[i], NULL);
	server->n_workers = 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* When the mount has ended: processes that a file of it has kept waiting go on. */
static void end_file_links(struct server *server)
{
	int process;

	file_links_destroy(server->file_links, &process);
	if (process)
		log_notice(&server->log, "process %d (kp-links) detaches programs from files later: the "
			"kernel would wait for a process that keeps its memory map locked", process);
}

void server_run_destroy(struct server *server)
{
	/* first, so that the next server can bind the socket */
	listener_stop(server->listener);
	endpoint_close(server->endpoint);
	if (server->streams)
		streams_close(server->streams);
	sessions_close(server->sessions);
	session_close(server->session_at_top);
	if (server->view_ops)
		slow_ops_close(server->view_ops);
	if (server->trace_ops)
		slow_ops_close(server->trace_ops);
	if (server->pipes)
		pipes_close(server->pipes);
	/* a reader that gets end of file closes; one that never reads must not delay the end */
	if (server->n_workers)
		openfiles_wait_streams(server->files, SERVER_RUN_LAST_READS_MS);
	end_workers(server);
	if (is_unmounted(server))
		fuse_ops_unmounted(server->fuse);
	fuse_ops_destroy(server->fuse);
	g_free(server->mountpoint);
	streams_destroy(server->streams);
	slow_ops_destroy(server->view_ops);
	slow_ops_destroy(server->trace_ops);
	viewproc_destroy(server->viewproc);
	openfiles_destroy(server->files);
	nodes_destroy(server->nodes);
	quotas_destroy(server->quotas);
	sessions_destroy(server->sessions);
	session_destroy(server->session_at_top);
	end_file_links(server);
	capture_pool_unref(server->memory);
	disk_close(server->disk);
	userwatch_destroy(server->userwatch);
	budget_destroy(server->budget);
	exact_destroy(server->exact);
	pipes_destroy(server->pipes);
	readings_destroy(server->readings);
	trace_metrics_destroy(server->trace_metrics);
	kernel_destroy(server->kernel);
	file_ctf_destroy(server->ctf);
	file_cpudir_destroy(server->cpudir);
	cpus_destroy(server->cpus);
	listener_destroy(server->listener);
	switches_destroy(server->switches);
	producers_destroy(server->producers);
	catalog_destroy(server->catalog);
	if (server->trace)
		trace_destroy(server->trace);
	close_fd(server->bell);
	close_fd(server->signals);
	close_fd(server->mounts);
}
