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
#include "cmd/private_server.h"
#include "probes/check.h"
#include "probes/parameters.h"
#include "probes/parser.h"
#include "probes/targets.h"
#include "sys/clock.h"

#define NAME	   "program"
#define FILE_NAME  "probes/" NAME
#define LINE_BEGIN "] probe:" NAME ": " /* behind the process, in a line of the trace */
#define LOOK_MS	   250			/* how often it is looked whether the program has called exit() */
#define END_MS	   30000		/* the most that the last lines may take to come */
#define READ_BYTES 65536

struct live_run {
	const struct live_probe *probe;
	struct launch launch;
	struct private_server server;
	int pipe;
	FILE *out;
	GString *held; /* the beginning of a line */
	char *mark;    /* the message that ends the trace; NULL before it is written */
	bool marked;   /* it was read */
	bool exits;    /* the text calls exit() */
	bool failed;   /* to write the output */
};

/* ---- the text ---------------------------------------------------------------------------------- */

int live_probe_check(const char *text, const char *const *args, int child)
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

/* What the program has printed; other lines of the trace are left out. */
static void take_line(struct live_run *r, const char *line)
{
	const char *text = strstr(line, LINE_BEGIN);

	if (r->mark && g_str_has_suffix(line, r->mark))
		r->marked = true;
	else if (text && fprintf(r->out, "%s\n", text + strlen(LINE_BEGIN)) < 0)
		r->failed = true;
}

/* Reads what is there. Returns false at the end of the pipe. */
static bool read_lines(struct live_run *r)
{
	char buffer[READ_BYTES];
	ssize_t n = read(r->pipe, buffer, sizeof(buffer));
	char *begin, *end;

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	g_string_append_len(r->held, buffer, n);
	begin = r->held->str;
	while ((end = strchr(begin, '\n'))) {
		*end = '\0';
		take_line(r, begin);
		begin = end + 1;
	}
	g_string_erase(r->held, 0, begin - r->held->str);
	if (fflush(r->out))
		r->failed = true;
	return true;
}

/* The pipe is in the order of time: nothing is missing before a message that is written now. */
static int read_rest(struct live_run *r, struct err *err)
{
	struct pollfd fd = { .fd = r->pipe, .events = POLLIN };
	const uint64_t end_ns = clock_monotonic_ns() + END_MS * NSEC_PER_MSEC;
	g_autofree char *line = NULL;
	int ret;

	r->mark = g_strdup_printf("kprof probe %d ends", (int)getpid());
	line = g_strconcat(r->mark, "\n", NULL);
	ret = kpctl_client_write_file(r->server.dir, "kptrace", line, err);
	while (!ret && !r->marked && !r->failed) {
		if (clock_monotonic_ns() > end_ns)
			return err_set(err, ETIMEDOUT, "the end of the trace does not come");
		if (poll(&fd, 1, LOOK_MS) > 0 && !read_lines(r))
			return err_set(err, EPIPE, "the trace has ended early");
	}
	return ret;
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
	while (getline(&line, &room, file) > 0)
		if (line[0] != '#' && fputs(line, r->out) == EOF)
			r->failed = true;
	if (ferror(file))
		ret = err_set(err, EIO, "%s can't be read", path);
	fclose(file);
	return ret;
}

/* ---- the run ----------------------------------------------------------------------------------- */

static int prepare(struct live_run *r, struct err *err)
{
	const char *output = r->probe->output;
	g_autofree char *path = NULL;
	int ret = launch_begin(&r->launch, r->probe->argv, err);

	r->out = output ? fopen(output, "we") : stdout;
	if (!ret && !r->out)
		ret = err_set(err, errno, "%s: %s", output, strerror(errno));
	if (!ret)
		ret = private_server_start(&r->server, NULL, &r->launch.before, err);
	if (ret)
		return ret;
	path = g_build_filename(r->server.dir, "kptrace_pipe", NULL);
	r->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (r->pipe < 0)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
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
		{ .fd = r->pipe, .events = POLLIN } };

	launch_signals(&r->launch);
	while (!r->launch.ended && !r->failed && !has_exited(r)) {
		poll(fds, 2, r->exits ? LOOK_MS : -1);
		if (fds[1].revents && !read_lines(r))
			return;
		launch_signals(&r->launch);
	}
}

/* END runs when the program is switched off. */
static int finish(struct live_run *r, struct err *err)
{
	int ret = write_text(r, "off\n", strlen("off\n"), err);

	if (!ret)
		ret = read_rest(r, err);
	return ret ? ret : print_maps(r, err);
}

static void finish_output(struct live_run *r, int *status)
{
	if (!r->out)
		return;
	if (fflush(r->out) || ferror(r->out) || r->failed) {
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
	struct live_run r = { .probe = probe, .pipe = -1, .held = g_string_new(NULL),
		.exits = strstr(probe->text, "exit") != NULL };
	int status = CMD_FAILED, ret;
	struct err err = { "" };

	r.launch.signal_fd = -1;
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
	if (r.pipe >= 0)
		close(r.pipe);
	private_server_end(&r.server);
	finish_output(&r, &status);
	g_string_free(r.held, TRUE);
	g_free(r.mark);
	return status;
}
