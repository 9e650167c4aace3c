/* SPDX-License-Identifier: MIT */
/*
 * Times from /proc/stat, rows from the list of present CPUs: see source.h.
 *
 * If the list cannot be read (no sysfs in a container), the CPUs that /proc/stat has listed so
 * far take its place, so a CPU that goes offline still keeps its row.
 */
#include "acct/source.h"

#include <errno.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/cpu.h"
#include "sys/procstat.h"

_Static_assert((int)SOURCE_TIMES == (int)PROCSTAT_FIELDS, "the same kinds, in the same order");

struct source {
	struct procstat *procstat;
	int present_fd; /* or -errno */
	uint64_t hz;
	unsigned char present[CPU_BITMAP_BYTES]; /* as last read */
	unsigned char seen[CPU_BITMAP_BYTES];    /* ever listed in /proc/stat */
};

static int create_source(const struct source_paths *paths, struct err *err, void **source)
{
	const char *path = paths->proc_stat ? paths->proc_stat : PROCSTAT_PATH;
	struct procstat *procstat;
	struct source *src;
	int ret;

	ret = procstat_open(path, &procstat);
	if (ret)
		return err_set(err, -ret, "no CPU times: %s: %s", path, g_strerror(-ret));
	src = g_new0(struct source, 1);
	src->procstat = procstat;
	src->present_fd = cpu_open_list(paths->present ? paths->present : CPU_PRESENT_PATH);
	src->hz = clock_ticks_per_second();
	*source = src;
	return 0;
}

static void destroy_source(void *source)
{
	struct source *src = source;

	procstat_close(src->procstat);
	if (src->present_fd >= 0)
		close(src->present_fd);
	g_free(src);
}

static void mark_present(const unsigned char *bitmap, GArray *cpus)
{
	unsigned int cpu;

	for (cpu = 0; cpu < CPU_NUMBERS; cpu++) {
		if (!bitmap[cpu / 8]) {
			cpu += 7; /* none of these eight */
			continue;
		}
		if (!cpu_in_bitmap(bitmap, cpu))
			continue;
		if (cpu >= cpus->len)
			g_array_set_size(cpus, cpu + 1);
		g_array_index(cpus, struct source_cpu, cpu).present = true;
	}
}

static int sample_source(void *source, GArray *cpus)
{
	struct source *src = source;
	const struct procstat_cpu *stat;
	struct source_cpu *cpu;
	size_t count, i;
	int ret, t;

	ret = procstat_read(src->procstat, &stat, &count);
	if (ret)
		return ret;
	g_array_set_size(cpus, 0);
	/* stat is in ascending order, so the last CPU is the highest; new entries are zero */
	g_array_set_size(cpus, stat[count - 1].cpu + 1);
	for (i = 0; i < count; i++) {
		cpu = &g_array_index(cpus, struct source_cpu, stat[i].cpu);
		cpu->present = true; /* online is present, even if the list is older */
		cpu->online = true;
		for (t = 0; t < SOURCE_TIMES; t++)
			cpu->ns[t] = clock_ticks_to_ns(stat[i].ticks[t], src->hz);
		src->seen[stat[i].cpu / 8] |= (unsigned char)(1 << stat[i].cpu % 8);
	}
	ret = src->present_fd;
	if (ret >= 0)
		ret = cpu_reread_list(src->present_fd, src->present);
	mark_present(ret < 0 ? src->seen : src->present, cpus);
	return 0;
}

const struct source_ops source_procstat = {
	.name = "procstat",
	.create = create_source,
	.destroy = destroy_source,
	.sample = sample_source,
};
