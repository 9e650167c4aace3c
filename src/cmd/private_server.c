/* SPDX-License-Identifier: MIT */
/* Starts and ends a private server: see private_server.h. */
#include "cmd/private_server.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "sys/child.h"
#include "sys/clock.h"
#include "sys/memfile.h"
#include "sys/mounts.h"

#define START_NS (30 * NSEC_PER_SEC)
#define LOOK_MS 5

/* Paths of kprofs relative to the folder of kprof: in a build tree, in an installation. */
static const char *const beside[] = {"kprofs", "../sbin/kprofs", "../../sbin/kprofs"};

char *private_server_find_server(void)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *folder = self ? g_path_get_dirname(self) : NULL;
	size_t i;

	for (i = 0; folder && i < G_N_ELEMENTS(beside); i++) {
		char *path = g_build_filename(folder, beside[i], NULL);

		if (access(path, X_OK) == 0)
			return path;
		g_free(path);
	}
	return g_find_program_in_path("kprofs");
}

/* In its own process group: signals of the terminal are for the command, not for the server. */
static _Noreturn void run_server(const char *program, const struct private_server *server,
	const char *options, pid_t parent, const sigset_t *mask)
{
	setpgid(0, 0);
	dup2(server->log_fd, STDERR_FILENO);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (child_die_with(parent, SIGTERM) == 0)
		execl(program, "kprofs", "-f", "-o", options, MOUNTS_PRIVATE_SOURCE, server->dir,
			(char *)NULL);
	_exit(127);
}

static bool has_ended(struct private_server *server)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)server->pid, &info, WEXITED | WNOHANG | WNOWAIT) ||
	       info.si_pid == server->pid;
}

static int wait_for_mount(struct private_server *server, struct err *err)
{
	g_autofree char *file = g_build_filename(server->dir, "kpctl", NULL);
	const uint64_t end_ns = clock_monotonic_ns() + START_NS;

	while (access(file, F_OK)) {
		if (has_ended(server))
			return err_set(err, ECHILD, "kprofs could not be started: see `kprof doctor`");
		if (clock_monotonic_ns() > end_ns)
			return err_set(err, ETIMEDOUT, "kprofs did not mount within %llu s",
				START_NS / NSEC_PER_SEC);
		poll(NULL, 0, LOOK_MS);
	}
	return 0;
}

/* What the server said; of one that serves well, kperr has what matters. */
static void print_log(const struct private_server *server)
{
	char buffer[4096];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(server->log_fd, buffer, sizeof(buffer), at)) > 0) {
		fwrite(buffer, 1, (size_t)n, stderr);
		at += n;
	}
}

/* A server that crashed leaves its mount; without the right to unmount, fusermount3 is used. */
static void detach(const char *dir)
{
	char *argv[] = {
		(char *)"fusermount3", (char *)"-u", (char *)"-z", (char *)"--", (char *)dir, NULL};

	if (mounts_detach(dir) == -EPERM)
		g_spawn_sync(NULL, argv, NULL,
			G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL |
				G_SPAWN_STDERR_TO_DEV_NULL,
			NULL, NULL, NULL, NULL, NULL, NULL);
}

/* failed: what the server said is printed in any case, not only if it failed. */
static void end(struct private_server *server, bool failed)
{
	int status = 0;

	if (!server->dir)
		return;
	if (server->pid > 0) {
		kill(server->pid, SIGTERM);
		while (waitpid(server->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	if (status || failed)
		print_log(server);
	if (server->log_fd >= 0)
		close(server->log_fd);
	if (rmdir(server->dir) && (detach(server->dir), rmdir(server->dir)))
		cmd_error("%s can't be removed: %s", server->dir, strerror(errno));
	g_clear_pointer(&server->dir, g_free);
	server->pid = 0;
}

int private_server_start(struct private_server *server, const char *options, const sigset_t *mask,
	struct err *err)
{
	g_autofree char *program = private_server_find_server();
	g_autofree char *all = g_strdup_printf("socket=none%s%s", options ? "," : "", options ? options : "");
	const pid_t parent = getpid();
	int ret;

	server->pid = 0;
	server->dir = NULL;
	server->log_fd = -1;
	if (!program)
		return err_set(err, ENOENT,
			"kprofs was not found: it is neither beside kprof nor in PATH");
	server->dir = g_build_filename(g_get_tmp_dir(), "kprof.XXXXXX", NULL);
	if (!g_mkdtemp(server->dir)) {
		ret = err_set(err, errno, "%s: %s", server->dir, strerror(errno));
		g_clear_pointer(&server->dir, g_free);
		return ret;
	}
	server->log_fd = memfile_create("kprofs-log");
	server->pid = fork();
	if (!server->pid)
		run_server(program, server, all, parent, mask);
	if (server->pid < 0)
		ret = err_set(err, errno, "fork: %s", strerror(errno));
	else
		ret = wait_for_mount(server, err);
	if (ret)
		end(server, true);
	return ret;
}

void private_server_end(struct private_server *server)
{
	end(server, false);
}
