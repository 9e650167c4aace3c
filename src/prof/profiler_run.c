/* SPDX-License-Identifier: MIT */
/*
 * Starts and stops runs, and follows CPUs that go online and offline. Control thread only; members
 * that other threads read are changed under profiler.lock.
 */
#include <errno.h>
#include <malloc.h>
#include <string.h>

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

/* Frames of the scheduler in a stack of the kernel, which are left out: room for them. */
#define SCHEDULER_FRAMES 6u

/* ---- events of a run -------------------------------------------------------------------------- */

/* Notes the scope of this run in the EVENT records. */
static void mark_scope(struct profiler *p, const struct rings_config *config)
{
	static const uint32_t flags[SCOPE_COUNT] = {
		[SCOPE_USER] = KPROF_EVENT_SCOPE_USER,
		[SCOPE_OWN] = KPROF_EVENT_SCOPE_OWN,
	};
	unsigned int i;

	for (i = 0; i < config->events.count; i++) {
		struct known_event *known =
			&g_array_index(p->known, struct known_event, config->numbers[i] - 1);

		known->was_run = true;
		known->scope = config->scope;
		known->flags = known->event.flags | flags[config->scope];
		if (!profiler_fixed_period(&known->event, config->scope))
			known->due_unknown = true;
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
	return ret == -ECANCELED ? err_set(err, EINTR, "interrupted") : 0;
}

/* ---- CPUs of a run --------------------------------------------------------------------------- */

/* Drains the CPU, adds what its descriptors counted, and closes them. */
static void leave_cpu(struct profiler *p, struct run *run, unsigned int cpu)
{
	struct offcpu_counts offcpu;
	struct rings_count count;
	struct rings *rings;
	unsigned int i;

	pthread_mutex_lock(&p->lock);
	rings = sampler_remove(run->sampler, cpu);
	cpu_clear_in_bitmap(run->cpus, cpu);
	for (i = 0; rings && i < run->config.events.count; i++) {
		rings_read(rings, i, &count);
		tally_add(&p->counts, cpu, run->config.numbers[i], COUNT_KERNEL, count.value);
		/* for each run separately: the rest of a period is lost with its descriptors */
		tally_add(&p->counts, cpu, run->config.numbers[i], COUNT_DUE,
			profiler_due(&run->config.events.events[i], run->config.scope, &count));
		if (!rings_read_offcpu(rings, i, &offcpu))
			continue;
		tally_add(&p->counts, cpu, run->config.numbers[i], COUNT_SHORTER, offcpu.shorter);
		tally_add(&p->counts, cpu, run->config.numbers[i], COUNT_UNSEEN, offcpu.unseen);
	}
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
		tasks_doubt(p->tasks);
		walk = true;
	}
	if (walk)
		walk_proc(p, run, NULL);
	p->hooks.data_ready(p->hooks.arg);
}

/* ---- start ----------------------------------------------------------------------------------- */

/* The programs of offcpu are the caller's, unless the run began. */
static void free_run(struct run *run)
{
	sampler_destroy(run->sampler);
	g_free(run);
}

/*
 * The programs that report when tasks are away from the CPU; none if no event needs them. What they need
 * is refused here, before anything of the run exists.
 */
static int open_offcpu(const struct profiler *p, struct offcpu **out, struct err *err)
{
	const struct profiler_settings *settings = &p->settings;
	const struct event *event = events_offcpu(&settings->events);
	struct offcpu_options options;

	*out = NULL;
	if (!event)
		return 0;
	options = (struct offcpu_options){
		.min_ns = event->away.min_ns,
		.waker = event->away.waker,
		.user = settings->stack_user || settings->stack_dwarf,
		.depth = (settings->stack_kernel ? settings->depth : 1) + SCHEDULER_FRAMES,
	};
	return offcpu_open(&options, p->paths.proc, out, err);
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

static struct run *create_run(struct profiler *p, enum scope scope, struct offcpu *offcpu)
{
	struct run *run = g_new0(struct run, 1);

	run->config = p->resolved;
	run->config.scope = scope;
	run->config.offcpu = offcpu;
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
	run->config.proc = p->paths.proc;
	run->sampler = sampler_create(&run->config, p->capture, p->tasks, &p->hooks);
	return run;
}

static void copy_err(struct err *err, const struct err *from)
{
	if (err)
		*err = *from;
}

/* The widest scope that the kernel allows. *err has the reason why the wider ones failed. */
static int try_scopes(struct profiler *p, struct offcpu *offcpu, struct run **out, struct err *err)
{
	struct err first = { "" }, why;
	enum scope scope;
	int ret = -EACCES;

	/* the programs see all tasks: the narrower scopes are for users who may not have them */
	for (scope = SCOPE_MACHINE; scope < (offcpu ? SCOPE_USER : SCOPE_COUNT); scope++) {
		struct run *run = create_run(p, scope, offcpu);
		bool locked;

		why.text[0] = 0;
		ret = open_cpus(p, run, &locked, &why);
		if (!ret) {
			if (scope != SCOPE_MACHINE)
				err_set(err, 0, "scope %s: %s", scope_name(scope), first.text);
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
	for (cpu = 0; cpu < CPU_NUMBERS; cpu++)
		if (cpu_in_bitmap(run->cpus, cpu))
			rings_enable(&run->config, sampler_rings(run->sampler, cpu));
	pthread_mutex_lock(&p->lock);
	mark_scope(p, &run->config);
	p->run = run;
	p->since_ns = clock_monotonic_ns();
	atomic_write_release(&p->running, true);
	pthread_mutex_unlock(&p->lock);
	p->hooks.data_ready(p->hooks.arg);
}

int profiler_start(struct profiler *p, struct err *err)
{
	const struct events_paths paths = { .proc = p->paths.proc };
	struct offcpu *offcpu = NULL;
	struct run *run;
	int ret;

	if (p->run)
		return 0;
	atomic_write_relaxed(&p->interrupted, false);
	taskreader_begin(p->reader);
	ret = profiler_resolve(p, err);
	if (!ret)
		ret = events_fit(&p->resolved.events, &paths, err);
	if (!ret)
		ret = open_offcpu(p, &offcpu, err);
	if (!ret)
		ret = try_scopes(p, offcpu, &run, err);
	if (ret) {
		offcpu_close(offcpu);
		taskreader_stop(p->reader);
		return ret;
	}
	profiler_describe_kernel(p);
	tasks_begin_walk(p->tasks);
	ret = sampler_start(run->sampler, err);
	if (!ret)
		ret = walk_proc(p, run, err);
	if (!ret && offcpu)
		ret = offcpu_attach(offcpu, err);
	if (ret) {
		taskreader_stop(p->reader);
		free_run(run);
		offcpu_close(offcpu);
		return ret;
	}
	taskreader_start(p->reader);
	tasks_end_walk(p->tasks, clock_monotonic_ns());
	enable_run(p, run);
	return 0;
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

static void keep_stats(struct profiler *p, struct run *run)
{
	struct sampler_stats stats;

	sampler_get_stats(run->sampler, &stats);
	p->past.wakeups += stats.wakeups;
	p->past.empty += stats.empty;
	p->past.stacks += stats.stacks;
	p->past.stacks_cut += stats.stacks_cut;
	p->past.tasks_lost += stats.tasks_lost;
	p->past.damaged += stats.damaged;
	sampler_add_cpu_stats(run->sampler, p->past_cpus);
}

int profiler_stop(struct profiler *p, struct err *err)
{
	struct run *run = p->run;
	struct offcpu *offcpu;
	unsigned int cpu;

	(void)err;
	if (!run)
		return 0;
	offcpu = run->config.offcpu;
	for (cpu = 0; cpu < CPU_NUMBERS; cpu++)
		if (cpu_in_bitmap(run->cpus, cpu))
			rings_disable(&run->config, sampler_rings(run->sampler, cpu));
	profiler_times_end(p);
	sampler_stop(run->sampler);
	sampler_drain(run->sampler, true);
	taskreader_wait(p->reader, BUILD_IDS_NS);
	taskreader_stop(p->reader);
	for (cpu = 0; cpu < CPU_NUMBERS; cpu++)
		if (cpu_in_bitmap(run->cpus, cpu))
			leave_cpu(p, run, cpu);
	pthread_mutex_lock(&p->lock);
	keep_stats(p, run);
	p->offcpu_missed = offcpu ? offcpu_missed(offcpu) : 0;
	p->run = NULL;
	p->since_ns = clock_monotonic_ns();
	atomic_write_release(&p->running, false);
	pthread_mutex_unlock(&p->lock);
	free_run(run);
	offcpu_close(offcpu);
	p->hooks.data_ready(p->hooks.arg);
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
		/* stopped and nothing held: the tasks are not needed */
		tasks_clear(p->tasks);
	}
	tally_clear(&p->counts);
	p->past = (struct sampler_stats){ 0 };
	g_hash_table_remove_all(p->past_cpus);
	pthread_mutex_unlock(&p->lock);
	profiler_times_clear(p);
	if (!p->run)
		profiler_renumber(p);
	malloc_trim(0);
	p->hooks.data_ready(p->hooks.arg);
	return 0;
}
