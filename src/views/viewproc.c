/* SPDX-License-Identifier: MIT */
/* The process in which views are made, as the server sees it: see viewproc.h. */
#include "views/viewproc.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/child.h"
#include "sys/clock.h"
#include "sys/fdpass.h"

/* The program itself, even if the file was replaced or can't be reached by its path. */
#define PROGRAM "/proc/self/exe"

/* The interval at which cancellation is checked if no descriptor reports it. */
#define LOOK_MS 10

/*
 * A process that so many looks have found stopped by a signal while it made one view is ended. That of a
 * session of an ordinary user has the rights of that user, who may stop it for ever. A shell continues all
 * processes of a job, but not at the same moment.
 */
#define STOPPED_LOOKS (1000 / LOOK_MS)

/* How long the answer of a cancelled view is waited for: it ends at the next step of its maker. */
#define GIVE_UP_NS NSEC_PER_SEC

/* At the end of the server the process ends its helpers and then itself, within this time. */
#define END_MS 1000

const char *const viewproc_counts[VIEWPROC_COUNTS] = {
	"symbols.asked", "symbols.cached", "symbols.bytes", "symbols.parser_failures", "symbols.timeouts",
	"symbols.helpers.started", "symbols.helpers.killed",
};

struct viewproc {
	char *urls;		  /* invariant; "": none */
	char *user, *group;	  /* invariant: whose rights it takes, as numbers; NULL: it keeps its own */
	int timer;		  /* invariant; a timerfd, or -1 */
	pthread_mutex_t lock;	  /* a leaf, apart from the start and the end of the process */
	pid_t pid;		  /* (lock) 0 if there is none */
	int fd;			  /* (lock) the socket that requests go to */
	unsigned int users;	  /* (lock) views that are being made */
	uint64_t serial;	  /* (lock) of the process */
	int status;		  /* (lock) how the last one ended, as of wait(2) */
	uint64_t ended_serial;	  /* (lock) which one that was */
	uint64_t stopped_serial;  /* (lock) the last one that was ended because it was stopped */
	uint64_t counts[VIEWPROC_COUNTS]; /* (lock) of the process that is there */
	uint64_t before[VIEWPROC_COUNTS]; /* (lock) of those before it */
};

int viewproc_create(const char *urls, struct viewproc **viewproc)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	struct viewproc *v;

	if (timer < 0)
		return -errno;
	v = g_new0(struct viewproc, 1);
	v->timer = timer;
	v->fd = -1;
	v->urls = g_strdup(urls ? urls : "");
	pthread_mutex_init(&v->lock, NULL);
	*viewproc = v;
	return 0;
}

struct viewproc *viewproc_create_as(uid_t uid, gid_t gid)
{
	struct viewproc *v = g_new0(struct viewproc, 1);

	v->timer = v->fd = -1;
	v->urls = g_strdup(""); /* what is downloaded is the mounting user's */
	v->user = g_strdup_printf("%u", (unsigned int)uid);
	v->group = g_strdup_printf("%u", (unsigned int)gid);
	pthread_mutex_init(&v->lock, NULL);
	return v;
}

/* ---- its life -------------------------------------------------------------------------------- */

static int spawn(const struct viewproc *v, int fd, pid_t *pid)
{
	char *arguments[] = { (char *)"kprofs", (char *)VIEWPROC_WORD, v->urls, v->user, v->group,
		NULL };
	static const int defaults[] = { SIGPIPE, 0 };
	const struct child_options options = {
		.program = PROGRAM,
		.arguments = arguments,
		.environment = environ,
		.fd = fd,
		.child_fd = VIEWPROC_FD,
		.defaults = defaults,
	};

	return child_start(&options, pid);
}

/* With the lock held. */
static int start(struct viewproc *v)
{
	int pair[2], ret;

	if (v->pid)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	ret = spawn(v, pair[1], &v->pid);
	close(pair[1]);
	if (ret) {
		close(pair[0]);
		v->pid = 0;
		return ret;
	}
	v->fd = pair[0];
	v->serial++;
	return 0;
}

/* With the lock held: forgets a process that has ended. */
static void forget(struct viewproc *v, int status)
{
	int i;

	v->status = status;
	v->ended_serial = v->serial;
	v->pid = 0;
	for (i = 0; i < VIEWPROC_COUNTS; i++)
		v->before[i] += i == VIEWPROC_GAUGE ? 0 : v->counts[i];
	memset(v->counts, 0, sizeof(v->counts));
}

/* With the lock held. It ends by itself, and its helpers with it, once its socket is closed. */
static void end(struct viewproc *v, int wait_ms)
{
	int status = 0, ms;
	pid_t ended = 0;

	if (!v->pid)
		return;
	if (v->fd >= 0)
		close(v->fd);
	v->fd = -1;
	for (ms = 0; ms <= wait_ms && !ended; ms++) {
		if (ms)
			g_usleep(1000);
		ended = waitpid(v->pid, &status, WNOHANG);
	}
	if (!ended) {
		kill(v->pid, SIGKILL);
		while (waitpid(v->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	forget(v, status);
}

void viewproc_destroy(struct viewproc *v)
{
	if (!v)
		return;
	end(v, END_MS);
	if (v->timer >= 0)
		close(v->timer);
	g_free(v->user);
	g_free(v->group);
	g_free(v->urls);
	pthread_mutex_destroy(&v->lock);
	g_free(v);
}

int viewproc_timer(const struct viewproc *v)
{
	return v->timer;
}

/* Called with the lock held; 0 disarms the timer. */
static void set_timer(const struct viewproc *v, time_t seconds)
{
	const struct itimerspec after = { .it_value.tv_sec = seconds };

	if (v->timer >= 0)
		timerfd_settime(v->timer, 0, &after, NULL);
}

void viewproc_expire(struct viewproc *v)
{
	pthread_mutex_lock(&v->lock);
	set_timer(v, 0); /* also clears an expiration */
	if (!v->users)
		end(v, END_MS);
	pthread_mutex_unlock(&v->lock);
}

void viewproc_stats(struct viewproc *v, struct stats *stats)
{
	int i;

	pthread_mutex_lock(&v->lock);
	for (i = 0; i < VIEWPROC_COUNTS; i++)
		stats_u64(stats, v->before[i] + v->counts[i], "%s", viewproc_counts[i]);
	pthread_mutex_unlock(&v->lock);
}

/* ---- one view -------------------------------------------------------------------------------- */

static int send_files(int socket, const struct viewproc_request *request, int connection,
	const int files[VIEWPROC_FILES])
{
	int fds[1 + VIEWPROC_FILES], i;
	unsigned int count = 0;

	fds[count++] = connection;
	for (i = 0; i < VIEWPROC_FILES; i++)
		if (files[i] >= 0)
			fds[count++] = files[i];
	return fdpass_send(socket, request, sizeof(*request), fds, count, 0);
}

/*
 * Sends the request, and sets *serial to the number of the process. If the process has ended, it is
 * started again, once.
 */
static int ask(struct viewproc *v, const struct viewproc_request *request, int connection,
	const int files[VIEWPROC_FILES], uint64_t *serial)
{
	int ret, tries;

	pthread_mutex_lock(&v->lock);
	for (tries = 0, ret = -EPIPE; tries < 2 && (ret == -EPIPE || ret == -ECONNRESET); tries++) {
		if (tries)
			end(v, 0);
		ret = start(v);
		if (!ret)
			ret = send_files(v->fd, request, connection, files);
	}
	*serial = v->serial;
	v->users += !ret;
	if (!ret)
		set_timer(v, 0);
	pthread_mutex_unlock(&v->lock);
	return ret;
}

static void leave(struct viewproc *v, const struct viewproc_answer *answer)
{
	int i;

	pthread_mutex_lock(&v->lock);
	for (i = 0; answer && i < VIEWPROC_COUNTS; i++)
		if (i == VIEWPROC_GAUGE || answer->counts[i] > v->counts[i])
			v->counts[i] = answer->counts[i];
	if (!--v->users)
		set_timer(v, VIEWPROC_SECONDS);
	pthread_mutex_unlock(&v->lock);
}

/*
 * GLib ends with a trap or an abort if there is no memory; the kernel kills the process for the
 * same reason.
 */
static bool is_for_memory(int status)
{
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	return number == SIGTRAP || number == SIGABRT || number == SIGKILL;
}

/* The process closed the connection without an answer. */
static int explain_end(struct viewproc *v, uint64_t serial, struct err *err)
{
	bool was_stopped;
	int status;

	pthread_mutex_lock(&v->lock);
	if (v->pid && v->serial == serial)
		end(v, END_MS); /* it closes its descriptors before it can be waited for */
	status = v->ended_serial == serial ? v->status : 0;
	was_stopped = v->stopped_serial == serial;
	pthread_mutex_unlock(&v->lock);
	if (was_stopped)
		return err_set(err, EIO, "the process that makes views was stopped by a signal");
	if (is_for_memory(status))
		return err_set(err, ENOMEM, "there is not enough memory to make the view");
	if (WIFSIGNALED(status))
		return err_set(err, EIO, "the process that makes views ended by signal %d",
			WTERMSIG(status));
	return err_set(err, EIO, "the process that makes views ended");
}

/* Ends the process if it is stopped and was so at STOPPED_LOOKS looks of this view, which *looks counts. */
static void look_stopped(struct viewproc *v, uint64_t serial, unsigned int *looks)
{
	siginfo_t info = { 0 };

	pthread_mutex_lock(&v->lock);
	if (v->pid && v->serial == serial &&
		!waitid(P_PID, (id_t)v->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) && info.si_pid &&
		++*looks >= STOPPED_LOOKS) {
		v->stopped_serial = serial;
		end(v, 0);
	}
	pthread_mutex_unlock(&v->lock);
}

/* Waits for the answer, or until it is no longer needed; then until the maker has noticed that. */
static int wait_answer(struct viewproc *v, uint64_t serial, int connection, const struct cancel *cancel)
{
	unsigned int stopped_looks = 0;
	uint64_t until_ns = 0;

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = connection, .events = POLLIN },
			{ .fd = until_ns ? -1 : cancel->cancel_fd, .events = POLLIN },
		};

		if (poll(fds, G_N_ELEMENTS(fds), LOOK_MS) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents)
			return 0;
		look_stopped(v, serial, &stopped_looks);
		if (!until_ns && cancel_requested(cancel)) {
			shutdown(connection, SHUT_WR);
			until_ns = clock_monotonic_ns() + GIVE_UP_NS;
		}
		if (until_ns && clock_monotonic_ns() >= until_ns)
			return -EINTR;
	}
}

int viewproc_make(struct viewproc *v, const struct viewproc_request *request,
	const int files[VIEWPROC_FILES], const struct cancel *cancel, struct err *err)
{
	struct viewproc_answer answer;
	bool answered = false;
	uint64_t serial;
	int pair[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	ret = ask(v, request, pair[1], files, &serial);
	close(pair[1]);
	if (ret) {
		close(pair[0]);
		return err_set(err, -ret, "the process that makes views: %s", g_strerror(-ret));
	}
	ret = wait_answer(v, serial, pair[0], cancel);
	if (!ret) {
		answered = recv(pair[0], &answer, sizeof(answer), MSG_DONTWAIT) == sizeof(answer);
		ret = answered ? answer.ret : explain_end(v, serial, err);
	}
	if (answered)
		*err = answer.err;
	close(pair[0]);
	leave(v, answered ? &answer : NULL);
	return cancel_requested(cancel) ? -EINTR : ret;
}
