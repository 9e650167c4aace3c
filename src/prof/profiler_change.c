/* SPDX-License-Identifier: MIT */
/*
 * Changes of a run that goes on: `only`, and the events of programs of probes/. Control thread only; members
 * that other threads read are changed under profiler.lock.
 */
#include <errno.h>
#include <string.h>

#include "prof/profiler_state.h"

/* ---- a run ends and another one begins --------------------------------------------------------- */

/* Other events from now on: for readers of kpdata the run goes on. */
static int restart(struct profiler *p, bool programs_only, struct err *err)
{
	int ret;

	p->restarting = true;
	profiler_end_run(p);
	p->restarting = false;
	p->programs_only = programs_only;
	ret = profiler_begin_run(p, err);
	if (!ret)
		return 0;
	atomic_write_release(&p->running, false);
	p->hooks.data_ready(p->hooks.arg);
	return ret;
}

/* After a failure: the run that there was, if that is still possible. */
static void restore(struct profiler *p, bool programs_only)
{
	p->programs_only = programs_only;
	if (profiler_begin_run(p, NULL))
		p->programs_only = false;
}

int profiler_start(struct profiler *p, struct err *err)
{
	int ret;

	if (!p->run)
		return profiler_begin_run(p, err);
	if (!p->programs_only)
		return 0;
	ret = restart(p, false, err);
	if (ret)
		restore(p, true);
	return ret;
}

/* ---- only ------------------------------------------------------------------------------------- */

bool profiler_only_by_cgroup(const struct only *only)
{
	return only_cgroup(only) && only_filter_try(only, NULL);
}

int profiler_only_fits(const struct only *only, const struct event_list *events, struct err *err)
{
	struct err why = { "" };
	const int ret = only_filter_try(only, &why);

	if (!ret)
		return only_points_try(events, only, err);
	/* without programs the kernel's events for cgroups, by which offcpu can't be filtered */
	if (only_cgroup(only) && !events_offcpu(events))
		return 0;
	return err_set(err, only_cgroup(only) ? EOPNOTSUPP : -ret, "%s", why.text);
}

/* Gives programs to the perf events of all CPUs, which had none so far. */
static int join_filter(struct profiler *p, const struct only *only, struct err *err)
{
	struct run *run = p->run;
	struct only_filter *filter;
	unsigned int cpu;
	int ret = only_filter_open(run->config.events.count, NULL, &filter, err);

	if (ret)
		return ret;
	ret = only_filter_set(filter, only, err);
	if (ret) {
		only_filter_close(filter);
		return ret;
	}
	pthread_mutex_lock(&p->lock);
	run->config.only = filter;
	for (cpu = 0; !ret && cpu < CPU_NUMBERS; cpu++)
		if (cpu_in_bitmap(run->cpus, cpu))
			ret = rings_join_only(&run->config, sampler_rings(run->sampler, cpu), err);
	pthread_mutex_unlock(&p->lock);
	return ret;
}

/* Whether the run must be another one, whose events are opened in another way. */
static bool needs_other_run(const struct run *run, const struct only *only)
{
	return run->config.offcpu || run->config.in_cgroup || only_points_any(&run->config.events) ||
		(only && profiler_only_by_cgroup(only));
}

/* settings.only is the new one. */
static int change_run(struct profiler *p, const struct only *only, struct err *err)
{
	int ret;

	if (needs_other_run(p->run, only))
		return restart(p, p->programs_only, err);
	ret = profiler_choose_programs(p, only, err);
	if (ret)
		return ret;
	if (p->run->config.only)
		return only_filter_set(p->run->config.only, only, err);
	if (!only)
		return 0;
	return join_filter(p, only, NULL) ? restart(p, p->programs_only, err) : 0;
}

static void set_only(struct profiler *p, struct only *only)
{
	pthread_mutex_lock(&p->lock);
	p->settings.only = only;
	pthread_mutex_unlock(&p->lock);
}

int profiler_set_only(struct profiler *p, const char *text, struct err *err)
{
	struct only *only = NULL, *before = p->settings.only;
	const bool programs_only = p->programs_only;
	int ret = strcmp(text, "all") ? only_create(text, p->paths.proc, &only, err) : 0;

	if (!ret && only)
		ret = p->owner.is_restricted ? only_filter_try(only, err)
					     : profiler_only_fits(only, &p->settings.events, err);
	if (ret) {
		only_destroy(only);
		return ret;
	}
	set_only(p, only);
	ret = p->run ? change_run(p, only, err) : 0;
	if (ret) {
		set_only(p, before);
		if (p->run)
			(void)profiler_choose_programs(p, before, NULL);
		else
			restore(p, programs_only);
	}
	only_destroy(ret ? only : before);
	return ret;
}

/* ---- programs of probes/ ---------------------------------------------------------------------- */

static bool run_has_program(const struct profiler *p, const struct program_event *program)
{
	for (unsigned int i = 0; i < p->run->config.events.count; i++)
		if (p->run->config.programs[i] == program->samples)
			return true;
	return false;
}

int profiler_add_program(struct profiler *p, const char *text, const struct samples **samples,
	struct err *err)
{
	struct program_event *program = profiler_check_own(p, "no samples of programs of probes/", err)
		? NULL : profiler_program(p, text, err);
	const bool runs = p->run != NULL, programs_only = p->programs_only;
	int ret = 0;

	if (!program)
		return p->owner.is_restricted ? -EPERM : -EOPNOTSUPP;
	pthread_mutex_lock(&p->lock);
	program->users++;
	pthread_mutex_unlock(&p->lock);
	if (!runs) {
		p->programs_only = true;
		ret = profiler_begin_run(p, err);
		p->programs_only = !ret;
	} else if (!run_has_program(p, program)) {
		ret = restart(p, programs_only, err);
	} else {
		ret = only_steps_set(program->steps, p->settings.only, err);
	}
	*samples = program->samples;
	if (!ret)
		return 0;
	profiler_remove_program(p, text);
	if (runs)
		restore(p, programs_only);
	return ret;
}
