/* SPDX-License-Identifier: MIT */
/* Bytes of descriptors that may take fewer at a time. Thread-safe. */
#ifndef KPROFS_BASE_FDIO_H
#define KPROFS_BASE_FDIO_H

#include <stddef.h>

/* Writes all bytes; waits as write(2) does. Returns 0 or -errno of write(2). */
int fdio_write(int fd, const void *bytes, size_t size);

#endif
