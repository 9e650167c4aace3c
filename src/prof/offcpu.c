/* SPDX-License-Identifier: MIT */
/* The programs of the event offcpu, attached: see offcpu.h. */
#include "prof/offcpu.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"
#include "bpf/map.h"
#include "bpf/program.h"
#include "sys/proc.h"

/* A program, and its tracepoint. */
struct place {
	const char *tracepoint;
	void (*make)(const struct offcpu_code *env, struct code *code);
	bool user;   /* only if user stacks are wanted; kernels without it settle later */
	bool waker;  /* only with :waker */
	bool needed;
};

/* In this order: what settles samples comes before what makes them pending. */
static const struct place places[] = {
	{ "rseq_update", offcpu_code_return, true, false, false },
	{ "sched_waking", offcpu_code_waking, false, true, true },
	{ "sched_switch", offcpu_code_switch, false, false, true },
};

#define PLACES G_N_ELEMENTS(places)

/* Functions of the kernel, as ranges of addresses: */
enum functions {
	SWITCHING, /* the scheduler's own, as a task leaves */
	WAKING,	   /* the same as a task wakes another one */
	FUNCTIONS,
};

/* The beginnings of their names. */
static const char *const function_names[FUNCTIONS][8] = {
	[SWITCHING] = { "__schedule", "schedule", "io_schedule", "preempt_schedule",
		"raw_irqentry_exit_cond_resched", "irqentry_exit_cond_resched", "__cond_resched" },
	[WAKING] = { "try_to_wake_up", "ttwu_", "wake_up_process", "wake_up_state", "wake_up_new_task" },
};

/* How many innermost frames are searched for the scheduler's; those of our program are inside of them. */
#define WAKING_FRAMES 6u

struct range {
	uint64_t start, end;
	enum functions functions;
};

/* i: invariant once it is open */
struct offcpu {
	struct offcpu_code env; /* i */
	char *slots;            /* i: mapped */
	size_t bytes;           /* i */
	int programs[PLACES];   /* i: -1 if it is not used */
	int links[PLACES];      /* -1 while not attached */
	GArray *functions;      /* i: struct range, sorted */
};

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* ---- the scheduler's functions ---------------------------------------------------------------- */

struct finder {
	GArray *ranges;
	bool open; /* the last range ends at the next symbol */
};

static enum functions find_name(const char *name)
{
	int i;

	for (i = 0; i < FUNCTIONS; i++)
		for (const char *const *known = function_names[i]; *known; known++)
			if (g_str_has_prefix(name, *known))
				return (enum functions)i;
	return FUNCTIONS;
}

static void add_symbol(void *arg, uint64_t address, const char *name)
{
	struct finder *f = arg;
	struct range range = { address, address, find_name(name) };

	if (f->open)
		g_array_index(f->ranges, struct range, f->ranges->len - 1).end = address;
	f->open = range.functions != FUNCTIONS;
	if (f->open)
		g_array_append_val(f->ranges, range);
}

static bool is_in(const struct offcpu *offcpu, enum functions functions, uint64_t address)
{
	guint i;

	for (i = 0; i < offcpu->functions->len; i++) {
		const struct range *range = &g_array_index(offcpu->functions, struct range, i);

		if (range->functions == functions && address >= range->start && address < range->end)
			return true;
	}
	return false;
}

uint32_t offcpu_scheduler_frames(const struct offcpu *offcpu, const uint64_t *frames, uint32_t count)
{
	uint32_t n = 0;

	while (offcpu && n + 1 < count && is_in(offcpu, SWITCHING, frames[n]))
		n++;
	return n;
}

uint32_t offcpu_waking_frames(const struct offcpu *offcpu, const uint64_t *frames, uint32_t count)
{
	uint32_t n = 0;

	if (!offcpu)
		return 0;
	while (n < MIN(count, WAKING_FRAMES) && !is_in(offcpu, WAKING, frames[n]))
		n++;
	if (n == MIN(count, WAKING_FRAMES))
		return 0;
	while (n + 1 < count && is_in(offcpu, WAKING, frames[n]))
		n++;
	return n;
}

/* ---- open ------------------------------------------------------------------------------------- */

static int create_maps(struct offcpu *o, bool waker, struct err *err)
{
	struct map_spec slots = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_offcpu_slots",
		.key_bytes = 4, .value_bytes = (uint32_t)o->bytes, .entries = 1, .flags = BPF_F_MMAPABLE };
	const struct map_spec tasks = { .type = BPF_MAP_TYPE_LRU_HASH, .name = "kp_offcpu_tasks",
		.key_bytes = 4, .value_bytes = sizeof(struct offcpu_entry), .entries = OFFCPU_TASKS_MAX };
	/* the values of an array that can be mapped begin at a page, so at a cache line */
	const struct map_spec away = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_offcpu_away",
		.key_bytes = 4, .value_bytes = sizeof(struct offcpu_entry), .entries = OFFCPU_PLACES,
		.flags = BPF_F_MMAPABLE };
	const struct map_spec outputs = { .type = BPF_MAP_TYPE_PERF_EVENT_ARRAY,
		.name = "kp_offcpu_rings", .key_bytes = 4, .value_bytes = 4, .entries = o->env.cpus };
	const struct map_spec wakers = { .type = BPF_MAP_TYPE_LRU_HASH, .name = "kp_offcpu_wakes",
		.key_bytes = 4, .value_bytes = sizeof(struct offcpu_wake), .entries = OFFCPU_WAKERS_MAX };
	const struct map_spec scratch = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_offcpu_wake",
		.key_bytes = 4, .value_bytes = (uint32_t)(o->env.cpus * sizeof(struct offcpu_wake)),
		.entries = 1 };
	void *memory;
	int ret = map_create(&slots, &o->env.slots, err);

	if (!ret)
		ret = map_create(&away, &o->env.places, err);
	if (!ret)
		ret = map_create(&tasks, &o->env.tasks, err);
	if (!ret)
		ret = map_create(&outputs, &o->env.outputs, err);
	if (!ret && waker)
		ret = map_create(&wakers, &o->env.wakers, err);
	if (!ret && waker)
		ret = map_create(&scratch, &o->env.scratch, err);
	if (ret)
		return ret;
	ret = map_mmap(o->env.slots, o->bytes, false, &memory);
	if (ret)
		return err_set(err, -ret, "the counts of offcpu can't be mapped: %s", g_strerror(-ret));
	o->slots = memory;
	return 0;
}

static int load(struct offcpu *o, const struct types *types, size_t i, struct err *err)
{
	struct program_spec spec = { .name = "kp_offcpu", .type = BPF_PROG_TYPE_TRACING,
		.attach = BPF_TRACE_RAW_TP };
	const struct place *place = &places[i];
	struct types_function tracepoint;
	struct code code;
	int ret;

	if ((place->user && !o->env.user) || (place->waker && o->env.wakers < 0))
		return 0;
	if (types_tracepoint(types, place->tracepoint, &tracepoint))
		return place->needed ? err_set(err, EOPNOTSUPP,
			"this kernel does not describe its tracepoint %s", place->tracepoint) : 0;
	spec.attach_type_id = tracepoint.type;
	code_init(&code);
	place->make(&o->env, &code);
	ret = code_finish(&code, err);
	if (!ret)
		ret = program_load(&spec, &code, &o->programs[i], err);
	code_fini(&code);
	return ret;
}

static int load_all(struct offcpu *o, const struct offcpu_options *options, struct err *err)
{
	struct types *types;
	size_t i;
	int ret = types_open(NULL, &types, err);

	if (ret)
		return ret;
	ret = offcpu_code_init(&o->env, types, err);
	if (!ret)
		ret = create_maps(o, options->waker, err);
	for (i = 0; !ret && i < PLACES; i++)
		ret = load(o, types, i, err);
	types_close(types);
	return ret;
}

/* What a kernel lacks, or forbids, is one error: the event does not exist here. */
static int refuse(int ret, struct err *err)
{
	if (ret == -ENOMEM || ret == -EMFILE || ret == -ENFILE)
		return ret;
	err_prefix(err, "offcpu and wall need BPF");
	return -EOPNOTSUPP;
}

int offcpu_open(const struct offcpu_options *options, const char *proc, struct offcpu **out, struct err *err)
{
	const int cpus = map_possible_cpus();
	struct finder finder = { .ranges = g_array_new(FALSE, FALSE, sizeof(struct range)) };
	struct offcpu *o = g_new0(struct offcpu, 1);
	size_t i;
	int ret;

	o->env = (struct offcpu_code){ .slots = -1, .places = -1, .tasks = -1, .wakers = -1,
		.scratch = -1, .outputs = -1,
		.cpus = cpus > 0 ? (uint32_t)cpus : 1, .min_ns = options->min_ns, .user = options->user,
		.only = options->only,
		.frames = MIN(options->depth ? options->depth : 1, OFFCPU_FRAMES_MAX) };
	o->bytes = (size_t)o->env.cpus * OFFCPU_SLOT_BYTES;
	o->functions = finder.ranges;
	for (i = 0; i < PLACES; i++)
		o->programs[i] = o->links[i] = -1;
	ret = load_all(o, options, err);
	if (ret) {
		offcpu_close(o);
		return refuse(ret, err);
	}
	proc_kernel_symbols(proc, add_symbol, &finder);
	*out = o;
	return 0;
}

int offcpu_try(struct err *err)
{
	const struct offcpu_options options = { .min_ns = 1, .user = true, .depth = 1 };
	struct offcpu *o;
	int ret = offcpu_open(&options, NULL, &o, err);

	if (!ret)
		offcpu_close(o);
	return ret;
}

int offcpu_attach(struct offcpu *o, struct err *err)
{
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < PLACES; i++)
		if (o->programs[i] >= 0)
			ret = program_attach_tracing(o->programs[i], &o->links[i], err);
	return ret ? refuse(ret, err) : 0;
}

void offcpu_close(struct offcpu *o)
{
	size_t i;

	if (!o)
		return;
	for (i = PLACES; i > 0; i--)
		close_fd(o->links[i - 1]);
	for (i = 0; i < PLACES; i++)
		close_fd(o->programs[i]);
	if (o->slots)
		munmap(o->slots, o->bytes);
	close_fd(o->env.slots);
	close_fd(o->env.places);
	close_fd(o->env.tasks);
	close_fd(o->env.wakers);
	close_fd(o->env.scratch);
	close_fd(o->env.outputs);
	g_array_free(o->functions, TRUE);
	g_free(o);
}

/* ---- while open ------------------------------------------------------------------------------- */

int offcpu_add_cpu(struct offcpu *o, unsigned int cpu, int perf_event)
{
	const uint32_t key = cpu;

	return map_update(o->env.outputs, &key, &perf_event, BPF_ANY);
}

void offcpu_remove_cpu(struct offcpu *o, unsigned int cpu)
{
	const uint32_t key = cpu;

	(void)map_delete(o->env.outputs, &key); /* -ENOENT: it was not added */
}

void offcpu_count(const struct offcpu *o, unsigned int cpu, struct offcpu_counts *counts)
{
	const struct offcpu_slot *slot;

	*counts = (struct offcpu_counts){ 0 };
	if (cpu >= o->env.cpus)
		return;
	slot = (const struct offcpu_slot *)(const void *)(o->slots + (size_t)cpu * OFFCPU_SLOT_BYTES);
	counts->taken = atomic_plain_read_acquire(&slot->taken);
	counts->shorter = atomic_plain_read_acquire(&slot->shorter);
	counts->unseen = atomic_plain_read_acquire(&slot->unseen);
	counts->refused = atomic_plain_read_acquire(&slot->refused);
}

uint64_t offcpu_missed(const struct offcpu *o)
{
	struct program_counts counts;
	uint64_t missed = 0;
	size_t i;

	for (i = 0; i < PLACES; i++)
		if (o->programs[i] >= 0 && !program_counts(o->programs[i], &counts))
			missed += counts.missed;
	return missed;
}
