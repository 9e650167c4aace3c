/* SPDX-License-Identifier: MIT */
/* An instance of tracefs. */
#include "sys/tracing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/lines.h"
#include "sys/tracefs.h"

#define INSTANCES "instances"

struct tracing {
	int instances; /* the folder of all */
	int dirfd;     /* of this one; -1: it could not be made */
	char name[sizeof(TRACING_PREFIX) + 12];
	uint32_t cpus;
	int *pages; /* by CPU: of its raw pages */
};

static int write_at(int dirfd, const char *file, const char *text)
{
	int fd = openat(dirfd, file, O_WRONLY | O_TRUNC | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		ret = -errno;
	close(fd);
	return ret;
}

int tracing_write(const struct tracing *tracing, const char *file, const char *text)
{
	return write_at(tracing->dirfd, file, text);
}

int tracing_open(const struct tracing *tracing, const char *file, int *fd)
{
	int opened = openat(tracing->dirfd, file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (opened < 0)
		return -errno;
	*fd = opened;
	return 0;
}

/* Its events are switched off first. */
static void remove_instance(int instances, const char *name)
{
	char file[NAME_MAX + sizeof("/events/enable")];

	snprintf(file, sizeof(file), "%.*s/events/enable", NAME_MAX, name);
	write_at(instances, file, "0");
	unlinkat(instances, name, AT_REMOVEDIR);
}

/* Those of servers that were killed. */
static void remove_old(int instances)
{
	int fd = openat(instances, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir))) {
		const char *number = entry->d_name + strlen(TRACING_PREFIX);
		long pid;
		char *end;

		if (strncmp(entry->d_name, TRACING_PREFIX, strlen(TRACING_PREFIX)) != 0 ||
			strlen(number) > 10)
			continue;
		pid = strtol(number, &end, 10);
		if (!*end && pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
			remove_instance(instances, entry->d_name);
	}
	closedir(dir);
}

static int open_pages(struct tracing *tracing)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int ret;

	tracing->cpus = cpus > 0 ? (uint32_t)cpus : 1;
	tracing->pages = malloc(tracing->cpus * sizeof(*tracing->pages));
	if (!tracing->pages)
		return -ENOMEM;
	for (uint32_t i = 0; i < tracing->cpus; i++)
		tracing->pages[i] = -1;
	for (uint32_t i = 0; i < tracing->cpus; i++) {
		char file[64];

		snprintf(file, sizeof(file), "per_cpu/cpu%u/trace_pipe_raw", i);
		ret = tracing_open(tracing, file, &tracing->pages[i]);
		/* a CPU that is not there */
		if (ret && ret != -ENOENT)
			return ret;
	}
	return 0;
}

static int set_up(struct tracing *tracing, uint32_t kb)
{
	char size[16];
	int ret;

	tracing->dirfd = openat(tracing->instances, tracing->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tracing->dirfd < 0)
		return -errno;
	snprintf(size, sizeof(size), "%u", kb);
	ret = tracing_write(tracing, "trace_clock", "mono");
	if (!ret)
		ret = tracing_write(tracing, "buffer_size_kb", size);
	if (!ret)
		ret = open_pages(tracing);
	return ret;
}

int tracing_create(const char *path, uint32_t kb, struct tracing **tracing, struct err *err)
{
	struct tracing *made = calloc(1, sizeof(*made));
	int dirfd, ret;

	if (!made)
		return err_set(err, ENOMEM, "there is no memory for an instance of tracefs");
	made->dirfd = made->instances = -1;
	snprintf(made->name, sizeof(made->name), TRACING_PREFIX "%d", (int)getpid());
	ret = tracefs_open(path, &dirfd);
	if (!ret) {
		made->instances = openat(dirfd, INSTANCES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ret = made->instances < 0 ? -errno : 0;
		close(dirfd);
	}
	if (!ret) {
		remove_old(made->instances);
		ret = mkdirat(made->instances, made->name, 0700) && errno != EEXIST ? -errno :
										       set_up(made, kb);
	}
	if (ret) {
		tracing_destroy(made);
		return err_set(err, -ret, "an instance of tracefs can't be made: %s", strerror(-ret));
	}
	*tracing = made;
	return 0;
}

void tracing_destroy(struct tracing *tracing)
{
	if (!tracing)
		return;
	for (uint32_t i = 0; i < tracing->cpus && tracing->pages; i++)
		if (tracing->pages[i] >= 0)
			close(tracing->pages[i]);
	if (tracing->dirfd >= 0) {
		close(tracing->dirfd);
		remove_instance(tracing->instances, tracing->name);
	}
	if (tracing->instances >= 0)
		close(tracing->instances);
	free(tracing->pages);
	free(tracing);
}

uint32_t tracing_cpus(const struct tracing *tracing)
{
	return tracing->cpus;
}

ssize_t tracing_read_page(const struct tracing *tracing, uint32_t cpu, void *page, size_t bytes)
{
	ssize_t got;

	if (tracing->pages[cpu] < 0)
		return 0;
	got = read(tracing->pages[cpu], page, bytes);
	return got >= 0 ? got : errno == EAGAIN ? 0 : -errno;
}

uint64_t tracing_lost(const struct tracing *tracing, uint32_t cpu)
{
	char path[64], text[512], *line;
	unsigned long long count, lost = 0;
	struct lines lines;
	int fd = -1;

	snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", cpu);
	if (tracing_open(tracing, path, &fd))
		return 0;
	lines_init(&lines, fd, text, sizeof(text));
	while ((line = lines_next(&lines)))
		if (sscanf(line, "overrun: %llu", &count) == 1 ||
			sscanf(line, "dropped events: %llu", &count) == 1 ||
			sscanf(line, "commit overrun: %llu", &count) == 1)
			lost += count;
	close(fd);
	return lost;
}
