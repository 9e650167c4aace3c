/* SPDX-License-Identifier: MIT */
/* The one instance of the library in a process, and its lock. See client.h. */
#include "client/client.h"

struct client client = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.socket = OWN_FD_NONE,
	.text = {.kind = KPROF_SITE_PRINTF_, .id = KPROF_ID_TEXT},
	.textx = {.kind = KPROF_SITE_PRINTX_, .id = KPROF_ID_TEXTX},
};

int64_t client_now_ms(void)
{
	return (int64_t)(ring_clock_ns(0) / 1000000u);
}

void client_lock(struct client_signals *signals)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &signals->saved);
	pthread_mutex_lock(&client.lock);
}

void client_unlock(const struct client_signals *signals)
{
	pthread_mutex_unlock(&client.lock);
	pthread_sigmask(SIG_SETMASK, &signals->saved, NULL);
}
