/* SPDX-License-Identifier: MIT */
/* What exists in the kernel while events are on: rings, control map, and what programs need to know. */
#include "kernel/kernel_state.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/machine.h"
#include "bpf/map.h"
#include "kernel/begun.h"
#include "kernel/pidprogram.h"

/* All rings together take at most this part of memory. */
#define MEMORY_PART 32

static int create_control(struct kernel *kernel, struct err *err)
{
	const struct map_spec spec = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_control", .key_bytes = 4,
		.value_bytes = sizeof(struct call_control), .entries = 1, .flags = BPF_F_MMAPABLE };
	void *memory;
	int ret = kernel_keep_map(kernel, "control", &spec, &kernel->machine.control, err);

	if (ret)
		return ret;
	ret = map_mmap(kernel->machine.control, sizeof(struct call_control), 1, &memory);
	if (ret)
		return err_set(err, -ret, "the control map can't be mapped: %s", strerror(-ret));
	pthread_mutex_lock(&kernel->lock);
	kernel->control = memory;
	pthread_mutex_unlock(&kernel->lock);
	kernel->machine.emit.control = kernel->machine.control;
	kernel->machine.emit.enabled = offsetof(struct call_control, enabled);
	kernel->machine.emit.points = offsetof(struct call_control, points);
	for (unsigned int i = 0; i < CALLNAMES_NUMBERS; i++) {
		kernel->control->calls[i].texts = kernel->callnames.texts[i];
		/* programs that are attached already go on until others take over, of another generation */
		if (kernel->control->calls[i].generation)
			kernel->generation = kernel->control->calls[i].generation;
	}
	pthread_mutex_lock(&kernel->lock);
	if (!kernel_keep_is_restoring(kernel))
		kernel->control->enabled = kernel->enabled;
	pthread_mutex_unlock(&kernel->lock);
	return 0;
}

/* The ring of one CPU, so that all together fit into their part of memory. */
static uint32_t choose_kb(const struct kernel *kernel)
{
	int cpus = map_possible_cpus();
	uint32_t kb = kernel->kb;

	while (kb > RINGS_KB_MIN && cpus > 0 &&
		(uint64_t)kb * 1024 * (unsigned int)cpus > kernel->memory_bytes / MEMORY_PART)
		kb /= 2;
	return kb;
}

static int create_rings(struct kernel *kernel, struct err *err)
{
	struct rings *rings;
	int ret = kernel_keep_is_restoring(kernel) ? kernel_keep_rings(kernel, &rings, err) :
						      rings_create(choose_kb(kernel), &rings, err);

	if (ret)
		return ret;
	kernel->machine.emit.rings = rings;
	pthread_mutex_lock(&kernel->lock);
	kernel->rings = rings;
	pthread_mutex_unlock(&kernel->lock);
	return 0;
}

/*
 * What the kernel needs is tried before anything is made, for a sentence that says what would give it.
 * Then the maps of system calls are made, and the program that lists those under way, as long as the
 * types are there.
 */
static int look_at_machine(struct kernel *kernel, struct err *err)
{
	struct types *types = NULL;
	struct err why = { "" };
	int ret = types_open(NULL, &types, &why);
	g_autofree struct machine *machine = g_new(struct machine, 1);

	machine_look(machine, types, ret, &why);
	ret = machine_needs(machine, MACHINE_MAPS, err);
	if (!ret)
		ret = machine_needs(machine, MACHINE_TYPES, err);
	if (!ret)
		ret = machine_needs(machine, MACHINE_SHARED_MAPS, err);
	if (!ret)
		ret = emit_machine_init(&kernel->machine.emit, types, err);
	kernel->machine.emit.memory_refused = !machine->has[MACHINE_KERNEL_MEMORY];
	if (!ret)
		ret = callprogram_create_maps(&kernel->machine, (uint32_t)map_possible_cpus(), err);
	if (!ret)
		ret = kernel_keep_call_maps(kernel, err);
	/* without it calls under way show when they return */
	if (!ret && begun_attach(&kernel->machine, types, &kernel->begun_link, NULL))
		kernel->begun_link = -1;
	types_close(types);
	if (ret)
		err_prefix(err, "the kernel can't be traced here");
	return ret;
}

/* In place of programs. `why` is what these lack. */
static int create_instance(struct kernel *kernel, const struct err *why, struct err *err)
{
	struct instance *instance;
	struct err second = { "" };

	if (instance_create(NULL, choose_kb(kernel), &instance, &second))
		return err_set(err, EOPNOTSUPP, "%s; without that, %s", why->text, second.text);
	pthread_mutex_lock(&kernel->lock);
	kernel->rings = instance_rings(instance);
	kernel->instance = instance;
	kernel_apply_enabled(kernel);
	pthread_mutex_unlock(&kernel->lock);
	return 0;
}

int kernel_prepare(struct kernel *kernel, struct err *err)
{
	struct err why = { "" };
	int ret;

	if (kernel->rings)
		return 0;
	kernel->machine = kernel_no_machine;
	ret = look_at_machine(kernel, &why);
	if (ret && kernel->keep) {
		kernel_give_back(kernel);
		return err_set(err, -ret, "%s; without BPF the mount option keep keeps nothing", why.text);
	}
	if (ret) {
		kernel_give_back(kernel);
		return create_instance(kernel, &why, err);
	}
	ret = emit_machine_find_own(&kernel->machine.emit, err);
	if (!ret)
		ret = kernel_keep_map(kernel, "chosen", &pidprogram_map, &kernel->machine.emit.chosen, err);
	if (!ret)
		ret = create_control(kernel, err);
	if (!ret)
		ret = create_rings(kernel, err);
	if (!ret)
		ret = kernel_keep_begin(kernel, err);
	if (ret)
		kernel_give_back(kernel);
	return ret;
}

int kernel_prepare_stacks(struct kernel *kernel, struct err *err)
{
	int *map = &kernel->machine.emit.stacks;

	return *map >= 0 ? 0 : emit_stack_create_map((uint32_t)map_possible_cpus(), map, err);
}

void kernel_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void kernel_give_back(struct kernel *kernel)
{
	struct rings *rings;
	struct rings_totals totals;
	struct instance *instance;
	struct call_control *control;

	pthread_mutex_lock(&kernel->lock);
	if (kernel->readers) {
		pthread_mutex_unlock(&kernel->lock);
		return;
	}
	rings = kernel->rings;
	kernel->rings = NULL;
	instance = kernel->instance;
	kernel->instance = NULL;
	control = kernel->control;
	kernel->control = NULL;
	kernel->idle_ns = 0;
	kernel_retire_probes(kernel);
	if (rings) {
		rings_total(rings, &totals);
		kernel->former.recorded += totals.recorded;
		kernel->former.missed += totals.missed;
		kernel->former.torn += totals.torn;
		/* those that the rings still held are gone too */
		kernel->former.overwritten += totals.recorded - totals.torn;
	}
	pthread_mutex_unlock(&kernel->lock);
	instance_destroy(instance);
	kernel_keep_end(kernel);
	rings_destroy(rings);
	if (control)
		munmap(control, sizeof(*control));
	kernel_close_fd(&kernel->machine.control);
	kernel_close_fd(&kernel->begun_link);
	kernel_close_fd(&kernel->machine.slots);
	kernel_close_fd(&kernel->machine.others);
	kernel_close_fd(&kernel->machine.texts);
	kernel_close_fd(&kernel->machine.execs);
	kernel_close_fd(&kernel->machine.emit.chosen);
	kernel_close_fd(&kernel->machine.emit.stacks);
	kernel_close_fd(&kernel->functions);
}
