/* SPDX-License-Identifier: MIT */
/* Chooses the source of a capture, and finds its age: see input_source.h. */
#include "cmd/input_source.h"

#include <glib.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/kpctl_client.h"
#include "cmd/mount_choice.h"
#include "sys/clock.h"

/* The kernel gives files the time of its last tick, which is up to 10 ms old. */
#define FILE_TIME_NS (20 * NSEC_PER_MSEC)

/* The run that a mount holds. */
struct input_source_run {
	bool running;
	bool held;       /* it has records */
	uint64_t since_ns; /* when it started or stopped, CLOCK_MONOTONIC; 0: not known */
	uint64_t age_ns; /* since it started, or since it stopped; UINT64_MAX: not known */
	uint64_t runs_ns; /* its length, with other runs since the last clear */
};

static void read_run(const char *dir, struct input_source_run *run)
{
	const uint64_t since = kpctl_client_stat(dir, "profiler.since_ns"),
		       now = clock_monotonic_ns();
	struct kpctl_client kpctl;

	run->running = kpctl_client_read(dir, &kpctl, NULL) == 0 && kpctl.running;
	run->held = kpctl_client_stat(dir, "bytes.held") > 0;
	run->since_ns = since && since <= now ? since : 0;
	run->runs_ns = kpctl_client_stat(dir, "profiler.runs_ns");
	run->age_ns = since && since <= now ? now - since : UINT64_MAX;
	kpctl_client_clear(&kpctl);
}

/* Since the file was last written. */
static uint64_t file_age_ns(const struct stat *st)
{
	const int64_t then = (int64_t)st->st_mtim.tv_sec * (int64_t)NSEC_PER_SEC +
		st->st_mtim.tv_nsec,
		      now = (int64_t)g_get_real_time() * (int64_t)NSEC_PER_USEC;

	return then < now ? (uint64_t)(now - then) : 0;
}

/* ---- which one ------------------------------------------------------------------------------- */

/* A file that another user put into the working folder is not read unless it is named. */
static bool has_file(struct stat *st)
{
	if (stat(INPUT_SOURCE_FILE, st) || !S_ISREG(st->st_mode))
		return false;
	if (st->st_uid == geteuid() || st->st_uid == 0)
		return true;
	cmd_error(INPUT_SOURCE_FILE " is of another user: it is read only as a FILE argument");
	return false;
}

static bool is_newer(const struct stat *st)
{
	g_autofree char *dir = NULL;
	struct input_source_run run;
	uint64_t now, age;

	if (mount_choice_find_quietly(&dir, NULL))
		return true;
	read_run(dir, &run);
	if (!run.held && !run.running)
		return true;
	now = clock_monotonic_ns(); /* after the run was read, which may take long */
	age = file_age_ns(st);
	return age <= FILE_TIME_NS || now - MIN(now, age - FILE_TIME_NS) >= run.since_ns;
}

int input_source_find(char **path, struct err *err)
{
	struct stat st;
	int ret;

	if (has_file(&st) && is_newer(&st)) {
		*path = g_strdup(INPUT_SOURCE_FILE);
		return 0;
	}
	ret = mount_choice_path(NULL, "kpdata", path, err);
	if (ret)
		err_prefix(err, "no FILE given (`kprof record -- COMMAND` writes " INPUT_SOURCE_FILE ")");
	return ret;
}

/* ---- as text --------------------------------------------------------------------------------- */

static void append_age(GString *text, uint64_t age_ns)
{
	const uint64_t s = age_ns / NSEC_PER_SEC;

	if (s < 120)
		g_string_append_printf(text, "%" PRIu64 " s", s);
	else if (s < 120 * 60)
		g_string_append_printf(text, "%" PRIu64 " min", s / 60);
	else if (s < 48 * 3600)
		g_string_append_printf(text, "%" PRIu64 " h", s / 3600);
	else
		g_string_append_printf(text, "%" PRIu64 " days", s / (24 * 3600));
}

static void append_run(GString *text, const char *dir)
{
	struct input_source_run run;

	read_run(dir, &run);
	if (!run.running && !run.held && !run.runs_ns) {
		g_string_append(text, INPUT_SOURCE_EMPTY);
		return;
	}
	if (run.age_ns == UINT64_MAX)
		return;
	g_string_append(text, run.running ? ", running for " : ", stopped ");
	append_age(text, run.age_ns);
	g_string_append(text, run.running ? "" : " ago");
}

static bool is_of_mount(const char *path, const char *dir)
{
	g_autofree char *name = g_path_get_basename(path),
			*stats = g_build_filename(dir, "kpstat", NULL);

	return g_str_equal(name, "kpdata") && access(stats, R_OK) == 0;
}

char *input_source_describe(const char *path)
{
	g_autofree char *dir = g_path_get_dirname(path);
	GString *text = g_string_new(NULL);
	struct stat st;

	text_append(text, path);
	if (is_of_mount(path, dir)) {
		append_run(text, dir);
	} else if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
		g_string_append(text, ", written ");
		append_age(text, file_age_ns(&st));
		g_string_append(text, " ago");
	}
	return g_string_free(text, FALSE);
}

char *input_source_control(const char *path, uint64_t *run_ns)
{
	g_autofree char *dir = g_path_get_dirname(path), *whole = g_canonicalize_filename(dir, NULL);

	if (!is_of_mount(path, dir))
		return NULL;
	*run_ns = kpctl_client_stat(dir, "profiler.runs_ns");
	return g_build_filename(whole, "kpctl", NULL);
}
