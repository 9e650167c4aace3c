/* SPDX-License-Identifier: MIT */
/*
 * The pool: its size, its clock, its memfd and seals. See client.h. Nothing here waits; if anything
 * fails, the program is not traced.
 */
#include "client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/layout.h"

#define DEFAULT_KB 1024u

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif
#ifndef PR_TSC_ENABLE
#define PR_TSC_ENABLE 1
#endif

/* KPROF_BUFFER_KB, within the limits, or the default if it is not a number. */
static uint64_t wanted_bytes(void)
{
	const char *text = secure_getenv("KPROF_BUFFER_KB");
	char *end = NULL;
	unsigned long kb;

	if (!text || *text < '0' || *text > '9')
		return DEFAULT_KB << 10;
	kb = strtoul(text, &end, 10);
	if (*end)
		return DEFAULT_KB << 10;
	if (kb < KPROF_POOL_BYTES_MIN >> 10)
		kb = KPROF_POOL_BYTES_MIN >> 10;
	if (kb > KPROF_POOL_BYTES_MAX >> 10)
		kb = KPROF_POOL_BYTES_MAX >> 10;
	return (uint64_t)kb << 10;
}

/* A file larger than RLIMIT_FSIZE raises SIGXFSZ: cut the size. */
static uint64_t cut_to_limit(uint64_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
		bytes > limit.rlim_cur)
		bytes = limit.rlim_cur;
	return bytes;
}

static ssize_t read_file(const char *path, char *to, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = read(fd, to, bytes - 1);
	close(fd);
	if (got >= 0)
		to[got] = '\0';
	return got;
}

/* Whether the counter can be read, and is the clock source of the kernel. */
static bool counter_is_clock(void)
{
#if defined(__x86_64__)
	char source[16];
	int tsc = 0;

	if (prctl(PR_GET_TSC, &tsc, 0, 0, 0) == 0 && tsc != PR_TSC_ENABLE)
		return false;
	return read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		       sizeof(source)) > 0 && strcmp(source, "tsc\n") == 0;
#else
	return false;
#endif
}

/* The offset of this time namespace to CLOCK_MONOTONIC, in ns. */
static int64_t namespace_offset_ns(void)
{
	char text[256], *at, *end;
	long long seconds, ns;

	if (read_file("/proc/self/timens_offsets", text, sizeof(text)) <= 0)
		return 0; /* a kernel without them */
	at = strstr(text, "monotonic");
	if (!at)
		return 0;
	seconds = strtoll(at + strlen("monotonic"), &end, 10);
	ns = strtoll(end, NULL, 10);
	return seconds * 1000000000 + ns;
}

static void choose_clock(struct kprof_pool *layout, int64_t *offset_ns)
{
	int64_t added = namespace_offset_ns();

	*offset_ns = -added;
	layout->clock = added == 0 && counter_is_clock() ? KPROF_CLOCK_COUNTER :
							   KPROF_CLOCK_MONOTONIC;
	layout->anchor_ns = ring_clock_ns(*offset_ns);
#if defined(__x86_64__)
	if (layout->clock == KPROF_CLOCK_COUNTER) {
		uint64_t before = __builtin_ia32_rdtsc();

		layout->anchor_ns = ring_clock_ns(0);
		layout->anchor_counter = before + (__builtin_ia32_rdtsc() - before) / 2;
	}
#endif
}

static int make_memfd(uint64_t bytes)
{
	int fd = memfd_create("kprof", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = memfd_create("kprof", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) < 0) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}

/*
 * Maps and then seals it: from then on no process can map it writable, write to it or punch holes
 * into it. Before Linux 5.1 other processes can; ring/write.h has the consequences.
 */
static void *map_and_seal(int fd, size_t bytes)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (shared == MAP_FAILED)
		return NULL;
	if (fcntl(fd, F_ADD_SEALS, seals | F_SEAL_FUTURE_WRITE) == 0 ||
		(errno == EINVAL && fcntl(fd, F_ADD_SEALS, seals) == 0))
		return shared;
	munmap(shared, bytes);
	return NULL;
}

/*
 * Private memory: struct pool, a word that is 1 until a fork, and the private part of the ring,
 * page-aligned.
 */
static struct pool *make_private(const struct kprof_pool *layout, void **ring_memory)
{
	size_t page = KPROF_POOL_PAGE, ring = ring_pool_private_bytes(layout);
	size_t wiped = (page + ring + page - 1) / page * page;
	char *at = mmap(NULL, page + wiped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		0);

	_Static_assert(sizeof(struct pool) <= KPROF_POOL_PAGE, "one page");
	if (at == MAP_FAILED)
		return NULL;
	if (madvise(at + page, wiped, MADV_WIPEONFORK) < 0) { /* before Linux 4.14 */
		munmap(at, page + wiped);
		return NULL;
	}
	*ring_memory = at + 2 * page;
	((struct pool *)(void *)at)->alive = (void *)(at + page);
	*(uint64_t *)(void *)(at + page) = 1;
	return (void *)at;
}

struct pool *pool_create(void)
{
	const char *mode = secure_getenv("KPROF_BUFFER_MODE");
	struct kprof_pool layout;
	void *shared, *ring_memory;
	struct pool *pool;
	int64_t offset_ns;
	int fd;

	if (layout_make(cut_to_limit(wanted_bytes()), &layout))
		return NULL;
	choose_clock(&layout, &offset_ns);
	if (mode && strcmp(mode, "discard") == 0)
		layout.mode = KPROF_MODE_DISCARD;
	fd = make_memfd(layout.pool_bytes);
	if (fd < 0)
		return NULL;
	shared = map_and_seal(fd, layout.pool_bytes);
	if (!shared) {
		close(fd);
		return NULL;
	}
	pool = make_private(&layout, &ring_memory);
	if (!pool) {
		munmap(shared, layout.pool_bytes);
		close(fd);
		return NULL;
	}
	ring_pool_init(&pool->ring, &layout, shared, ring_memory, offset_ns);
	if (own_fd_take(&pool->memfd, fd) < 0)
		pool->memfd.fd = -1; /* noticed when it is to be sent */
	return pool;
}

void pool_disown(struct pool *pool)
{
	for (; pool; pool = pool->older) {
		/* at the same address: a frame below may be in the middle of an event */
		mmap(pool->ring.shared, pool->ring.layout.pool_bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
		own_fd_close(&pool->memfd);
	}
}
