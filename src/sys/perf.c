/* SPDX-License-Identifier: MIT */
/* perf_event_open(2): see perf.h. The ring is in perf_ring.c. */
#include "sys/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/lines.h"

static int open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags, int *fd)
{
	struct perf_event_attr copy = *attr;
	long ret;

	copy.size = sizeof(copy);
	ret = syscall(SYS_perf_event_open, &copy, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC | flags);
	if (ret < 0)
		return -errno;
	*fd = ret;
	return 0;
}

int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int *fd)
{
	return open_event(attr, pid, cpu, 0, fd);
}

int perf_open_cgroup(const struct perf_event_attr *attr, int cgroup_fd, int cpu, int *fd)
{
	return open_event(attr, cgroup_fd, cpu, PERF_FLAG_PID_CGROUP, fd);
}

static int control(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

int perf_enable(int fd)
{
	return control(fd, PERF_EVENT_IOC_ENABLE, NULL);
}

int perf_disable(int fd)
{
	return control(fd, PERF_EVENT_IOC_DISABLE, NULL);
}

int perf_set_output(int fd, int ring_fd)
{
	/* a long, since the kernel compares all of its bits with -1 */
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (long)ring_fd) < 0 ? -errno : 0;
}

int perf_id(int fd, uint64_t *id)
{
	return control(fd, PERF_EVENT_IOC_ID, id);
}

int perf_read_count(int fd, struct perf_count *count)
{
	uint64_t words[2]; /* value, lost: the order of read(2) with PERF_FORMAT_LOST alone */
	ssize_t n = read(fd, words, sizeof(words));

	if (n < 0)
		return -errno;
	if (n != sizeof(words[0]) && n != sizeof(words))
		return -EIO; /* 0 bytes: the event is in the error state */
	count->value = words[0];
	count->has_lost = n == sizeof(words);
	count->lost = count->has_lost ? words[1] : 0;
	return 0;
}

/* Returns whether the kernel accepts this event for this thread. */
static int try_open(const struct perf_event_attr *attr)
{
	int fd;
	int ret = perf_open(attr, 0, -1, &fd);

	if (!ret)
		close(fd);
	return ret;
}

int perf_probe(struct perf_features *features)
{
	const struct perf_event_attr least = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct perf_event_attr attr = least;
	int ret = try_open(&attr);

	if (ret)
		return ret;
	attr.read_format = PERF_FORMAT_LOST;
	features->has_lost = !try_open(&attr);

	attr = least;
	attr.exclude_kernel = 0;
	features->has_kernel = !try_open(&attr);

	/* sampling, not counting: some virtual PMUs count but cannot interrupt */
	attr = least;
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.sample_period = 1000000;
	ret = try_open(&attr);
	features->has_cycles = !ret || ret == -EBUSY;
	return 0;
}

static int explain_denied(int ret, const char *proc, struct err *err)
{
	int64_t paranoid;

	if (perf_sysctl(proc, PERF_SYSCTL_PARANOID, &paranoid))
		return err_set(err, -ret, "perf_event_open is not allowed: %s", strerror(-ret));
	if (paranoid <= 0)
		return err_set(err, -ret,
			"perf_event_open is not allowed, although kernel.perf_event_paranoid is %d:"
			" a seccomp filter or security module forbids it",
			(int)paranoid);
	return err_set(err, -ret,
		"perf_event_open is not allowed: kernel.perf_event_paranoid is %d; CAP_PERFMON or"
		" kernel.perf_event_paranoid=0 allows the whole machine, 1 one's own processes with"
		" the kernel, 2 without it",
		(int)paranoid);
}

int perf_explain(int ret, const char *proc, struct err *err)
{
	struct rlimit limit;

	switch (-ret) {
	case EACCES:
	case EPERM:
		return explain_denied(ret, proc, err);
	case ENOSYS:
		return err_set(err, -ret, "this kernel has no perf events (CONFIG_PERF_EVENTS)");
	case ENOENT:
	case EOPNOTSUPP:
		return err_set(err, -ret, "this machine can't sample that event");
	case ENODEV:
		return err_set(err, -ret, "no such CPU or counter (a CPU that is offline?)");
	case EMFILE:
		if (getrlimit(RLIMIT_NOFILE, &limit))
			limit.rlim_cur = 0;
		return err_set(err, -ret, "out of file descriptors: RLIMIT_NOFILE is %llu",
			(unsigned long long)limit.rlim_cur);
	case ENFILE:
		return err_set(err, -ret, "the machine is out of file descriptors (fs.file-max)");
	case EBUSY:
		return err_set(err, -ret, "the counters are taken by another user of the PMU");
	default:
		return err_set(err, -ret, "perf_event_open: %s", strerror(-ret));
	}
}

int perf_sysctl(const char *proc, const char *name, int64_t *value)
{
	char path[512], text[32];
	uint64_t number;
	int n, ret, negative;

	n = snprintf(path, sizeof(path), "%s/sys/kernel/%s", proc ? proc : "/proc", name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	ret = lines_read_first(AT_FDCWD, path, text, sizeof(text));
	if (ret)
		return ret;
	negative = text[0] == '-';
	ret = units_parse_u64(text + negative, &number);
	if (ret || number > INT64_MAX)
		return -EINVAL;
	*value = negative ? -(int64_t)number : (int64_t)number;
	return 0;
}

int perf_pmu_type(const char *name, uint32_t *type, uint32_t *bit)
{
	char path[256], text[64];
	uint64_t number;
	int ret;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	ret = lines_read_first(AT_FDCWD, path, text, sizeof(text));
	if (!ret)
		ret = units_parse_u64(text, &number);
	if (ret)
		return ret;
	*type = (uint32_t)number;
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/format/retprobe", name);
	ret = lines_read_first(AT_FDCWD, path, text, sizeof(text));
	if (!ret && strncmp(text, "config:", 7) == 0)
		ret = units_parse_u64(text + 7, &number);
	*bit = ret ? 0 : (uint32_t)number;
	return 0;
}
