/* SPDX-License-Identifier: MIT */
/*
 * Memory that is set aside at the start of the server, for small allocations when malloc(3)
 * fails.
 *
 * GLib ends the process when an allocation fails, and the server would end with its capture. So
 * there are three ways to allocate (HACKING, "Memory"):
 *
 * - what may become larger than RESERVE_SMALL_BYTES is allocated so that it can fail
 *   (g_try_malloc, malloc, mmap, growing.h), and the caller gets -ENOMEM;
 * - what is smaller is taken from the reserve when malloc(3) fails (RLIMIT_AS, strict
 *   overcommit): the process's malloc is a small wrapper around the C library's. From then on
 *   requests that need memory are refused with ENOMEM, until the reserve is whole again;
 * - what takes much memory in many small pieces, a view, is made in another process
 *   (views/viewproc.h).
 *
 * The reserve is address space: it takes no memory before it is used. All functions are
 * thread-safe.
 */
#ifndef KPROFS_BASE_RESERVE_H
#define KPROFS_BASE_RESERVE_H

#include <stdbool.h>

/* A larger allocation is not taken from the reserve. */
#define RESERVE_SMALL_BYTES (2u << 20)

/*
 * Allocates the reserve. Returns 0 or -ENOMEM. In a process that does not call this, there is no
 * reserve.
 */
int reserve_init(void);

/*
 * Returns whether the reserve is whole; allocates missing pieces again if possible. Called before
 * an operation that needs memory, which is refused with -ENOMEM if it returns false. While nothing
 * is missing it reads one variable. Returns true in a process without a reserve.
 */
bool reserve_is_whole(void);

#endif
