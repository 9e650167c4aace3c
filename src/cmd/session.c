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
	int ret = instance_start(&s->instance, mask, err);

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
	return ret ? ret : control_read(s->dir, &s->control, err);
}

static int refuse_running(const struct session *s, struct err *err)
{
	const uint64_t since = control_stat(s->dir, "profiler.since_ns"), now = clock_monotonic_ns();

	return err_set(err, EBUSY,
		"%s: the profiler is already running, since %" PRIu64
		" s, for somebody else (event %s); `echo stop >%s/kpctl` stops it, and --private"
		" samples by a server of its own",
		s->dir, since && since < now ? (uint64_t)((now - since) / NSEC_PER_SEC) : 0,
		s->control.event ? s->control.event : "?", s->dir);
}

/* In one write with `event`, which is refused while somebody's run is on: nobody can come between. */
int session_start(struct session *s, const char *event, struct err *err)
{
	const char *events = event ? event : s->control.event;
	g_autofree char *lines = g_strdup_printf("event %s\nstart\n", events ? events : "default");
	int ret;

	if (s->control.running)
		return refuse_running(s, err);
	ret = control_write(s->dir, lines, err);
	s->started = !ret;
	s->event_set = event != NULL;
	return ret;
}

int session_stop(struct session *s, struct err *err)
{
	g_autofree char *lines = NULL;
	int ret;

	if (!s->started)
		return 0;
	s->started = false;
	ret = control_write(s->dir, "stop\n", err);
	if (s->event_set && s->control.event && !s->instance.dir) {
		lines = g_strdup_printf("event %s\n", s->control.event);
		control_write(s->dir, lines, NULL);
	}
	return ret;
}

void session_close(struct session *s)
{
	struct err err = { "" };

	if (session_stop(s, &err))
		cmd_error("%s", err.text);
	instance_end(&s->instance);
	control_clear(&s->control);
	g_clear_pointer(&s->dir, g_free);
}
