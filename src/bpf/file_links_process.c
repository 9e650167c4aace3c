/* SPDX-License-Identifier: MIT */
/*
 * The process kp-links: has the links of programs at places in files: see file_links.h. What it asks the
 * kernel for may block as long as a user likes, and it can't be killed then. So it has nothing else that
 * others need.
 */
#include "bpf/file_links.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/units.h"
#include "bpf/file_links_wire.h"
#include "bpf/perf_link.h"
#include "sys/child.h"
#include "sys/clock.h"
#include "sys/fdpass.h"
#include "sys/held.h"

/* Whether a process is held is looked at again after this time, */
#define FREE_NS (100 * NSEC_PER_MSEC)
/* and while one is, */
#define AGAIN_MS 500

struct link {
	uint64_t group;
	int fd;
	bool leaving;
};

struct process {
	GArray *links;	  /* struct link */
	uint64_t free_ns; /* when no process was held; 0: not known */
	pid_t held;	  /* or the one that was; 0 */
	bool has_ended;	  /* the server */
};

/* ---- what the kernel would wait for ------------------------------------------------------------ */

/* Returns 0; -EBUSY, or another error, if it is not known. */
static int check(struct process *process, struct err *err)
{
	int ret;

	if (process->free_ns && clock_monotonic_ns() - process->free_ns < FREE_NS)
		return 0;
	process->free_ns = 0;
	process->held = 0;
	ret = held_find(&process->held);
	if (ret)
		return err_set(err, -ret, "whether a process would keep the kernel waiting is not known: %s",
			strerror(-ret));
	if (process->held)
		return err_set(err, EBUSY, "process %d keeps its memory map locked: to attach to a file the "
			"kernel would wait for it, and all that fork on this machine with it",
			(int)process->held);
	process->free_ns = clock_monotonic_ns();
	return 0;
}

/* ---- packets ----------------------------------------------------------------------------------- */

/* Without a server it is not read. */
static void send_news(const struct file_links_answer *answer, int flags)
{
	(void)fdpass_send(FILE_LINKS_FD, answer, sizeof(*answer), NULL, 0, flags);
}

static void tell(enum file_links_news news, uint64_t group, int32_t error)
{
	const struct file_links_answer answer = { .news = news, .group = group, .error = error };

	send_news(&answer, news == FILE_LINKS_PROGRESS ? MSG_DONTWAIT : 0);
}

/* ---- links ------------------------------------------------------------------------------------- */

static int attach(struct process *process, const struct file_links_request *request, const int fds[2],
	struct err *err)
{
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fds[0]);
	struct link link = { .group = request->group };
	int ret = check(process, err);

	if (!ret)
		ret = perf_link_uprobe(fds[1], path, request->offset, request->counter,
			request->at_return != 0, request->pid, &link.fd, err);
	if (!ret)
		g_array_append_val(process->links, link);
	return ret;
}

static bool has_links(const struct process *process, uint64_t group)
{
	for (guint i = 0; i < process->links->len; i++)
		if (g_array_index(process->links, struct link, i).group == group)
			return true;
	return false;
}

static void leave(struct process *process, uint64_t group)
{
	for (guint i = 0; i < process->links->len; i++)
		if (g_array_index(process->links, struct link, i).group == group)
			g_array_index(process->links, struct link, i).leaving = true;
	if (!has_links(process, group))
		tell(FILE_LINKS_DETACHED, group, 0);
}

/* One that is to be detached; -1. */
static int find_leaving(const struct process *process)
{
	for (guint i = 0; i < process->links->len; i++)
		if (process->has_ended || g_array_index(process->links, struct link, i).leaving)
			return (int)i;
	return -1;
}

/* Closes one link that is to be detached, unless a process is held; an error does not keep it. */
static void detach_one(struct process *process, guint index)
{
	const struct link link = g_array_index(process->links, struct link, index);

	if (check(process, NULL) && process->held) {
		if (process->has_ended)
			tell(FILE_LINKS_HELD, 0, process->held);
		return;
	}
	close(link.fd);
	g_array_remove_index_fast(process->links, index);
	if (process->has_ended)
		tell(FILE_LINKS_PROGRESS, 0, 0);
	else if (!has_links(process, link.group))
		tell(FILE_LINKS_DETACHED, link.group, 0);
}

/* ---- requests ---------------------------------------------------------------------------------- */

static void answer(struct process *process, const struct file_links_request *request,
	const struct fdpass *pass)
{
	struct file_links_answer answer = { .news = FILE_LINKS_ANSWER, .number = request->number,
		.group = request->group };

	if (request->kind == FILE_LINKS_DETACH) {
		leave(process, request->group);
		return;
	}
	if (request->kind == FILE_LINKS_CHECK)
		answer.error = check(process, &answer.err);
	else if (pass->count != 2)
		answer.error = err_set(&answer.err, EMFILE, "the process that attaches to files has too many "
			"of them open");
	else
		answer.error = attach(process, request, pass->fds, &answer.err);
	send_news(&answer, 0);
}

static void receive(struct process *process)
{
	struct file_links_request request;
	int fds[FDPASS_MAX];
	struct fdpass pass = { .fds = fds, .max = FDPASS_MAX };
	const ssize_t got = fdpass_receive(FILE_LINKS_FD, &request, sizeof(request), &pass, 0);

	if (got == sizeof(request))
		answer(process, &request, &pass);
	else if (got != -EINTR)
		process->has_ended = true;
	for (unsigned int i = 0; i < pass.count; i++)
		close(fds[i]);
}

/* What the server is told to end by ends this process too, when the server has ended. */
static void prepare(void)
{
	static const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE };

	for (size_t i = 0; i < G_N_ELEMENTS(ignored); i++)
		signal(ignored[i], SIG_IGN);
	pthread_setname_np(pthread_self(), "kp-links");
	fcntl(FILE_LINKS_FD, F_SETFD, FD_CLOEXEC);
	/* it may outlive the server: a pipe, a terminal or a folder is kept in use by nothing of it */
	(void)child_close_streams(STDERR_FILENO);
	if (chdir("/"))
		return;
}

/* How long it waits for a request; -1: for ever. */
static int wait_ms(const struct process *process, int leaving)
{
	if (leaving >= 0)
		return process->held ? AGAIN_MS : 0;
	return process->links->len ? -1 : FILE_LINKS_IDLE_MS;
}

bool file_links_is_asked(int argc, char **argv)
{
	return argc == 2 && !strcmp(argv[1], FILE_LINKS_WORD);
}

int file_links_main(void)
{
	struct process process = { .links = g_array_new(FALSE, FALSE, sizeof(struct link)) };
	int leaving;

	prepare();
	for (;;) {
		struct pollfd wait = { .fd = process.has_ended ? -1 : FILE_LINKS_FD, .events = POLLIN };

		leaving = find_leaving(&process);
		if (leaving < 0 && process.has_ended)
			break;
		if (poll(&wait, 1, wait_ms(&process, leaving)) < 0)
			continue;
		if (wait.revents)
			receive(&process);
		else if (leaving >= 0)
			detach_one(&process, (guint)leaving);
		else
			break; /* the server starts another one */
	}
	g_array_unref(process.links);
	return 0;
}
