/* SPDX-License-Identifier: MIT */
/* A pool in this process, written without libkprof and read through its descriptor. */
#ifndef KPROFS_TESTS_RACE_FIXTURE_H
#define KPROFS_TESTS_RACE_FIXTURE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring/layout.h"
#include "ring/read.h"
#include "ring/write.h"

struct fixture {
	int fd;
	void *shared, *private_memory;
	size_t private_bytes;
	struct ring_pool pool;
	struct ring_reader reader;
};

#define FIXTURE_CHECK(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			abort(); \
		} \
	} while (0)

static inline void fixture_open(struct fixture *f, uint64_t bytes, uint32_t mode)
{
	struct kprof_pool layout;
	const char *why = "";

	FIXTURE_CHECK(layout_make(bytes, &layout) == 0);
	layout.clock = KPROF_CLOCK_MONOTONIC;
	layout.mode = mode;
	f->fd = memfd_create("pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	FIXTURE_CHECK(f->fd >= 0 && ftruncate(f->fd, layout.pool_bytes) == 0);
	FIXTURE_CHECK(fcntl(f->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
	f->shared = mmap(NULL, layout.pool_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	f->private_bytes = ring_pool_private_bytes(&layout);
	f->private_memory = mmap(NULL, f->private_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FIXTURE_CHECK(f->shared != MAP_FAILED && f->private_memory != MAP_FAILED);
	ring_pool_init(&f->pool, &layout, f->shared, f->private_memory, 0);
	FIXTURE_CHECK(ring_reader_open(f->fd, &f->reader, &why) == 0);
}

static inline void fixture_close(struct fixture *f)
{
	munmap(f->shared, f->pool.layout.pool_bytes);
	munmap(f->private_memory, f->private_bytes);
	close(f->fd);
}

/* One event with the given words behind its head. false: dropped. */
static inline bool fixture_write(struct fixture *f, struct ring_writer *writer, uint32_t id,
	const uint64_t *words, uint32_t count)
{
	struct ring_room room;

	while (!ring_reserve(writer, 2 + count, &room))
		if (!ring_writer_switch(&f->pool, writer, 2 + count))
			return false;
	for (uint32_t i = 0; i < count; i++)
		room.words[2 + i] = words[i];
	ring_commit(writer, &room, 0, id, 0);
	return true;
}

#endif
