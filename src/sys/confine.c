/* SPDX-License-Identifier: MIT */
/* A process gives up rights permanently: see confine.h. */
#include "sys/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "sys/become.h"
#include "sys/memfile.h"
#include "sys/proc_maps.h"

/* The user and group of a process that needs no rights of a user: the kernel's overflowuid. */
#define OVERFLOW_ID 65534

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

struct confine_child {
	pid_t parent;
	struct sock_fprog filter;
};

/* ---- capabilities, limits -------------------------------------------------------------------- */

/* Keeps those of `keep` that the process has; no program that it executes gets any. */
static int limit_capabilities(const cap_value_t *keep, int count)
{
	cap_t now = cap_get_proc(), kept = cap_init();
	int i, ret = now && kept ? 0 : -ENOMEM;

	for (i = 0; !ret && i < count; i++) {
		cap_flag_value_t has = CAP_CLEAR;

		/* a capability that this kernel does not know is left out */
		if (cap_get_flag(now, keep[i], CAP_PERMITTED, &has) != 0 || has != CAP_SET)
			continue;
		if (cap_set_flag(kept, CAP_PERMITTED, 1, &keep[i], CAP_SET) != 0 ||
			cap_set_flag(kept, CAP_EFFECTIVE, 1, &keep[i], CAP_SET) != 0)
			ret = -errno;
	}
	if (!ret && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		ret = -errno;
	if (!ret && cap_set_proc(kept) != 0)
		ret = -errno;
	cap_free(now);
	cap_free(kept);
	return ret;
}

static int limit(int resource, uint64_t value)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) != 0)
		return -errno;
	if (value < limit.rlim_max)
		limit.rlim_max = value;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &limit) != 0 ? -errno : 0;
}

void confine_close_from(unsigned int first)
{
	/* since Linux 5.9; before, what the parent left open stays, which is nothing */
	(void)syscall(SYS_close_range, first, ~0U, 0);
}

/* ---- system calls ---------------------------------------------------------------------------- */

/*
 * What any C program does (qsort calls sysinfo for the size of memory), and messages over an
 * existing connection.
 */
static const int basic_calls[] = {
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(read),
	SCMP_SYS(pread64), SCMP_SYS(close), SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(dup),
	SCMP_SYS(sendmsg), SCMP_SYS(recvmsg), SCMP_SYS(futex), SCMP_SYS(clock_gettime),
	SCMP_SYS(getrandom), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(tgkill),
	SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall), SCMP_SYS(sysinfo), SCMP_SYS(exit), SCMP_SYS(exit_group),
};

/* The sanitizers need these calls too. */
static const int sanitizer_calls[] = {
	SCMP_SYS(write), SCMP_SYS(sigaltstack), SCMP_SYS(sched_yield), SCMP_SYS(prlimit64),
	SCMP_SYS(getrlimit), SCMP_SYS(getppid), SCMP_SYS(ioctl), SCMP_SYS(sched_getaffinity),
	SCMP_SYS(gettimeofday), SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep),
};

/* The calls that find files by name. */
static const int name_calls[] = {
	SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(openat2), SCMP_SYS(stat), SCMP_SYS(lstat),
	SCMP_SYS(statx), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
	SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getcwd),
};

static const int opener_calls[] = {
	SCMP_SYS(openat), SCMP_SYS(openat2), SCMP_SYS(readlinkat), SCMP_SYS(newfstatat),
	SCMP_SYS(geteuid), SCMP_SYS(statx), SCMP_SYS(memfd_create), SCMP_SYS(write),
};

/* besides what the opener does: directories, threads */
static const int reader_calls[] = {
	SCMP_SYS(getdents64), SCMP_SYS(set_robust_list), SCMP_SYS(rseq),
};

/* clone is added with its flags; the child makes its filter stricter */
static const int parent_calls[] = {
	SCMP_SYS(wait4), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(prctl),
	SCMP_SYS(getppid),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NEW_NAMESPACES \
	(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | \
		CLONE_NEWCGROUP)

static int add_calls(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t count)
{
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < count; i++)
		ret = seccomp_rule_add(filter, action, calls[i], 0);
	return ret;
}

static int add_basic(scmp_filter_ctx filter)
{
	int ret = add_calls(filter, SCMP_ACT_ALLOW, basic_calls, COUNT(basic_calls));

	if (!ret && SANITIZED)
		ret = add_calls(filter, SCMP_ACT_ALLOW, sanitizer_calls, COUNT(sanitizer_calls));
	/* memory, but not executable */
	if (!ret)
		ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!ret)
		ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return ret;
}

static int add_opener(scmp_filter_ctx filter)
{
	int ret = add_calls(filter, SCMP_ACT_ALLOW, opener_calls, COUNT(opener_calls));

	/* the generation of a file's inode; the sanitizers have all of ioctl */
	if (!ret && !SANITIZED)
		ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
			SCMP_A1(SCMP_CMP_EQ, FS_IOC_GETVERSION));
	return ret;
}

/* The calls that create threads and processes, without new namespaces. */
static int add_clone(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
		SCMP_A0(SCMP_CMP_MASKED_EQ, NEW_NAMESPACES, 0));
}

static int add_reader(scmp_filter_ctx filter)
{
	int ret = add_opener(filter);

	if (!ret)
		ret = add_calls(filter, SCMP_ACT_ALLOW, reader_calls, COUNT(reader_calls));
	/* fdopendir calls this */
	if (!ret)
		ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
			SCMP_A1(SCMP_CMP_EQ, F_GETFL));
	if (!ret)
		ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
			SCMP_A1(SCMP_CMP_EQ, F_SETFD));
	/*
	 * its flags are in memory, where a filter cannot check them: the C library falls back to
	 * clone
	 */
	if (!ret)
		ret = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (!ret)
		ret = add_clone(filter);
	if (!ret && !SANITIZED)
		ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
			SCMP_A1(SCMP_CMP_EQ, PROC_MAPS_QUERY));
	return ret;
}

static int add_parser_child(scmp_filter_ctx filter)
{
	int ret = add_calls(filter, SCMP_ACT_ERRNO(EPERM), name_calls, COUNT(name_calls));

	/* newer C libraries implement fstat with this */
	if (!ret)
		ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
			SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH));
	if (!ret)
		ret = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(newfstatat), 1,
			SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, 0));
	/* the limit of CPU time for one name */
	if (!ret)
		ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(setitimer), 1,
			SCMP_A0(SCMP_CMP_EQ, ITIMER_VIRTUAL));
	/* libelf checks whether a number is a descriptor */
	if (!ret)
		ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
			SCMP_A1(SCMP_CMP_EQ, F_GETFD));
	return ret;
}

static int add_parser(scmp_filter_ctx filter)
{
	int ret = add_parser_child(filter);

	if (!ret)
		ret = add_calls(filter, SCMP_ACT_ALLOW, parent_calls, COUNT(parent_calls));
	return ret ? ret : add_clone(filter);
}

static int make_filter(int (*add)(scmp_filter_ctx filter), scmp_filter_ctx *filter)
{
	scmp_filter_ctx made = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int ret;

	if (!made)
		return -ENOMEM;
	ret = add_basic(made);
	if (!ret)
		ret = add(made);
	if (ret) {
		seccomp_release(made);
		return ret;
	}
	*filter = made;
	return 0;
}

static int load_filter(int (*add)(scmp_filter_ctx filter))
{
	scmp_filter_ctx filter;
	int ret = make_filter(add, &filter);

	if (ret)
		return ret;
	ret = seccomp_load(filter);
	seccomp_release(filter);
	return ret;
}

/* The children's filter in the form the kernel takes, made while files can still be created. */
static int export_filter(struct sock_fprog *program)
{
	int fd = memfile_create("filter"), ret;
	scmp_filter_ctx filter;
	struct stat st;

	if (fd < 0)
		return fd;
	ret = make_filter(add_parser_child, &filter);
	if (!ret) {
		ret = seccomp_export_bpf(filter, fd);
		seccomp_release(filter);
	}
	if (!ret && fstat(fd, &st) != 0)
		ret = -errno;
	if (!ret) {
		program->len = (unsigned short)((size_t)st.st_size / sizeof(*program->filter));
		program->filter = malloc((size_t)st.st_size);
		if (!program->filter || pread(fd, program->filter, (size_t)st.st_size, 0) != st.st_size)
			ret = -EIO;
	}
	close(fd);
	return ret;
}

/* ---- one function for each role -------------------------------------------------------------- */

int confine_opener(void)
{
	/* other processes' roots and mappings, files of other users, the kernel's symbols */
	static const cap_value_t keep[] = {
		CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE, CAP_DAC_READ_SEARCH, CAP_SYSLOG,
	};
	int ret = limit_capabilities(keep, COUNT(keep));

	if (!ret)
		ret = limit(RLIMIT_CORE, 0);
	return ret ? ret : load_filter(add_opener);
}

/*
 * A process that may not inspect all processes may inspect those that have no more capabilities
 * than it has: then each one that it gives up hides some of them.
 */
static bool has_ptrace(void)
{
	cap_flag_value_t has = CAP_CLEAR;
	cap_t now = cap_get_proc();

	if (!now)
		return false;
	if (cap_get_flag(now, CAP_SYS_PTRACE, CAP_EFFECTIVE, &has))
		has = CAP_CLEAR;
	cap_free(now);
	return has == CAP_SET;
}

int confine_reader(void)
{
	/* other processes' mappings, and the files behind them by link and by path */
	static const cap_value_t keep[] = {
		CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE, CAP_DAC_READ_SEARCH,
	};
	int ret = has_ptrace() ? limit_capabilities(keep, COUNT(keep)) : 0;

	if (!ret && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		ret = -errno;
	if (!ret)
		ret = limit(RLIMIT_CORE, 0);
	return ret ? ret : load_filter(add_reader);
}

static int limit_all(const struct confine_limits *limits)
{
	int ret = limit(RLIMIT_CORE, 0);

	if (!ret && !SANITIZED)
		ret = limit(RLIMIT_DATA, limits->data_bytes);
	if (!ret && !SANITIZED)
		ret = limit(RLIMIT_AS, limits->mapped_bytes);
	if (!ret)
		ret = limit(RLIMIT_CPU, limits->cpu_seconds);
	if (!ret)
		ret = limit(RLIMIT_NOFILE, limits->files);
	return ret ? ret : limit(RLIMIT_FSIZE, 0);
}

int confine_parser(const struct confine_limits *limits, struct confine_child **child)
{
	struct confine_child *made = calloc(1, sizeof(*made));
	int ret = made ? export_filter(&made->filter) : -ENOMEM;

	if (!ret && geteuid() == 0)
		ret = become_user(OVERFLOW_ID, OVERFLOW_ID);
	if (!ret)
		ret = limit_capabilities(NULL, 0);
	/* other processes of the same user must not inspect it */
	if (!ret && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		ret = -errno;
	if (!ret)
		ret = limit_all(limits);
	if (!ret) {
		made->parent = getpid();
		ret = load_filter(add_parser);
	}
	if (ret)
		free(made);
	else
		*child = made;
	return ret;
}

int confine_parser_child(const struct confine_child *child)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		return -errno;
	if (getppid() != child->parent)
		return -ESRCH;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &child->filter, 0, 0) != 0 ? -errno : 0;
}

int confine_user(uid_t uid, gid_t gid)
{
	int ret = 0;

	if (geteuid() == 0 && uid != 0)
		ret = become_user(uid, gid);
	return ret ? ret : limit_capabilities(NULL, 0);
}
