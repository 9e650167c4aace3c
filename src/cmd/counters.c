/* SPDX-License-Identifier: MIT */
/* Counters of several events: see counters.h. */
#include "cmd/counters.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sys/perf.h"
#include "sys/proc.h"

/* One event while it is opened. */
struct counters_opening {
	struct counter *counter;
	struct perf_event_attr attr;
};

static int open_here(struct counters_opening *o, pid_t pid, int cpu)
{
	int fd, ret;

	if (cpu < 0 && !pid)
		return -ESRCH;
	ret = perf_count_open_running(&o->attr, pid, cpu, &fd);
	if (!ret)
		g_array_append_val(o->counter->fds, fd);
	return ret;
}

/* A thread that has ended meanwhile is no failure. */
static int open_thread(void *arg, pid_t tid)
{
	struct counters_opening *o = arg;
	int ret = open_here(o, tid, -1);

	return ret == -ESRCH ? 0 : ret;
}

static int open_process(struct counters_opening *o, uint32_t pid)
{
	g_autofree char *tasks = g_strdup_printf("/proc/%u/task", pid);
	int ret = proc_list(tasks, open_thread, o);

	return ret == -ENOENT ? 0 : ret; /* it has ended */
}

static int open_command(struct counters_opening *o, pid_t pid)
{
	int fd, ret = perf_count_open(&o->attr, pid, &fd);

	if (!ret)
		g_array_append_val(o->counter->fds, fd);
	return ret;
}

static int open_target(struct counters_opening *o, const struct counters_target *target)
{
	guint i;
	int ret = 0;

	if (target->command)
		return open_command(o, target->command);
	for (i = 0; !ret && target->processes && i < target->processes->len; i++)
		ret = open_process(o, g_array_index(target->processes, uint32_t, i));
	for (i = 0; !ret && target->threads && i < target->threads->len; i++)
		ret = open_thread(o, (pid_t)g_array_index(target->threads, uint32_t, i));
	for (i = 0; !ret && target->cpus && i < target->cpus->len; i++)
		ret = open_here(o, -1, (int)g_array_index(target->cpus, uint32_t, i));
	return ret;
}

static void close_counter(struct counter *counter)
{
	guint i;

	for (i = 0; counter->fds && i < counter->fds->len; i++)
		close(g_array_index(counter->fds, int, i));
	if (counter->fds)
		g_array_set_size(counter->fds, 0);
}

static void open_counter(struct counter *counter, const struct event *event,
	const struct counters_target *target)
{
	struct counters_opening o = {counter, event->attr};

	if (!counter->fds)
		counter->fds = g_array_new(FALSE, FALSE, sizeof(int));
	memset(&counter->counted, 0, sizeof(counter->counted));
	counter->user_only = false;
	counter->error = open_target(&o, target);
	/* without the kernel's part a tracepoint would count nothing */
	if ((counter->error == -EACCES || counter->error == -EPERM) && !o.attr.exclude_kernel &&
		!o.attr.exclude_user && o.attr.type != PERF_TYPE_TRACEPOINT) {
		close_counter(counter);
		o.attr.exclude_kernel = 1;
		counter->error = open_target(&o, target);
		counter->user_only = !counter->error;
	}
	if (counter->error)
		close_counter(counter);
}

int counters_open(struct counters *counters, const struct counters_target *target, struct err *err)
{
	unsigned int i, open = 0;
	int ret = 0;

	for (i = 0; i < counters->list.count; i++) {
		open_counter(&counters->all[i], &counters->list.events[i], target);
		open += !counters->all[i].error;
		if (!ret && !counters_is_unsupported(&counters->all[i]))
			ret = counters->all[i].error;
	}
	return open || !ret ? 0 : perf_explain(ret, NULL, err);
}

static void read_counter(struct counter *counter)
{
	struct perf_counted sum = {0, 0, 0}, one;
	guint i;

	for (i = 0; !counter->error && i < counter->fds->len; i++) {
		counter->error = perf_count_read(g_array_index(counter->fds, int, i), &one);
		if (counter->error)
			return;
		sum.value += one.value;
		sum.enabled_ns += one.enabled_ns;
		sum.running_ns += one.running_ns;
	}
	counter->counted = sum;
}

void counters_read(struct counters *counters)
{
	unsigned int i;

	for (i = 0; i < counters->list.count; i++)
		read_counter(&counters->all[i]);
}

void counters_close(struct counters *counters)
{
	unsigned int i;

	for (i = 0; i < EVENTS_MAX; i++) {
		close_counter(&counters->all[i]);
		if (counters->all[i].fds)
			g_array_free(counters->all[i].fds, TRUE);
		counters->all[i].fds = NULL;
	}
}

bool counters_is_unsupported(const struct counter *counter)
{
	return counter->error == -ENOENT || counter->error == -EOPNOTSUPP;
}

const char *counters_reason(const struct counter *counter, struct err *err)
{
	if (counters_is_unsupported(counter))
		return "this machine can't count it";
	perf_explain(counter->error, NULL, err);
	return err->text;
}
