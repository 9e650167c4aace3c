/* SPDX-License-Identifier: MIT */
/* Sampling for a command of kprof: see session.h. */
#include "cmd/session.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "sys/clock.h"

static int start_own(struct session *s, const sigset_t *mask, struct err *err)
{
	int ret = private_server_start(&s->instance, mask, err);

	if (!ret)
		s->dir = g_strdup(s->instance.dir);
	return ret;
}

static bool may_use(const char *dir)
{
	g_autofree char *file = g_build_filename(dir, "kpctl", NULL);

	return access(file, R_OK | W_OK) == 0 || (errno != EACCES && errno != EPERM);
}

static int find_server(struct session *s, const struct session_choice *choice,
	const sigset_t *mask, struct err *err)
{
	int ret;

	if (choice->own)
		return start_own(s, mask, err);
	if (choice->mount) {
		s->dir = g_strdup(choice->mount);
		return 0;
	}
	ret = input_find_mount(&s->dir, err);
	if (ret && ret != -ENOENT)
		return ret;
	if (!ret && may_use(s->dir))
		return 0;
	g_clear_pointer(&s->dir, g_free);
	return start_own(s, mask, err);
}

int session_open(struct session *s, const struct session_choice *choice, const sigset_t *mask,
	struct err *err)
{
	int ret;

	memset(s, 0, sizeof(*s));
	ret = find_server(s, choice, mask, err);
	return ret ? ret : kpctl_client_read(s->dir, &s->control, err);
}

static int refuse_running(const struct session *s, struct err *err)
{
	const uint64_t since = kpctl_client_stat(s->dir, "profiler.since_ns"),
		       now = clock_monotonic_ns();

	return err_set(err, EBUSY,
		"%s: the profiler is already running, since %" PRIu64
		" s, for somebody else (event %s); `echo stop >%s/kpctl` stops it, and --private"
		" samples by a server of its own",
		s->dir, since && since < now ? (uint64_t)((now - since) / NSEC_PER_SEC) : 0,
		s->control.event ? s->control.event : "?", s->dir);
}

/*
 * In one write with `event`, which is refused while somebody's run is on: nobody can come between.
 */
int session_start(struct session *s, const char *event, const char *stack, struct err *err)
{
	const char *events = event ? event : s->control.event;
	g_autoptr(GString) lines = g_string_new(NULL);
	int ret;

	if (s->control.running)
		return refuse_running(s, err);
	g_string_append_printf(lines, "event %s\n", events ? events : "default");
	if (stack)
		g_string_append_printf(lines, "stack %s\n", stack);
	g_string_append(lines, "start\n");
	s->event_set = event != NULL;
	s->stack_set = stack != NULL;
	ret = kpctl_client_write(s->dir, lines->str, err);
	s->started = !ret;
	return ret;
}

/* Lines before one that was refused stand, so also what was not started may have changed them. */
static void set_back(struct session *s)
{
	g_autoptr(GString) lines = g_string_new(NULL);

	if (s->event_set && s->control.event)
		g_string_append_printf(lines, "event %s\n", s->control.event);
	if (s->stack_set && s->control.stack)
		g_string_append_printf(lines, "stack %s\n", s->control.stack);
	s->event_set = s->stack_set = false;
	if (lines->len && !s->instance.dir)
		kpctl_client_write(s->dir, lines->str, NULL);
}

int session_stop(struct session *s, struct err *err)
{
	int ret = 0;

	if (s->started)
		ret = kpctl_client_write(s->dir, "stop\n", err);
	s->started = false;
	set_back(s);
	return ret;
}

void session_close(struct session *s)
{
	struct err err = { "" };

	if (session_stop(s, &err))
		cmd_error("%s", err.text);
	private_server_end(&s->instance);
	kpctl_client_clear(&s->control);
	g_clear_pointer(&s->dir, g_free);
}
