/* SPDX-License-Identifier: MIT */
/* The helper processes that a request needs: see helpers.h. */
#include "symbolizer/helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/child.h"
#include "sys/proc_wire.h"

/* The descriptor number of the connection in a helper. */
#define HELPER_FD 3

/*
 * Killed helpers that still hang in the kernel (NFS without its server). At this number no helper
 * is started until one of them has exited.
 */
#define DYING_MAX 8
#define ROLES 4

/* An unused parser may take this time to exit by itself. */
#define GENTLY_MS 200

struct helper_process {
	const char *role;
	pid_t pid; /* 0 if not running */
	int fd;
	bool starts; /* it will send PROTO_READY */
};

struct helpers {
	char *program, *debuginfod_urls, *home;
	uid_t uid;
	gid_t gid;
	struct helper_process opener, parser, fetcher, reader;
	pid_t dying[DYING_MAX + ROLES]; /* 0: a free slot */
	struct helpers_counts counts;
};

struct proto_wait helpers_until(const struct proto_wait *wait, uint64_t ns)
{
	struct proto_wait until = { .cancel_fd = wait->cancel_fd };

	until.deadline_ns = proto_now_ns() + ns;
	if (wait->deadline_ns && wait->deadline_ns < until.deadline_ns)
		until.deadline_ns = wait->deadline_ns;
	return until;
}

/* Returns the path, or frees it and returns NULL if no program is there. */
static char *keep_if_program(char *path)
{
	if (path && access(path, X_OK) == 0)
		return path;
	g_free(path);
	return NULL;
}

/* In a build tree the programs lie beside each other. An installation may have been moved as a whole. */
char *helpers_find_program(void)
{
	static const char installed[] = KPROFS_LIBEXECDIR "/kprof-symbols";
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *folder = self ? g_path_get_dirname(self) : NULL;
	char *found = folder ? keep_if_program(g_build_filename(folder, "kprof-symbols", NULL)) : NULL;

	if (!found)
		found = keep_if_program(g_strdup(installed));
	if (!found && folder)
		found = keep_if_program(
			g_build_filename(folder, "../libexec/kprofs/kprof-symbols", NULL));
	return found ? found : g_strdup(installed);
}

struct helpers *helpers_create(const struct helpers_options *options)
{
	struct helpers *helpers = g_new0(struct helpers, 1);

	helpers->program = options->program ? g_strdup(options->program) : helpers_find_program();
	helpers->debuginfod_urls = g_strdup(options->debuginfod_urls);
	helpers->home = g_strdup(options->home);
	helpers->uid = options->uid;
	helpers->gid = options->gid;
	helpers->opener = (struct helper_process){.role = "opener", .fd = -1};
	helpers->parser = (struct helper_process){.role = "parser", .fd = -1};
	helpers->fetcher = (struct helper_process){.role = "fetcher", .fd = -1};
	helpers->reader = (struct helper_process){.role = "reader", .fd = -1};
	return helpers;
}

/* ---- start and end --------------------------------------------------------------------------- */

/* Reaps the processes that have exited; returns how many have not. */
static unsigned int reap(struct helpers *helpers)
{
	unsigned int left = 0;
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(helpers->dying); i++) {
		/* after ECHILD it was reaped elsewhere */
		if (helpers->dying[i] && waitpid(helpers->dying[i], NULL, WNOHANG) != 0)
			helpers->dying[i] = 0;
		left += helpers->dying[i] != 0;
	}
	return left;
}

/* Closes the connection too, so that a process that hangs exits when it continues. */
static void end_helper(struct helpers *helpers, struct helper_process *helper)
{
	size_t i;

	if (!helper->pid)
		return;
	kill(helper->pid, SIGKILL);
	if (helper->fd >= 0)
		close(helper->fd);
	/* start_helper() has made sure that a slot is free */
	for (i = 0; i + 1 < G_N_ELEMENTS(helpers->dying) && helpers->dying[i]; i++)
		;
	helpers->dying[i] = helper->pid;
	reap(helpers);
	helper->pid = 0;
	helper->fd = -1;
}

/* The parser reaps its children if it exits by itself; if killed, it leaves zombies to init. */
static void end_idle(struct helper_process *helper)
{
	int i;

	if (!helper->pid)
		return;
	close(helper->fd);
	helper->fd = -1;
	for (i = 0; i < GENTLY_MS; i++) {
		if (waitpid(helper->pid, NULL, WNOHANG) != 0) {
			helper->pid = 0;
			return;
		}
		g_usleep(1000);
	}
}

unsigned int helpers_reap(struct helpers *helpers)
{
	unsigned int left = reap(helpers);
	int i;

	/* a killed process exits at once unless it hangs in the kernel */
	for (i = 0; i < 100 && left; i++) {
		g_usleep(1000);
		left = reap(helpers);
	}
	return left;
}

void helpers_destroy(struct helpers *helpers)
{
	if (!helpers)
		return;
	end_idle(&helpers->parser);
	end_helper(helpers, &helpers->opener);
	end_helper(helpers, &helpers->parser);
	end_helper(helpers, &helpers->fetcher);
	end_helper(helpers, &helpers->reader);
	/* processes that hang are left to init */
	helpers_reap(helpers);
	g_free(helpers->program);
	g_free(helpers->debuginfod_urls);
	g_free(helpers->home);
	g_free(helpers);
}

/* Helpers get none of our environment variables, so that these don't change what libraries do. */
static char **make_environment(const struct helpers *helpers, const struct helper_process *helper)
{
	GPtrArray *list = g_ptr_array_new();
	const char *sanitizer = getenv("ASAN_OPTIONS");

	if (helper == &helpers->fetcher) {
		g_ptr_array_add(list, g_strdup_printf("DEBUGINFOD_URLS=%s",
			helpers->debuginfod_urls));
		g_ptr_array_add(list, g_strdup_printf("HOME=%s", helpers->home));
	}
	if (sanitizer)
		g_ptr_array_add(list, g_strdup_printf("ASAN_OPTIONS=%s", sanitizer));
	g_ptr_array_add(list, NULL);
	return (char **)g_ptr_array_free(list, FALSE);
}

static int spawn(struct helpers *helpers, struct helper_process *helper, int fd, pid_t *pid)
{
	g_auto(GStrv) environment = make_environment(helpers, helper);
	g_autofree char *uid = g_strdup_printf("%u", (unsigned int)helpers->uid);
	g_autofree char *gid = g_strdup_printf("%u", (unsigned int)helpers->gid);
	char *arguments[] = { (char *)"kprof-symbols", (char *)helper->role, uid, gid, NULL };
	static const int defaults[] = { SIGPIPE, SIGCHLD, SIGHUP, SIGINT, SIGTERM, 0 };
	const struct child_options options = {
		.program = helpers->program,
		.arguments = arguments,
		.environment = environment,
		.fd = fd,
		.child_fd = HELPER_FD,
		.defaults = defaults,
	};

	return child_start(&options, pid);
}

static int start_helper(struct helpers *helpers, struct helper_process *helper)
{
	int pair[2];
	pid_t pid;

	if (helper->pid)
		return 0;
	if (reap(helpers) >= DYING_MAX)
		return -EIO;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -EIO;
	if (spawn(helpers, helper, pair[1], &pid) != 0) {
		close(pair[0]);
		close(pair[1]);
		return -EIO;
	}
	close(pair[1]);
	helper->pid = pid;
	helper->fd = pair[0];
	helper->starts = helper == &helpers->opener;
	helpers->counts.started++;
	return 0;
}

void helpers_prepare(struct helpers *helpers)
{
	/* a helper that could not be started now is started by the first request */
	(void)start_helper(helpers, &helpers->opener);
	(void)start_helper(helpers, &helpers->parser);
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool runs(const struct helper_process *helper)
{
	struct pollfd fd = { .fd = helper->fd };

	return helper->pid && poll(&fd, 1, 0) >= 0 && !(fd.revents & (POLLHUP | POLLERR));
}

/*
 * Starts it if it does not run. The time that an opener takes to start, which no user can prolong, does not
 * count for the request.
 */
static int get_ready(struct helpers *helpers, struct helper_process *helper, const struct proto_wait *wait)
{
	const struct proto_wait until = helpers_until(wait, HELPERS_OPEN_NS);
	g_autofree struct proto_message *message = NULL;
	int ret;

	if (!runs(helper))
		end_helper(helpers, helper);
	ret = start_helper(helpers, helper);
	if (ret || !helper->starts)
		return ret;
	message = g_new(struct proto_message, 1);
	ret = proto_receive(helper->fd, message, NULL, &until);
	if (!ret && message->head.type != PROTO_READY)
		ret = -EIO;
	if (!ret)
		helper->starts = false;
	return ret;
}

/* Sends one message to it; a helper that exited since the last one is started again, once. */
static int send_to(struct helpers *helpers, struct helper_process *helper,
	const struct proto_message *message, int passed, const struct proto_wait *wait)
{
	int tries, ret = -EIO;

	for (tries = 0; tries < 2; tries++) {
		ret = start_helper(helpers, helper);
		if (ret)
			return ret;
		ret = proto_send(helper->fd, message, passed, wait);
		if (ret != -EPIPE)
			break;
		end_helper(helpers, helper);
	}
	if (ret == -ECANCELED || ret == -ETIMEDOUT || !ret)
		return ret;
	end_helper(helpers, helper);
	return -EIO;
}

/* Within ns. If the helper exited for another reason before it replied, sends the message again, once. */
static int request_file(struct helpers *helpers, struct helper_process *helper,
	struct proto_message *message, const struct proto_wait *wait, uint64_t ns)
{
	int fd = -1, tries, ret = -EPIPE;

	for (tries = 0; ret == -EPIPE && tries < 2; tries++) {
		struct proto_wait until;

		ret = get_ready(helpers, helper, wait);
		until = helpers_until(wait, ns);
		if (!ret)
			ret = proto_send(helper->fd, message, -1, &until);
		if (!ret)
			ret = proto_receive(helper->fd, message, &fd, &until);
		if (ret == -EPIPE)
			end_helper(helpers, helper);
	}
	if (!ret && message->head.type == PROTO_OPENED && (fd >= 0) == !message->head.error) {
		ret = message->head.error;
		return fd >= 0 ? fd : ret < 0 ? ret : -EIO;
	}
	if (fd >= 0)
		close(fd);
	/* the reply may come after the time limit: don't take it for the next request's reply */
	if (helper->pid)
		helpers->counts.killed++;
	end_helper(helpers, helper);
	return ret == -ECANCELED || ret == -ETIMEDOUT ? ret : -EIO;
}

int helpers_open(struct helpers *helpers, struct proto_message *message,
	const struct proto_wait *wait)
{
	const bool any = message->head.flags & PROTO_ANY_MOUNT;

	/* helpers that hang must not use up all slots */
	if (any && reap(helpers) >= DYING_MAX / 2)
		return -EXDEV;
	return request_file(helpers, &helpers->opener, message, wait,
		message->pid || any ? HELPERS_PROCESS_NS : HELPERS_OPEN_NS);
}

int helpers_fetch(struct helpers *helpers, const uint8_t *build_id, size_t length,
	const struct proto_wait *wait)
{
	g_autofree struct proto_message *request = NULL;

	if (!helpers->debuginfod_urls || !length)
		return -ENOENT;
	request = g_new(struct proto_message, 1);
	proto_init(request, PROTO_FETCH);
	proto_set_build_id(request, build_id, length);
	return request_file(helpers, &helpers->fetcher, request, wait, HELPERS_FETCH_NS);
}

int helpers_fork_parser(struct helpers *helpers, const struct proto_wait *wait)
{
	g_autofree struct proto_message *request = g_new(struct proto_message, 1);
	int pair[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -EIO;
	proto_init(request, PROTO_FORK);
	ret = send_to(helpers, &helpers->parser, request, pair[1], wait);
	close(pair[1]);
	if (!ret)
		return pair[0];
	close(pair[0]);
	return ret;
}

/* Receives the replies up to the last one. */
static int receive_records(struct helpers *helpers, struct proto_message *message,
	const struct proc_visitor *visitor, int (*unreadable)(void *arg, pid_t pid), int cancel_fd)
{
	int ret = 0;

	while (!ret) {
		const struct proto_wait wait = { cancel_fd, proto_now_ns() + HELPERS_READ_NS };

		ret = helpers->reader.pid ? proto_receive(helpers->reader.fd, message, NULL, &wait)
					  : -EPIPE;
		if (ret || message->head.type == PROTO_READ_DONE)
			break;
		ret = message->head.type == PROTO_RECORDS
			? proc_wire_read(
				  message->tail.bytes, message->head.count, visitor, unreadable)
			: -EBADMSG;
	}
	return ret;
}

int helpers_read(struct helpers *helpers, struct proto_message *message,
	const struct proc_visitor *visitor, int (*unreadable)(void *arg, pid_t pid), int cancel_fd)
{
	const struct proto_wait wait = { cancel_fd, proto_now_ns() + HELPERS_READ_NS };
	int ret = send_to(helpers, &helpers->reader, message, -1, &wait);

	if (ret)
		return ret;
	ret = receive_records(helpers, message, visitor, unreadable, cancel_fd);
	/* a helper with unread answers, or with threads that hang, cannot be used any more */
	if (ret || message->head.flags & PROTO_HUNG) {
		helpers_end_reader(helpers, ret != -ECANCELED);
		helpers_reap(helpers);
	}
	return ret;
}

void helpers_end_reader(struct helpers *helpers, bool hung)
{
	if (!helpers->reader.pid)
		return;
	end_helper(helpers, &helpers->reader);
	helpers->counts.killed += hung;
}

void helpers_prepare_reader(struct helpers *helpers)
{
	(void)start_helper(helpers, &helpers->reader);
}

bool helpers_has_parser(const struct helpers *helpers)
{
	return runs(&helpers->parser);
}

void helpers_kill_parser(struct helpers *helpers)
{
	if (!helpers->parser.pid)
		return;
	end_helper(helpers, &helpers->parser);
	helpers->counts.killed++;
}

void helpers_count(const struct helpers *helpers, struct helpers_counts *counts)
{
	size_t i;

	*counts = helpers->counts;
	for (i = 0; i < G_N_ELEMENTS(helpers->dying); i++)
		counts->hung += helpers->dying[i] != 0;
}
