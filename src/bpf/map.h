/* SPDX-License-Identifier: MIT */
/*
 * BPF maps: thin wrappers that return 0 or -errno, thread-safe as the kernel's calls are. A map lives
 * as long as a descriptor of it, a program that uses it, or a pinned name.
 */
#ifndef KPROFS_BPF_MAP_H
#define KPROFS_BPF_MAP_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct map_spec {
	enum bpf_map_type type;
	const char *name; /* at most 15 of [A-Za-z0-9_.], shown by bpftool */
	uint32_t key_bytes;
	uint32_t value_bytes;
	uint32_t entries;
	uint32_t flags; /* BPF_F_... */
	int inner;	/* of BPF_MAP_TYPE_ARRAY_OF_MAPS: a map like those that it has */
};

/*
 * Creates a map; the caller closes the descriptor. -EPERM without the right to use bpf(2), -ENOMEM also
 * for the limit of a cgroup, -E2BIG for more entries than the kernel takes.
 */
int map_create(const struct map_spec *spec, int *fd, struct err *err);

/* -ENOENT if there is no such key, -E2BIG if the map is full. Values of per-CPU maps have 8-byte steps. */
int map_lookup(int fd, const void *key, void *value);
int map_update(int fd, const void *key, const void *value, uint64_t flags);
int map_delete(int fd, const void *key);
/* The key behind `key`, the first one if that is NULL; -ENOENT behind the last. */
int map_next_key(int fd, const void *key, void *next);

/*
 * Maps the memory of an array with BPF_F_MMAPABLE, `bytes` rounded up to pages; munmap(2) gives it
 * back. The pages stay when the descriptor is closed.
 */
int map_mmap(int fd, size_t bytes, int writable, void **memory);

/*
 * The number of values that a lookup in a per-CPU map returns: the CPUs that can ever be there.
 * Returns at least 1, or -errno.
 */
int map_possible_cpus(void);

/* Names in a bpf file system, for maps, programs and links alike. */
int map_pin(int fd, const char *path);
int map_get_pinned(const char *path, int *fd);

#endif
