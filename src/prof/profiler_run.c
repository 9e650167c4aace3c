/* SPDX-License-Identifier: MIT */
/*
 * Starts and stops runs, and follows CPUs that go online and offline. Control thread only; members
 * that other threads read are changed under profiler.lock.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/trim.h"
#include "base/units.h"
#include "prof/profiler_state.h"
#include "sys/clock.h"

/*
 * `stack dwarf`: how much of a user stack is copied with each sample: perf's default. It bounds
 * the cost of a sample; frames above it cannot be unwound.
 */
#define STACK_COPIED_MAX (8u * KIB)
/* A ring has room for at least this many of them, whatever its size. */
#define STACKS_IN_RING_MIN 4

/* ---- events of a run -------------------------------------------------------------------------- */

/* Notes the scope of this run in the EVENT records. */
static void mark_scope(struct profiler *p, const struct rings_config *config)
{
	static const uint32_t flags[SCOPE_COUNT] = {
		[SCOPE_USER] = KPROF_EVENT_SCOPE_USER,
		[SCOPE_OWN] = KPROF_EVENT_SCOPE_OWN,
		[SCOPE_FILTERED] = KPROF_EVENT_SCOPE_OWN,
	};
	unsigned int i;

	for (i = 0; i < config->events.count; i++) {
		struct known_event *known =
			&g_array_index(p->known, struct known_event, config->numbers[i] - 1);

		known->was_run = true;
		known->scope = config->scope;
		known->flags = known->event.flags | flags[config->scope];
		/* a clock goes on while the CPU is idle or in the kernel, where a user has no samples */
		if (!profiler_fixed_period(&known->event, config->scope) ||
			(config->scope == SCOPE_FILTERED && profiler_is_clock(&known->event)))
			known->due_unknown = true;
		/* the kernel's count is of all users, or of all time, and no part of it is known */
		if (known->due_unknown && config->scope == SCOPE_FILTERED)
			known->count_unknown = true;
	}
	atomic_add_relaxed(&p->header_stamp, 1);
}

static bool is_wanted(const struct profiler *p, unsigned int cpu)
{
	return p->settings.all_cpus || cpu_in_bitmap(p->settings.cpus, cpu);
}

/* ---- the walk of /proc ----------------------------------------------------------------------- */

/*
 * What an orphan forks before it is visited is an orphan too, and is known at the next drain. If
 * a few rounds are not enough, processes begin faster than they can be visited.
 */
#define ORPHAN_ROUNDS 8

/* Only this many processes that began after the walk and cannot be read are waited for. */
#define HANGING_MAX 1

/* The run begins without the names of what runs already. */
static void note_helper(struct err *err)
{
	const struct err before = err ? *err : (struct err){ "" };

	err_set(err, 0, "%s; kprof-symbols can't be started: programs that run already have no names, and "
			"functions have none", before.text[0] ? before.text : "started");
}

/*
 * -EINTR if a start is interrupted; all other errors leave names out, but no samples. An
 * interrupt that comes after the start must not end a later walk.
 */
static int walk_proc(struct profiler *p, struct run *run, struct err *err)
{
	const _Atomic bool *stop = p->run ? NULL : &p->interrupted;
	unsigned int round, orphans = 1, hanging = 0;
	int ret = taskreader_walk(p->reader, stop);
	uint32_t pid;

	for (round = 0; ret != -ECANCELED && orphans && round < ORPHAN_ROUNDS; round++) {
		/* finds processes that began after the walk while their parents are still known */
		sampler_drain(run->sampler, false);
		for (orphans = 0; ret != -ECANCELED && tasks_take_orphan(p->tasks, &pid); orphans++) {
			if (hanging < HANGING_MAX)
				ret = taskreader_visit(p->reader, pid, stop);
			else
				taskreader_visit_later(p->reader, pid);
			hanging += ret == -ETIMEDOUT;
		}
	}
	if (ret == -EIO && !taskreader_can_read(p->reader))
		note_helper(err);
	return ret == -ECANCELED ? err_set(err, EINTR, "interrupted") : 0;
}

/* ---- CPUs of a run --------------------------------------------------------------------------- */

/* Drains the CPU, adds what its descriptors counted, and closes them. */
static void leave_cpu(struct profiler *p, struct run *run, unsigned int cpu)
{
	struct rings *rings;

	pthread_mutex_lock(&p->lock);
	rings = sampler_remove(run->sampler, cpu);
	cpu_clear_in_bitmap(run->cpus, cpu);
	profiler_add_counts(run, rings, cpu, &p->counts);
	pthread_mutex_unlock(&p->lock);
	rings_close(&run->config, rings);
}

static void add_cpu(struct profiler *p, struct run *run, struct rings *rings)
{
	pthread_mutex_lock(&p->lock);
	sampler_add(run->sampler, rings);
	cpu_set_in_bitmap(run->cpus, rings->cpu);
	pthread_mutex_unlock(&p->lock);
}

void profiler_cpus_changed(struct profiler *p)
{
	unsigned char online[CPU_BITMAP_BYTES];
	struct run *run = p->run;
	bool walk = false, locked;
	struct rings *rings;
	unsigned int cpu;

	if (!run)
		return;
	if (p->programs_only && !profiler_has_programs(p)) {
		profiler_stop(p, NULL);
		return;
	}
	profiler_online_cpus(p, online);
	for (cpu = 0; cpu < CPU_NUMBERS; cpu++) {
		const bool went = sampler_take_offline(run->sampler, cpu);

		if (cpu_in_bitmap(run->cpus, cpu) && (went || !cpu_in_bitmap(online, cpu)))
			leave_cpu(p, run, cpu);
		if (!cpu_in_bitmap(run->cpus, cpu) && cpu_in_bitmap(online, cpu) &&
			is_wanted(p, cpu) &&
			!rings_open(&run->config, cpu, &rings, &locked, NULL)) {
			add_cpu(p, run, rings);
			rings_enable(&run->config, rings);
			walk = true;
		}
	}
	if (sampler_take_tasks_lost(run->sampler)) {
		if (p->owner.is_restricted)
			tasks_confirm(p->tasks, clock_monotonic_ns());
		tasks_doubt(p->tasks);
		walk = true;
	}
	if (walk)
		walk_proc(p, run, NULL);
	p->hooks.data_ready(p->hooks.arg);
}

/* ---- start ----------------------------------------------------------------------------------- */

/* Its sources are the caller's, unless the run began. */
static void free_run(struct run *run)
{
	sampler_destroy(run->sampler);
	for (unsigned int i = 0; i < run->config.events.count; i++)
		samples_put(run->config.programs[i]);
	g_free(run);
}

static int explain_locked(const struct rings_config *config, struct err *err)
{
	const uint64_t fits = rings_fitting_kb(config);

	if (fits)
		return err_set(err, EPERM,
			"rings of %zu KiB a CPU are beyond kernel.perf_event_mlock_kb and RLIMIT_MEMLOCK; "
			"prof_cpubufsz %" PRIu64 " would fit", config->ring_bytes / 1024, fits);
	return err_set(err, EPERM,
		"no ring fits kernel.perf_event_mlock_kb and RLIMIT_MEMLOCK: raise one of them");
}

/*
 * Opens the events on every CPU of the setting that is online, disabled. -EPERM with *locked:
 * permission is given, but memory for rings is missing.
 */
static int open_cpus(struct profiler *p, struct run *run, bool *locked, struct err *err)
{
	unsigned char online[CPU_BITMAP_BYTES];
	unsigned int cpu, opened = 0;
	struct rings *rings;
	int ret;

	*locked = false;

	profiler_online_cpus(p, online);
	for (cpu = 0; cpu < CPU_NUMBERS; cpu++) {
		if (!cpu_in_bitmap(online, cpu) || !is_wanted(p, cpu))
			continue;
		ret = rings_open(&run->config, cpu, &rings, locked, err);
		if (ret == -ENODEV)
			continue; /* went offline meanwhile */
		if (*locked)
			return explain_locked(&run->config, err);
		if (ret)
			return ret;
		add_cpu(p, run, rings);
		opened++;
	}
	return opened ? 0 : err_set(err, ENODEV,
		"none of the CPUs is online: choose others with the word `cpus`");
}

static bool has_wakers(const struct event_list *events)
{
	bool has = false;

	for (unsigned int i = 0; i < events->count; i++)
		has |= events->events[i].away.waker;
	return has;
}

static struct run *create_run(struct profiler *p, enum scope scope, const struct run_sources *sources)
{
	struct run *run = g_new0(struct run, 1);

	run->config = p->resolved;
	run->config.points = sources->points;
	for (unsigned int i = 0; i < run->config.events.count; i++) {
		if (!run->config.programs[i])
			run->config.programs[i] = only_points_samples(sources->points, i);
		if (run->config.programs[i])
			samples_get(run->config.programs[i]);
	}
	run->config.scope = scope;
	run->config.offcpu = sources->offcpu;
	run->config.only = sources->only;
	run->config.hides_tasks = run->config.is_users = p->owner.is_restricted;
	run->config.user = p->owner.user;
	run->config.in_cgroup = sources->in_cgroup;
	run->config.cgroup_fd = sources->cgroup_fd;
	run->config.stack_kernel = p->settings.stack_kernel;
	run->config.stack_user = p->settings.stack_user;
	run->config.depth = p->settings.depth;
	run->config.ring_bytes = p->settings.cpubufsz_kb * KIB;
	if (p->settings.stack_dwarf) {
		run->config.stack_copied = (uint32_t)MIN(STACK_COPIED_MAX,
			run->config.ring_bytes / STACKS_IN_RING_MIN);
		/*
		 * relaxed: a reader that finds a sample of the run, under the capture's lock,
		 * reads true
		 */
		atomic_write_relaxed(&p->stacks_copied, true);
	}
	if (has_wakers(&run->config.events))
		atomic_write_relaxed(&p->has_wakers, true);
	run->config.proc = p->paths.proc;
	run->sampler = sampler_create(&run->config, p->capture, p->tasks, &p->hooks);
	return run;
}

static void copy_err(struct err *err, const struct err *from)
{
	if (err)
		*err = *from;
}

/*
 * The narrowest scope that a run may have. BPF programs see all tasks, and users for whose sake there are
 * narrower scopes may not load them. Events for a cgroup can't be restricted to a task as well.
 */
static enum scope last_scope(const struct profiler *p, const struct run_sources *sources)
{
	bool has_programs = sources->offcpu || sources->points;

	for (unsigned int i = 0; i < p->resolved.events.count; i++)
		has_programs |= p->resolved.programs[i] != NULL;
	return has_programs ? SCOPE_MACHINE : sources->in_cgroup ? SCOPE_USER : SCOPE_OWN;
}

bool profiler_may_sample(const struct profiler *p, unsigned int cpu)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);

	return cpu < (unsigned long)MAX(cpus, 0) && is_wanted(p, cpu);
}

/*
 * Takes the rings of a run from the budget, in place of those that it has taken for the run before it: those
 * of each configured CPU of the setting, since CPUs may go online later.
 */
static int take_rings(struct profiler *p, struct err *err)
{
	uint64_t kb = 0;

	for (unsigned int cpu = 0; cpu < CPU_NUMBERS; cpu++)
		if (profiler_may_sample(p, cpu))
			kb += rings_of_cpu(&p->resolved) * p->settings.cpubufsz_kb;
	/* the rings of one run alone may be more, but not an ordinary user's: many CPUs on little memory */
	if (!p->owner.is_restricted)
		kb = MIN(kb, budget_total_kb(p->budget));
	if (!budget_change(p->budget, BUDGET_RINGS, p->rings_kb, kb))
		return err_set(err, ENOSPC, "the rings of this run need %" PRIu64 " KB, and those of other "
			"sessions leave %" PRIu64 ": lower prof_cpubufsz", kb,
			budget_left_kb(p->budget, BUDGET_RINGS) + p->rings_kb);
	p->rings_kb = kb;
	return 0;
}

static void return_rings(struct profiler *p)
{
	budget_return(p->budget, BUDGET_RINGS, p->rings_kb);
	p->rings_kb = 0;
	profiler_return_share(p);
}

/* A start that succeeds is no refusal, so the sentence begins with what is done. */
static void note_scope(enum scope scope, const char *reason, struct err *err)
{
	static const char *const extents[SCOPE_COUNT] = {
		[SCOPE_USER] = "user space of all processes",
		[SCOPE_OWN] = "user space of your own processes",
	};

	err_set(err, 0, "started with scope %s, %s; no wider one: %s", scope_name(scope), extents[scope],
		reason);
}

/* A run of the tasks of one user: programs refuse all others, or only that user's have events. */
static int open_own(struct profiler *p, const struct run_sources *sources, struct run **out, struct err *err)
{
	struct run *run = create_run(p, sources->only ? SCOPE_FILTERED : SCOPE_OWN, sources);
	bool locked;
	int ret = open_cpus(p, run, &locked, err);

	if (ret) {
		free_run(run);
		return ret;
	}
	*out = run;
	if (!sources->only)
		err_set(err, 0, "started with scope own-user, for the processes that the user has now and "
			"those that they start: %s", sources->why.text);
	return 0;
}

/* The widest scope that the kernel allows. *err has the reason why the wider ones failed. */
static int try_scopes(struct profiler *p, const struct run_sources *sources, struct run **out,
	struct err *err)
{
	struct err first = { "" }, why;
	enum scope scope;
	int ret = -EACCES;

	for (scope = SCOPE_MACHINE; scope <= last_scope(p, sources); scope++) {
		struct run *run = create_run(p, scope, sources);
		bool locked;

		why.text[0] = 0;
		ret = open_cpus(p, run, &locked, &why);
		if (!ret) {
			if (scope != SCOPE_MACHINE)
				note_scope(scope, first.text, err);
			*out = run;
			return 0;
		}
		free_run(run);
		if (locked || (ret != -EACCES && ret != -EPERM)) {
			copy_err(err, &why);
			return ret;
		}
		if (!first.text[0])
			first = why;
	}
	copy_err(err, &first);
	return -EACCES;
}

static void enable_run(struct profiler *p, struct run *run)
{
	unsigned int cpu;

	profiler_times_begin(p);
	pthread_mutex_lock(&p->lock);
	mark_scope(p, &run->config);
	pthread_mutex_unlock(&p->lock);
	profiler_keep_header(p);
	for (cpu = 0; cpu < CPU_NUMBERS; cpu++)
		if (cpu_in_bitmap(run->cpus, cpu))
			rings_enable(&run->config, sampler_rings(run->sampler, cpu));
	pthread_mutex_lock(&p->lock);
	p->run = run;
	p->since_ns = clock_monotonic_ns();
	atomic_write_release(&p->running, true);
	pthread_mutex_unlock(&p->lock);
	p->hooks.data_ready(p->hooks.arg);
}

/*
 * Between two runs perf reports nothing about processes: what was known of them counts again only when the
 * walk of /proc that follows has confirmed it.
 */
static void forget_processes(struct profiler *p)
{
	const uint64_t now_ns = clock_monotonic_ns();

	tasks_lose(p->tasks, 0, now_ns);
	tasks_confirm(p->tasks, now_ns);
}

static void leave_users(struct profiler *p)
{
	if (p->hooks.userwatch)
		userwatch_leave(p->hooks.userwatch, p->tasks);
}

static int open_run(struct profiler *p, struct err *err)
{
	const struct events_paths paths = { .proc = p->paths.proc };
	struct run_sources sources = { .offcpu = NULL };
	struct run *run;
	int ret;

	taskreader_begin(p->reader);
	ret = profiler_resolve(p, err);
	if (!ret)
		ret = take_rings(p, err);
	if (!ret)
		ret = events_fit(&p->resolved.events, &paths, err);
	if (!ret)
		ret = profiler_open_sources(p, &sources, err);
	if (!ret)
		ret = profiler_take_share(p, &sources, err);
	if (!ret)
		ret = p->owner.is_restricted ? open_own(p, &sources, &run, err) :
			try_scopes(p, &sources, &run, err);
	if (ret) {
		profiler_close_sources(p, &sources);
		taskreader_stop(p->reader);
		return ret;
	}
	if (!p->owner.is_restricted)
		profiler_describe_kernel(p);
	if (p->owner.is_restricted)
		forget_processes(p);
	/* before the walk, which alone tells users where the kernel reports no changes */
	if (p->hooks.userwatch)
		(void)userwatch_listen(p->hooks.userwatch, p->tasks);
	tasks_begin_walk(p->tasks);
	ret = sampler_start(run->sampler, err);
	if (!ret)
		ret = walk_proc(p, run, err);
	if (!ret && sources.offcpu)
		ret = offcpu_attach(sources.offcpu, err);
	if (!ret && sources.points)
		ret = only_points_attach(sources.points, err);
	if (ret) {
		leave_users(p);
		taskreader_stop(p->reader);
		free_run(run);
		profiler_close_sources(p, &sources);
		return ret;
	}
	taskreader_start(p->reader);
	tasks_end_walk(p->tasks, clock_monotonic_ns());
	enable_run(p, run);
	return 0;
}

int profiler_refuse_held(const struct profiler *p, struct err *err)
{
	if (atomic_read_relaxed(&p->saved_other_boot))
		return err_set(err, EBUSY, "what is held was captured before this machine was booted: "
			"`snapshot NAME` keeps it, `clear` makes room");
	return profiler_refuse_loaded(p, err);
}

int profiler_begin_run(struct profiler *p, struct err *err)
{
	int ret;

	atomic_write_relaxed(&p->interrupted, false);
	ret = profiler_refuse_held(p, err);
	if (ret)
		return ret;
	ret = open_run(p, err);
	if (ret)
		return_rings(p);
	return ret;
}

void profiler_interrupt(struct profiler *p)
{
	atomic_write_relaxed(&p->interrupted, true);
	taskreader_interrupt(p->reader);
}

/*
 * When a command returns, the build-ids of mapped files are known if they take no longer: each
 * takes less than a ms, unless its file is on a disk that is suspended.
 */
#define BUILD_IDS_NS (300 * NSEC_PER_MSEC)

/* ---- stop, flush, clear ---------------------------------------------------------------------- */

void profiler_end_run(struct profiler *p)
{
	struct run *run = p->run;
	struct run_sources sources = { .offcpu = run->config.offcpu, .only = run->config.only,
		.points = run->config.points, .in_cgroup = run->config.in_cgroup,
		.cgroup_fd = run->config.cgroup_fd };
	unsigned int cpu;

	for (cpu = 0; cpu < CPU_NUMBERS; cpu++)
		if (cpu_in_bitmap(run->cpus, cpu))
			rings_disable(&run->config, sampler_rings(run->sampler, cpu));
	profiler_times_end(p);
	sampler_stop(run->sampler);
	sampler_drain(run->sampler, true);
	leave_users(p);
	taskreader_wait(p->reader, BUILD_IDS_NS);
	taskreader_stop(p->reader);
	for (cpu = 0; cpu < CPU_NUMBERS; cpu++)
		if (cpu_in_bitmap(run->cpus, cpu))
			leave_cpu(p, run, cpu);
	pthread_mutex_lock(&p->lock);
	profiler_add_stats(run, &p->past, p->past_cpus);
	for (unsigned int i = 0; i < run->config.events.count; i++)
		p->points_missed[run->config.numbers[i] - 1] = only_points_missed(sources.points, i);
	p->offcpu_missed = sources.offcpu ? offcpu_missed(sources.offcpu) : 0;
	p->run = NULL;
	p->since_ns = clock_monotonic_ns();
	if (!p->restarting)
		atomic_write_release(&p->running, false);
	pthread_mutex_unlock(&p->lock);
	free_run(run);
	if (!p->restarting)
		return_rings(p);
	profiler_close_sources(p, &sources);
	profiler_keep_header(p);
	p->hooks.data_ready(p->hooks.arg);
}

int profiler_stop(struct profiler *p, struct err *err)
{
	(void)err;
	if (p->run)
		profiler_end_run(p);
	p->programs_only = false;
	return 0;
}

int profiler_flush(struct profiler *p, struct err *err)
{
	(void)err;
	if (!p->run)
		return 0;
	sampler_drain(p->run->sampler, false);
	taskreader_wait(p->reader, BUILD_IDS_NS);
	atomic_add_relaxed(&p->header_stamp, 1); /* readers get the times of the CPUs until now */
	return 0;
}

int profiler_clear(struct profiler *p, struct err *err)
{
	(void)err;
	/* at once for kpstat: records, totals and the start of counting */
	pthread_mutex_lock(&p->lock);
	if (p->run) {
		sampler_clear(p->run->sampler);
	} else {
		capture_clear(p->capture);
		atomic_write_release(&p->loaded, false);
		/* stopped and nothing held: the tasks are not needed */
		tasks_clear(p->tasks);
	}
	atomic_write_relaxed(&p->has_wakers, p->run && has_wakers(&p->run->config.events));
	tally_clear(&p->counts);
	p->past = (struct sampler_stats){ 0 };
	g_hash_table_remove_all(p->past_cpus);
	if (p->saved.used)
		atomic_add_relaxed(&p->header_stamp, 1);
	record_buf_fini(&p->saved);
	record_buf_init(&p->saved);
	pthread_mutex_unlock(&p->lock);
	profiler_times_clear(p);
	if (!p->run)
		profiler_renumber(p);
	(void)budget_change(p->budget, BUDGET_CAPTURES, p->captured_kb, p->settings.qlimit_kb); /* no more */
	p->captured_kb = p->settings.qlimit_kb;
	trim_memory();
	atomic_write_relaxed(&p->saved_other_boot, false);
	profiler_keep_header(p);
	p->hooks.data_ready(p->hooks.arg);
	return 0;
}
