/* SPDX-License-Identifier: MIT */
/* Names of the addresses in annotations: see viewstacks.h. */
#include "views/viewstacks.h"

#include <errno.h>
#include <glib.h>

#include "base/units.h"
#include "capture/backtraces.h"
#include "symbolizer/helpers.h"
#include "sys/clock.h"
#include "views/viewmarks.h"

/* Processes that block their reader take 200 ms each: the rest gets no names. */
#define READ_NS NSEC_PER_SEC

/* ---- running processes ----------------------------------------------------------------------- */

static int add_mapping(void *arg, const struct proc_mapping *mapping)
{
	backtraces_add_mapping(arg, mapping, clock_monotonic_ns());
	return 0;
}

/* Reads the processes that the capture does not have. Without a reader none has names. */
static void read_processes(struct backtraces *names, GHashTable *pids,
	const struct helpers_options *options, const struct cancel *cancel)
{
	const struct proc_visitor visitor = { .mapping = add_mapping, .arg = names };
	const uint64_t end_ns = clock_monotonic_ns() + READ_NS;
	struct proto_message *message = g_new(struct proto_message, 1);
	struct helpers *helpers = helpers_create(options);
	GHashTableIter iter;
	gpointer pid;

	g_hash_table_iter_init(&iter, pids);
	while (g_hash_table_iter_next(&iter, &pid, NULL) && clock_monotonic_ns() < end_ns &&
		!cancel_requested(cancel)) {
		if (backtraces_has_process(names, GPOINTER_TO_UINT(pid)))
			continue;
		proto_init(message, PROTO_READ_ONE);
		message->pid = GPOINTER_TO_UINT(pid);
		if (!proto_set_path(message, "/proc"))
			helpers_read(helpers, message, &visitor, NULL, cancel->cancel_fd);
	}
	helpers_destroy(helpers);
	g_free(message);
}

/* ---- the marks ------------------------------------------------------------------------------- */

static void add_pid(void *arg, uint32_t pid, uint64_t time_ns, uint64_t address)
{
	g_hash_table_add(arg, GUINT_TO_POINTER(pid));
}

static void add_address(void *arg, uint32_t pid, uint64_t time_ns, uint64_t address)
{
	backtraces_add_address(arg, pid, time_ns, address);
}

/* All addresses and the files to which they belong. */
static int find_files(struct view_annotations *marks, GHashTable *pids, int capture_fd,
	const struct helpers_options *options, const struct cancel *cancel, struct backtraces *names)
{
	struct decoder decoder;
	int ret;

	decode_init_pread(&decoder, capture_fd, 0);
	ret = backtraces_learn(names, &decoder, cancel);
	decode_fini(&decoder);
	if (ret == -EINTR)
		return ret;
	read_processes(names, pids, options, cancel);
	backtraces_finish(names);
	viewmarks_each_address(marks, add_address, names);
	return cancel_requested(cancel) ? -EINTR : 0;
}

int viewstacks_name(struct view_annotations *marks, int capture_fd, struct viewmodels *models,
	const struct cancel *cancel)
{
	g_autoptr(GHashTable) pids = g_hash_table_new(g_direct_hash, g_direct_equal);
	struct backtraces *names;
	int ret;

	if (!viewmarks_each_address(marks, add_pid, pids))
		return 0;
	names = backtraces_create();
	ret = find_files(marks, pids, capture_fd, viewmodels_options(models), cancel, names);
	if (!ret)
		ret = viewmodels_resolve(models, names, cancel);
	if (ret)
		backtraces_destroy(names);
	else
		viewmarks_set_names(marks, names);
	return ret;
}
