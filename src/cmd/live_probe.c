/* SPDX-License-Identifier: MIT */
/* Runs a program in the language of probes: see live_probe.h. */
#include "cmd/live_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/kpctl_client.h"
#include "cmd/launch.h"
#include "cmd/live_pipe.h"
#include "cmd/private_server.h"
#include "probes/check.h"
#include "probes/parameters.h"
#include "probes/parser.h"
#include "probes/targets.h"
#include "sys/clock.h"
#include "sys/proc.h"

#define NAME	   "program"
#define FILE_NAME  "probes/" NAME
#define LABEL	   "probe:" NAME /* of what the program prints, behind the time, */
#define LABEL_OF   "] " LABEL	 /* or behind the process that has printed it; then: */
#define LINE_ENDS  ": "
#define LINE_GOES_ON "+: "	 /* without a newline */
#define COUNTS	   "{\"type\": \"counts\""  /* the last line of an answer in JSON, which bpftrace has not */
#define LOOK_MS	   250			/* how often it is looked whether the program has called exit() */

struct live_run {
	const struct live_probe *probe;
	struct launch launch;
	struct private_server server;
	struct live_pipe pipe;
	FILE *out;
	bool in_line;  /* what was printed last has no newline at its end */
	bool exits;    /* the text calls exit() */
	bool failed;   /* to write other output than lines of the trace */
};

/* ---- the text ---------------------------------------------------------------------------------- */

int live_probe_check(const char *text, const char *const *args, int child, uint32_t *count)
{
	struct check_options options = { .args = args, .child = child };
	struct targets *targets = NULL;
	struct ast *ast = NULL;
	struct err err = { "" };
	int ret = targets_open(NULL, &targets, &err);

	options.targets = targets;
	if (!ret)
		ret = parser_parse(text, strlen(text), &ast, &err);
	if (!ret)
		ret = check_program(ast, &options, &err);
	if (ret)
		cmd_error("%s", err.text);
	else
		*count = ast->target_count;
	for (const struct ast_warning *warning = ret ? NULL :
		ast->warnings; warning; warning = warning->next)
		cmd_error("note: line %u: %s", warning->place.line, warning->text);
	ast_destroy(ast);
	targets_close(targets);
	return ret;
}

/* The last message about the program in kperr, which may have several lines; to be freed. */
static char *reason_of(const struct live_run *r)
{
	g_autofree char *path = g_build_filename(r->server.dir, "kperr", NULL);
	g_autofree char *text = NULL;
	char *last = g_file_get_contents(path, &text, NULL, NULL) ? g_strrstr(text, FILE_NAME) : NULL;

	return last ? g_strchomp(g_strdup(last)) : NULL;
}

static int write_text(struct live_run *r, const char *text, size_t bytes, struct err *err)
{
	g_autofree char *path = g_build_filename(r->server.dir, FILE_NAME, NULL), *reason = NULL;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), code = fd < 0 ? errno : 0;
	ssize_t n = 0;

	for (size_t written = 0; !code && written < bytes; written += n > 0 ? (size_t)n : 0) {
		n = write(fd, text + written, bytes - written);
		if (n < 0 && errno != EINTR)
			code = errno;
	}
	if (fd >= 0 && close(fd) && !code)
		code = errno;
	if (!code)
		return 0;
	reason = reason_of(r);
	return reason ? err_set(err, code, "%s", reason) : err_set(err, code, "%s: %s", path,
		strerror(code));
}

static int set_program(struct live_run *r, struct err *err)
{
	g_autoptr(GString) text = g_string_new(NULL);
	int ret = parameters_replace(r->probe->text, r->probe->args, (int)r->launch.pid, text, err);

	return ret ? ret : write_text(r, text->str, text->len, err);
}

/* ---- lines ------------------------------------------------------------------------------------- */

/* Moves *text behind a label that ends here; *ends: so does the line. */
static bool skip_label(const char *end, const char **text, bool *ends)
{
	const bool goes_on = g_str_has_prefix(end, LINE_GOES_ON);

	if (!goes_on && !g_str_has_prefix(end, LINE_ENDS))
		return false;
	*ends = !goes_on;
	*text = end + (goes_on ? strlen(LINE_GOES_ON) : strlen(LINE_ENDS));
	return true;
}

/* What the program has printed: all that the trace of the private server has. A map has several lines. */
static void take_line(void *arg, const char *line, size_t bytes)
{
	struct live_run *r = arg;
	const char *cpu = strstr(line, "]:cpu"), *text = cpu ? strstr(cpu, ": ") : NULL, *label;
	bool ends = true, found;

	(void)bytes;
	if (!text)
		return;
	text += strlen(": ");
	found = g_str_has_prefix(text, LABEL) && skip_label(text + strlen(LABEL), &text, &ends);
	for (label = text; !found && (label = strstr(label, LABEL_OF)) != NULL;) {
		label += strlen(LABEL_OF);
		found = skip_label(label, &text, &ends);
	}
	/* flush_output() sees a failure */
	fprintf(r->out, "%s%s", text, ends ? "\n" : "");
	r->in_line = !ends && (*text || r->in_line);
}

static bool flush_output(void *arg)
{
	const struct live_run *r = arg;

	return !fflush(r->out) && !ferror(r->out);
}

/* Without the counts and the text of the program, which are comments. */
static int print_maps(struct live_run *r, struct err *err)
{
	g_autofree char *path = g_build_filename(r->server.dir, FILE_NAME, NULL), *line = NULL;
	FILE *file = fopen(path, "re");
	size_t room = 0;
	int ret = 0;

	if (!file)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	while (getline(&line, &room, file) > 0) {
		if (line[0] == '#' || g_str_has_prefix(line, COUNTS))
			continue;
		if (fprintf(r->out, "%s%s", r->in_line ? "\n" : "", line) < 0)
			r->failed = true;
		r->in_line = false;
	}
	if (ferror(file))
		ret = err_set(err, EIO, "%s can't be read", path);
	fclose(file);
	return ret;
}

/* ---- the run ----------------------------------------------------------------------------------- */

/* Mount options of the private server. */
static char *options_of(const struct live_probe *probe)
{
	g_autofree char *pid = probe->pid ? g_strdup_printf(",probe_pid=%d", probe->pid) : NULL;

	return g_strdup_printf("probe_format=%s%s", probe->as_json ? "json" : "text", pid ? pid : "");
}

static int prepare(struct live_run *r, struct err *err)
{
	const char *output = r->probe->output;
	g_autofree char *options = options_of(r->probe);
	int ret = launch_begin(&r->launch, r->probe->argv, err);

	r->out = output ? fopen(output, "we") : stdout;
	if (!ret && !r->out)
		ret = err_set(err, errno, "%s: %s", output, strerror(errno));
	if (!ret)
		ret = private_server_start(&r->server, options, &r->launch.before, err);
	if (ret)
		return ret;
	ret = live_pipe_open(&r->pipe, r->server.dir, err);
	if (ret)
		return ret;
	if (r->probe->as_json && fprintf(r->out,
		"{\"type\": \"attached_probes\", \"data\": {\"probes\": %u}}\n", r->probe->count) < 0)
		r->failed = true;
	return set_program(r, err);
}

/* Whether the program has called exit(): it is off then. */
static bool has_exited(const struct live_run *r)
{
	g_autofree char *state = r->exits ? kpctl_client_text(r->server.dir,
		"probes." NAME ".state") : NULL;

	return state && strcmp(g_strchug(state), "off") == 0;
}

static void watch(struct live_run *r)
{
	struct pollfd fds[] = { { .fd = r->launch.signal_fd, .events = POLLIN },
		{ .fd = r->pipe.fd, .events = POLLIN } };

	launch_signals(&r->launch);
	while (!r->launch.ended && !r->pipe.failed && !has_exited(r) &&
		(!r->probe->pid || proc_lives("/proc", r->probe->pid))) {
		poll(fds, 2, r->exits || r->probe->pid ? LOOK_MS : -1);
		if (fds[1].revents && !live_pipe_read(&r->pipe))
			return;
		launch_signals(&r->launch);
	}
}

/* END runs when the program is switched off. */
static int finish(struct live_run *r, struct err *err)
{
	int ret = write_text(r, "off\n", strlen("off\n"), err);

	if (!ret)
		ret = live_pipe_finish(&r->pipe, &r->launch, r->server.dir, "probe", err);
	return ret ? ret : print_maps(r, err);
}

static void finish_output(struct live_run *r, int *status)
{
	if (!r->out)
		return;
	if (fflush(r->out) || ferror(r->out) || r->failed || r->pipe.failed) {
		cmd_error("%s can't be written: %s", r->probe->output ? r->probe->output :
			"standard output",
			strerror(errno));
		*status = *status ? *status : CMD_FAILED;
	}
	if (r->probe->output)
		fclose(r->out);
}

int live_probe_run(const struct live_probe *probe)
{
	struct live_run r = { .probe = probe, .exits = strstr(probe->text, "exit") != NULL };
	int status = CMD_FAILED, ret;
	struct err err = { "" };

	r.launch.signal_fd = -1;
	r.pipe = (struct live_pipe){ .take = take_line, .flush = flush_output, .arg = &r };
	live_pipe_init(&r.pipe);
	ret = prepare(&r, &err);
	if (!ret) {
		ret = launch_go(&r.launch, &err);
		if (ret) {
			status = launch_status(ret);
			err_prefix(&err, "%s", probe->argv ? probe->argv[0] : "");
		}
	}
	if (!ret) {
		watch(&r);
		ret = finish(&r, &err);
	}
	launch_end(&r.launch);
	if (!ret)
		status = probe->argv ? r.launch.status : CMD_OK;
	else
		cmd_error("%s", *err.text ? err.text : strerror(-ret));
	live_pipe_fini(&r.pipe);
	private_server_end(&r.server);
	finish_output(&r, &status);
	return status;
}
