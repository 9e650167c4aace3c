/* SPDX-License-Identifier: MIT */
/*
 * A profiler and its settings: see profiler.h. The commands that set something check everything
 * first and then change it under the lock, so that a refused command changes nothing.
 */
#include "prof/profiler.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/trim.h"
#include "base/units.h"
#include "prof/profiler_state.h"
#include "sys/clock.h"

#define QLIMIT_DEFAULT_KB 65536
#define QLIMIT_MIN_KB 1024
/*
 * The first profiler of a budget begins with the default, each further one with at most this fraction of
 * what is left, so that 64 of them find room where the budget is 128 MiB or more.
 */
#define QLIMIT_SHARE 16
/* The fraction of memory that is allowed, for records as for rings. */
#define MEMORY_SHARE 32
#define CPUBUFSZ_DEFAULT_KB 512
#define CPUBUFSZ_MIN_KB 16
#define CPUBUFSZ_MAX_KB 16384
/* The kernel's default of kernel.perf_event_max_stack, used if it cannot be read. */
#define MAX_STACK_DEFAULT 127

static uint64_t memory_share_kb(void)
{
	struct sysinfo info;

	if (sysinfo(&info))
		return QLIMIT_MIN_KB;
	return (uint64_t)info.totalram * info.mem_unit / KIB / MEMORY_SHARE;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * The deepest stack: the sysctl, bounded by `num_traces` of a record and the kernel's record
 * size.
 */
static unsigned int max_stack(const struct profiler *p)
{
	int64_t value;

	if (perf_sysctl(p->paths.proc, PERF_SYSCTL_MAX_STACK, &value) || value < 1)
		return MAX_STACK_DEFAULT;
	return (unsigned int)smaller((uint64_t)value, 4096);
}

/* Each event needs a descriptor a CPU: the hard limit instead of the low default. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit); /* a start reports if the limit is too low */
}

uint64_t profiler_qlimit_least_kb(const struct budget *budget)
{
	return smaller(QLIMIT_MIN_KB, budget_total_kb(budget));
}

struct budget *profiler_budget_create(void)
{
	return budget_create(memory_share_kb());
}

/* The limit that a new profiler has: the default, or what is left for it. Returns -ENOSPC for less. */
static int take_qlimit(struct budget *budget, uint64_t *kb, struct err *err)
{
	const uint64_t total_kb = budget_total_kb(budget);
	const uint64_t left_kb = budget_left_kb(budget, BUDGET_CAPTURES);
	const uint64_t least_kb = profiler_qlimit_least_kb(budget);

	/* a share in whole MiB, which is easier to read */
	*kb = left_kb == total_kb ? left_kb : left_kb / QLIMIT_SHARE / KIB * KIB;
	*kb = smaller(QLIMIT_DEFAULT_KB, *kb);
	if (*kb < least_kb)
		*kb = least_kb;
	if (budget_take(budget, BUDGET_CAPTURES, *kb))
		return 0;
	return err_set(err, ENOSPC, "the prof_qlimit of all sessions together is %" PRIu64
		" of at most %" PRIu64 " KB: lower one of them", total_kb - left_kb, total_kb);
}

struct profiler *profiler_allocate(const struct profiler_hooks *hooks, const struct profiler_paths *paths,
	struct budget *budget)
{
	struct profiler *p = g_new0(struct profiler, 1);

	p->hooks = *hooks;
	p->hooks.tasks_known = profiler_keep_tasks;
	p->hooks.profiler = p;
	p->budget = budget;
	if (paths)
		p->paths = *paths;
	p->settings = (struct profiler_settings){
		.all_cpus = true,
		.stack_kernel = true,
		.stack_user = true,
		.cpubufsz_kb = CPUBUFSZ_DEFAULT_KB,
		.mode = PROFILER_DISCARD,
	};
	events_init(&p->settings.events);
	p->settings.depth = max_stack(p);
	profiler_describe_host(p);
	p->tasks = tasks_create();
	p->reader = taskreader_create(p->tasks, p->paths.proc, p->paths.symbols);
	p->programs = g_ptr_array_new();
	p->known = g_array_new(FALSE, FALSE, sizeof(struct known_event));
	p->times = g_array_new(FALSE, FALSE, sizeof(struct kprof_rec_cpu_times));
	p->past_cpus = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	record_buf_init(&p->kernel);
	record_buf_init(&p->saved);
	tally_init(&p->counts);
	g_queue_init(&p->readers.open);
	pthread_mutex_init(&p->lock, NULL);
	p->since_ns = clock_monotonic_ns();
	raise_descriptor_limit();
	return p;
}

int profiler_create(const struct profiler_hooks *hooks, const struct profiler_paths *paths,
	struct budget *budget, struct profiler **out, struct err *err)
{
	struct profiler *p;
	uint64_t qlimit_kb;
	int ret = take_qlimit(budget, &qlimit_kb, err);

	if (ret)
		return ret;
	p = profiler_allocate(hooks, paths, budget);
	p->captured_kb = qlimit_kb;
	p->settings.qlimit_kb = qlimit_kb;
	ret = p->paths.memory ? capture_create_in(p->paths.memory, qlimit_kb * KIB, &p->capture) :
		capture_create(qlimit_kb * KIB, &p->capture);
	if (ret) {
		profiler_destroy(p);
		return err_set(err, -ret, "the profiler: %s", g_strerror(-ret));
	}
	profiler_resolve(p, NULL);
	*out = p;
	return 0;
}

void profiler_destroy(struct profiler *p)
{
	if (!p)
		return;
	profiler_stop(p, NULL);
	for (guint i = 0; i < p->programs->len; i++) {
		struct program_event *program = g_ptr_array_index(p->programs, i);

		samples_put(program->samples);
		g_free(program);
	}
	g_ptr_array_free(p->programs, TRUE);
	capture_destroy(p->capture);
	profiler_free_kept(p->kept);
	taskreader_destroy(p->reader);
	tasks_destroy(p->tasks);
	g_array_free(p->known, TRUE);
	g_array_free(p->times, TRUE);
	g_hash_table_destroy(p->past_cpus);
	record_buf_fini(&p->kernel);
	record_buf_fini(&p->saved);
	tally_fini(&p->counts);
	pthread_mutex_destroy(&p->lock);
	only_destroy(p->settings.only);
	budget_return(p->budget, BUDGET_CAPTURES, p->captured_kb);
	g_free(p);
}

static uint64_t count_held_kb(const struct profiler *p)
{
	return (capture_memory_bytes(p->capture) + p->saved.used + KIB - 1) / KIB;
}

void profiler_release(struct profiler *p)
{
	uint64_t held_kb;

	capture_forget_files(p->capture);
	pthread_mutex_lock(&p->lock);
	if (!p->cursors) {
		capture_clear(p->capture);
		tasks_clear(p->tasks);
	}
	held_kb = count_held_kb(p);
	pthread_mutex_unlock(&p->lock);
	profiler_trim(p); /* no thread of this profiler does it later */
	if (held_kb >= p->captured_kb)
		return;
	budget_return(p->budget, BUDGET_CAPTURES, p->captured_kb - held_kb);
	p->captured_kb = held_kb;
}

bool profiler_running(struct profiler *p)
{
	return atomic_read_acquire(&p->running);
}

bool profiler_has_spare(struct profiler *p)
{
	return !profiler_running(p) && capture_has_spare(p->capture);
}

void profiler_trim(struct profiler *p)
{
	capture_trim(p->capture);
	trim_memory();
}

uint64_t profiler_held_bytes(struct profiler *p)
{
	return capture_held_bytes(p->capture);
}

uint64_t profiler_memory_bytes(struct profiler *p)
{
	return capture_memory_bytes(p->capture);
}

uint64_t profiler_runs_ns(struct profiler *p)
{
	uint64_t ns;

	pthread_mutex_lock(&p->lock);
	ns = profiler_times_length(p);
	pthread_mutex_unlock(&p->lock);
	return ns;
}

bool profiler_copied_stacks(struct profiler *p)
{
	return atomic_read_relaxed(&p->stacks_copied);
}

bool profiler_has_wakers(struct profiler *p)
{
	return atomic_read_relaxed(&p->has_wakers) && profiler_memory_bytes(p);
}

/* The entry of the CPU in `past_cpus`, created if missing. Under lock. */
static struct sampler_cpu_stats *past_cpu(struct profiler *p, unsigned int cpu)
{
	struct sampler_cpu_stats *stats = g_hash_table_lookup(p->past_cpus, GUINT_TO_POINTER(cpu));

	if (!stats) {
		stats = g_new0(struct sampler_cpu_stats, 1);
		g_hash_table_insert(p->past_cpus, GUINT_TO_POINTER(cpu), stats);
	}
	return stats;
}

static int refuse_marker(struct profiler *p, unsigned int cpu, uint64_t word, struct err *err)
{
	pthread_mutex_lock(&p->lock);
	past_cpu(p, cpu)->refused++;
	pthread_mutex_unlock(&p->lock);
	return err_set(err, EINVAL,
		"0x%" PRIx64 " is no address but a context marker (PERF_CONTEXT_*)", word);
}

int profiler_add_address(struct profiler *p, uint64_t address, uint32_t pid, struct err *err)
{
	const struct kprof_rec_trace head = {
		.time_ns = clock_monotonic_ns(), .pid = pid, .cpu = (uint16_t)cpu_current()
	};
	uint8_t memory[64];
	struct record_buf buf;

	if (profiler_refuse_held(p, err))
		return -EBUSY;
	if (address >= KPROF_CONTEXT_FIRST)
		return refuse_marker(p, head.cpu, address, err);
	if (profiler_check_own(p, "no addresses of the kernel", err))
		return -EPERM;
	if (!p->kernel.used) {
		profiler_describe_kernel(p);
		profiler_keep_header(p);
	}
	record_buf_fixed(&buf, memory, sizeof(memory));
	record_trace(&buf, KPROF_REC_KERN_TRACE, &head, &address, 1, NULL, 0);
	if (!capture_append(p->capture, buf.data, buf.used, NULL, tasks_bytes(p->tasks)))
		return err_set(err, ENOSPC, "kpdata is full");
	capture_write_files(p->capture);
	p->hooks.data_ready(p->hooks.arg);
	return 0;
}

/* ---- settings -------------------------------------------------------------------------------- */

/*
 * While the profiler runs these settings stay as they are. To write what they are is no change: an editor
 * writes all lines of kpctl back.
 */
static int refuse_change(bool same, struct err *err)
{
	return same ? 0 : err_set(err, EBUSY, "not while the profiler runs: stop it first");
}

static int check_range(const char *what, uint64_t value, uint64_t low, uint64_t high,
	struct err *err)
{
	if (value >= low && value <= high)
		return 0;
	return err_set(err, EINVAL, "%s must be %" PRIu64 " to %" PRIu64 " here", what, low, high);
}

static bool same_events(const struct event_list *one, const struct event_list *other)
{
	g_autoptr(GString) one_text = g_string_new(NULL), other_text = g_string_new(NULL);

	events_print(one, one_text);
	events_print(other, other_text);
	return g_string_equal(one_text, other_text);
}

int profiler_set_events(struct profiler *p, const char *specs, struct err *err)
{
	const struct events_paths paths = { .proc = p->paths.proc };
	struct event_list list, before;
	int ret = events_parse(specs, &paths, &list, err);

	if (!ret)
		ret = profiler_check_events(p, &list, err);
	if (!ret && p->run)
		return refuse_change(same_events(&list, &p->settings.events), err);
	/* a start would be refused */
	if (!ret && events_offcpu(&list))
		ret = offcpu_try(err);
	if (!ret && p->settings.only)
		ret = profiler_only_fits(p->settings.only, &list, err);
	if (ret)
		return ret;
	pthread_mutex_lock(&p->lock);
	before = p->settings.events;
	p->settings.events = list;
	pthread_mutex_unlock(&p->lock);
	ret = profiler_resolve(p, err);
	if (ret) {
		pthread_mutex_lock(&p->lock);
		p->settings.events = before;
		pthread_mutex_unlock(&p->lock);
		profiler_resolve(p, NULL);
	}
	return ret;
}

static int parse_cpus(const char *list, unsigned char *cpus, struct err *err)
{
	int ret = units_parse_cpulist(list, cpus, CPU_NUMBERS);

	if (ret == -ERANGE)
		return err_set(err, EINVAL, "%.64s names a CPU above %d, the highest number",
			list, CPU_NUMBERS - 1);
	if (ret)
		return err_set(err, EINVAL, "not a list of CPUs (0-3,8 or all): %.64s", list);
	return 0;
}

/* Every CPU of the list must be there and online now. */
static int check_cpus(const struct profiler *p, const unsigned char *cpus, struct err *err)
{
	unsigned char online[CPU_BITMAP_BYTES];
	unsigned int cpu;

	profiler_online_cpus(p, online);
	for (cpu = 0; cpu < CPU_NUMBERS; cpu++)
		if (cpu_in_bitmap(cpus, cpu) && !cpu_in_bitmap(online, cpu))
			return err_set(err, EINVAL, "CPU %u is absent or offline", cpu);
	return 0;
}

int profiler_set_cpus(struct profiler *p, const char *list, struct err *err)
{
	const bool all = !strcmp(list, "all");
	unsigned char cpus[CPU_BITMAP_BYTES];
	int ret = all ? 0 : parse_cpus(list, cpus, err);

	if (!ret && p->run)
		return refuse_change(all == p->settings.all_cpus &&
			(all || !memcmp(cpus, p->settings.cpus, sizeof(cpus))), err);
	if (!ret && !all)
		ret = check_cpus(p, cpus, err);
	if (ret)
		return ret;
	pthread_mutex_lock(&p->lock);
	p->settings.all_cpus = all;
	if (!all)
		memcpy(p->settings.cpus, cpus, sizeof(cpus));
	pthread_mutex_unlock(&p->lock);
	return 0;
}

struct stack_mode {
	const char *name;
	bool kernel, user, dwarf;
};

static const struct stack_mode stack_modes[] = {
	{ "user", false, true },
	{ "kernel", true, false },
	{ "both", true, true },
	{ "none", false, false },
	{ "dwarf", true, false, true },
};

static bool stack_has_frames(const struct stack_mode *mode)
{
	return mode->kernel || mode->user || mode->dwarf;
}

static const struct stack_mode *find_stack_mode(const char *name)
{
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(stack_modes); i++)
		if (!strcmp(stack_modes[i].name, name))
			return &stack_modes[i];
	return NULL;
}

static const struct stack_mode *current_stack_mode(const struct profiler_settings *s)
{
	const struct stack_mode *mode = stack_modes;

	while (mode->kernel != s->stack_kernel || mode->user != s->stack_user ||
		mode->dwarf != s->stack_dwarf)
		mode++; /* each setting was made from one of them */
	return mode;
}

int profiler_set_stack(struct profiler *p, const char *name, const char *depth, struct err *err)
{
	const struct stack_mode *mode = find_stack_mode(name);
	uint64_t frames = max_stack(p);
	int ret;

	if (!mode)
		return err_set(err, EINVAL, "no such mode: %.64s", name);
	/* `dwarf` copies stacks of user space only */
	if (mode->kernel && !mode->dwarf && profiler_check_own(p, "no stacks of the kernel", err))
		return -EPERM;
	if (mode->dwarf && !perf_user_regs())
		return err_set(err, EOPNOTSUPP,
			"user registers cannot be sampled on this machine, only on x86_64 and arm64");
	if (depth && !stack_has_frames(mode))
		return err_set(err, EINVAL, "none records no frames: it takes no DEPTH");
	ret = depth ? units_parse_u64(depth, &frames) : 0;
	if (ret == -ERANGE)
		frames = UINT64_MAX; /* check_range() has the better message */
	else if (ret)
		return err_set(err, EINVAL, "not a number: %.64s", depth);
	ret = check_range("DEPTH (kernel.perf_event_max_stack)", frames, 1, max_stack(p), err);
	if (ret)
		return ret;
	if (p->run)
		return refuse_change(mode == current_stack_mode(&p->settings) &&
			(frames == p->settings.depth || !stack_has_frames(mode)), err);
	pthread_mutex_lock(&p->lock);
	p->settings.stack_kernel = mode->kernel;
	p->settings.stack_user = mode->user;
	p->settings.stack_dwarf = mode->dwarf;
	p->settings.depth = (unsigned int)frames;
	pthread_mutex_unlock(&p->lock);
	return 0;
}

int profiler_set_qlimit_kb(struct profiler *p, uint64_t kb, struct err *err)
{
	const uint64_t high = budget_total_kb(p->budget);
	const uint64_t held_kb = count_held_kb(p);
	const uint64_t needed_kb = kb > held_kb ? kb : held_kb; /* what is held stays until it is read */
	int ret = check_range("prof_qlimit KB", kb, smaller(QLIMIT_MIN_KB, high), high, err);

	if (ret)
		return ret;
	if (kb < held_kb && profiler_refuse_loaded(p, err))
		return -EBUSY; /* a part of it could not be decoded */
	ret = profiler_check_qlimit(p, needed_kb, err);
	if (ret)
		return ret;
	if (!budget_change(p->budget, BUDGET_CAPTURES, p->captured_kb, needed_kb))
		return err_set(err, ENOSPC, "%" PRIu64 " KB are left besides the prof_qlimit of other "
			"sessions", budget_left_kb(p->budget, BUDGET_CAPTURES) + p->captured_kb);
	p->captured_kb = needed_kb;
	pthread_mutex_lock(&p->lock);
	p->settings.qlimit_kb = kb;
	pthread_mutex_unlock(&p->lock);
	capture_set_limit(p->capture, kb * KIB);
	return 0;
}

int profiler_set_cpubufsz_kb(struct profiler *p, uint64_t kb, struct err *err)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	const uint64_t share_kb = budget_total_kb(p->budget) / (cpus > 0 ? (uint64_t)cpus : 1);
	int ret = check_range("prof_cpubufsz KB", kb, CPUBUFSZ_MIN_KB, CPUBUFSZ_MAX_KB, err);

	if (ret)
		return ret;
	kb = units_round_up_pow2(kb);
	if (p->run)
		return refuse_change(kb == p->settings.cpubufsz_kb, err);
	if (kb > share_kb)
		return err_set(err, EINVAL,
			"rings of %" PRIu64 " KiB for %ld CPUs are more than 1/%d of memory", kb, cpus,
			MEMORY_SHARE);
	pthread_mutex_lock(&p->lock);
	p->settings.cpubufsz_kb = kb;
	pthread_mutex_unlock(&p->lock);
	return 0;
}

int profiler_set_mode(struct profiler *p, enum profiler_mode mode, struct err *err)
{
	(void)err;
	pthread_mutex_lock(&p->lock);
	p->settings.mode = mode;
	pthread_mutex_unlock(&p->lock);
	capture_set_overwrite(p->capture, mode == PROFILER_OVERWRITE);
	return 0;
}

/* As ranges, so that the list is never longer than what can be written back. */
static void print_cpus(const struct profiler_settings *s, GString *out)
{
	const char *comma = "";
	unsigned int cpu, last;

	if (s->all_cpus) {
		g_string_append(out, "all");
		return;
	}
	for (cpu = 0; cpu < CPU_NUMBERS; cpu = last + 1) {
		last = cpu;
		if (!cpu_in_bitmap(s->cpus, cpu))
			continue;
		while (last + 1 < CPU_NUMBERS && cpu_in_bitmap(s->cpus, last + 1))
			last++;
		g_string_append_printf(out, "%s%u", comma, cpu);
		if (last > cpu)
			g_string_append_printf(out, "-%u", last);
		comma = ",";
	}
}

void profiler_print_settings(struct profiler *p, GString *out)
{
	const struct profiler_settings *s = &p->settings;
	const struct stack_mode *mode;

	pthread_mutex_lock(&p->lock);
	g_string_append(out, "event ");
	events_print(&s->events, out);
	g_string_append(out, "\ncpus ");
	print_cpus(s, out);
	g_string_append_c(out, '\n');
	mode = current_stack_mode(s);
	g_string_append_printf(out, "stack %s", mode->name);
	if (stack_has_frames(mode))
		g_string_append_printf(out, " %u", s->depth);
	g_string_append_c(out, '\n');
	g_string_append_printf(out,
		"only %s\nprof_qlimit %" PRIu64 "\nprof_cpubufsz %" PRIu64 "\nmode %s\n%s\n",
		s->only ? only_text(s->only) : "all", s->qlimit_kb,
		s->cpubufsz_kb, s->mode == PROFILER_OVERWRITE ? "overwrite" : "discard",
		profiler_running(p) ? "start" : "stop");
	pthread_mutex_unlock(&p->lock);
}
