/* SPDX-License-Identifier: MIT */
/* Links of programs that are perf events. */
#include "bpf/perf_link.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bpf/program.h"
#include "sys/perf.h"

void perf_link_clock(uint64_t period_ns, struct perf_link_event *event)
{
	*event = (struct perf_link_event){ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
		.period = period_ns };
}

/* Attaches to the event and switches it on, or closes it. */
static int finish(int program, int event, int *link, struct err *err)
{
	int ret = program_attach_perf(program, event, err);

	if (!ret) {
		ret = perf_enable(event);
		if (ret)
			err_set(err, -ret, "the event can't be switched on: %s", strerror(-ret));
	}
	if (ret) {
		close(event);
		return ret;
	}
	*link = event;
	return 0;
}

int perf_link_open(int program, const struct perf_link_event *event, int cpu, int *link, struct err *err)
{
	struct perf_event_attr attr = { .type = event->type, .config = event->config,
		.config1 = event->config1, .config2 = event->config2, .sample_period = event->period,
		.freq = event->is_frequency, .exclude_user = event->exclude_user,
		.exclude_kernel = event->exclude_kernel, .disabled = 1 };
	int fd, ret = perf_open(&attr, -1, cpu, &fd);

	if (ret)
		return perf_explain(ret, NULL, err);
	return finish(program, fd, link, err);
}

/* Opens an event of a kind of probes. */
static int open_probe(const char *pmu, struct perf_event_attr *attr, int pid, bool at_return, int *fd,
	struct err *err)
{
	uint32_t type, bit;
	int ret = perf_pmu_type(pmu, &type, &bit);

	if (ret)
		return err_set(err, EOPNOTSUPP, "this kernel has no %ss", pmu);
	attr->type = type;
	attr->disabled = 1;
	attr->sample_period = 1;
	if (at_return)
		attr->config |= 1ull << bit;
	return perf_open(attr, pid, pid < 0 ? 0 : -1, fd);
}

int perf_link_uprobe(int program, const char *path, uint64_t offset, uint64_t counter, bool at_return,
	int pid,
	int *link, struct err *err)
{
	struct perf_event_attr attr = { .uprobe_path = (uint64_t)(uintptr_t)path, .probe_offset = offset,
		.config = counter << 32 };
	int fd, ret = open_probe("uprobe", &attr, pid, at_return, &fd, err);

	if (ret == -EOPNOTSUPP)
		return ret;
	if (ret)
		return err_set(err, -ret, "the kernel does not probe the file at 0x%llx: %s",
			(unsigned long long)offset, strerror(-ret));
	return finish(program, fd, link, err);
}
