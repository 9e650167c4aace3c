/* SPDX-License-Identifier: MIT */
/* A server of one's own: see instance.h. */
#include "cmd/private_server.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "sys/child.h"
#include "sys/clock.h"
#include "sys/mounts.h"

#define START_NS (30 * NSEC_PER_SEC)
#define LOOK_MS 5

/* Where it may lie as seen from the folder of kprof: a build tree, an installation. */
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

/* In a process group of its own: what a terminal sends is for the command, not for the server. */
static _Noreturn void run_server(
	const char *program, const char *dir, pid_t parent, const sigset_t *mask)
{
	setpgid(0, 0);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (child_die_with(parent, SIGTERM) == 0)
		execl(program, "kprofs", "-f", dir, (char *)NULL);
	_exit(127);
}

static bool has_ended(struct private_server *instance)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)instance->pid, &info, WEXITED | WNOHANG | WNOWAIT) ||
	       info.si_pid == instance->pid;
}

static int wait_for_mount(struct private_server *instance, struct err *err)
{
	g_autofree char *file = g_build_filename(instance->dir, "kpctl", NULL);
	const uint64_t end_ns = clock_monotonic_ns() + START_NS;

	while (access(file, F_OK)) {
		if (has_ended(instance))
			return err_set(err, ECHILD, "kprofs could not be started");
		if (clock_monotonic_ns() > end_ns)
			return err_set(err, ETIMEDOUT, "kprofs did not mount within %llu s",
				START_NS / NSEC_PER_SEC);
		poll(NULL, 0, LOOK_MS);
	}
	return 0;
}

int private_server_start(struct private_server *instance, const sigset_t *mask, struct err *err)
{
	g_autofree char *program = private_server_find_server();
	const pid_t parent = getpid();
	int ret;

	instance->pid = 0;
	instance->dir = NULL;
	if (!program)
		return err_set(err, ENOENT, "kprofs is neither beside kprof nor in PATH");
	instance->dir = g_build_filename(g_get_tmp_dir(), "kprof.XXXXXX", NULL);
	if (!g_mkdtemp(instance->dir)) {
		ret = err_set(err, errno, "%s: %s", instance->dir, strerror(errno));
		g_clear_pointer(&instance->dir, g_free);
		return ret;
	}
	instance->pid = fork();
	if (!instance->pid)
		run_server(program, instance->dir, parent, mask);
	if (instance->pid < 0)
		ret = err_set(err, errno, "fork: %s", strerror(errno));
	else
		ret = wait_for_mount(instance, err);
	if (ret)
		private_server_end(instance);
	return ret;
}

/* A server that did not end well leaves its mount; who may not unmount has fusermount3 do it. */
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

void private_server_end(struct private_server *instance)
{
	if (!instance->dir)
		return;
	if (instance->pid > 0) {
		kill(instance->pid, SIGTERM);
		while (waitpid(instance->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (rmdir(instance->dir) && (detach(instance->dir), rmdir(instance->dir)))
		cmd_error("%s is left behind: %s", instance->dir, strerror(errno));
	g_clear_pointer(&instance->dir, g_free);
	instance->pid = 0;
}
