/* SPDX-License-Identifier: MIT */
/*
 * Where the functions of a program or library are in its file: what a uprobe needs. The file may be of
 * any user: only pread(2) reads it, each offset and count in it is checked against its size, and what
 * it says is bounded. In any thread; it blocks as the file's file system does.
 */
#ifndef KPROFS_PROBES_ELF_SYMBOLS_H
#define KPROFS_PROBES_ELF_SYMBOLS_H

#include <stdint.h>

#include "base/err.h"

/* The most symbols of a file that are looked at, of both tables together. */
#define ELF_SYMBOLS_MAX 4000000u
#define ELF_SYMBOLS_NAME_MAX 512u

/*
 * Calls each() for the functions of a file whose names match a pattern with '*' and '?', with the offset of
 * their first byte in the file, until it returns other than 0; the same function may come twice. `path`
 * is an absolute path, or a name that is looked for in the folders of PATH and of the loader. Returns
 * that value, -ENOENT if there is no such file, -EINVAL if it is no ELF file of this machine, -E2BIG,
 * -ENOMEM, with the sentence.
 */
int elf_symbols_each(const char *path, const char *pattern,
	int (*each)(void *arg, const char *name, uint64_t offset), void *arg, struct err *err);

/* The absolute path of a program or library by its name: is to be freed, NULL if there is none. */
char *elf_symbols_find_file(const char *name);

#endif
