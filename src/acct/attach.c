/* SPDX-License-Identifier: MIT */
/* Attaching of the measuring programs: see attach.h. */
#include "acct/attach.h"

#include <errno.h>
#include <glib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "acct/task_code.h"
#include "acct/times_code.h"
#include "base/atomic.h"
#include "bpf/map.h"
#include "bpf/program.h"
#include "sys/clock.h"
#include "sys/cycles.h"

/* A tracepoint and its program. */
struct place {
	const char *tracepoint;
	void (*make)(const struct times_env *env, struct code *code);
	bool divided; /* only if the time of tasks is to be divided */
	bool needed;  /* others are missing on some kernels and processors */
};

/*
 * In this order, so that no entry is seen whose exit is not: a depth would stick until the next switch. Soft
 * interrupts and switches are last, since they set right what was not seen before.
 */
static const struct place places[] = {
	{ "cpuhp_enter", times_code_cpu_starts, false, false },
	{ "irq_handler_exit", times_code_irq_exit, false, true },
	{ "local_timer_exit", times_code_irq_exit, false, false },
	{ "reschedule_exit", times_code_irq_exit, false, false },
	{ "call_function_exit", times_code_irq_exit, false, false },
	{ "call_function_single_exit", times_code_irq_exit, false, false },
	{ "irq_work_exit", times_code_irq_exit, false, false },
	{ "x86_platform_ipi_exit", times_code_irq_exit, false, false },
	{ "thermal_apic_exit", times_code_irq_exit, false, false },
	{ "threshold_apic_exit", times_code_irq_exit, false, false },
	{ "deferred_error_apic_exit", times_code_irq_exit, false, false },
	{ "error_apic_exit", times_code_irq_exit, false, false },
	{ "spurious_apic_exit", times_code_irq_exit, false, false },
	{ "ipi_exit", times_code_irq_exit, false, false },
	{ "softirq_exit", times_code_softirq_exit, false, true },
	{ "sys_exit", times_code_call_exit, true, true },
	{ "irq_handler_entry", times_code_irq_entry, false, true },
	{ "local_timer_entry", times_code_irq_entry, false, false },
	{ "reschedule_entry", times_code_irq_entry, false, false },
	{ "call_function_entry", times_code_irq_entry, false, false },
	{ "call_function_single_entry", times_code_irq_entry, false, false },
	{ "irq_work_entry", times_code_irq_entry, false, false },
	{ "x86_platform_ipi_entry", times_code_irq_entry, false, false },
	{ "thermal_apic_entry", times_code_irq_entry, false, false },
	{ "threshold_apic_entry", times_code_irq_entry, false, false },
	{ "deferred_error_apic_entry", times_code_irq_entry, false, false },
	{ "error_apic_entry", times_code_irq_entry, false, false },
	{ "spurious_apic_entry", times_code_irq_entry, false, false },
	{ "ipi_entry", times_code_irq_entry, false, false },
	{ "softirq_entry", times_code_softirq_entry, false, true },
	{ "sys_enter", times_code_call_enter, true, true },
	{ "sched_wakeup_new", task_code_wakeup_new, false, true },
	{ "sched_wakeup", task_code_wakeup, false, true },
	{ "sched_process_exec", task_code_exec, false, false },
	{ "sched_migrate_task", task_code_migrate, false, false },
	{ "sched_switch", task_code_switch, false, true },
};

/* Invariant once it is open, but for what `cycles` has, which one thread reads at a time. */
struct attach {
	struct times_env env;
	struct cell *cells;
	size_t bytes;
	uint64_t since_ns;
	struct cycles *cycles; /* NULL if they are not counted */
	uint64_t *seen;	       /* by CPU: `last` of its cell at the last attach_ask() */
	int look; /* the program that is run on a CPU */
	int links[G_N_ELEMENTS(places)];
};

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Loads a program that is made by `make`; its descriptor is put into *fd. */
static int load(const struct times_env *env, void (*make)(const struct times_env *, struct code *),
	const struct program_spec *spec, int *fd, struct err *err)
{
	struct code code;
	int ret;

	code_init(&code);
	make(env, &code);
	ret = code_finish(&code, err);
	if (!ret)
		ret = program_load(spec, &code, fd, err);
	code_fini(&code);
	return ret;
}

static int attach_place(struct attach *attach, const struct types *types, const struct place *place,
	int *link, struct err *err)
{
	struct program_spec spec = {
		.name = "kp_times",
		.type = BPF_PROG_TYPE_TRACING,
		.attach = BPF_TRACE_RAW_TP,
	};
	struct types_function tracepoint;
	int fd, ret;

	if (place->divided && !attach->env.divided)
		return 0;
	if (types_tracepoint(types, place->tracepoint, &tracepoint))
		return place->needed ? err_set(err, EOPNOTSUPP,
			"this kernel does not describe its tracepoint %s", place->tracepoint) : 0;
	spec.attach_type_id = tracepoint.type;
	ret = load(&attach->env, place->make, &spec, &fd, err);
	if (ret)
		return ret;
	ret = program_attach_tracing(fd, link, err);
	close(fd); /* the link keeps it */
	return ret;
}

static int create_maps(struct attach *attach, struct err *err)
{
	struct map_spec cells = {
		.type = BPF_MAP_TYPE_ARRAY,
		.name = "kp_cells",
		.key_bytes = sizeof(uint32_t),
		.entries = 1,
		.flags = BPF_F_MMAPABLE,
	};
	const struct map_spec tasks = {
		.type = BPF_MAP_TYPE_LRU_HASH,
		.name = "kp_tasks",
		.key_bytes = sizeof(uint32_t),
		.value_bytes = sizeof(struct task_entry),
		.entries = TASKS_MAX,
	};
	int cpus = map_possible_cpus(), ret;
	uint64_t now_ns;
	void *memory;
	uint32_t i;

	if (cpus < 0)
		return err_set(err, -cpus, "the number of CPUs is not known: %s", g_strerror(-cpus));
	attach->env.cpus = (uint32_t)cpus;
	attach->bytes = (size_t)cpus * sizeof(struct cell);
	cells.value_bytes = (uint32_t)attach->bytes;
	ret = map_create(&cells, &attach->env.cells, err);
	if (!ret)
		ret = map_create(&tasks, &attach->env.tasks, err);
	if (ret)
		return ret;
	ret = map_mmap(attach->env.cells, attach->bytes, true, &memory);
	if (ret)
		return err_set(err, -ret, "the times of the CPUs can't be mapped: %s", g_strerror(-ret));
	attach->cells = memory;
	now_ns = clock_monotonic_ns();
	for (i = 0; i < attach->env.cpus; i++)
		cells_begin(&attach->cells[i], now_ns);
	return 0;
}

static int attach_all(struct attach *attach, const struct types *types, bool divided, struct err *err)
{
	static const struct program_spec look = {
		.name = "kp_times_look",
		.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	};
	int ret = times_env_init(&attach->env, types, divided, err);
	size_t i;

	if (!ret)
		ret = create_maps(attach, err);
	if (!ret)
		ret = load(&attach->env, times_code_look, &look, &attach->look, err);
	for (i = 0; !ret && i < G_N_ELEMENTS(places); i++)
		ret = attach_place(attach, types, &places[i], &attach->links[i], err);
	return ret;
}

int attach_open(bool divided, bool counted, struct attach **attach, struct err *err)
{
	struct attach *a;
	struct types *types;
	size_t i;
	int ret;

	ret = types_open(NULL, &types, err);
	if (ret)
		return ret;
	a = g_new0(struct attach, 1);
	a->env.cells = a->env.tasks = a->look = -1;
	for (i = 0; i < G_N_ELEMENTS(places); i++)
		a->links[i] = -1;
	ret = attach_all(a, types, divided, err);
	a->seen = g_new0(uint64_t, a->env.cpus + 1);
	types_close(types);
	if (!ret && counted)
		ret = cycles_open(a->env.cpus, &a->cycles, err);
	/* an idle CPU would change its first state late: its state until now is a guess */
	for (i = 0; !ret && i < a->env.cpus; i++)
		attach_look(a, (unsigned int)i);
	if (ret) {
		attach_close(a);
		return ret;
	}
	a->since_ns = clock_monotonic_ns();
	*attach = a;
	return 0;
}

/* In the other order, so that no depth sticks: links end at their close. */
void attach_close(struct attach *attach)
{
	size_t i;

	if (!attach)
		return;
	for (i = G_N_ELEMENTS(places); i > 0; i--)
		close_fd(attach->links[i - 1]);
	if (attach->cells)
		munmap(attach->cells, attach->bytes);
	cycles_close(attach->cycles);
	close_fd(attach->look);
	close_fd(attach->env.cells);
	close_fd(attach->env.tasks);
	g_free(attach->seen);
	g_free(attach);
}

struct cell *attach_cells(struct attach *attach, unsigned int *cpus)
{
	*cpus = attach->env.cpus;
	return attach->cells;
}

bool attach_is_divided(const struct attach *attach)
{
	return attach->env.divided;
}

bool attach_is_counted(const struct attach *attach)
{
	return attach->cycles;
}

void attach_read_cycles(const struct attach *attach, unsigned int cpu, bool online, struct exact_times *times)
{
	struct cycles_count count = { 0 };

	if (attach->cycles)
		cycles_read(attach->cycles, cpu, online, &count);
	times->counted = attach->cycles;
	times->user_cycles = count.user;
	times->kern_cycles = count.kernel;
}

void attach_look(struct attach *attach, unsigned int cpu)
{
	(void)program_run_on(attach->look, cpu); /* an offline CPU changes no state */
}

bool attach_ask(struct attach *attach, unsigned int cpu)
{
	const struct cell *cell = &attach->cells[cpu];
	const bool asks = atomic_plain_read_relaxed(&cell->last) == attach->seen[cpu];

	if (asks)
		attach_look(attach, cpu);
	attach->seen[cpu] = atomic_plain_read_relaxed(&cell->last);
	return asks;
}

uint64_t attach_since_ns(const struct attach *attach)
{
	return attach->since_ns;
}

int attach_tasks(const struct attach *attach)
{
	return attach->env.tasks;
}
