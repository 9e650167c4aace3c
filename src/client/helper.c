/* SPDX-License-Identifier: MIT */
/*
 * The helper thread ("kprof"): waits for a server, attaches, and receives packets until the
 * connection ends. Only its poll waits. See client.h.
 */
#include "client/client.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/prctl.h>

#define LOOK_MS 900	   /* between attempts, where nothing wakes the helper */
#define RETRY_FIRST_MS 20  /* a socket exists and refuses: its server may be starting */
#define RETRY_TIMES 8	   /* doubling up to LOOK_MS, then only after a wakeup */
#define FULL_TRIES 200	   /* the listen queue is full: a slot is free for a moment only */
#define FULL_MS 100	   /* until the next attempts */
#define HELPER_STACK (256u << 10) /* the program's thread-local variables are in it, too */

/* Polls one descriptor, or (-1) only waits. */
static void wait_for(int fd, short events, int64_t timeout_ms)
{
	struct pollfd wait = {.fd = fd, .events = events};

	if (timeout_ms > INT_MAX)
		timeout_ms = INT_MAX;
	poll(&wait, 1, timeout_ms < 0 ? -1 : (int)timeout_ms);
}

static void stay_attached(void)
{
	struct client_signals signals;

	client_lock(&signals);
	while (client.socket.fd >= 0) {
		short events = client.socket_full ? POLLIN | POLLOUT : POLLIN;
		int64_t left = -1;
		int fd = client.socket.fd;

		if (client.provisional_until_ms) {
			left = client.provisional_until_ms - client_now_ms();
			if (left <= 0) {
				attach_end_provisional();
				left = -1;
			}
		}
		/* something failed for lack of memory: no event will wake us for it */
		if (left < 0 && !client.socket_full && (client.sync_due || client.registry.unsent))
			left = RETRY_FIRST_MS;
		client_unlock(&signals);
		wait_for(fd, events, left);
		client_lock(&signals);
		attach_receive();
	}
	client_unlock(&signals);
}

static int try_locked(void)
{
	struct client_signals signals;
	int error;

	client_lock(&signals);
	error = client.socket.fd >= 0 ? 0 : attach_try();
	client_unlock(&signals);
	return error;
}

/* Tries again while the listen queue of the server is full, for some thousand system calls. */
static int try_while_full(void)
{
	int error, tries = 0;

	do {
		error = try_locked();
	} while (error == -EAGAIN && ++tries < FULL_TRIES);
	return error;
}

/* Returns when attached. */
static void find_server(struct watch *watch)
{
	int64_t retry_ms = RETRY_FIRST_MS;
	int retries = 0;

	for (;;) {
		/* watch first, then try: a socket that appears in between is not missed */
		bool watched = watch_start(watch, client.paths, client.path_count) == 0;
		int error = try_while_full();
		int64_t timeout = watched ? -1 : LOOK_MS;

		if (error == 0)
			return;
		if (error == -EAGAIN) { /* the server runs and accepts connections all the time */
			timeout = FULL_MS;
		} else if (error != -ENOENT && retries < RETRY_TIMES) {
			timeout = retry_ms;
			retry_ms = retry_ms * 2 < LOOK_MS ? retry_ms * 2 : LOOK_MS;
			retries++;
		} else if (error == -EMFILE || error == -ENFILE || error == -ENOMEM) {
			timeout = LOOK_MS; /* the server runs; later attempts may succeed */
		}
		wait_for(watch->inotify.fd, POLLIN, timeout);
		if (watch->inotify.fd >= 0) {
			struct pollfd now = {.fd = watch->inotify.fd, .events = POLLIN};

			if (poll(&now, 1, 0) > 0) { /* a new socket, with new retries */
				watch_drain(watch);
				retries = 0;
				retry_ms = RETRY_FIRST_MS;
			}
		}
	}
}

static void *run_helper(void *unused)
{
	struct watch watch = {.inotify = OWN_FD_NONE};

	prctl(PR_SET_NAME, "kprof");
	for (;;) {
		int64_t began_ms;

		find_server(&watch);
		watch_stop(&watch);
		began_ms = client_now_ms();
		stay_attached();
		/* a server that disconnects at once is tried once a second at most */
		if (client_now_ms() - began_ms < LOOK_MS)
			wait_for(-1, POLLIN, LOOK_MS / 2);
	}
	return unused;
}

void helper_start(void)
{
	pthread_attr_t attr;
	sigset_t all, saved;
	pthread_t thread;
	int error;

	if (client.helper_runs || pthread_attr_init(&attr) != 0)
		return;
	/* not the raw system call: signals of the C library must reach every thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, HELPER_STACK);
	error = pthread_create(&thread, &attr, run_helper, NULL);
	if (error == EINVAL) { /* thread-local variables do not fit */
		pthread_attr_destroy(&attr);
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		error = pthread_create(&thread, &attr, run_helper, NULL);
	}
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	client.helper_runs = error == 0;
}
