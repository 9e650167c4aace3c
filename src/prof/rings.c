/* SPDX-License-Identifier: MIT */
/* The perf events of one CPU: see rings.h. */
#include "prof/rings.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/units.h"
#include "sys/perf_as.h"
#include "sys/proc.h"

/*
 * The task ring: a quarter of the sample ring, within these bounds. A fork with exec takes about
 * 1 KiB, and 100 ms pass between two drains: the upper bound holds 1,000 a second of each CPU.
 */
#define TASK_RING_MIN (16u << 10)
#define TASK_RING_MAX (128u << 10)

const char *scope_name(enum scope scope)
{
	static const char *const names[SCOPE_COUNT] = {
		[SCOPE_MACHINE] = "machine",
		[SCOPE_USER] = "machine-user",
		[SCOPE_OWN] = "own-user",
		[SCOPE_FILTERED] = "own-user",
	};

	return names[scope];
}

static size_t task_ring_bytes(const struct rings_config *config)
{
	size_t bytes = config->ring_bytes / 4;

	if (bytes < TASK_RING_MIN)
		return TASK_RING_MIN;
	return bytes > TASK_RING_MAX ? TASK_RING_MAX : bytes;
}

/*
 * Software events for which Linux makes one sample for all events that sample it: see rings.h. A program
 * writes its samples to one event.
 */
static bool is_shared_kind(const struct event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE &&
	       event->attr.config != PERF_COUNT_SW_BPF_OUTPUT &&
	       event->attr.config != PERF_COUNT_SW_CPU_CLOCK &&
	       event->attr.config != PERF_COUNT_SW_TASK_CLOCK;
}

unsigned int rings_of_cpu(const struct rings_config *config)
{
	unsigned int i, shared = 0;

	for (i = 0; i < config->events.count; i++)
		shared += is_shared_kind(&config->events.events[i]);
	return shared ? shared : 1;
}

uint64_t rings_fitting_kb(const struct rings_config *config)
{
	const uint64_t page_kb = (uint64_t)sysconf(_SC_PAGESIZE) / KIB;
	struct rings_config try = *config;
	int64_t limit_kb;

	if (perf_sysctl(config->proc, PERF_SYSCTL_MLOCK_KB, &limit_kb) || limit_kb < 0)
		return 0;
	for (; try.ring_bytes >= TASK_RING_MIN; try.ring_bytes /= 2)
		if ((try.ring_bytes / KIB + page_kb) * rings_of_cpu(config) +
				task_ring_bytes(&try) / KIB + page_kb <= (uint64_t)limit_kb)
			return try.ring_bytes / KIB;
	return 0;
}

/* ---- attrs ----------------------------------------------------------------------------------- */

static void complete_attr(const struct rings_config *config, struct perf_event_attr *attr)
{
	attr->disabled = 1;
	attr->inherit = config->scope == SCOPE_OWN;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->watermark = 1;
	attr->read_format = config->features.has_lost ? PERF_FORMAT_LOST : 0;
}

static void sample_attr(const struct rings_config *config, unsigned int index,
	struct perf_event_attr *attr)
{
	*attr = config->events.events[index].attr;
	if (config->programs[index]) {
		attr->type = PERF_TYPE_SOFTWARE; /* instead of a tracepoint */
		attr->config = PERF_COUNT_SW_BPF_OUTPUT;
	}
	complete_attr(config, attr);
	attr->wakeup_watermark = (uint32_t)(config->ring_bytes / 2);
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			    PERF_SAMPLE_TIME;
	if (attr->freq)
		attr->sample_type |= PERF_SAMPLE_PERIOD;
	if (rings_is_offcpu(config, index))
		attr->sample_type |= PERF_SAMPLE_RAW;
	if (rings_has_chain(config, index)) {
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
		attr->sample_max_stack = (uint16_t)config->depth;
		attr->exclude_callchain_kernel =
			!config->stack_kernel || rings_is_offcpu(config, index);
		attr->exclude_callchain_user = !config->stack_user;
	}
	if (config->stack_copied) {
		attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->sample_regs_user = perf_user_regs()->mask;
		attr->sample_stack_user = config->stack_copied;
	}
	if (config->scope != SCOPE_MACHINE) {
		attr->exclude_kernel = 1;
		attr->exclude_hv = 1;
		attr->exclude_callchain_kernel = 1;
	}
}

static void task_attr(const struct rings_config *config, struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
	};
	complete_attr(config, attr);
	attr->wakeup_watermark = (uint32_t)(task_ring_bytes(config) / 2);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int collect_thread(void *arg, pid_t tid)
{
	g_array_append_val((GArray *)arg, tid);
	return 0;
}

/* The tasks with which SCOPE_OWN begins: all threads of this user's processes. */
static GArray *own_tasks(const struct rings_config *config)
{
	GArray *tids = g_array_new(FALSE, FALSE, sizeof(pid_t));

	proc_threads_of(config->proc, config->is_users ? config->user.uid : geteuid(), collect_thread, tids);
	return tids;
}

/* Opens the event for each of the tasks: a descriptor or -errno for each. */
static int open_own(const struct rings_config *config, const struct perf_event_attr *attr, unsigned int cpu,
	const GArray *tids, int *opened)
{
	const pid_t *all = (const pid_t *)(const void *)tids->data;
	int fd;

	if (config->is_users)
		return perf_open_as(config->user.uid, config->user.gid, attr, (int)cpu, all, tids->len,
			opened);
	for (guint i = 0; i < tids->len; i++) {
		opened[i] = perf_open(attr, all[i], (int)cpu, &fd);
		if (!opened[i])
			opened[i] = fd;
	}
	return 0;
}

static bool may_pass_over(int ret)
{
	return ret == -ESRCH || ret == -EACCES || ret == -EPERM;
}

static int open_for_tasks(const struct rings_config *config, const struct perf_event_attr *attr,
	unsigned int cpu, GArray *fds)
{
	g_autoptr(GArray) tids = own_tasks(config);
	g_autofree int *opened = g_new(int, tids->len + 1);
	int passed = -ESRCH, failed = 0, ret = open_own(config, attr, cpu, tids, opened);
	guint i;

	/* all that are open are the caller's, also after an error */
	for (i = 0; !ret && i < tids->len; i++) {
		if (opened[i] >= 0)
			g_array_append_val(fds, opened[i]);
		else if (!may_pass_over(opened[i]))
			failed = opened[i];
		else if (passed == -ESRCH)
			passed = opened[i];
	}
	if (ret || failed)
		return ret ? ret : failed;
	return fds->len ? 0 : passed;
}

/*
 * One event on one CPU: for all tasks, or for each task that may be sampled (a task that ended,
 * or runs with another user's rights, is skipped unless there is no other), or with a descriptor for all
 * tasks of a cgroup.
 */
static int open_event(const struct rings_config *config, const struct perf_event_attr *attr, int cgroup_fd,
	unsigned int cpu, GArray *fds)
{
	int fd, ret;

	if (config->scope != SCOPE_OWN) {
		ret = cgroup_fd >= 0 ? perf_open_cgroup(attr, cgroup_fd, (int)cpu, &fd)
				     : perf_open(attr, -1, (int)cpu, &fd);
		if (!ret)
			g_array_append_val(fds, fd);
		return ret;
	}
	return open_for_tasks(config, attr, cpu, fds);
}

/* All descriptors of fds write into the ring of the first. */
static int share_ring(GArray *fds, int ring_fd)
{
	guint i;
	int ret;

	for (i = 0; i < fds->len; i++) {
		int fd = g_array_index(fds, int, i);

		if (fd == ring_fd)
			continue;
		ret = perf_set_output(fd, ring_fd);
		if (ret)
			return ret;
	}
	return 0;
}

static gint compare_ids(gconstpointer a, gconstpointer b)
{
	const uint64_t x = ((const struct rings_id *)a)->id, y = ((const struct rings_id *)b)->id;

	return x < y ? -1 : x > y;
}

static int note_ids(struct rings *r, unsigned int index)
{
	guint i;
	int ret;

	for (i = 0; i < r->fds[index]->len; i++) {
		struct rings_id id = { .index = index };

		ret = perf_id(g_array_index(r->fds[index], int, i), &id.id);
		if (ret)
			return ret;
		g_array_append_val(r->ids, id);
	}
	return 0;
}

static int map_ring(int fd, size_t bytes, struct perf_ring *ring, bool *locked)
{
	int ret = perf_ring_map(fd, bytes, ring);

	if (ret == -EPERM)
		*locked = true;
	return ret;
}

/* The programs of offcpu write to this event from now on, once it is enabled. */
static int join_offcpu(const struct rings_config *config, struct rings *r, unsigned int index)
{
	struct offcpu_counts counts;
	int ret;

	if (!config->offcpu || !rings_is_offcpu(config, index))
		return 0;
	ret = offcpu_add_cpu(config->offcpu, r->cpu, g_array_index(r->fds[index], int, 0));
	if (ret)
		return ret;
	offcpu_count(config->offcpu, r->cpu, &counts);
	r->base[index] = counts.taken + counts.refused; /* of the CPU before it went offline */
	r->refused_base[index] = counts.refused;
	r->offcpu_base = counts;
	r->offcpu = config->offcpu;
	r->offcpu_index = (int)index;
	return 0;
}

int rings_join_only(const struct rings_config *config, struct rings *r, struct err *err)
{
	uint64_t refused;
	unsigned int i;
	int ret = 0;
	guint j;

	if (!config->only)
		return 0;
	for (i = 0; i < config->events.count; i++) {
		if ((int)i == r->offcpu_index)
			continue; /* offcpu's programs count what they refuse */
		refused = only_filter_count(config->only, r->cpu, i);
		r->refused_base[i] += refused;
		r->others_base[i] = only_filter_count_others(config->only, r->cpu, i);
		if (r->programs[i])
			r->base[i] += refused;
		if (!only_filter_takes(&config->events.events[i])) {
			if (config->scope == SCOPE_FILTERED)
				return err_set(err, EPERM, "samples of %s can't be refused in the kernel",
					config->events.events[i].text);
			continue;
		}
		for (j = 0; !ret && j < r->fds[i]->len; j++)
			ret = only_filter_attach(config->only, i, g_array_index(r->fds[i], int, j), err);
	}
	r->only = config->only;
	return ret;
}

/* The same for a program of probes/. */
static int join_program(const struct rings_config *config, struct rings *r, unsigned int index)
{
	struct samples *samples = config->programs[index];
	int ret;

	if (!samples)
		return 0;
	ret = samples_add_cpu(samples, r->cpu, g_array_index(r->fds[index], int, 0));
	if (ret)
		return ret;
	r->programs[index] = samples;
	r->refused_base[index] = samples_refused(samples, r->cpu);
	r->base[index] = samples_taken(samples, r->cpu) + r->refused_base[index];
	return 0;
}

/* Gives event `index` a ring: a new one, or that of the CPU. */
static int join_ring(const struct rings_config *config, struct rings *r, unsigned int index,
	bool *locked)
{
	const bool shared = is_shared_kind(&config->events.events[index]);
	struct rings_samples *samples = &r->samples[0];
	int ret = 0;

	if (!r->count || (shared && samples->unknown >= 0)) {
		samples = &r->samples[r->count];
		samples->fd = g_array_index(r->fds[index], int, 0);
		samples->unknown = -1;
		ret = map_ring(samples->fd, config->ring_bytes, &samples->ring, locked);
		if (ret)
			return ret;
		r->count++;
	}
	if (shared)
		samples->unknown = (int)index;
	ret = share_ring(r->fds[index], samples->fd);
	return ret ? ret : note_ids(r, index);
}

static int open_samples(const struct rings_config *config, struct rings *r, bool *locked,
	struct err *err)
{
	struct perf_event_attr attr;
	unsigned int i;
	int ret;

	for (i = 0; i < config->events.count; i++) {
		sample_attr(config, i, &attr);
		ret = open_event(config, &attr, config->in_cgroup ? config->cgroup_fd : -1, r->cpu,
			r->fds[i]);
		if (ret == -ENOSYS && config->stack_copied)
			return err_set(err, EOPNOTSUPP,
				"this kernel cannot sample user registers and stacks (stack dwarf)");
		if (ret) {
			perf_explain(ret, config->proc, err);
			err_prefix(err, "event %s on CPU %u", config->events.events[i].text, r->cpu);
			return ret;
		}
		ret = join_ring(config, r, i, locked);
		if (ret)
			return err_set(err, -ret, "ring of %zu KiB on CPU %u: %s",
				config->ring_bytes / 1024, r->cpu, strerror(-ret));
		ret = join_offcpu(config, r, i);
		if (!ret)
			ret = join_program(config, r, i);
		if (ret)
			return err_set(err, -ret, "event %s on CPU %u: %s", config->events.events[i].text,
				r->cpu, strerror(-ret));
	}
	g_array_sort(r->ids, compare_ids);
	return 0;
}

static int open_tasks(const struct rings_config *config, struct rings *r, bool *locked,
	struct err *err)
{
	struct perf_event_attr attr;
	int ret, ring_fd;
	guint i;

	task_attr(config, &attr);
	ret = open_event(config, &attr, -1, r->cpu, r->task_fds);
	if (ret) {
		perf_explain(ret, config->proc, err);
		err_prefix(err, "events of tasks on CPU %u", r->cpu);
		return ret;
	}
	ring_fd = g_array_index(r->task_fds, int, 0);
	ret = map_ring(ring_fd, task_ring_bytes(config), &r->tasks, locked);
	if (!ret)
		ret = share_ring(r->task_fds, ring_fd);
	for (i = 0; !ret && i < r->task_fds->len; i++)
		ret = perf_enable(g_array_index(r->task_fds, int, i));
	if (ret)
		return err_set(err, -ret, "ring of task events on CPU %u: %s", r->cpu,
			strerror(-ret));
	return 0;
}

int rings_open(const struct rings_config *config, unsigned int cpu, struct rings **out,
	bool *locked, struct err *err)
{
	struct rings *r = g_new0(struct rings, 1);
	unsigned int i;
	int ret;

	r->cpu = cpu;
	r->offcpu_index = -1;
	r->ids = g_array_new(FALSE, FALSE, sizeof(struct rings_id));
	r->task_fds = g_array_new(FALSE, FALSE, sizeof(int));
	for (i = 0; i < config->events.count; i++)
		r->fds[i] = g_array_new(FALSE, FALSE, sizeof(int));
	*locked = false;
	ret = open_samples(config, r, locked, err);
	if (!ret)
		ret = rings_join_only(config, r, err);
	if (!ret)
		ret = open_tasks(config, r, locked, err);
	if (ret) {
		rings_close(config, r);
		return ret;
	}
	*out = r;
	return 0;
}

static void close_fds(GArray *fds)
{
	guint i;

	for (i = 0; i < fds->len; i++)
		close(g_array_index(fds, int, i));
	g_array_free(fds, TRUE);
}

void rings_close(const struct rings_config *config, struct rings *r)
{
	unsigned int i;

	if (!r)
		return;
	if (r->offcpu)
		offcpu_remove_cpu(config->offcpu, r->cpu);
	for (i = 0; i < config->events.count; i++)
		if (r->programs[i])
			samples_remove_cpu(r->programs[i], r->cpu);
	for (i = 0; i < r->count; i++)
		perf_ring_unmap(&r->samples[i].ring);
	perf_ring_unmap(&r->tasks);
	for (i = 0; i < config->events.count; i++)
		close_fds(r->fds[i]);
	close_fds(r->task_fds);
	g_array_free(r->ids, TRUE);
	g_free(r);
}

/* ---- while open ------------------------------------------------------------------------------ */

static int each_fd(const struct rings_config *config, struct rings *r, int (*call)(int fd))
{
	int first = 0, ret;
	unsigned int i;
	guint j;

	for (i = 0; i < config->events.count; i++) {
		for (j = 0; j < r->fds[i]->len; j++) {
			ret = call(g_array_index(r->fds[i], int, j));
			if (ret && !first)
				first = ret;
		}
	}
	return first;
}

int rings_enable(const struct rings_config *config, struct rings *r)
{
	return each_fd(config, r, perf_enable);
}

void rings_disable(const struct rings_config *config, struct rings *r)
{
	each_fd(config, r, perf_disable);
}

uint64_t rings_others(const struct rings *r, unsigned int index)
{
	const uint64_t others = r->only ? only_filter_count_others(r->only, r->cpu, index) : 0;

	return others - MIN(r->others_base[index], others);
}

void rings_reset(const struct rings_config *config, struct rings *r)
{
	struct rings_count count;
	unsigned int i;

	for (i = 0; i < config->events.count; i++) {
		rings_read(r, i, &count);
		r->base[i] = count.base + count.value;
		r->refused_base[i] += rings_refused(r, i);
		r->others_base[i] += rings_others(r, i);
	}
	if (r->offcpu)
		offcpu_count(r->offcpu, r->cpu, &r->offcpu_base);
}

static void add_counts(const GArray *fds, struct rings_count *count)
{
	struct perf_count one;
	guint i;

	for (i = 0; i < fds->len; i++) {
		if (perf_read_count(g_array_index(fds, int, i), &one))
			continue; /* an event in error state counts nothing */
		count->value += one.value;
		if (one.has_lost)
			count->lost += one.lost;
	}
}

/* Of any event but offcpu, since it was created: by programs of perf's events, and by those that sample. */
static uint64_t count_refused(const struct rings *r, unsigned int index)
{
	const uint64_t refused = r->only ? only_filter_count(r->only, r->cpu, index) : 0;

	return refused + (r->programs[index] ? samples_refused(r->programs[index], r->cpu) : 0);
}

void rings_read(const struct rings *r, unsigned int index, struct rings_count *count)
{
	struct offcpu_counts offcpu;

	*count = (struct rings_count){ 0 };
	add_counts(r->fds[index], count);
	if ((int)index == r->offcpu_index) {
		offcpu_count(r->offcpu, r->cpu, &offcpu);
		count->value = offcpu.taken + offcpu.refused; /* perf does not count what a program writes */
	}
	if (r->programs[index])
		count->value = samples_taken(r->programs[index], r->cpu) + count_refused(r, index);
	count->base = MIN(r->base[index], count->value);
	count->value -= count->base;
}

uint64_t rings_refused(const struct rings *r, unsigned int index)
{
	struct offcpu_counts offcpu;
	uint64_t refused = 0;

	if ((int)index == r->offcpu_index) {
		offcpu_count(r->offcpu, r->cpu, &offcpu);
		refused = offcpu.refused;
	} else {
		refused = count_refused(r, index);
	}
	return refused - MIN(r->refused_base[index], refused);
}

bool rings_read_offcpu(const struct rings *r, unsigned int index, struct offcpu_counts *counts)
{
	if ((int)index != r->offcpu_index)
		return false;
	offcpu_count(r->offcpu, r->cpu, counts);
	counts->shorter -= r->offcpu_base.shorter;
	counts->unseen -= r->offcpu_base.unseen;
	return true;
}

uint64_t rings_tasks_lost(const struct rings *r)
{
	struct rings_count count = { 0 };

	add_counts(r->task_fds, &count);
	return count.lost;
}

static bool has_less_id(const void *element, const void *id)
{
	return ((const struct rings_id *)element)->id < *(const uint64_t *)id;
}

int rings_find(const struct rings *r, const struct rings_samples *samples, uint64_t id)
{
	const struct rings_id *ids = (const struct rings_id *)(const void *)r->ids->data;
	size_t at = bisect(ids, r->ids->len, sizeof(*ids), has_less_id, &id);

	return at < r->ids->len && ids[at].id == id ? (int)ids[at].index : samples->unknown;
}
