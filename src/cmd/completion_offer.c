/* SPDX-License-Identifier: MIT */
/* Lines of possible words for a shell: see completion_offer.h. */
#include "cmd/completion_offer.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/callnames.h"
#include "prof/events.h"
#include "sys/tracefs.h"

/* The lines of the output end at a newline and have a tab before the help. */
static bool is_printable(const char *value)
{
	for (; *value; value++)
		if ((unsigned char)*value < ' ' || *value == 0x7f)
			return false;
	return true;
}

void completion_offer(const struct completion *completion, const char *value,
	const char *help)
{
	const char *typed = completion->typed + completion->done;

	if (g_str_has_prefix(value, typed) && is_printable(value))
		printf("%.*s%s\t%s\n", completion->done, completion->typed, value,
			help && is_printable(help) ? help : "");
}

void completion_offer_all(const struct completion *completion, const char *const *values, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		completion_offer(completion, values[i], NULL);
}

void completion_begin_after(struct completion *completion, char separator)
{
	const char *last = strrchr(completion->typed + completion->done, separator);

	if (last)
		completion->done = (int)(last + 1 - completion->typed);
}

/* ---- events ---------------------------------------------------------------------------------- */

static int offer_tracepoint(void *arg, const char *system, const char *name)
{
	g_autofree char *text = g_strconcat(system, ":", name, NULL);

	completion_offer(arg, text, NULL);
	return 0;
}

static int offer_system(void *arg, const char *system, const char *name)
{
	GHashTable *systems = arg;

	g_hash_table_add(systems, g_strconcat(system, ":", NULL));
	return 0;
}

/* Without a colon the systems of tracepoints only, since there are some 2,000 of these. */
static void offer_tracepoints(const struct completion *completion, const char *typed)
{
	g_autoptr(GHashTable) systems = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	const char *colon = strchr(typed, ':');
	g_autofree char *system = colon ? g_strndup(typed, (gsize)(colon - typed)) : NULL;
	GHashTableIter iter;
	gpointer name;
	int dirfd;

	if (tracefs_open(NULL, &dirfd))
		return;
	if (system) {
		tracefs_list(dirfd, system, offer_tracepoint, (void *)completion);
	} else {
		tracefs_list(dirfd, NULL, offer_system, systems);
		g_hash_table_iter_init(&iter, systems);
		while (g_hash_table_iter_next(&iter, &name, NULL))
			completion_offer(completion, name, "tracepoints");
	}
	close(dirfd);
}

/* The event before the colon is one of these times, which have modifiers of their own. */
static bool offer_time_modifiers(const struct completion *completion, const char *event)
{
	const bool wall = g_str_has_prefix(event, "wall:");

	if (!wall && !g_str_has_prefix(event, "offcpu:"))
		return false;
	completion_offer(completion, "min=", "leave out shorter times: microseconds");
	completion_offer(completion, "waker", "with the task that woke it");
	if (wall)
		completion_offer(completion, "freq=", NULL);
	return true;
}

static void offer_names(const struct completion *completion)
{
	const char *name;
	bool hardware;
	size_t i;

	if (!completion->counts) {
		completion_offer(completion, "default", "cycles, or cpu-clock where there are none");
		completion_offer(completion, "offcpu", "time away from the CPU");
		completion_offer(completion, "wall", "time on the CPU and away from it");
	}
	for (i = 0; (name = events_generic(i, &hardware)) != NULL; i++)
		completion_offer(completion, name, hardware ? "hardware" : "software");
}

void completion_offer_events(struct completion *completion)
{
	static const char *const modifiers[] = {"u", "k", "period=", "freq="};
	const char *typed;

	completion_begin_after(completion, ',');
	typed = completion->typed + completion->done;
	offer_tracepoints(completion, typed);
	if (!strstr(typed, "::"))
		completion_begin_after(completion, ':');
	if (completion->typed + completion->done == typed)
		offer_names(completion);
	else if (!offer_time_modifiers(completion, typed))
		completion_offer_all(completion, modifiers, G_N_ELEMENTS(modifiers));
}

/* ---- events of the kernel's trace ------------------------------------------------------------ */

#define ONE_CALL "syscall:"

void completion_offer_kernel_events(struct completion *completion)
{
	g_autofree struct callnames *calls = g_new0(struct callnames, 1);
	const char *typed;
	size_t i;

	completion_begin_after(completion, ',');
	typed = completion->typed + completion->done;
	offer_tracepoints(completion, typed);
	callnames_init(calls);
	if (g_str_has_prefix(typed, ONE_CALL)) {
		completion->done += (int)strlen(ONE_CALL);
	} else {
		completion_offer(completion, "syscalls", "all system calls");
		completion_offer(completion, ONE_CALL, "a system call");
		completion_offer(completion, "function:", "a function of the kernel");
	}
	for (i = 0; i < CALLNAMES_NUMBERS; i++)
		if (calls->names[i])
			completion_offer(completion, calls->names[i], "system call");
}
