/* SPDX-License-Identifier: MIT */
/* Bytes of descriptors that may take fewer at a time. Thread-safe. */
#ifndef KPROFS_BASE_FDIO_H
#define KPROFS_BASE_FDIO_H

#include <stddef.h>

/* Writes all of them; waits as write(2) does. 0 or its -errno. */
int fdio_write(int fd, const void *bytes, size_t size);

#endif
