/* SPDX-License-Identifier: MIT */
/* The times of processes: see sched.h. */
#include "acct/sched.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "acct/cells.h"
#include "acct/exact.h"
#include "base/text.h"
#include "base/units.h"
#include "bpf/map.h"
#include "sys/clock.h"

/* l: under the mutex; i: invariant */
struct sched {
	struct exact *exact; /* i */
	pthread_mutex_t mutex;
	uint64_t attachment;  /* l: of the baseline, 0 if there is none */
	uint64_t baseline_ns; /* l: CLOCK_MONOTONIC */
	GHashTable *baseline; /* l: thread -> struct task_entry at the baseline, with the time in progress */
};

struct process {
	uint32_t number;
	unsigned int threads;
	struct task_entry sums;
};

struct sched *sched_create(struct exact *exact)
{
	struct sched *sched = g_new0(struct sched, 1);

	sched->exact = exact;
	sched->baseline = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	pthread_mutex_init(&sched->mutex, NULL);
	return sched;
}

void sched_destroy(struct sched *sched)
{
	if (!sched)
		return;
	g_hash_table_destroy(sched->baseline);
	pthread_mutex_destroy(&sched->mutex);
	g_free(sched);
}

/* Adds the time in progress up to now. */
static void complete(struct task_entry *entry, uint64_t now_ns)
{
	const uint64_t ns = now_ns > entry->since_ns ? now_ns - entry->since_ns : 0;

	switch (entry->state) {
	case TASK_RUNNING:
		entry->running_ns += ns;
		break;
	case TASK_RUNNABLE:
		entry->runnable_ns += ns;
		if (ns > entry->longest_ns)
			entry->longest_ns = ns;
		break;
	case TASK_SLEEPING:
		entry->sleeping_ns += ns;
		break;
	case TASK_BLOCKED:
		entry->blocked_ns += ns;
		break;
	case TASK_UNKNOWN:
		entry->unknown_ns += ns;
		break;
	default:
		break;
	}
}

/*
 * Reads all entries: thread -> struct task_entry with the time in progress. Entries come and go meanwhile;
 * one that is not found any more has been replaced.
 */
static int read_entries(const struct exact_tasks *tasks, GHashTable *entries)
{
	const uint64_t now_ns = clock_monotonic_ns();
	uint32_t thread, next, steps;
	int ret = tasks->fd < 0 ? -EMFILE : map_next_key(tasks->fd, NULL, &next);

	/* a table that changes may begin anew: not longer than it is twice */
	for (steps = 0; !ret && steps < 2 * TASKS_MAX; steps++) {
		struct task_entry entry;

		thread = next;
		if (!map_lookup(tasks->fd, &thread, &entry)) {
			if (entry.epoch != tasks->epoch)
				entry.longest_ns = 0;
			complete(&entry, now_ns);
			g_hash_table_insert(entries, GUINT_TO_POINTER(thread),
				g_memdup2(&entry, sizeof(entry)));
		}
		ret = map_next_key(tasks->fd, &thread, &next);
	}
	return ret == -ENOENT ? 0 : ret;
}

static void close_tasks(struct exact_tasks *tasks)
{
	if (tasks->fd >= 0)
		close(tasks->fd);
	g_free(tasks);
}

int sched_reset(struct sched *sched)
{
	struct exact_tasks *tasks;
	GHashTable *entries;
	int ret;

	exact_begin_epoch(sched->exact);
	tasks = exact_open_tasks(sched->exact);
	if (!tasks)
		return 0; /* the times begin when it is measured */
	entries = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	pthread_mutex_lock(&sched->mutex);
	ret = read_entries(tasks, entries);
	if (!ret) {
		GHashTable *old = sched->baseline;

		sched->baseline = entries;
		sched->baseline_ns = clock_monotonic_ns();
		sched->attachment = tasks->attachment;
		entries = old;
	}
	pthread_mutex_unlock(&sched->mutex);
	g_hash_table_destroy(entries);
	close_tasks(tasks);
	return ret;
}

static uint64_t since(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

/* The entry less the baseline. A thread that has another process or less time than then is another one. */
static void subtract(struct task_entry *entry, const struct task_entry *then)
{
	if (then->process != entry->process || then->running_ns > entry->running_ns)
		return;
	entry->running_ns = since(entry->running_ns, then->running_ns);
	entry->runnable_ns = since(entry->runnable_ns, then->runnable_ns);
	entry->sleeping_ns = since(entry->sleeping_ns, then->sleeping_ns);
	entry->blocked_ns = since(entry->blocked_ns, then->blocked_ns);
	entry->unknown_ns = since(entry->unknown_ns, then->unknown_ns);
	entry->voluntary = since(entry->voluntary, then->voluntary);
	entry->involuntary = since(entry->involuntary, then->involuntary);
}

static void add_thread(GHashTable *processes, uint32_t thread, const struct task_entry *entry)
{
	struct process *process = g_hash_table_lookup(processes, GUINT_TO_POINTER(entry->process));
	struct task_entry *sums;

	if (!process) {
		process = g_new0(struct process, 1);
		process->number = entry->process;
		g_hash_table_insert(processes, GUINT_TO_POINTER(entry->process), process);
	}
	sums = &process->sums;
	process->threads++;
	if (thread == entry->process || !sums->name[0])
		memcpy(sums->name, entry->name, sizeof(sums->name));
	sums->running_ns += entry->running_ns;
	sums->runnable_ns += entry->runnable_ns;
	sums->sleeping_ns += entry->sleeping_ns;
	sums->blocked_ns += entry->blocked_ns;
	sums->unknown_ns += entry->unknown_ns;
	sums->voluntary += entry->voluntary;
	sums->involuntary += entry->involuntary;
	if (entry->longest_ns > sums->longest_ns)
		sums->longest_ns = entry->longest_ns;
}

static int compare(gconstpointer a, gconstpointer b)
{
	const struct process *one = *(struct process *const *)a, *other = *(struct process *const *)b;

	if (one->sums.running_ns != other->sums.running_ns)
		return one->sums.running_ns < other->sums.running_ns ? 1 : -1;
	return one->number < other->number ? -1 : one->number > other->number;
}

static void print_seconds(GString *out, uint64_t ns)
{
	g_string_append_printf(out, " %8" PRIu64 ".%06" PRIu64, (uint64_t)(ns / NSEC_PER_SEC),
		(uint64_t)(ns % NSEC_PER_SEC / NSEC_PER_USEC));
}

static void print_process(GString *out, const struct process *process)
{
	const struct task_entry *sums = &process->sums;
	char name[sizeof(sums->name) + 1];

	memcpy(name, sums->name, sizeof(sums->name));
	name[sizeof(sums->name)] = '\0';
	g_string_append_printf(out, "%10" PRIu32 " %7u", process->number, process->threads);
	print_seconds(out, sums->running_ns);
	print_seconds(out, sums->runnable_ns);
	print_seconds(out, sums->sleeping_ns);
	print_seconds(out, sums->blocked_ns);
	print_seconds(out, sums->unknown_ns);
	g_string_append_printf(out, " %10" PRIu64 " %11" PRIu64, sums->voluntary, sums->involuntary);
	print_seconds(out, sums->longest_ns);
	g_string_append_c(out, ' ');
	text_append(out, name);
	g_string_append_c(out, '\n');
}

static void print_all(GString *out, const struct exact_tasks *tasks, unsigned int threads,
	GHashTable *processes, uint64_t since_ns)
{
	const uint64_t ns = since(clock_monotonic_ns(), since_ns);
	GPtrArray *order = g_ptr_array_new();
	unsigned int shown = 0;
	GHashTableIter iter;
	gpointer process;
	guint i;

	g_hash_table_iter_init(&iter, processes);
	while (g_hash_table_iter_next(&iter, NULL, &process)) {
		g_ptr_array_add(order, process);
		shown += ((const struct process *)process)->threads;
	}
	g_ptr_array_sort(order, compare);
	g_string_append_printf(out, "# %u processes, %u threads, measured for %" PRIu64 ".%06" PRIu64
		" s; %" PRIu64 " threads lost\n", order->len, shown, (uint64_t)(ns / NSEC_PER_SEC),
		(uint64_t)(ns % NSEC_PER_SEC / NSEC_PER_USEC),
		since(tasks->added, threads) + tasks->dropped);
	g_string_append(out, "#  process threads        on_cpu_s      runnable_s      sleeping_s"
		"       blocked_s       unknown_s  voluntary involuntary  longest_wait_s name\n");
	for (i = 0; i < order->len; i++)
		print_process(out, g_ptr_array_index(order, i));
	g_ptr_array_free(order, TRUE);
}

static gboolean is_hidden(gpointer number, gpointer process, gpointer filter)
{
	const struct sched_filter *f = filter;

	(void)number;
	return !f->shows(f->arg, ((const struct process *)process)->number);
}

int sched_print(struct sched *sched, const struct sched_filter *filter, GString *out, struct err *err)
{
	struct exact_tasks *tasks = exact_open_tasks(sched->exact);
	GHashTable *entries, *processes;
	GHashTableIter iter;
	gpointer thread, entry;
	uint64_t since_ns;
	int ret;

	if (!tasks) {
		g_string_append(out, "# nothing is measured yet\n");
		return 0;
	}
	entries = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	processes = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	ret = read_entries(tasks, entries);
	if (ret)
		err_set(err, -ret, "the times of processes can't be read: %s", g_strerror(-ret));
	pthread_mutex_lock(&sched->mutex);
	since_ns = sched->attachment == tasks->attachment ? sched->baseline_ns : tasks->since_ns;
	g_hash_table_iter_init(&iter, entries);
	while (!ret && g_hash_table_iter_next(&iter, &thread, &entry)) {
		const struct task_entry *then = sched->attachment == tasks->attachment ?
			g_hash_table_lookup(sched->baseline, thread) : NULL;

		if (then)
			subtract(entry, then);
		add_thread(processes, GPOINTER_TO_UINT(thread), entry);
	}
	pthread_mutex_unlock(&sched->mutex);
	if (filter)
		g_hash_table_foreach_remove(processes, is_hidden, (gpointer)filter);
	if (!ret)
		print_all(out, tasks, g_hash_table_size(entries), processes, since_ns);
	g_hash_table_destroy(processes);
	g_hash_table_destroy(entries);
	close_tasks(tasks);
	return ret;
}
