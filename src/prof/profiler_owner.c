/* SPDX-License-Identifier: MIT */
/* A profiler that is restricted to the tasks of one user: what it refuses. */
#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>

#include "base/units.h"
#include "prof/profiler_state.h"
#include "prof/budget.h"

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
 * about 1 us for those of the kernel and 1 ns for those of the processor. They hold for one event, and for
 * all events of all running sessions of a user together, in which an event counts by the part of its limit.
 */
#define CLOCK_HZ_MAX 10000u
#define SOFTWARE_PERIOD_MIN 100u
#define HARDWARE_PERIOD_MIN 100000u
/* Parts for all its runs: of the descriptors that the server may have, and of the rings of all sessions. */
#define DESCRIPTORS_PART 4
#define RINGS_PART 2
/* No session of an ordinary user raises its prof_qlimit so far that less than this part is left. */
#define OTHERS_PART 4
/* All ordinary users together leave this part of the descriptors and rings for root's sessions. */
#define ROOT_PART 4

static uint64_t least_period(const struct event *event)
{
	if (profiler_is_clock(event))
		return NSEC_PER_SEC / CLOCK_HZ_MAX;
	return event->attr.type == PERF_TYPE_SOFTWARE ? SOFTWARE_PERIOD_MIN : HARDWARE_PERIOD_MIN;
}

/* As samples a second, of which CLOCK_HZ_MAX is the limit. */
static uint64_t load_of(const struct event *event)
{
	const uint64_t rate = event_rate(event);

	return event->attr.freq ? rate : (least_period(event) * CLOCK_HZ_MAX + rate - 1) / MAX(rate, 1);
}

static uint64_t sum_loads(const struct event_list *list)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < list->count; i++)
		sum += load_of(&list->events[i]);
	return sum;
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

/* ---- what all runs of the user take ------------------------------------------------------------ */

static int count_task(void *arg, pid_t tid)
{
	(void)tid;
	++*(uint64_t *)arg;
	return 0;
}

static uint64_t count_descriptors(const struct profiler *p, const struct run_sources *sources)
{
	uint64_t tasks = 0, cpus = 0;

	for (unsigned int cpu = 0; cpu < CPU_NUMBERS; cpu++)
		cpus += profiler_may_sample(p, cpu);
	/* one for each task, where no program refuses the samples of others */
	if (sources->only)
		tasks = 1;
	else
		(void)proc_threads_of(p->paths.proc, p->owner.user.uid, count_task, &tasks);
	return (p->resolved.events.count + 1) * cpus * tasks;
}

/* How many descriptors the server may have. */
static uint64_t descriptor_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) ? UINT64_MAX : (uint64_t)limit.rlim_cur;
}

static int refuse_share(const struct budget_share *wanted, const struct budget_share *left, struct err *err)
{
	if (wanted->rate > left->rate)
		return err_set(err, ENOSPC, "its events count as %" PRIu64 " samples a second, and other "
			"runs of this user leave %" PRIu64 " of %u (mount option user_rates)",
			wanted->rate, left->rate, CLOCK_HZ_MAX);
	if (wanted->descriptors > left->descriptors)
		return err_set(err, ENOSPC, "its events need %" PRIu64 " descriptors, and other runs of this "
			"user, or of all ordinary users, leave %" PRIu64, wanted->descriptors,
			left->descriptors);
	return err_set(err, ENOSPC, "its rings need %" PRIu64 " KB, and other runs of this user, or of all "
		"ordinary users, leave %" PRIu64 ": lower prof_cpubufsz", wanted->rings_kb, left->rings_kb);
}

int profiler_take_share(struct profiler *p, const struct run_sources *sources, struct err *err)
{
	const uint64_t descriptors = descriptor_limit(), rings_kb = budget_total_kb(p->budget);
	const struct budget_limits limits = {
		.user = { .rate = p->owner.any_rate ? UINT64_MAX : CLOCK_HZ_MAX,
			.descriptors = descriptors / DESCRIPTORS_PART, .rings_kb = rings_kb / RINGS_PART },
		.all = { .rate = UINT64_MAX, .descriptors = descriptors - descriptors / ROOT_PART,
			.rings_kb = rings_kb - rings_kb / ROOT_PART } };
	struct budget_share wanted = { .rings_kb = p->rings_kb }, left;

	if (!p->owner.is_restricted)
		return 0;
	wanted.rate = sum_loads(&p->resolved.events);
	wanted.descriptors = count_descriptors(p, sources);
	if (!budget_change_user(p->budget, p->owner.user.uid, &limits, &p->share, &wanted, &left))
		return refuse_share(&wanted, &left, err);
	p->share = wanted;
	return 0;
}

void profiler_return_share(struct profiler *p)
{
	if (!p->owner.is_restricted)
		return;
	budget_return_user(p->budget, p->owner.user.uid, &p->share);
	p->share = (struct budget_share){ 0 };
}

int profiler_check_qlimit(const struct profiler *p, uint64_t kb, struct err *err)
{
	const uint64_t left_kb = budget_left_kb(p->budget, BUDGET_CAPTURES) + p->captured_kb;
	const uint64_t others_kb = budget_total_kb(p->budget) / OTHERS_PART;

	if (!p->owner.is_restricted || kb <= p->captured_kb || kb + others_kb <= left_kb)
		return 0;
	return err_set(err, ENOSPC, "%" PRIu64 " KB are left for the prof_qlimit of a session of an ordinary "
		"user: %" PRIu64 " stay for other users", left_kb > others_kb ? left_kb - others_kb : 0,
		others_kb);
}

/* ---- events ------------------------------------------------------------------------------------ */

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
	if (!ret && p->owner.is_restricted && !p->owner.any_rate && sum_loads(list) > CLOCK_HZ_MAX)
		ret = err_set(err, EPERM, "these events count as %" PRIu64 " samples a second together, and "
			"all of a user may count as %u (mount option user_rates)", sum_loads(list),
			CLOCK_HZ_MAX);
	return ret;
}
