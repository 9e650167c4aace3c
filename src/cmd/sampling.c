/* SPDX-License-Identifier: MIT */
/* Samples for a subcommand of kprof: see sampling.h. */
#include "cmd/sampling.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/mount_choice.h"
#include "prof/events.h"
#include "sys/clock.h"
#include "sys/perf.h"

static int start_private(struct sampling *s, const sigset_t *mask, struct err *err)
{
	int ret = private_server_start(&s->server, NULL, mask, err);

	if (!ret)
		s->dir = g_strdup(s->server.dir);
	return ret;
}

static bool may_use(const char *dir)
{
	g_autofree char *file = g_build_filename(dir, "kpctl", NULL);

	return access(file, R_OK | W_OK) == 0 || (errno != EACCES && errno != EPERM);
}

static int find_server(struct sampling *s, const struct sampling_choice *choice,
	const sigset_t *mask, struct err *err)
{
	int ret;

	if (choice->private)
		return start_private(s, mask, err);
	if (choice->mount) {
		s->dir = g_strdup(choice->mount);
		return 0;
	}
	ret = mount_choice_find(&s->dir, err);
	if (ret && ret != -ENOENT)
		return ret;
	if (!ret && may_use(s->dir))
		return 0;
	g_clear_pointer(&s->dir, g_free);
	return start_private(s, mask, err);
}

/* Since when the profiler runs that another process started. */
static uint64_t running_s(const struct sampling *s)
{
	const uint64_t since = kpctl_client_stat(s->dir, "profiler.since_ns"),
		       now = clock_monotonic_ns();

	return since && since < now ? (now - since) / NSEC_PER_SEC : 0;
}

/* The profiler that was found runs already: a private server instead. */
static int leave_running(struct sampling *s, const sigset_t *mask, struct err *err)
{
	int ret;

	cmd_error("a private server samples: the profiler at %s is already running for %" PRIu64 " s", s->dir,
		running_s(s));
	kpctl_client_clear(&s->kpctl);
	g_clear_pointer(&s->dir, g_free);
	ret = start_private(s, mask, err);
	return ret ? ret : kpctl_client_read(s->dir, &s->kpctl, err);
}

int sampling_open(struct sampling *s, const struct sampling_choice *choice, const sigset_t *mask,
	struct err *err)
{
	int ret;

	memset(s, 0, sizeof(*s));
	ret = find_server(s, choice, mask, err);
	if (!ret)
		ret = kpctl_client_read(s->dir, &s->kpctl, err);
	if (!ret && s->kpctl.running && !s->server.dir && !choice->mount && !choice->shares)
		ret = leave_running(s, mask, err);
	return ret;
}

static int refuse_running(const struct sampling *s, struct err *err)
{
	return err_set(err, EBUSY,
		"%s: another process started the profiler, and it is already running for %" PRIu64
		" s (event %s); stop it with `echo stop >%s/kpctl`, or use a private server with"
		" --private",
		s->dir, running_s(s), s->kpctl.event ? s->kpctl.event : "?", s->dir);
}

/* Whether the events are known; the machine may lack them. */
static bool are_events(const char *text)
{
	g_autofree struct event_list *list = g_new0(struct event_list, 1);

	return events_parse(text, NULL, list, NULL) == 0;
}

/* The machine does not have an event that was given: adds to the error what is sampled without -e. */
static void say_default(const struct sampling_settings *settings, struct err *err)
{
	struct err reason = *err;
	struct perf_features features;

	if (settings->event && are_events(settings->event) && perf_probe(&features) == 0)
		err_set(err, ENOENT, "%s; without -e %s", reason.text,
			features.has_cycles ? "cycles are sampled" : "the CPU clock is sampled");
}

/*
 * In one write with `event`, which is refused during a run: no other process can start one in
 * between.
 */
int sampling_start(struct sampling *s, const struct sampling_settings *settings, struct err *err)
{
	const char *events = settings->event ? settings->event : s->kpctl.event;
	g_autoptr(GString) lines = g_string_new(NULL);
	int ret;

	if (s->kpctl.running)
		return refuse_running(s, err);
	g_string_append_printf(lines, "event %s\n", events ? events : "default");
	if (settings->stack)
		g_string_append_printf(lines, "stack %s\n", settings->stack);
	if (settings->cpus)
		g_string_append_printf(lines, "cpus %s\n", settings->cpus);
	if (settings->only)
		g_string_append_printf(lines, "only %s\n", settings->only);
	g_string_append(lines, "start\n");
	s->event_set = settings->event != NULL;
	s->stack_set = settings->stack != NULL;
	s->cpus_set = settings->cpus != NULL;
	s->only_set = settings->only != NULL;
	ret = kpctl_client_write(s->dir, lines->str, err);
	if (ret == -ENOENT || ret == -EOPNOTSUPP)
		say_default(settings, err);
	s->started = !ret;
	return ret;
}

void sampling_print_scope(const struct sampling *s)
{
	g_autofree char *scope = kpctl_client_text(s->dir, "profiler.scope");
	const bool own = scope && g_str_has_prefix(scope, "own");
	int64_t paranoid;

	if (!scope || (!own && !g_str_has_suffix(scope, "user")))
		return;
	if (perf_sysctl(NULL, PERF_SYSCTL_PARANOID, &paranoid) || paranoid <= 0)
		cmd_error("samples %s, as the kernel permits",
			own ? "this user's processes, user space only" : "user space only");
	else
		cmd_error("samples %s: kernel.perf_event_paranoid is %d, 0 allows the whole machine",
			own ? "this user's processes, user space only" : "user space only",
			(int)paranoid);
}

/*
 * The lines before a refused one took effect, so restore the settings also if nothing was started.
 */
static void restore_settings(struct sampling *s)
{
	g_autoptr(GString) lines = g_string_new(NULL);

	if (s->event_set && s->kpctl.event)
		g_string_append_printf(lines, "event %s\n", s->kpctl.event);
	if (s->stack_set && s->kpctl.stack)
		g_string_append_printf(lines, "stack %s\n", s->kpctl.stack);
	if (s->cpus_set && s->kpctl.cpus)
		g_string_append_printf(lines, "cpus %s\n", s->kpctl.cpus);
	if (s->only_set && s->kpctl.only)
		g_string_append_printf(lines, "only %s\n", s->kpctl.only);
	s->event_set = s->stack_set = s->cpus_set = s->only_set = false;
	if (lines->len && !s->server.dir)
		kpctl_client_write(s->dir, lines->str, NULL);
}

int sampling_stop(struct sampling *s, struct err *err)
{
	int ret = 0;

	if (s->started)
		ret = kpctl_client_write(s->dir, "stop\n", err);
	s->started = false;
	restore_settings(s);
	return ret;
}

void sampling_close(struct sampling *s)
{
	struct err err = {""};

	if (sampling_stop(s, &err))
		cmd_error("%s", err.text);
	private_server_end(&s->server);
	kpctl_client_clear(&s->kpctl);
	g_clear_pointer(&s->dir, g_free);
}
