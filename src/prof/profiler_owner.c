/* SPDX-License-Identifier: MIT */
/* A profiler that is restricted to the tasks of one user: what it refuses. */
#include <errno.h>
#include <inttypes.h>

#include "base/units.h"
#include "prof/profiler_state.h"

void profiler_restrict(struct profiler *p, uid_t uid, gid_t gid, bool any_rate)
{
	p->owner.is_restricted = true;
	p->owner.any_rate = any_rate;
	p->owner.user = (struct sample_user){ .uid = uid, .gid = gid };
	/* `dwarf`, which an image may have, copies stacks of user space only */
	if (!p->settings.stack_dwarf)
		p->settings.stack_kernel = false;
	tasks_hide(p->tasks);
}

int profiler_check_own(const struct profiler *p, const char *what, struct err *err)
{
	if (!p->owner.is_restricted)
		return 0;
	return err_set(err, EPERM, "a session of an ordinary user samples programs of that user only, in "
		"user space: %s", what);
}

/* Events that count for a task on the CPU that it runs on, whose samples are of that task. */
static bool is_of_task(const struct event *event)
{
	switch (event->attr.type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		return true;
	case PERF_TYPE_SOFTWARE:
		return event->attr.config != PERF_COUNT_SW_BPF_OUTPUT;
	}
	return false;
}

/*
 * Samples of others are taken before they are refused, so each event of a user costs all up to 1 us: the
 * limits keep that below 1 % of a CPU for clocks, and of the time that the event itself takes for the others,
 * about 1 us for those of the kernel and 1 ns for those of the processor.
 */
#define CLOCK_HZ_MAX 10000u
#define SOFTWARE_PERIOD_MIN 100u
#define HARDWARE_PERIOD_MIN 100000u

static bool is_clock(const struct event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE && (event->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
		event->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

static uint64_t least_period(const struct event *event)
{
	if (is_clock(event))
		return NSEC_PER_SEC / CLOCK_HZ_MAX;
	return event->attr.type == PERF_TYPE_SOFTWARE ? SOFTWARE_PERIOD_MIN : HARDWARE_PERIOD_MIN;
}

static int check_rate(const struct profiler *p, const struct event *event, struct err *err)
{
	const uint64_t rate = event_rate(event), least = least_period(event);

	if (!p->owner.is_restricted || p->owner.any_rate)
		return 0;
	if (event->attr.freq && rate > CLOCK_HZ_MAX)
		return err_set(err, EPERM, "a session of an ordinary user takes at most %u samples a second "
			"(mount option user_rates)", CLOCK_HZ_MAX);
	if (!event->attr.freq && rate < least)
		return err_set(err, EPERM, "the least period of this event in a session of an ordinary user "
			"is %" PRIu64 " (mount option user_rates)", least);
	return 0;
}

static int check_event(const struct profiler *p, const struct event *event, struct err *err)
{
	int ret = 0;

	if (event->away.source != EVENT_PERF)
		ret = profiler_check_own(p, "no switches of tasks (offcpu, wall)", err);
	else if (event->attr.type == PERF_TYPE_TRACEPOINT)
		ret = profiler_check_own(p, "no tracepoints", err);
	else if (!is_of_task(event))
		ret = profiler_check_own(p, "no events of other parts of the machine than CPUs", err);
	else if (event->attr.exclude_user)
		ret = profiler_check_own(p, "no events of the kernel only", err);
	/* the processor stores such samples before it interrupts, possibly in another task */
	else if (event->attr.precise_ip)
		ret = profiler_check_own(p, "no precise events", err);
	else
		ret = check_rate(p, event, err);
	if (ret)
		err_prefix(err, "event %s", event->text);
	return ret;
}

int profiler_check_events(const struct profiler *p, const struct event_list *list, struct err *err)
{
	int ret = 0;

	for (unsigned int i = 0; i < list->count && !ret; i++)
		ret = check_event(p, &list->events[i], err);
	return ret;
}
