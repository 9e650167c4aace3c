/* SPDX-License-Identifier: MIT */
/* Counting: see perf_count.h. */
#include "sys/perf_count.h"

#include <errno.h>
#include <unistd.h>

#include "sys/perf.h"

/* The part of the attr that says what is counted. */
static struct perf_event_attr only_count(const struct perf_event_attr *attr)
{
	struct perf_event_attr count = *attr;

	count.sample_period = 0;
	count.freq = 0;
	count.precise_ip = 0;
	count.sample_type = 0;
	count.disabled = 1;
	return count;
}

int perf_count_open(const struct perf_event_attr *attr, pid_t pid, int *fd)
{
	struct perf_event_attr count = only_count(attr);

	count.inherit = 1;
	count.enable_on_exec = 1;
	count.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return perf_open(&count, pid, -1, fd);
}

int perf_count_open_running(const struct perf_event_attr *attr, pid_t pid, int cpu, int *fd)
{
	struct perf_event_attr count = only_count(attr);

	count.inherit = pid != -1;
	count.disabled = 0;
	count.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return perf_open(&count, pid, cpu, fd);
}

int perf_count_read(int fd, struct perf_counted *counted)
{
	uint64_t words[3];
	ssize_t n = read(fd, words, sizeof(words));

	if (n < 0)
		return -errno;
	if (n != sizeof(words))
		return -EIO; /* 0 bytes: the event is in the error state */
	counted->value = words[0];
	counted->enabled_ns = words[1];
	counted->running_ns = words[2];
	return 0;
}

uint64_t perf_count_scale(const struct perf_counted *counted)
{
	unsigned __int128 scaled;

	if (counted->running_ns >= counted->enabled_ns)
		return counted->value;
	if (!counted->running_ns)
		return 0;
	scaled = (unsigned __int128)counted->value * counted->enabled_ns / counted->running_ns;
	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

int perf_count_try(const struct perf_event_attr *attr)
{
	struct perf_event_attr count = only_count(attr);
	int fd, ret;

	ret = perf_open(&count, 0, -1, &fd);
	if (ret == -EINVAL) /* uncore: of a CPU only */
		ret = perf_open(&count, -1, 0, &fd);
	if (ret == -EACCES || ret == -EPERM) {
		count.exclude_kernel = 1;
		ret = perf_open(&count, 0, -1, &fd);
	}
	if (!ret)
		close(fd);
	return ret;
}

int perf_count_try_cpu(void)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
	};
	int fd, ret = perf_open(&attr, -1, 0, &fd);

	if (!ret)
		close(fd);
	return ret;
}
