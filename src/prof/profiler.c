/* SPDX-License-Identifier: MIT */
/*
 * A profiler and its settings: see profiler.h. The commands that set something check everything
 * first and then change it under the lock, so that a refused command changes nothing.
 */
#include "prof/profiler.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/units.h"
#include "prof/profiler_state.h"
#include "sys/clock.h"

#define QLIMIT_DEFAULT_KB 65536
#define QLIMIT_MIN_KB 1024
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

int profiler_create(const struct profiler_hooks *hooks, const struct profiler_paths *paths,
	struct profiler **out)
{
	struct profiler *p = g_new0(struct profiler, 1);
	int ret;

	p->hooks = *hooks;
	if (paths)
		p->paths = *paths;
	p->settings = (struct profiler_settings){
		.all_cpus = true,
		.stack_kernel = true,
		.stack_user = true,
		.qlimit_kb = smaller(QLIMIT_DEFAULT_KB, memory_share_kb()),
		.cpubufsz_kb = CPUBUFSZ_DEFAULT_KB,
		.mode = PROFILER_DISCARD,
	};
	events_init(&p->settings.events);
	p->settings.depth = max_stack(p);
	ret = capture_create(p->settings.qlimit_kb * KIB, &p->capture);
	if (ret) {
		g_free(p);
		return ret;
	}
	p->tasks = tasks_create();
	p->reader = taskreader_create(p->tasks, p->paths.proc, p->paths.symbols);
	p->known = g_array_new(FALSE, FALSE, sizeof(struct known_event));
	p->times = g_array_new(FALSE, FALSE, sizeof(struct kprof_rec_cpu_times));
	p->past_cpus = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	record_buf_init(&p->kernel);
	tally_init(&p->counts);
	g_queue_init(&p->readers.open);
	pthread_mutex_init(&p->lock, NULL);
	p->since_ns = clock_monotonic_ns();
	raise_descriptor_limit();
	profiler_resolve(p, NULL);
	*out = p;
	return 0;
}

void profiler_destroy(struct profiler *p)
{
	if (!p)
		return;
	profiler_stop(p, NULL);
	capture_destroy(p->capture);
	taskreader_destroy(p->reader);
	tasks_destroy(p->tasks);
	g_array_free(p->known, TRUE);
	g_array_free(p->times, TRUE);
	g_hash_table_destroy(p->past_cpus);
	record_buf_fini(&p->kernel);
	tally_fini(&p->counts);
	pthread_mutex_destroy(&p->lock);
	g_free(p);
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
	malloc_trim(0);
}

uint64_t profiler_held_bytes(struct profiler *p)
{
	return capture_held_bytes(p->capture);
}

bool profiler_copied_stacks(struct profiler *p)
{
	return atomic_read_relaxed(&p->stacks_copied);
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

	if (address >= KPROF_CONTEXT_FIRST)
		return refuse_marker(p, head.cpu, address, err);
	if (!p->kernel.used)
		profiler_describe_kernel(p);
	record_buf_fixed(&buf, memory, sizeof(memory));
	record_trace(&buf, KPROF_REC_KERN_TRACE, &head, &address, 1, NULL, 0);
	if (!capture_append(p->capture, buf.data, buf.used, NULL, tasks_bytes(p->tasks)))
		return err_set(err, ENOSPC, "kpdata is full");
	p->hooks.data_ready(p->hooks.arg);
	return 0;
}

/* ---- settings -------------------------------------------------------------------------------- */

static int refuse_running(const struct profiler *p, struct err *err)
{
	return p->run ? err_set(err, EBUSY, "not while the profiler runs: stop it first") : 0;
}

static int check_range(const char *what, uint64_t value, uint64_t low, uint64_t high,
	struct err *err)
{
	if (value >= low && value <= high)
		return 0;
	return err_set(err, EINVAL, "%s must be %" PRIu64 " to %" PRIu64 " here", what, low, high);
}

int profiler_set_events(struct profiler *p, const char *specs, struct err *err)
{
	const struct events_paths paths = { .proc = p->paths.proc };
	struct event_list list, before;
	int ret = refuse_running(p, err);

	if (!ret)
		ret = events_parse(specs, &paths, &list, err);
	if (!ret && events_offcpu(&list))
		ret = offcpu_try(err); /* a start would be refused */
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

/* Every CPU of the list must be there and online now. */
static int check_cpus(const struct profiler *p, const char *list, unsigned char *cpus,
	struct err *err)
{
	unsigned char online[CPU_BITMAP_BYTES];
	unsigned int cpu;
	int ret;

	ret = units_parse_cpulist(list, cpus, CPU_NUMBERS);
	if (ret == -ERANGE)
		return err_set(err, EINVAL, "%.64s names a CPU above %d, the highest number",
			list, CPU_NUMBERS - 1);
	if (ret)
		return err_set(err, EINVAL, "not a list of CPUs (0-3,8 or all): %.64s", list);
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
	int ret = refuse_running(p, err);

	if (!ret && !all)
		ret = check_cpus(p, list, cpus, err);
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

int profiler_set_stack(struct profiler *p, const char *name, const char *depth, struct err *err)
{
	const struct stack_mode *mode = find_stack_mode(name);
	uint64_t frames = max_stack(p);
	int ret = refuse_running(p, err);

	if (ret)
		return ret;
	if (!mode)
		return err_set(err, EINVAL, "no such mode: %.64s", name);
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
	const uint64_t high = memory_share_kb();
	int ret = check_range("prof_qlimit KB", kb, smaller(QLIMIT_MIN_KB, high), high, err);

	if (ret)
		return ret;
	pthread_mutex_lock(&p->lock);
	p->settings.qlimit_kb = kb;
	pthread_mutex_unlock(&p->lock);
	capture_set_limit(p->capture, kb * KIB);
	return 0;
}

int profiler_set_cpubufsz_kb(struct profiler *p, uint64_t kb, struct err *err)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	const uint64_t share_kb = memory_share_kb() / (cpus > 0 ? (uint64_t)cpus : 1);
	int ret = refuse_running(p, err);

	if (!ret)
		ret = check_range("prof_cpubufsz KB", kb, CPUBUFSZ_MIN_KB, CPUBUFSZ_MAX_KB, err);
	if (ret)
		return ret;
	kb = units_round_up_pow2(kb);
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

static const struct stack_mode *current_stack_mode(const struct profiler_settings *s)
{
	const struct stack_mode *mode = stack_modes;

	while (mode->kernel != s->stack_kernel || mode->user != s->stack_user ||
		mode->dwarf != s->stack_dwarf)
		mode++; /* each setting was made from one of them */
	return mode;
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
		"prof_qlimit %" PRIu64 "\nprof_cpubufsz %" PRIu64 "\nmode %s\n%s\n", s->qlimit_kb,
		s->cpubufsz_kb, s->mode == PROFILER_OVERWRITE ? "overwrite" : "discard",
		profiler_running(p) ? "start" : "stop");
	pthread_mutex_unlock(&p->lock);
}
