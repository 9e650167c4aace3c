/* SPDX-License-Identifier: MIT */
/* What the events of a run need besides perf: programs in the kernel, and a cgroup. Control thread only. */
#include <errno.h>
#include <unistd.h>

#include "prof/profiler_state.h"
#include "prof/budget.h"
#include "sys/cgroup.h"

/* Frames of the scheduler in a stack of the kernel, which are left out: room for them. */
#define SCHEDULER_FRAMES 6u

/*
 * The programs that report when tasks are away from the CPU; none if no event needs them. What they need
 * is refused here, before anything of the run exists.
 */
static int open_offcpu(const struct profiler *p, struct offcpu **out, struct err *err)
{
	const struct profiler_settings *settings = &p->settings;
	const struct event *event = events_offcpu(&p->resolved.events);
	struct offcpu_options options;
	int ret;

	*out = NULL;
	if (!event)
		return 0;
	options = (struct offcpu_options){
		.min_ns = event->away.min_ns,
		.waker = event->away.waker,
		.user = settings->stack_user || settings->stack_dwarf,
		.depth = (settings->stack_kernel ? settings->depth : 1) + SCHEDULER_FRAMES,
		.only = settings->only,
	};
	if (!budget_take_offcpu(p->budget))
		return err_set(err, EBUSY,
			"%u sessions sample times away from the CPU (offcpu, wall) already: each slows "
			"all switches of tasks", BUDGET_OFFCPU_RUNS);
	ret = offcpu_open(&options, p->paths.proc, out, err);
	if (ret)
		budget_return_offcpu(p->budget);
	return ret;
}

/* What checks `only`. Its cgroups may have been made anew since the word was written. */
static int open_only(const struct profiler *p, struct run_sources *sources, struct err *err)
{
	struct only *only = p->settings.only;
	int ret = only_find_cgroups(only, err);

	if (!ret)
		ret = profiler_only_fits(only, &p->resolved.events, err);
	if (ret)
		return ret;
	if (profiler_only_by_cgroup(only)) {
		ret = cgroup_open(NULL, only_cgroup(only), &sources->cgroup_fd, err);
		sources->in_cgroup = !ret;
		return ret;
	}
	ret = only_filter_open(p->resolved.events.count, NULL, &sources->only, err);
	if (!ret)
		ret = only_filter_set(sources->only, only, err);
	return ret ? ret : only_points_open(&p->resolved.events, sources->only, only, &sources->points, err);
}

/* The programs that refuse samples of others than the owner; the kernel's events for cgroups would not. */
static int open_own(const struct profiler *p, struct run_sources *sources, struct err *err)
{
	int ret = only_filter_open(p->resolved.events.count, &p->owner.user, &sources->only, &sources->why);

	/* without programs the kernel chooses, for each task that the user has */
	if (ret && p->settings.only)
		return err_set(err, -ret, "%s", sources->why.text);
	if (!p->settings.only)
		return 0;
	ret = only_find_cgroups(p->settings.only, err);
	return ret ? ret : only_filter_set(sources->only, p->settings.only, err);
}

int profiler_open_sources(struct profiler *p, struct run_sources *sources, struct err *err)
{
	int ret = p->owner.is_restricted ? open_own(p, sources, err) : open_offcpu(p, &sources->offcpu, err);

	if (!ret && p->settings.only && !p->owner.is_restricted)
		ret = open_only(p, sources, err);
	return ret ? ret : profiler_choose_programs(p, p->settings.only, err);
}

void profiler_close_sources(const struct profiler *p, struct run_sources *sources)
{
	if (sources->offcpu) {
		offcpu_close(sources->offcpu);
		budget_return_offcpu(p->budget);
	}
	only_points_close(sources->points);
	only_filter_close(sources->only);
	if (sources->in_cgroup)
		close(sources->cgroup_fd);
}
