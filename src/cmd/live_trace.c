/* SPDX-License-Identifier: MIT */
/* Traces a command: see live_trace.h. */
#include "cmd/live_trace.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cmd/call_summary.h"
#include "cmd/cmd.h"
#include "cmd/kpctl_client.h"
#include "cmd/launch.h"
#include "cmd/live_pipe.h"
#include "cmd/private_server.h"
#include "cmd/server_notes.h"
#include "cmd/trace_names.h"
#include "sys/clock.h"

/* The rings hold what is recorded between two readings of them, some 100 ms. */
#define SERVER_OPTIONS "trace_kernel=8192"
#define FOLDER "events/kernel"
#define ALL_CALLS "syscalls"
#define ONE_CALL "syscall:"
#define LOOK_MS 250 /* how often it is checked whether the processes live */
/*
 * The names of functions of programs that have ended are those of their mappings in a capture, which has the
 * mappings of processes with samples. A program has some hundred page faults until it is loaded.
 */
#define MAPPINGS "event page-faults:period=16\nstart\n"

struct live_run {
	struct live_trace *trace;
	struct launch launch;
	struct private_server server;
	struct live_pipe pipe;
	FILE *out;
	struct call_summary *summary;
	struct trace_names *names; /* NULL without stacks */
	GString *text;   /* lines that are to be written */
	struct server_notes *notes;
};

void live_trace_init(struct live_trace *trace)
{
	*trace = (struct live_trace){ .events = g_ptr_array_new_with_free_func(g_free) };
	record_target_init(&trace->target);
}

void live_trace_fini(struct live_trace *trace)
{
	g_ptr_array_unref(trace->events);
	record_target_fini(&trace->target);
}

/* ---- switches ---------------------------------------------------------------------------------- */

/* Adds the names of the folder that match. */
static int add_matching(struct live_run *r, const char *pattern, GHashTable *names, struct err *err)
{
	g_autofree char *path = g_build_filename(r->server.dir, FOLDER, NULL);
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;
	bool any = false;

	if (!dir)
		return err_set(err, EIO, "%s can't be listed", path);
	while ((name = g_dir_read_name(dir))) {
		/* those without a colon are not events, or all of them */
		if (!strchr(name, ':') || fnmatch(pattern, name, 0))
			continue;
		g_hash_table_add(names, g_strdup(name));
		any = true;
	}
	return any ? 0 : err_set(err, ENOENT, "no kernel event matches '%s'", pattern);
}

/* "openat" stands for the system call. */
static int add_event(struct live_run *r, const char *text, GHashTable *names, struct err *err)
{
	const bool is_whole = strchr(text, ':') || strcmp(text, ALL_CALLS) == 0;
	g_autofree char *whole = g_strconcat(is_whole ? "" : ONE_CALL, text, NULL);

	if (strpbrk(whole, "*?["))
		return add_matching(r, whole, names, err);
	g_hash_table_add(names, g_steal_pointer(&whole));
	return 0;
}

/* Writes to a file of the folder. Its path in the private server and its usage do not help a user. */
static int write_file(struct live_run *r, const char *name, const char *text, struct err *err)
{
	g_autofree char *file = g_build_filename(FOLDER, name, NULL);
	g_autofree char *path = g_strconcat(r->server.dir, "/", file, ": ", NULL);
	int ret = kpctl_client_write_file(r->server.dir, file, text, err);
	g_autofree char *all = ret ? g_strdup(err->text) : NULL;
	char *usage;

	if (!ret || !g_str_has_prefix(all, path))
		return ret;
	usage = g_strrstr(all, "; usage: ");
	if (usage)
		*usage = '\0';
	return err_set(err, -ret, "%s", all + strlen(path));
}

/* With the nearest names, which the server tells. */
static int refuse_name(const char *name, struct err *err)
{
	g_autofree char *all = g_strdup(err->text);
	const char *nearest = strstr(all, "; nearest: ");

	return err_set(err, ENOENT, "there is no kernel event '%s'%s", name, nearest ? nearest : "");
}

static int switch_on(struct live_run *r, const char *name, struct err *err)
{
	const char *filter = r->trace->filter;
	g_autofree char *condition = filter ? g_strconcat(" /", filter, "/", NULL) : g_strdup("");
	g_autofree char *setting = g_strconcat("1", r->names ? " stack" : "", condition, "\n", NULL);
	int ret = write_file(r, name, setting, err);

	if (ret == -ENOENT)
		return refuse_name(name, err);
	if (ret)
		err_prefix(err, filter && ret == -EINVAL ? "--filter of %s" : "%s", name);
	return ret;
}

static int switch_events(struct live_run *r, struct err *err)
{
	g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GHashTableIter iter;
	void *name;
	int ret = 0;

	if (!r->trace->events->len)
		g_ptr_array_add(r->trace->events, g_strdup(ALL_CALLS));
	for (guint i = 0; i < r->trace->events->len && !ret; i++)
		ret = add_event(r, g_ptr_array_index(r->trace->events, i), names, err);
	g_hash_table_iter_init(&iter, names);
	while (!ret && g_hash_table_iter_next(&iter, &name, NULL)) {
		ret = switch_on(r, name, err);
		if (!ret)
			server_notes_collect(r->notes, r->server.dir);
	}
	return ret;
}

/* The command from its beginning, or these processes. */
static int choose_processes(struct live_run *r, struct err *err)
{
	const GArray *pids = r->trace->target.processes;
	g_autoptr(GString) text = g_string_new(NULL);

	if (!pids->len)
		g_string_append_printf(text, "exec %u", (unsigned int)r->launch.pid);
	for (guint i = 0; i < pids->len; i++)
		g_string_append_printf(text, "%s%" PRIu32, i ? "," : "", g_array_index(pids, uint32_t, i));
	g_string_append_c(text, '\n');
	return write_file(r, "pids", text->str, err);
}

/* ---- lines ------------------------------------------------------------------------------------- */

static void take_line(void *arg, const char *line, size_t bytes)
{
	struct live_run *r = arg;

	if (r->summary) {
		call_summary_add(r->summary, line, bytes);
		return;
	}
	g_string_append_len(r->text, line, (gssize)bytes);
	g_string_append_c(r->text, '\n');
}

/* Writes the lines, with the names of functions if there are stacks. */
static bool print_text(void *arg)
{
	struct live_run *r = arg;
	g_autoptr(GString) named = r->names ? g_string_new(NULL) : NULL;
	const GString *text = r->names ? named : r->text;
	bool written;

	if (r->names)
		trace_names_append(r->names, r->text->str, r->text->len, named);
	written = fwrite(text->str, 1, text->len, r->out) == text->len && !fflush(r->out);
	g_string_truncate(r->text, 0);
	return written;
}

/* ---- the run ----------------------------------------------------------------------------------- */

static int open_output(struct live_run *r, struct err *err)
{
	const char *output = r->trace->output;

	if (!output)
		r->out = stderr;
	else
		r->out = strcmp(output, "-") ? fopen(output, "we") : stdout;
	return r->out ? 0 : err_set(err, errno, "%s: %s", output, strerror(errno));
}

static void flush_samples(void *arg)
{
	struct live_run *r = arg;
	struct err ignored;

	kpctl_client_write(r->server.dir, "flush\n", &ignored);
}

/* For the names of functions. Without the right to sample only processes that run have names. */
static void capture_mappings(struct live_run *r)
{
	g_autofree char *capture = g_build_filename(r->server.dir, "kpdata", NULL);
	struct err ignored;

	if (!kpctl_client_write(r->server.dir, MAPPINGS, &ignored))
		trace_names_follow(r->names, capture, flush_samples, r);
}

static int prepare(struct live_run *r, struct err *err)
{
	int ret = launch_begin(&r->launch, r->trace->argv, err);

	if (!ret)
		ret = open_output(r, err);
	if (!ret)
		ret = private_server_start(&r->server, SERVER_OPTIONS, &r->launch.before, err);
	if (!ret)
		ret = choose_processes(r, err);
	if (!ret && r->names)
		capture_mappings(r);
	if (!ret)
		ret = live_pipe_open(&r->pipe, r->server.dir, err);
	if (!ret)
		ret = switch_events(r, err);
	if (!ret)
		server_notes_print(r->notes);
	return ret;
}

static int wait_ms(const struct live_run *r)
{
	const uint64_t passed_ms = (clock_monotonic_ns() - r->launch.begin_ns) / NSEC_PER_MSEC;
	const int look = r->trace->argv ? -1 : LOOK_MS;
	double left = r->trace->duration_ms - (double)passed_ms;

	if (!r->trace->duration_ms)
		return look;
	if (left <= 0)
		return 0;
	return look < 0 || left < look ? (int)left + 1 : look;
}

static bool is_over(const struct live_run *r)
{
	return r->launch.ended || r->pipe.failed || wait_ms(r) == 0 ||
		(!r->trace->argv && !record_target_lives(&r->trace->target));
}

static void watch(struct live_run *r)
{
	struct pollfd fds[] = { { .fd = r->launch.signal_fd, .events = POLLIN },
		{ .fd = r->pipe.fd, .events = POLLIN } };

	launch_signals(&r->launch);
	while (!is_over(r)) {
		poll(fds, 2, wait_ms(r));
		if (fds[1].revents && !live_pipe_read(&r->pipe))
			return;
		launch_signals(&r->launch);
	}
}

/*
 * Events that happen from now on would be written over those that were not read yet: of processes that go on
 * there may be many, and the names of functions take their time.
 */
static int finish(struct live_run *r, struct err *err)
{
	int ret = kpctl_client_write_file(r->server.dir, "events/enabled", "0\n", err);

	if (r->names)
		trace_names_refresh(r->names);
	if (!ret)
		ret = live_pipe_finish(&r->pipe, &r->launch, r->server.dir, "trace", err);
	server_notes_collect(r->notes, r->server.dir);
	server_notes_print(r->notes);
	server_notes_print_missing(r->server.dir);
	return ret;
}

static void finish_output(struct live_run *r, int *status)
{
	if (!r->out)
		return;
	if (r->summary && r->launch.begin_ns)
		call_summary_print(r->summary, r->out);
	if (fflush(r->out) || ferror(r->out) || r->pipe.failed) {
		cmd_error("%s can't be written: %s", r->trace->output ? r->trace->output : "standard error",
			strerror(errno));
		*status = *status ? *status : CMD_NOT_RUN;
	}
	if (r->trace->output && r->out != stdout)
		fclose(r->out);
}

int live_trace_run(struct live_trace *trace)
{
	struct live_run r = { .trace = trace, .text = g_string_new(NULL), .notes = server_notes_create() };
	struct err err = { "" };
	int status = CMD_NOT_RUN, ret;

	r.launch.signal_fd = -1;
	r.pipe = (struct live_pipe){ .take = take_line, .flush = print_text, .arg = &r };
	live_pipe_init(&r.pipe);
	if (trace->summary)
		r.summary = call_summary_create();
	if (trace->stack && !trace->summary)
		r.names = trace_names_create(NULL);
	ret = prepare(&r, &err);
	if (!ret) {
		ret = launch_go(&r.launch, &err);
		if (ret) {
			status = launch_status(ret);
			err_prefix(&err, "%s", trace->argv[0]);
		}
	}
	if (!ret) {
		watch(&r);
		ret = finish(&r, &err);
	}
	launch_end(&r.launch);
	if (!ret)
		status = r.launch.status;
	else
		cmd_error("%s", *err.text ? err.text : strerror(-ret));
	live_pipe_fini(&r.pipe);
	private_server_end(&r.server);
	finish_output(&r, &status);
	call_summary_destroy(r.summary);
	server_notes_destroy(r.notes);
	if (r.names)
		trace_names_destroy(r.names);
	g_string_free(r.text, TRUE);
	return status;
}
