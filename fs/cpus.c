/* SPDX-License-Identifier: MIT */
/* The CPUs that are present: see cpus.h. */
#include "fs/cpus.h"

#include <glib.h>
#include <string.h>

#include "sys/cpu.h"

struct cpus {
	unsigned int count;
	unsigned int numbers[CPU_NUMBERS];
};

struct cpus *cpus_create(void)
{
	g_autofree unsigned char *present = g_malloc0(CPU_BITMAP_BYTES);
	g_autofree struct cpus *all = g_new0(struct cpus, 1);
	unsigned int i;

	if (cpu_read_list(CPU_PRESENT_PATH, present)) {
		memset(present, 0, CPU_BITMAP_BYTES);
		cpu_set_in_bitmap(present, 0);
	}
	for (i = 0; i < CPU_NUMBERS; i++)
		if (cpu_in_bitmap(present, i))
			all->numbers[all->count++] = i;
	return g_memdup2(all, offsetof(struct cpus, numbers) + all->count * sizeof(all->numbers[0]));
}

void cpus_destroy(struct cpus *cpus)
{
	g_free(cpus);
}

unsigned int cpus_count(const struct cpus *cpus)
{
	return cpus->count;
}

unsigned int cpus_number(const struct cpus *cpus, unsigned int i)
{
	return cpus->numbers[i];
}
