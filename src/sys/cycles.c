/* SPDX-License-Identifier: MIT */
/* Counted cycles: see cycles.h. */
#include "sys/cycles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/perf.h"
#include "sys/perf_count.h"

enum side { SIDE_USER, SIDE_KERNEL, SIDES };

struct cpu {
	int fds[SIDES];        /* -1 while the CPU is offline */
	uint64_t base[SIDES];  /* of the descriptors before these */
	uint64_t value[SIDES]; /* the newest */
};

struct cycles {
	unsigned int count;
	struct cpu cpus[];
};

static const struct perf_event_attr attrs[SIDES] = {
	[SIDE_USER] = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	},
	[SIDE_KERNEL] = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_user = 1,
	},
};

static void leave(struct cpu *cpu)
{
	int s;

	for (s = 0; s < SIDES; s++) {
		if (cpu->fds[s] >= 0)
			close(cpu->fds[s]);
		cpu->fds[s] = -1;
		cpu->base[s] = cpu->value[s];
	}
}

static int join(struct cycles *cycles, unsigned int number)
{
	struct cpu *cpu = &cycles->cpus[number];
	int s, ret = 0;

	for (s = 0; s < SIDES && !ret; s++)
		ret = perf_count_open_running(&attrs[s], -1, (int)number, &cpu->fds[s]);
	if (ret)
		leave(cpu);
	return ret;
}

static int explain(int ret, struct err *err)
{
	if (ret == -ENOENT || ret == -EOPNOTSUPP || ret == -ENODEV)
		return err_set(err, EOPNOTSUPP, "this machine has no counters of cycles (PMU)");
	return perf_explain(ret, NULL, err);
}

int cycles_open(unsigned int cpus, struct cycles **out, struct err *err)
{
	struct cycles *cycles = calloc(1, sizeof(*cycles) + cpus * sizeof(cycles->cpus[0]));
	int first = -ENODEV, ret;
	unsigned int i;

	if (!cycles)
		return err_set(err, ENOMEM, "there is no memory for counters of cycles");
	cycles->count = cpus;
	for (i = 0; i < cpus; i++)
		memset(cycles->cpus[i].fds, -1, sizeof(cycles->cpus[i].fds));
	/* an offline CPU gives ENODEV; a machine without counters gives another error for each */
	for (i = 0; i < cpus; i++) {
		ret = join(cycles, i);
		if (first == -ENODEV || !ret)
			first = ret;
		if (ret && ret != -ENODEV)
			break;
	}
	if (first) {
		cycles_close(cycles);
		return explain(first, err);
	}
	*out = cycles;
	return 0;
}

void cycles_close(struct cycles *cycles)
{
	unsigned int i;

	for (i = 0; cycles && i < cycles->count; i++)
		leave(&cycles->cpus[i]);
	free(cycles);
}

void cycles_read(struct cycles *cycles, unsigned int number, bool online, struct cycles_count *count)
{
	struct perf_counted counted;
	struct cpu *cpu;
	uint64_t value;
	int s;

	*count = (struct cycles_count){ 0 };
	if (number >= cycles->count)
		return;
	cpu = &cycles->cpus[number];
	/* a descriptor of a CPU that was offline counts nothing any more */
	if (!online)
		leave(cpu);
	else if (cpu->fds[0] < 0)
		(void)join(cycles, number);
	for (s = 0; s < SIDES && cpu->fds[s] >= 0; s++) {
		if (perf_count_read(cpu->fds[s], &counted))
			continue;
		value = cpu->base[s] + perf_count_scale(&counted);
		if (value > cpu->value[s]) /* an estimate may be lower than the one before */
			cpu->value[s] = value;
	}
	count->user = cpu->value[SIDE_USER];
	count->kernel = cpu->value[SIDE_KERNEL];
}
