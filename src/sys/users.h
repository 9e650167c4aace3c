/* SPDX-License-Identifier: MIT */
/* Names of users. Thread-safe. */
#ifndef KPROFS_SYS_USERS_H
#define KPROFS_SYS_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The name that /etc/passwd (if `path` is NULL) has for a user: false if it has none. Other sources, as a
 * directory service, are not asked: their answers may take any time. Reads the file, some 20 us.
 */
bool users_name(const char *path, uid_t uid, char *name, size_t bytes);

#endif
