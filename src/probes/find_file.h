/* SPDX-License-Identifier: MIT */
/* Programs and libraries by their names. In any thread. */
#ifndef KPROFS_PROBES_FIND_FILE_H
#define KPROFS_PROBES_FIND_FILE_H

/*
 * The absolute path of a program or library, to be freed: `name` if it is one, else looked for in folders
 * of the system, those of PATH and of the loader. NULL if there is none.
 */
char *find_file(const char *name);

/* The C library beside this one that has its functions since glibc 2.34, to be freed; NULL for others. */
char *find_file_moved(const char *path);

#endif
