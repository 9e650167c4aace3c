/* SPDX-License-Identifier: MIT */
/* BPF programs: loading and attaching. */
#include "bpf/program.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sys/limits.h"
#include "sys/lockdown.h"

/* The verifier's log of a refused program; it keeps the last part if there is more. */
#define LOG_BYTES (256 * 1024)
/* A grace period takes some 10 ms, on a busy machine some 100. */
#define WAIT_MS 1000
#define PAUSE_MS 10
/* What the kernel returns, but no program should see: strerror(3) has no text for it. */
#define KERNEL_ENOTSUPP 524
/* Programs call helpers that only code under this licence may call, as kernel modules do. */
#define LICENSE "GPL"
#define KPROBE "kprobe" /* as a sentence calls it */

/* Cuts the log to the last line that says something: the lines behind it are statistics. */
static const char *last_words(char *log)
{
	char *line, *end;

	for (;;) {
		end = log + strlen(log);
		while (end > log && end[-1] == '\n')
			*--end = '\0';
		line = strrchr(log, '\n');
		line = line ? line + 1 : log;
		if (line == log ||
			(strncmp(line, "processed ", 10) != 0 &&
				strncmp(line, "verification time", 17) != 0 &&
				strncmp(line, "stack depth", 11) != 0))
			return line;
		line[-1] = '\0';
	}
}

/*
 * Whether the log says that a program may not read the kernel's memory, which with the capabilities to load
 * it is so under kernel lockdown only.
 */
static bool is_memory_refused(const char *log)
{
	return strstr(log, "bpf_probe_read_kernel") &&
	       (strstr(log, "cannot use helper") || strstr(log, "unknown func"));
}

static int refuse_memory(const struct program_spec *spec, struct err *err)
{
	const bool is_known = lockdown_is_confidential(NULL);

	return err_set(err, EOPNOTSUPP,
		"the program '%s' reads the kernel's memory, which %s; " LOCKDOWN_REMEDY, spec->name,
		is_known ? "kernel lockdown (confidentiality) forbids" :
		"this kernel forbids, as kernel lockdown (confidentiality) does");
}

/* Loads it again with a log, to report why it was refused. */
static int explain(const struct program_spec *spec, const struct code *code, struct bpf_prog_load_opts *opts,
	int error, struct err *err)
{
	char *log = malloc(LOG_BYTES);
	int fd, code_of_error = -error;

	if (!log)
		return err_set(err, code_of_error, "the kernel refuses the program '%s'", spec->name);
	log[0] = '\0';
	opts->log_level = 1;
	opts->log_buf = log;
	opts->log_size = LOG_BYTES;
	fd = bpf_prog_load(spec->type, spec->name, LICENSE, code->insns, code->count, opts);
	if (fd >= 0)
		close(fd);
	if (is_memory_refused(log))
		error = refuse_memory(spec, err);
	else if (error == -EPERM && !log[0])
		err_set(err, EPERM, "the kernel does not allow the program '%s'%s", spec->name,
			limits_has_bpf() ?
			", although this process has the capabilities for it: the kernel or a security "
			"module forbids programs of this kind" :
			": it needs the capabilities CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN");
	else
		err_set(err, code_of_error, "the kernel refuses the program '%s': %s", spec->name,
			log[0] ? last_words(log) : strerror(code_of_error));
	free(log);
	return error;
}

int program_load(const struct program_spec *spec, const struct code *code, int *fd, struct err *err)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = spec->attach,
		.attach_btf_id = spec->attach_type_id, .attach_btf_obj_fd = (__u32)spec->btf_fd);
	int made = bpf_prog_load(spec->type, spec->name, LICENSE, code->insns, code->count, &opts);

	if (made < 0)
		return explain(spec, code, &opts, made, err);
	*fd = made;
	return 0;
}

int program_attach_raw(int fd, const char *name, int *link, struct err *err)
{
	int made = bpf_raw_tracepoint_open(name, fd);

	if (made < 0)
		return err_set(err, -made, "the kernel does not attach to the tracepoint '%s': %s", name,
			strerror(-made));
	*link = made;
	return 0;
}

int program_attach_tracing(int fd, int *link, struct err *err)
{
	/* the older call, which every kernel with these programs has */
	int made = bpf_raw_tracepoint_open(NULL, fd);

	if (made == -KERNEL_ENOTSUPP)
		return err_set(err, EOPNOTSUPP,
			"the kernel has no such programs on this kind of CPU, or none for a function with "
			"so many parameters");
	if (made < 0)
		return err_set(err, -made, "the kernel does not attach the program: %s", strerror(-made));
	*link = made;
	return 0;
}

bool program_waits_for_room(int error, unsigned int *tries)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000 };

	return error == -E2BIG && (*tries)++ < WAIT_MS / PAUSE_MS && nanosleep(&pause, NULL) == 0;
}

int program_attach_perf(int fd, int perf_event, struct err *err)
{
	if (ioctl(perf_event, PERF_EVENT_IOC_SET_BPF, fd) != 0)
		return err_set(err, errno, "the kernel does not attach to the perf event: %s",
			strerror(errno));
	return 0;
}

/* A program of a tracepoint or function runs on all CPUs, whatever CPU its event has. */
static int attach_event(int fd, struct perf_event_attr *attr, const char *what, int *link, struct err *err)
{
	int event, made, rc;

	event = (int)syscall(SYS_perf_event_open, attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0 && errno == EPERM && !strcmp(what, KPROBE) && lockdown_is_confidential(NULL))
		return err_set(err, EOPNOTSUPP,
			"kernel lockdown (confidentiality) forbids kprobes; " LOCKDOWN_REMEDY);
	if (event < 0)
		return err_set(err, errno, "perf_event_open refuses the %s: %s", what, strerror(errno));
	/* a link of its own can be pinned (Linux 5.15), and has the event */
	made = bpf_link_create(fd, event, BPF_PERF_EVENT, NULL);
	rc = made < 0 ? program_attach_perf(fd, event, err) : 0;
	if (rc == 0 && ioctl(event, PERF_EVENT_IOC_ENABLE, 0) != 0)
		rc = err_set(err, errno, "the %s can't be switched on: %s", what, strerror(errno));
	if (rc != 0 || made >= 0)
		close(event);
	if (rc != 0 && made >= 0)
		close(made);
	if (rc == 0)
		*link = made < 0 ? event : made;
	return rc;
}

int program_attach_tracepoint(int fd, uint64_t id, int *link, struct err *err)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = id,
		.sample_period = 1, .wakeup_events = 1 };

	return attach_event(fd, &attr, "tracepoint", link, err);
}

/* The number in a file of the PMU of kprobes, behind `before`. */
static int read_kprobe_file(const char *path, const char *before, unsigned int *number)
{
	FILE *file = fopen(path, "re");
	char line[64];
	int rc = -EINVAL;

	if (!file)
		return -errno;
	if (fgets(line, sizeof(line), file) && strncmp(line, before, strlen(before)) == 0 &&
		sscanf(line + strlen(before), "%u", number) == 1)
		rc = 0;
	fclose(file);
	return rc;
}

int program_attach_kprobe(int fd, const char *function, uint64_t offset, bool is_return, int *link,
	struct err *err)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .sample_period = 1, .wakeup_events = 1,
		.kprobe_func = (uint64_t)(uintptr_t)function, .probe_offset = offset };
	unsigned int type, bit = 0;
	int rc = read_kprobe_file("/sys/bus/event_source/devices/kprobe/type", "", &type);

	if (rc == 0 && is_return)
		rc = read_kprobe_file(
			"/sys/bus/event_source/devices/kprobe/format/retprobe", "config:", &bit);
	if (rc != 0)
		return err_set(err, rc == -ENOENT ? EOPNOTSUPP : -rc, rc == -ENOENT ?
			"this kernel has no kprobes for perf (CONFIG_KPROBE_EVENTS)" :
			"the kernel's description of kprobes can't be read");
	attr.type = type;
	attr.config = is_return ? 1ull << bit : 0;
	return attach_event(fd, &attr, KPROBE, link, err);
}

int program_attach_kprobe_multi(int fd, const struct program_functions *functions, bool is_return, int *link,
	struct err *err)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .kprobe_multi = { .cnt = functions->count,
		.syms = (const char **)(uintptr_t)functions->names,
		.cookies = (const __u64 *)functions->cookies,
		.flags = is_return ? BPF_F_KPROBE_MULTI_RETURN : 0 });
	int made = bpf_link_create(fd, 0, BPF_TRACE_KPROBE_MULTI, &opts);

	if (made == -EOPNOTSUPP)
		return err_set(err, EOPNOTSUPP, "this kernel can't attach by ftrace (CONFIG_FPROBE)");
	if (made < 0)
		return err_set(err, -made, "ftrace does not attach: %s", strerror(-made));
	*link = made;
	return 0;
}

int program_attach_list(int fd, int *link, struct err *err)
{
	int made = bpf_link_create(fd, 0, BPF_TRACE_ITER, NULL);

	if (made < 0)
		return err_set(err, -made, "the kernel does not attach a program to a list: %s",
			strerror(-made));
	*link = made;
	return 0;
}

int program_open_list(int link, int *fd)
{
	int made = bpf_iter_create(link);

	if (made < 0)
		return made;
	*fd = made;
	return 0;
}

int program_counts(int fd, struct program_counts *counts)
{
	struct bpf_prog_info info = { 0 };
	__u32 bytes = sizeof(info);
	int rc = bpf_obj_get_info_by_fd(fd, &info, &bytes);

	if (rc != 0)
		return rc;
	counts->missed = info.recursion_misses;
	/* the kernel says how much of the struct it knows */
	counts->knows_missed = bytes >= offsetof(struct bpf_prog_info, recursion_misses) +
		sizeof(info.recursion_misses);
	counts->run_ns = info.run_time_ns;
	counts->run_count = info.run_cnt;
	return 0;
}

/* struct bpf_link_info of Linux 6.7, as far as it is needed here: libbpf's may be older. */
struct link_info {
	uint32_t type, id, prog_id, reserved;
	union {
		struct {
			uint64_t addresses; /* where to write them: nowhere */
			uint32_t count, flags;
			uint64_t missed;
		} multi;
		struct {
			uint32_t type, reserved;
			uint64_t name; /* the same */
			uint32_t name_bytes, offset;
			uint64_t address, missed;
		} perf;
	};
};

/* enum bpf_link_type and bpf_perf_event_type */
#define LINK_PERF_EVENT 7
#define LINK_KPROBE_MULTI 8
#define LINK_KPROBE 3
#define LINK_KRETPROBE 4

/* The value of `missed` before the call. A kernel without the field leaves it, or refuses the call. */
#define NOT_TOLD UINT64_MAX

static int look_at_link(int link, struct link_info *info)
{
	__u32 bytes = sizeof(*info);

	return bpf_obj_get_info_by_fd(link, info, &bytes);
}

int program_link_missed(int link, uint64_t *missed)
{
	struct link_info kind = { .type = 0 };
	struct link_info multi = { .multi.missed = NOT_TOLD }, perf = { .perf.missed = NOT_TOLD };

	*missed = 0;
	if (look_at_link(link, &kind))
		return 0; /* a descriptor of an event, not of a link */
	if (kind.type == LINK_KPROBE_MULTI)
		*missed = look_at_link(link, &multi) ? NOT_TOLD : multi.multi.missed;
	else if (kind.type == LINK_PERF_EVENT && look_at_link(link, &perf))
		*missed = NOT_TOLD;
	else if (kind.type == LINK_PERF_EVENT &&
		 (perf.perf.type == LINK_KPROBE || perf.perf.type == LINK_KRETPROBE))
		*missed = perf.perf.missed;
	if (*missed != NOT_TOLD)
		return 0;
	*missed = 0;
	return -EOPNOTSUPP;
}

bool program_link_tells(const struct types *types)
{
	struct types_field field;

	return types && !types_field_of(types, "bpf_link_info", "perf_event.kprobe.missed", &field, NULL);
}

int program_measure(int *fd)
{
	int made = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (made < 0)
		return made;
	*fd = made;
	return 0;
}

int program_run(int fd, const uint64_t *args, uint32_t count, uint32_t *result)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = count * (__u32)sizeof(*args));
	int rc = bpf_prog_test_run_opts(fd, &opts);

	if (rc != 0)
		return rc;
	*result = opts.retval;
	return 0;
}

int program_run_on(int fd, unsigned int cpu)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .cpu = cpu, .flags = BPF_F_TEST_RUN_ON_CPU);

	return bpf_prog_test_run_opts(fd, &opts);
}
