/* SPDX-License-Identifier: MIT */
/*
 * Modules (executables and libraries with events) that are loaded and unloaded, the set-up at the
 * first of them, and fork. The top of the library: calls attach.c, helper.c and registry.c.
 */
#include "client/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* glibc 2.35: the offset of its rseq area from the thread pointer; size 0 if it has none */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* glibc keeps values of the first keys in the thread itself; for later ones it may call malloc */
#define KEYS_WITHOUT_MALLOC 32u

/*
 * The thread sanitizer ends a program that starts a thread after fork: with it, children have no
 * helper thread, and their events keep their switches.
 */
extern void __tsan_init(void) __attribute__((weak));

#define SYSTEM_SOCKET "/run/kprofs/trace"

/* ---- set-up ---------------------------------------------------------------------------------- */

/* owned: dir must belong to the user whenever it is used. */
static void add_path(const char *dir, const char *rest, bool owned)
{
	char *to = client.paths[client.path_count].text;
	int bytes;

	if (!dir || dir[0] != '/')
		return;
	bytes = snprintf(to, sizeof(client.paths[0].text), "%s%s", dir, rest);
	if (bytes <= 0 || (size_t)bytes >= sizeof(client.paths[0].text))
		return;
	client.paths[client.path_count].owned = owned ? strlen(dir) : 0;
	client.path_count++;
}

/* The environment is read once, now: later another thread may be changing it. */
static void find_paths(void)
{
	/* secure_getenv: not in setuid programs */
	const char *chosen = secure_getenv("KPROF_SOCKET");

	if (chosen && *chosen) {
		add_path(chosen, "", false);
		return;
	}
	/* su(1) passes on the variable of another user */
	add_path(secure_getenv("XDG_RUNTIME_DIR"), "/kprofs/trace", true);
	add_path(SYSTEM_SOCKET, "", false);
}

static void find_rseq(void)
{
#if defined(__x86_64__)
	if (&__rseq_offset && &__rseq_size && __rseq_size >= 8)
		client.rseq_offset = __rseq_offset;
#endif
}

static struct client_signals fork_signals;

static void before_fork(void)
{
	struct client_signals signals;

	client_lock(&signals);
	fork_signals = signals; /* protected by the lock */
}

static void after_fork_in_parent(void)
{
	struct client_signals signals = fork_signals;

	client_unlock(&signals);
}

static void after_fork_in_child(void)
{
	struct pool *parents =
		atomic_read_relaxed(&client.pool); /* relaxed: no other thread is left */
	struct client_signals signals = fork_signals;

	/* the writer of this thread was wiped with its memory (MADV_WIPEONFORK) */
	atomic_write_relaxed(&client.pool, NULL);
	pool_disown(parents);
	own_fd_close(&client.socket);
	client.helper_runs = false;
	/*
	 * The parent may have lost its server: events that are on are written here too, and the
	 * next server finds them.
	 */
	if (parents)
		attach_make_pool();
	if (client.ever_attached)
		attach_try();
	if (!__tsan_init)
		helper_start();
	client_unlock(&signals);
}

bool module_begin(void)
{
	if (client.state != CLIENT_NEW)
		return client.state == CLIENT_READY;
	client.state = CLIENT_DEAD;
	if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
		return false;
	client.has_key = pthread_key_create(&client.key, event_thread_ends) == 0;
	if (client.has_key && client.key >= KEYS_WITHOUT_MALLOC) {
		pthread_key_delete(client.key);
		client.has_key = false; /* the slots of ended threads are reaped instead */
	}
	find_paths();
	find_rseq();
	snprintf(client.program, sizeof(client.program), "%s", program_invocation_short_name);
	client.state = CLIENT_READY;
	return true;
}

uint8_t module_first_state(void)
{
	return client.socket.fd >= 0 ? CLIENT_PROVISIONAL : CLIENT_OFF;
}

void module_go_on(void)
{
	if (client.socket.fd >= 0)
		attach_send();
	else if (!client.helper_runs)
		attach_try();
	helper_start();
}

/* ---- modules --------------------------------------------------------------------------------- */

void kprof_module_add_(struct kprof_module *module)
{
	struct client_signals signals;
	int saved = errno;

	if (module->version != KPROF_SITE_VERSION_)
		return;
	client_lock(&signals);
	if (module_begin()) {
		for (struct kprof_event **site = module->start; site < module->stop; site++)
			if (*site) /* the linker may pad */
				registry_add(&client.registry, *site, module_first_state());
		module_go_on();
	}
	client_unlock(&signals);
	errno = saved;
}

void kprof_module_remove_(struct kprof_module *module)
{
	struct client_signals signals;
	int saved = errno;

	client_lock(&signals);
	for (struct kprof_event **site = module->start; site < module->stop; site++)
		if (*site)
			registry_remove(&client.registry, *site);
	if (client.socket.fd >= 0)
		attach_send();
	client_unlock(&signals);
	errno = saved;
}
