/* SPDX-License-Identifier: MIT */
/*
 * Follows the rings of kernel events. Records are numbered on their CPU: the numbers between those that were
 * seen are the lost ones. An event that interrupts another one may have the higher number and the lower
 * place, so the numbers of a gathering are compared as a whole.
 */
#include "trace/follow_kernel.h"

#include <glib.h>

#include "kernel/kernel.h"
#include "trace/snapshot.h"

struct follow_cpu {
	uint64_t pos;	 /* of the next record */
	uint32_t first;	 /* number of the first one that is followed */
	uint32_t behind; /* behind the highest number that was seen */
	uint32_t seen;
	uint32_t lost; /* reported */
};

struct follow_kernel {
	struct kernel *kernel;
	struct rings *rings; /* NULL until there are some; then held */
	struct follow_cpu *cpus;
	struct kernel_names *names; /* those that were found stay for the next gatherings */
};

static void find_rings(struct follow_kernel *follow)
{
	if (follow->rings || !follow->kernel)
		return;
	follow->rings = kernel_get_rings(follow->kernel);
	if (follow->rings)
		follow->cpus = g_new0(struct follow_cpu, rings_cpus(follow->rings));
}

struct follow_kernel *follow_kernel_create(struct kernel *kernel)
{
	struct follow_kernel *follow = g_new0(struct follow_kernel, 1);

	follow->kernel = kernel;
	follow->names = kernel_names_create(kernel);
	find_rings(follow);
	for (uint32_t i = 0; follow->rings && i < rings_cpus(follow->rings); i++) {
		struct follow_cpu *cpu = &follow->cpus[i];
		uint64_t number;

		rings_position(follow->rings, i, &cpu->pos, &number);
		cpu->first = cpu->behind = (uint32_t)number;
	}
	return follow;
}

void follow_kernel_destroy(struct follow_kernel *follow)
{
	if (!follow)
		return;
	if (follow->rings)
		kernel_put_rings(follow->kernel, follow->rings);
	kernel_names_destroy(follow->names);
	g_free(follow->cpus);
	g_free(follow);
}

/* Goes through the copy up to the horizon, and cuts it there. Returns the records. */
static uint32_t walk_until(struct follow_cpu *cpu, struct rings_copy *copy, uint64_t horizon_ns)
{
	const struct kernel_record *record;
	uint64_t at = copy->begin, before = at;
	uint32_t seen = 0;

	while ((record = rings_next(copy, &at)) && record->time_ns <= horizon_ns) {
		if ((int32_t)(record->seq + 1 - cpu->behind) > 0)
			cpu->behind = record->seq + 1;
		before = at;
		seen++;
	}
	copy->end = before;
	cpu->pos = before;
	return seen;
}

uint64_t follow_kernel_gather(struct follow_kernel *follow, struct snapshot *snapshot, uint64_t horizon_ns,
	uint64_t *gathered)
{
	uint64_t lost = 0;

	find_rings(follow);
	if (follow->rings)
		kernel_gather(follow->kernel);
	for (uint32_t i = 0; follow->rings && i < rings_cpus(follow->rings); i++) {
		struct follow_cpu *cpu = &follow->cpus[i];
		struct rings_copy *copy;
		uint32_t seen, missing;

		/* without memory the next gathering tries again */
		if (snapshot_copy_ring(snapshot, follow->rings, i, cpu->pos, true, &copy))
			continue;
		seen = walk_until(cpu, copy, horizon_ns);
		cpu->seen += seen;
		*gathered += seen;
		missing = cpu->behind - cpu->first - cpu->seen;
		if ((int32_t)(missing - cpu->lost) > 0) {
			lost += missing - cpu->lost;
			cpu->lost = missing;
		}
	}
	kernel_names_find(follow->names, snapshot->kernel, -1);
	snapshot->names = follow->names;
	return lost;
}
