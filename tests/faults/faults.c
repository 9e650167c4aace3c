/* SPDX-License-Identifier: MIT */
/*
 * Loaded before all others into a server (LD_PRELOAD): lets its Nth allocation, or its Nth call of the
 * kernel, fail. FAULTS names the file through which the driver says which (faults.h).
 *
 * The server has a malloc of its own around the C library's (src/base/reserve.c), which calls this
 * library in place of the C library's malloc: what fails here is what fails where there is no memory.
 * Calls fail with an errno that the kernel has for them. These calls do not fail: close, calls that
 * have no errors, calls that wait, and reads and writes of /dev/fuse, whose failure ends a mount.
 */
#include "tests/faults/faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <unistd.h>

#include "views/viewproc.h"

#define STACK_FRAMES 24

static struct fault_plan *plan;

/* The function behind ours; looked up once. */
#define REAL(name) \
	({ \
		static __typeof__(&name) real; \
		if (!real) \
			real = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
		real; \
	})

static bool fails_here(uint64_t kind)
{
	uint64_t n, at;

	if (!plan || !(atomic_load(&plan->kinds) & kind))
		return false;
	n = atomic_fetch_add(&plan->count, 1) + 1;
	at = atomic_load(&plan->at);
	if (!at || n < at || n - at >= atomic_load(&plan->burst))
		return false;
	atomic_fetch_add(&plan->failed, 1);
	if (atomic_load(&plan->verbose)) {
		void *frames[STACK_FRAMES];

		atomic_store(&plan->verbose, 0); /* once; and not what the next lines call */
		backtrace_symbols_fd(frames, backtrace(frames, STACK_FRAMES), STDERR_FILENO);
	}
	return true;
}

static bool fails(uint64_t kind, int code)
{
	if (!fails_here(kind))
		return false;
	errno = code;
	return true;
}

static bool alloc_fails(size_t bytes)
{
	return plan && bytes >= atomic_load(&plan->bytes) && fails(FAULT_ALLOC, ENOMEM);
}

/* ---- memory ----------------------------------------------------------------------------------- */

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

void *__libc_malloc(size_t bytes)
{
	return alloc_fails(bytes) ? NULL : REAL(__libc_malloc)(bytes);
}

void *__libc_calloc(size_t count, size_t bytes)
{
	return alloc_fails(count * bytes) ? NULL : REAL(__libc_calloc)(count, bytes);
}

void *__libc_realloc(void *memory, size_t bytes)
{
	return alloc_fails(bytes) ? NULL : REAL(__libc_realloc)(memory, bytes);
}

void *__libc_memalign(size_t alignment, size_t bytes)
{
	return alloc_fails(bytes) ? NULL : REAL(__libc_memalign)(alignment, bytes);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	if (fails(FAULT_MAP, ENOMEM))
		return MAP_FAILED;
	return REAL(mmap)(address, bytes, protection, flags, fd, offset);
}

/* ---- descriptors ------------------------------------------------------------------------------ */

static mode_t mode_of(int flags, va_list ap)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return fails(FAULT_OPEN, EMFILE) ? -1 : REAL(open)(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return fails(FAULT_OPEN, EMFILE) ? -1 : REAL(openat)(dir, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	return fails(FAULT_OPEN, EMFILE) ? NULL : REAL(fopen)(path, mode);
}

DIR *opendir(const char *path)
{
	return fails(FAULT_OPEN, EMFILE) ? NULL : REAL(opendir)(path);
}

int memfd_create(const char *name, unsigned int flags)
{
	return fails(FAULT_OPEN, EMFILE) ? -1 : REAL(memfd_create)(name, flags);
}

int eventfd(unsigned int value, int flags)
{
	return fails(FAULT_OPEN, EMFILE) ? -1 : REAL(eventfd)(value, flags);
}

int timerfd_create(__clockid_t clock, int flags)
{
	return fails(FAULT_OPEN, EMFILE) ? -1 : REAL(timerfd_create)(clock, flags);
}

int pipe2(int ends[2], int flags)
{
	return fails(FAULT_OPEN, EMFILE) ? -1 : REAL(pipe2)(ends, flags);
}

int socket(int domain, int type, int protocol)
{
	return fails(FAULT_OPEN, EMFILE) ? -1 : REAL(socket)(domain, type, protocol);
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
	return fails(FAULT_OPEN, EMFILE) ? -1 : REAL(socketpair)(domain, type, protocol, ends);
}

int accept4(int fd, struct sockaddr *address, socklen_t *bytes, int flags)
{
	return fails(FAULT_OPEN, EMFILE) ? -1 : REAL(accept4)(fd, address, bytes, flags);
}

int dup(int fd)
{
	return fails(FAULT_OPEN, EMFILE) ? -1 : REAL(dup)(fd);
}

/* ---- threads and processes -------------------------------------------------------------------- */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *arg),
	void *arg)
{
	return fails(FAULT_TASK, EAGAIN) ? EAGAIN : REAL(pthread_create)(thread, attributes, run, arg);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	return fails(FAULT_TASK, EAGAIN) ? EAGAIN :
		REAL(posix_spawn)(pid, path, actions, attributes, argv, envp);
}

/* ---- other calls ------------------------------------------------------------------------------ */

long syscall(long number, ...)
{
	long args[6];
	va_list ap;
	int i;

	va_start(ap, number);
	for (i = 0; i < 6; i++)
		args[i] = va_arg(ap, long);
	va_end(ap);
	if (fails(FAULT_CALL, ENOMEM))
		return -1;
	return REAL(syscall)(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	return fails(FAULT_CALL, ENOMEM) ? -1 : REAL(ioctl)(fd, request, arg);
}

int fcntl(int fd, int command, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, command);
	arg = va_arg(ap, void *);
	va_end(ap);
	return fails(FAULT_CALL, EINVAL) ? -1 : REAL(fcntl)(fd, command, arg);
}

int ftruncate(int fd, off_t size)
{
	return fails(FAULT_CALL, ENOSPC) ? -1 : REAL(ftruncate)(fd, size);
}

ssize_t pread(int fd, void *bytes, size_t count, off_t offset)
{
	return fails(FAULT_CALL, ENOMEM) ? -1 : REAL(pread)(fd, bytes, count, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
	return fails(FAULT_CALL, ENOSPC) ? -1 : REAL(pwrite)(fd, bytes, count, offset);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	return fails(FAULT_CALL, ENOBUFS) ? -1 : REAL(sendmsg)(fd, message, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	return fails(FAULT_CALL, ENOMEM) ? -1 : REAL(recvmsg)(fd, message, flags);
}

/* ---- the plan --------------------------------------------------------------------------------- */

__attribute__((constructor)) static void begin(int argc, char **argv)
{
	const char *path = getenv("FAULTS");
	bool makes_views = argc > 1 && !strcmp(argv[1], VIEWPROC_WORD);
	struct faults *faults;
	void *frame;
	int fd;

	fd = path ? REAL(open)(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	backtrace(&frame, 1); /* it loads a library at its first call */
	faults = REAL(mmap)(NULL, sizeof(*faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (faults != MAP_FAILED)
		plan = &faults->plans[makes_views];
}
