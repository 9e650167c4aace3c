/* SPDX-License-Identifier: MIT */
/*
 * A folder of a bpf file system with pinned maps and links, which outlive the process that made them.
 * One process at a time has it: a lock ends with the process. One thread at a time.
 */
#ifndef KPROFS_BPF_PINS_H
#define KPROFS_BPF_PINS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct pins;

/* The longest name of a file, with its NUL. */
#define PINS_NAME_MAX 32

/*
 * Opens the folder; one that is not there is made in its parent, which must be in a bpf file system.
 * -EOPNOTSUPP if it is not, -EBUSY if another process has it, -EPERM if others than this user may
 * change it.
 */
int pins_open(const char *path, struct pins **pins, struct err *err);
/* With `remove` the files and the folder are removed. NULL is allowed. */
void pins_close(struct pins *pins, bool remove);

/* A former file of this name is replaced. -errno of bpf(2). */
int pins_put(struct pins *pins, const char *name, int fd);
/* -ENOENT if there is no such file. The caller closes the descriptor. */
int pins_get(struct pins *pins, const char *name, int *fd);
void pins_remove(struct pins *pins, const char *name);
/* Removes the files whose names begin so; all for "". */
void pins_remove_all(struct pins *pins, const char *beginning);

/* What a descriptor of a map is. -errno, also if it is none. */
struct pins_map {
	uint32_t type, key_bytes, value_bytes, entries, flags;
};
int pins_look_at_map(int fd, struct pins_map *map);
/* The times that the program of a link was not run; 0 if that is not known. */
uint64_t pins_missed(int link);

#endif
